"""A rule from an investigation: its own logs are the examples, without secrets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from tests.support.investigations import CASE, ERROR, FAILURE, stored
from tests.unit.model.test_redaction import PLANTED

from ruleout.diagnosis.scaffold import scaffold
from ruleout.investigation.folder import Folder
from ruleout.investigation.ruling import BEFORE, traced
from ruleout.investigation.session import current_verdict, read_journal, stored_case
from ruleout.investigation.sharing import Sharer
from ruleout.model import Component, Suspicion, UsageError, Verdict, VerdictStatus


def drafted(folder: Folder) -> str:
    case = stored_case(folder)
    return scaffold(traced(folder, case, current_verdict(case, read_journal(folder)), Suspicion(), Sharer()))


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
