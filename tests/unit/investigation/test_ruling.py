"""A rule from an investigation: its own logs are the examples, without secrets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.investigations import CASE, ERROR, FAILURE, stored
from tests.unit.model.test_redaction import PLANTED

from ruleout.diagnosis.scaffold import Traced, scaffold
from ruleout.investigation.folder import Folder
from ruleout.investigation.ruling import BEFORE, traced
from ruleout.investigation.session import current_verdict, read_journal, stored_case
from ruleout.investigation.sharing import Sharer
from ruleout.model import (
    Carrier,
    Component,
    Configuration,
    Elsewhere,
    Suspect,
    Suspicion,
    UsageError,
    Verdict,
    VerdictStatus,
    Workaround,
)
from ruleout.model.verdict import MAY_HELP, SPEAKS_FOR

PROBES = "probes:\n- {kind: completion, prompt: The capital of France is, repeat: 2}\n"


def drafted(folder: Folder) -> str:
    case = stored_case(folder)
    return scaffold(traced(folder, case, current_verdict(case, read_journal(folder)), Suspicion(), Sharer()))


def told(folder: Folder, found: Suspicion = Suspicion(), **changed: Any) -> Traced:  # noqa: B008 - frozen
    """What a rule is made from where the verdict was another one."""
    case = stored_case(folder)
    verdict = replace(current_verdict(case, read_journal(folder)), **changed)
    return traced(folder, case, verdict, found, Sharer())


def test_examples_and_fix_are_those_of_the_investigation(tmp_path: Path) -> None:
    (rule,) = yaml.safe_load(drafted(stored(tmp_path)))
    assert rule["component"] == Component.KV_CACHE_DTYPE
    assert rule["claim"] == "it needs kv_cache_dtype=fp8_e4m3"
    assert rule["fix"] == {"set": {"--kv-cache-dtype": "auto"}}
    assert rule["when"]["any"] == [r"scale of layer [\d.]+ is missing for a cache of eight bits"]
    assert all(ERROR in text for text in rule["examples"]["matching"])
    assert any("No available memory" in text for text in rule["examples"]["other"])
    assert any("200 OK" in text for text in rule["examples"]["other"])


def test_none_of_the_planted_secrets_is_in_it(tmp_path: Path) -> None:
    secrets = [case for cases in PLANTED.values() for case in cases]
    for at in range(0, len(secrets), BEFORE // 2):
        some = secrets[at : at + BEFORE // 2]
        text = drafted(beside(tmp_path / str(at), "\n".join(line for line, _ in some)))
        assert [secret for _, secret in some if secret in text] == []


def beside(home: Path, lines: str) -> Folder:
    """An investigation with those lines just above its error, and at the end of its healthy log."""
    log = f"{lines}\nRuntimeError: {FAILURE.message}\n"
    evidence = replace(FAILURE.evidence[0], line=log.count("\n"))
    failure = replace(FAILURE, evidence=(evidence,))
    return stored(home, case=CASE, failing=log, healthy=f"INFO: ok\n{lines}\n", failure=failure)


def test_what_has_not_failed_makes_no_rule(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    nothing = Verdict(VerdictStatus.NOT_REPRODUCED, 0.0)
    with pytest.raises(UsageError, match="has not failed"):
        traced(folder, stored_case(folder), nothing, Suspicion(), Sharer())


KV, LENGTH = Carrier("kv_cache_dtype", ("fp8_e4m3",)), Carrier("max_model_len", ("2048",))
SUSPECT = Suspect(Component.QUANTIZATION, "a claim", 0.7)


def test_a_part_of_the_stack_is_named_only_where_all_of_the_cause_belongs_to_it(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    assert told(folder).component is Component.KV_CACHE_DTYPE
    for causes in (((KV, LENGTH),), ((KV,), (LENGTH,))):
        assert told(folder, Suspicion((SUSPECT,)), causes=causes).component is None


def test_what_is_not_proven_is_told_so_and_the_log_may_name_the_part(tmp_path: Path) -> None:
    folder, status = stored(tmp_path), VerdictStatus.NARROWED
    assert told(folder, status=status, probability=0.6).told == (
        "not proven, likeliest with 60 %: it needs kv_cache_dtype=fp8_e4m3"
    )
    assert told(folder, status=status).component is None
    assert told(folder, Suspicion((SUSPECT,)), status=status).component is Component.QUANTIZATION
    assert told(folder, Suspicion((replace(SUSPECT, probability=0.4),)), status=status).component is None


def test_several_causes_are_all_told_and_no_log_has_to_show_all_of_them(tmp_path: Path) -> None:
    found = told(stored(tmp_path), causes=((KV,), (LENGTH,)))
    assert found.told == "any of these is enough: kv_cache_dtype=fp8_e4m3; max_model_len=2048"
    assert found.settings == {}


def test_a_cause_elsewhere_is_told_by_what_the_log_speaks_for(tmp_path: Path) -> None:
    claim = f"the cause is in no factor; the log {SPEAKS_FOR}weights/checkpoint: a scale is missing{MAY_HELP}a new copy"
    elsewhere = Elsewhere(0.99, Component.WEIGHTS_CHECKPOINT, claim)
    found = told(stored(tmp_path), status=VerdictStatus.ELSEWHERE, causes=(), workarounds=(), elsewhere=elsewhere)
    assert (found.component, found.told) == (Component.WEIGHTS_CHECKPOINT, "a scale is missing")
    assert (found.advice, found.change, found.ways) == ("a new copy", {}, ())


def test_another_model_is_the_last_way_out_and_a_flag_that_is_taken_off_is_said_so(tmp_path: Path) -> None:
    case = CASE.replace("factors:", "factors:\n  model: {flag: --model, levels: [a, b], baseline: a}")
    ways = (Workaround(Configuration(model="b"), 2, 2), Workaround(Configuration(max_model_len="absent"), 2, 2))
    found = told(stored(tmp_path, case=case), workarounds=ways)
    assert found.change == {"--max-model-len": "absent"}
    assert found.ways == ("without --max-model-len", "--model b")


def test_of_a_command_that_is_only_a_command_the_log_says_whose_it_is(tmp_path: Path) -> None:
    case = CASE.replace("engine: vllm", "engine: command\nmode: job").replace(PROBES, "")
    assert told(stored(tmp_path, case=case)).engine == "vllm"
