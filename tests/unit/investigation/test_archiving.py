"""An archive: the same investigation elsewhere, without its secrets."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.support.investigations import BODY, CASE, FAILING, FAILURE, stored
from tests.unit.model.test_redaction import PLANTED

from ruleout.investigation import archiving
from ruleout.investigation.archiving import export
from ruleout.investigation.folder import Folder
from ruleout.investigation.listener import Listener
from ruleout.investigation.session import current_verdict, investigate, read_journal, stored_case
from ruleout.investigation.sharing import Sharer
from ruleout.investigation.unpacking import unpack
from ruleout.model import Budget, Configuration, UsageError
from ruleout.report.findings import findings
from ruleout.runners.local import LocalRunner

SECRETS = [case for cases in PLANTED.values() for case in cases]
TOKEN = "hf_QrStUvWxYz0123456789AbCdEfGhIjKlMn"


def record(folder: Folder) -> str:
    case = stored_case(folder)
    return findings(case, current_verdict(case, read_journal(folder)))


def there(folder: Folder, home: Path) -> Folder:
    """The investigation as it is elsewhere."""
    export(folder, home / "a.zip")
    return unpack(home / "a.zip", home / "there" / "of-it")[0]


def contents(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        return "\n".join([*archive.namelist(), *(archive.read(name).decode() for name in archive.namelist())])


def test_elsewhere_it_says_the_same(tmp_path: Path) -> None:
    here = stored(tmp_path)
    assert record(there(here, tmp_path)) == record(here)


def test_the_same_investigation_gives_the_same_archive_without_a_database_or_a_lock(tmp_path: Path) -> None:
    here = stored(tmp_path)
    export(here, tmp_path / "a.zip")
    export(here, tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    names = zipfile.ZipFile(tmp_path / "a.zip").namelist()
    assert "trials/0001/server.log" in names
    assert not [name for name in names if name.endswith((".db", "lock", ".html", ".md"))]
    assert not list(tmp_path.glob(".*"))


def test_events_keep_their_time_and_trials_their_marks(tmp_path: Path) -> None:
    here = stored(tmp_path)
    other = there(here, tmp_path)
    before, after = read_journal(here), read_journal(other)
    assert (after.trials, after.taken) == (before.trials, before.taken)
    assert after.imported
    assert not before.imported


def test_none_of_the_planted_secrets_is_in_it(tmp_path: Path) -> None:
    lines = "\n".join(line for line, _ in SECRETS)
    log = f"{lines}\n{FAILING}"
    number = FAILURE.evidence[0].line + lines.count("\n") + 1
    failure = replace(FAILURE, evidence=(replace(FAILURE.evidence[0], line=number),), client=SECRETS[2][0])
    case = CASE.replace("--enforce-eager]", "--enforce-eager, --api-key, my-own-key-17, -u, 'alice:s3kr']")
    case = case.replace("prompt: The capital of France is", "prompt: What my company asks")
    case = case.replace("factors:", f"env: {{HF_TOKEN: {TOKEN}, DB_PASSWORD: abc}} # hunter22\nfactors:")
    env = {"HF_TOKEN": TOKEN, "SMTP_PASS": "xyz1"}
    here = stored(tmp_path, case=case, failing=log, failure=failure, report=lines, body=BODY, env=env)
    (here.trial(1) / "answers.json").write_text(json.dumps({"answers": [{"content": "told in confidence"}]}))
    (here.trial(1) / "events.jsonl").write_text(json.dumps({"kind": "x", "host": "wabe-node-7"}) + "\n{half")
    done = export(here, tmp_path / "a.zip")
    text = contents(tmp_path / "a.zip")
    assert [secret for _, secret in SECRETS if secret in text] == []
    for word in (TOKEN, "my-own-key-17", "s3kr", "company", "hunter22", "told in confidence", "wabe-node", "xyz1"):
        assert word not in text, word
    assert "DB_PASSWORD: abc" not in text
    assert {"token", "password", "prompt", "host", "user"} <= {one.kind for one in done.replaced}
    other = unpack(tmp_path / "a.zip", tmp_path / "elsewhere")[0]
    shown = (other.trial(1) / "server.log").read_text().split("\n")
    assert shown[number - 1] == FAILING.split("\n")[FAILURE.evidence[0].line - 1]
    assert "1 of 2: HTTP 500" in record(other) or FAILURE.message in record(other)


def test_a_level_that_is_a_secret_is_the_same_placeholder_in_the_case_and_in_all_trials(tmp_path: Path) -> None:
    flag = "api_key: {flag: --api-key, levels: [k1y, other], baseline: k1y}"
    case = CASE.replace("--enforce-eager]", "--enforce-eager, --api-key, k1y]")
    case = case.replace("factors:\n", f"factors:\n  {flag}\n")
    other = there(stored(tmp_path, case=case), tmp_path)
    factor = stored_case(other).factor("api_key")
    assert factor.baseline.startswith("<")
    assert {t.configuration["api_key"] for t in read_journal(other).trials} == {factor.baseline}


def test_what_is_not_replaced_in_the_case_stays_as_it_was_written(tmp_path: Path) -> None:
    case = CASE.replace('levels: ["2048", absent]', 'levels: ["2048", absent, "1e-3", "off"]')
    case += "workers: 2\ncost: {measured: false}\ntimeout: null\nready: {timeout: 90s, path: ~}\n"
    here = stored(tmp_path, case=case)
    before, after = stored_case(here), stored_case(there(here, tmp_path))
    assert after == before


def test_a_case_of_a_name_that_is_replaced_has_a_name_all_the_same(tmp_path: Path) -> None:
    case = CASE.replace("name: kv-of-eight-bits", "name: ip-10-1-2-3")
    assert stored_case(there(stored(tmp_path, case=case), tmp_path)).name == "host-1"


def test_lines_of_a_log_keep_their_numbers_whatever_is_replaced_or_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "-----BEGIN PRIVATE KEY-----\nabcd\nefgh\n-----END PRIVATE KEY-----"
    here = stored(tmp_path)
    many = "".join(f"line {n} with some words in it\n" for n in range(4, 80_000))
    (here.trial(1) / "server.log").write_text(f"first\n{key}\n{many}last line\n")
    monkeypatch.setattr(archiving, "LONGEST", 2 << 20)
    monkeypatch.setattr(archiving, "_CHUNK", 1 << 16)
    other = there(here, tmp_path)
    before = (here.trial(1) / "server.log").read_text().split("\n")
    after = (other.trial(1) / "server.log").read_text().split("\n")
    assert len(after) == len(before)
    assert "abcd" not in after[2]
    assert (after[0], after[100], after[-2]) == (before[0], before[100], "last line")
    assert after[40_000] == ""


def test_links_and_what_is_no_text_stay_here_and_are_named(tmp_path: Path) -> None:
    here = stored(tmp_path)
    (tmp_path / "private").write_text("x")
    (here.trial(1) / "evidence" / "link.txt").symlink_to(tmp_path / "private")
    (here.trial(1) / "evidence" / "core.bin").write_bytes(b"\0\1\2")
    done = export(here, tmp_path / "a.zip")
    assert dict(done.left_out).keys() == {"trials/0001/evidence/link.txt", "trials/0001/evidence/core.bin"}
    assert "core.bin" not in contents(tmp_path / "a.zip")


def test_of_a_trace_what_it_came_to_travels(tmp_path: Path) -> None:
    here = stored(tmp_path)
    trace = here.path / "traces" / "0007"
    trace.mkdir(parents=True)
    (trace / "trace.json").write_text(json.dumps({"schema": "ruleout.trace/1", "born": None, "host": "wabe-node-7"}))
    (trace / "records.jsonl").write_text('{"kind": "call"}\n')
    other = there(here, tmp_path)
    assert json.loads((other.path / "traces" / "0007" / "trace.json").read_text())["host"] == "<host-1>"
    assert not (other.path / "traces" / "0007" / "records.jsonl").exists()


def test_a_case_that_means_nothing_without_its_secrets_is_said_to_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = stored(tmp_path)
    monkeypatch.setattr(Sharer, "yaml_text", lambda self, text: text.replace("engine: vllm", "engine: ["))
    with pytest.raises(UsageError, match="without its secrets"):
        export(here, tmp_path / "a.zip")
    assert not [path for path in tmp_path.iterdir() if path.name != "ruleout"]


def test_an_imported_investigation_is_not_gone_on_with(tmp_path: Path) -> None:
    listener = cast(Listener, None)
    other = there(stored(tmp_path), tmp_path)
    case = stored_case(other)
    with pytest.raises(UsageError, match="it was imported"):
        investigate(
            case, other.case.read_text(), other, LocalRunner(), listener, resume=True, budget=Budget(), given=()
        )
    assert case.baseline == Configuration(kv_cache_dtype="fp8_e4m3", max_model_len="2048", deep_gemm="unset")
