"""`issue`, `export`, `import`, `rules new` and `--junit`, as a person or a CI calls them."""

from __future__ import annotations

import io
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.support.investigations import CASE, ERROR, FAILURE, stored

from ruleout.interfaces.cli.main import _run as run
from ruleout.model import Exposure, Stage
from ruleout.report.issue import TEMPLATES

NAME = "kv-of-eight-bits"
KEY = "my-own-key-17"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with an investigation whose command holds a key."""
    monkeypatch.setenv("RULEOUT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    stored(tmp_path, case=CASE.replace("--enforce-eager]", f"--enforce-eager, --api-key, {KEY}]"))
    return tmp_path


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


@pytest.mark.parametrize("project", TEMPLATES)
def test_a_report_is_printed_with_what_was_replaced_and_written_once_a_person_says_yes(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: str
) -> None:
    answer(monkeypatch, "y\n")
    assert run(["issue", NAME, "--for", project]) == 0
    out, err = capsys.readouterr()
    assert ERROR in out
    assert "--api-key <token-1>" in out
    assert "<token-1>" in err
    assert "token" in err
    assert KEY not in out + err
    assert (home / "ruleout" / NAME / f"issue-{project}.md").read_text() == out


def test_where_no_line_tells_of_a_stage_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    stored(Path.cwd(), failure=replace(FAILURE, exposure=Exposure(Stage.UNKNOWN, 1)))
    for verb in (
        ["status"],
        ["findings"],
        ["report"],
        ["export", "--junit", "a.xml"],
        ["rules", "new", "--from", NAME],
        *(["issue", "--for", project, "--yes"] for project in TEMPLATES),
    ):
        assert run(verb) == 0, verb
    page = (Path("ruleout") / NAME / "report.html").read_text()
    told = capsys.readouterr().out + Path("a.xml").read_text() + page.partition("<main")[2]
    assert ERROR in told
    assert [line for line in told.splitlines() if re.search(r"\bunknown\b", line)] == []


@pytest.mark.parametrize("said", ["n\n", "\n", "perhaps\n"])
def test_without_a_yes_nothing_is_written(home: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    answer(monkeypatch, said)
    assert run(["issue"]) == 0
    assert not list(home.rglob("issue-*"))


def test_without_anybody_to_answer_it_is_printed_and_not_written(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch, "")
    assert run(["issue"]) == 4
    out, err = capsys.readouterr()
    assert ERROR in out
    assert err.splitlines()[-2:] == [
        "ruleout: nothing was written: nobody was there to approve it",
        "  Read it, then add --yes.",
    ]
    assert not list(home.rglob("issue-*"))


def test_a_flag_stands_for_the_approval(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert run(["issue", "--yes", "-o", "mine.md"]) == 0
    assert ERROR in (home / "mine.md").read_text()


def test_as_json_it_is_one_document_and_written_only_with_the_flag(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["issue", "--for", "sglang", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert next(iter(document)) == "schema"
    assert (document["schema"], document["for"], document["file"]) == ("ruleout.issue/1", "sglang", None)
    assert document["title"].startswith("[Bug] ValueError: scale of layer 3")
    assert document["replacements"][0] | {"count": 0} == {"kind": "token", "placeholder": "<token-1>", "count": 0}
    assert not list(home.rglob("issue-*"))
    assert run(["issue", "--for", "sglang", "--json", "--yes"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert Path(document["file"]).is_file()


def test_what_a_rule_refers_to_in_that_project_is_named_before_it_is_reported_again(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 3, 6):
        log = home / "ruleout" / NAME / "trials" / f"{number:04d}" / "server.log"
        log.write_text(log.read_text().replace(ERROR, "ValueError: Head dimension 96 is not supported by MLA."))
    assert run(["issue", "--for", "vllm", "--yes"]) == 0
    assert "It may be known there already: https://github.com/vllm-project/vllm/" in capsys.readouterr().err
    assert run(["issue", "--for", "flashinfer", "--yes"]) == 0
    assert "known there already" not in capsys.readouterr().err


def test_the_configuration_of_a_model_that_is_here_is_quoted(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "mini").mkdir()
    (home / "mini" / "config.json").write_text('{"model_type": "qwen3", "auth_token": "hf_QrStUvWxYz0123456789Ab"}')
    case = home / "ruleout" / NAME / "case.yaml"
    case.write_text(case.read_text().replace("/models/mini", "mini"))
    assert run(["issue", "--yes"]) == 0
    out = capsys.readouterr().out
    assert '"model_type": "qwen3"' in out
    assert "hf_QrSt" not in out
    assert run(["export"]) == 0
    assert run(["import", f"{NAME}.ruleout.zip", "--dir", "there"]) == 0
    capsys.readouterr()
    assert run(["issue", "--dir", "there", "--yes"]) == 0
    assert "qwen3" not in capsys.readouterr().out  # what is imported reads nothing of this machine


def test_an_engine_without_a_template_is_told_what_there_is(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = home / "ruleout" / NAME / "case.yaml"
    case.write_text(case.read_text().replace("engine: vllm", "engine: llama.cpp"))
    assert run(["issue"]) == 2
    assert "Give --for sglang|vllm|transformers|flashinfer." in capsys.readouterr().err


def test_an_archive_is_the_investigation_elsewhere_for_every_verb(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["findings", NAME]) == 0
    here = capsys.readouterr().out
    assert run(["export", NAME]) == 0
    out, err = capsys.readouterr()
    archive = Path(out.strip())
    assert archive == home / f"{NAME}.ruleout.zip"
    assert "<token-1>" in err
    (home / "elsewhere").mkdir()
    monkeypatch.chdir(home / "elsewhere")
    assert run(["import", str(archive)]) == 0
    assert "Isolated (99.4 %)" in capsys.readouterr().out
    for verb in (["status"], ["report"], ["issue", "--yes"], ["rules", "new", "--from", NAME], ["findings"]):
        assert run(verb) == 0, verb
        out = capsys.readouterr().out
        assert KEY not in out
    assert out == here.replace(KEY, "<token-1>")
    assert KEY not in "".join(path.read_text(errors="replace") for path in Path().rglob("*") if path.is_file())


def test_an_archive_is_never_written_over(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "a.zip").write_text("mine")
    assert run(["export", "-o", "a.zip"]) == 2
    assert (home / "a.zip").read_text() == "mine"
    assert "exists already" in capsys.readouterr().err


def test_a_bad_archive_is_refused_in_two_lines(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "a.zip").write_text("no archive")
    assert run(["import", "a.zip"]) == 2
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 2
    assert err[0].startswith("ruleout: a.zip: no archive of an investigation")


def test_export_as_json_says_what_became_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "ruleout.exported/1"
    assert document["files"] > 20
    assert document["left_out"] == []


def test_an_investigation_is_tests_for_a_ci(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "--junit", "out.xml"]) == 0
    text = (home / "out.xml").read_text()
    assert KEY not in text
    assert [len(test) for test in ElementTree.fromstring(text).iter("testcase")] == [1, 0, 1, 1, 0, 1]
    assert not list(home.glob("*.zip"))
    assert run(["export", "--junit", "out.xml", "-o", "a.zip"]) == 2


@pytest.mark.parametrize(("script", "status", "element"), [("exit 0", 0, None), ("exit 3", 1, "failure")])
def test_a_check_is_a_test_for_a_ci(home: Path, script: str, status: int, element: str | None) -> None:
    assert run(["check", "--junit", "out.xml", "--", "sh", "-c", f"echo API_KEY={KEY}; {script}"]) == status
    (test,) = ElementTree.parse(home / "out.xml").getroot().iter("testcase")
    assert [child.tag for child in test] == ([element] if element else [])
    assert KEY not in (home / "out.xml").read_text()


def test_a_rule_is_drafted_to_a_new_file_only_and_passes_its_test(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rules", "new", "--from", NAME, "-o", "mine.yaml"]) == 0
    assert run(["rules", "test", "mine.yaml"]) == 0
    assert "✓ 1 rules" in capsys.readouterr().out
    assert run(["rules", "new", "--from", NAME, "-o", "mine.yaml"]) == 2
    assert run(["rules", "new", "--from", "nothing"]) == 2


# -- what is there already ---------------------------------------------------------------------------------------------

MINE = "mine\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["export", "-o", "mine"],
        ["export", "--junit", "mine"],
        ["check", "--junit", "mine", "--", "touch", "started"],
        ["investigate", "case.yaml", "--junit", "mine"],
        ["issue", "--yes", "-o", "mine"],
        ["issue", "--yes", "--json", "-o", "mine"],
        ["rules", "new", "--from", NAME, "-o", "mine"],
    ],
    ids=" ".join,
)
def test_no_file_of_a_person_is_written_over_and_that_is_known_before_anything_starts(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    (home / "mine").write_text(MINE)
    assert run(arguments) in (2, 129)
    out, err = capsys.readouterr()
    assert (home / "mine").read_text() == MINE
    assert not out
    assert "mine exists already" in err.splitlines()[0]
    assert len(err.splitlines()) == 2
    assert not (home / "started").exists()


def test_before_a_report_is_replaced_that_is_asked(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "mine").write_text(MINE)
    answer(monkeypatch, "n\n")
    assert run(["issue", "-o", "mine"]) == 0
    assert "Replace mine, which is there already?" in capsys.readouterr().err
    assert (home / "mine").read_text() == MINE
    answer(monkeypatch, "y\n")
    assert run(["issue", "-o", "mine"]) == 0
    assert ERROR in (home / "mine").read_text()


def test_the_tests_of_yesterday_are_replaced(home: Path) -> None:
    for _ in range(2):
        assert run(["export", "--junit", "out.xml"]) == 0
    (home / "empty.xml").touch()
    assert run(["export", "--junit", "empty.xml"]) == 0
    assert (home / "empty.xml").read_text() == (home / "out.xml").read_text()


def test_findings_are_shown_where_they_cannot_be_written(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = home / "ruleout" / NAME / "FINDINGS.md"
    kept.unlink(missing_ok=True)
    kept.mkdir()
    assert run(["findings"]) == 4
    out, err = capsys.readouterr()
    assert out.startswith(f"# {NAME}")
    assert len(err.splitlines()) == 2


def test_a_folder_that_cannot_be_made_is_named_as_it_was_given(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "-o", "a.zip"]) == 0
    capsys.readouterr()
    assert run(["import", "a.zip", "--dir", "a.zip/there"]) == 4
    problem, remedy = capsys.readouterr().err.splitlines()
    assert problem == f"ruleout: {home}/a.zip/there: File exists"
    assert "--dir" in remedy


def test_a_folder_whose_name_cannot_be_typed_travels_all_the_same(home: Path) -> None:
    (home / "ruleout" / NAME).rename(home / "two\nlines")
    assert run(["export", "--dir", "two\nlines", "-o", "a.zip"]) == 0
    assert run(["import", "a.zip"]) == 0
    assert (home / "ruleout" / "two-lines" / "FINDINGS.md").is_file()
