"""What a bug report quotes of an investigation's folder, and that none of its secrets leave with it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.investigations import BODY, CASE, ERROR, FAILING, FAILURE, LINE, stored
from tests.unit.model.test_redaction import PLANTED

from ruleout.investigation.excerpting import excerpt, inside
from ruleout.investigation.folder import Folder
from ruleout.investigation.issuing import material
from ruleout.investigation.session import current_verdict, read_journal, stored_case
from ruleout.investigation.sharing import Sharer, replaced
from ruleout.model.issue import IssueMaterial
from ruleout.report.issue import TEMPLATES, body, title, written

SECRETS = [case for cases in PLANTED.values() for case in cases]


def gathered(folder: Folder, sharer: Sharer | None = None) -> IssueMaterial:
    case = stored_case(folder)
    return material(folder, case, current_verdict(case, read_journal(folder)), sharer or Sharer())


def test_the_first_error_is_quoted_with_its_traceback_and_what_was_said_before(tmp_path: Path) -> None:
    found = gathered(stored(tmp_path)).excerpt
    assert found is not None
    assert (found.source, found.marked) == ("trials/0001/server.log", LINE)
    assert found.lines[found.marked - found.first].endswith(ERROR)
    assert any("Traceback" in line for line in found.lines)
    assert any("…/site-packages/vllm/core.py" in line for line in found.lines)


def test_the_request_the_environment_and_the_model_are_those_of_the_failing_trial(tmp_path: Path) -> None:
    found = gathered(stored(tmp_path))
    assert found.sent is not None
    assert (found.sent.path, found.sent.body) == ("/v1/completions", BODY)
    assert [(one.command, one.text.strip()) for one in found.environments] == [
        ("python -m vllm.collect_env", "GPU models: none")
    ]
    assert found.model == "/models/mini"


def test_the_prompt_that_ruleout_sends_itself_is_nobody_s_secret(tmp_path: Path) -> None:
    sharer = Sharer()
    text = sharer.text(body("vllm", gathered(stored(tmp_path), sharer)))
    assert "The capital of France is" in text
    assert replaced([text]) == ()


@pytest.mark.parametrize("project", TEMPLATES)
def test_none_of_the_planted_secrets_is_in_a_report(tmp_path: Path, project: str) -> None:
    lines = "\n".join(line for line, _ in SECRETS)
    log = FAILING.replace(
        "(EngineCore pid=9) ERROR 11-29 16:26:01 [core.py:700] Trace", f"{lines}\n[core.py:700] Trace"
    )
    line = log.split("\n").index(next(one for one in log.split("\n") if ERROR in one)) + 1
    case = CASE.replace("--enforce-eager]", "--enforce-eager, --api-key, my-own-key-17, --max-model-len=2048]")
    case = case.replace(
        "factors:", "env: {HF_TOKEN: hf_QrStUvWxYz0123456789AbCdEfGhIjKlMn, DB_PASSWORD: short}\nfactors:"
    )

    failure = replace(FAILURE, evidence=(replace(FAILURE.evidence[0], line=line),), client=SECRETS[1][0])
    folder = stored(
        tmp_path, case=case, failing=log, report=lines, failure=failure, body=json.dumps({"prompt": "a secret wish"})
    )
    sharer = Sharer()
    found = gathered(folder, sharer)
    text = sharer.text(written(title(project, found), body(project, found)))
    assert ERROR in text
    assert [secret for _, secret in SECRETS if secret in text] == []
    assert not any(word in text for word in ("hf_QrSt", "my-own-key", "DB_PASSWORD=short", "secret wish"))
    kinds = {one.kind for one in replaced([text])}
    assert {"token", "password", "prompt", "user", "host", "address"} <= kinds


def test_a_key_whose_beginning_lies_above_the_excerpt_does_not_leave(tmp_path: Path) -> None:
    pem = [
        "-----BEGIN PRIVATE KEY-----",
        *(f"q8Zb{n}PlantedPlantedPlanted" for n in range(60)),
        "-----END PRIVATE KEY-----",
    ]
    (tmp_path / "a.log").write_text("\n".join([*pem[:-1], pem[-1], "RuntimeError: x", "after"]) + "\n")
    found = excerpt(tmp_path, "a.log", len(pem) + 1, Sharer().text)
    assert found is not None
    assert found.lines[found.marked - found.first] == "RuntimeError: x"
    assert "Planted" not in "\n".join(found.lines)


def test_what_leads_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x\n")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret.txt")
    for name in ("../secret.txt", str(tmp_path / "secret.txt"), "link", "nothing", "."):
        assert inside(folder, name) is None
        assert excerpt(folder, name, 1, str) is None


def test_a_log_of_one_endless_line_and_one_that_is_too_short_are_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"x" * (3 << 20))
    found = excerpt(tmp_path, "a.log", 1, str)
    assert found is not None
    assert sum(map(len, found.lines)) < 1 << 18
    assert excerpt(tmp_path, "a.log", 9, str) is None
    assert excerpt(tmp_path, "a.log", 0, str) is None


@pytest.mark.parametrize("lines", [5, 3000, 60_000])
def test_the_number_of_a_line_is_that_in_the_file(tmp_path: Path, lines: int) -> None:
    (tmp_path / "a.log").write_text("".join(f"this is line {n} of the log\n" for n in range(1, lines + 1)))
    for wanted in {1, lines // 2, lines}:
        found = excerpt(tmp_path, "a.log", wanted, str)
        assert found is not None
        assert found.lines[wanted - found.first] == f"this is line {wanted} of the log"


def test_damaged_particulars_of_a_trial_are_left_out(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    for text in ("", "[]", '{"probes": 3}', '{"probes": [{"step": 1}]}', "[" * 100_000):
        (folder.trial(1) / "trial.json").write_text(text)
        assert gathered(folder).sent is None
