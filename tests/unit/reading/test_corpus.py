"""The labelled corpus of public failures, where it is at hand: whole logs one by one, excerpts by their share."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ruleout.reading.diagnose import read_facts

CORPUS = Path(os.environ.get("RULEOUT_CORPUS") or Path(__file__).parents[4] / "shared" / "corpus")
WHOLE = sorted(CORPUS.glob("logs/*.yaml"))
OUTCOMES = (
    (r"then stopped by operator", "stopped"),
    (r"^success", "healthy"),
    (r"^crash", "crash"),
    (r"^killed", "killed"),
    (r"^hang", "hang"),
    (r"output wrong", "wrong_output"),
)
NEAR = {
    "concurrency": {"decode", "prefill"},
    "warmup": {"kernel_compile", "cuda_graph_capture", "prefill"},
    "kernel_compile": {"warmup", "cuda_graph_capture"},
    "arg_parsing": {"model_config"},
    "model_config": {"arg_parsing"},
}
COMMANDS = {"sglang": "python3 -m sglang.launch_server", "vllm": "vllm serve"}


@pytest.mark.skipif(not WHOLE, reason="the corpus is not here")
@pytest.mark.parametrize("label", WHOLE, ids=lambda path: str(path.stem))
def test_a_whole_log_has_the_outcome_stage_class_and_line_of_its_label(label: Path) -> None:
    right: dict[str, Any] = yaml.safe_load(label.read_text())
    log = label.with_suffix(".log")
    found = read_facts([log])
    assert found.outcome == next(value for words, value in OUTCOMES if re.search(words, right["outcome"]))
    stage = re.split(r"[ (]", right["stage_reached"])[0]
    assert found.stage in {stage} | NEAR.get(stage, set())
    assert (found.failure.class_ if found.failure else "none") == right["failure_class"]
    assert found.engine.name == right["engine"]
    if right["first_error_line"]:
        lines = log.read_text(errors="replace").splitlines()
        first = next(n for n, line in enumerate(lines, 1) if right["first_error_line"] in line)
        assert found.failure
        assert abs(found.failure.line - first) <= 2


def test_most_excerpts_have_the_class_and_the_stage_of_their_label(tmp_path: Path) -> None:
    cases = [yaml.safe_load(path.read_text()) for path in sorted(CORPUS.glob("cases/*.yaml"))]
    cases = [c for c in cases if c.get("symptom_provenance") != "reconstructed" and c.get("confidence") != "low"]
    if not cases:
        pytest.skip("the corpus is not here")
    classes = stages = 0
    for case in cases:
        path = tmp_path / f"{case['id']}.log"
        path.write_text(excerpt(case))
        found = read_facts([path])
        classes += (found.failure and found.failure.class_) == case["failure_class"]
        stages += found.stage in {case["stage"]} | NEAR.get(case["stage"], set())
    assert classes / len(cases) >= 0.88
    assert stages / len(cases) >= 0.75


def excerpt(case: dict[str, Any]) -> str:
    flags = " ".join(str(flag) for flag in case.get("command_flags") or [] if str(flag).startswith("-"))
    command = COMMANDS.get(case["engine"])
    head = f"$ {command} {flags}\n" if command and flags else ""
    return head + "\n".join(case.get("symptom_lines") or []) + "\n"
