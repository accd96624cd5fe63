"""`ruleout diagnose` with several logs: how they were taken, its sections, its document, and `--against`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ruleout.interfaces.cli.main import run

FIXTURES = Path(__file__).parents[1]
FOUNDING = FIXTURES / "diagnosis" / "fixtures" / "founding"
LOGS = [str(FOUNDING / name) for name in ("default.log", "triton.log", "flashmla-sparse.log")]
HEALTHY = FIXTURES / "reading" / "fixtures" / "sglang-resolved-settings.log"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["diagnose", "--json", *arguments]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["diagnose", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", ["40", "80", "140"])
def test_a_story_is_one_screen_with_its_sections(
    columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    rows = shown(capsys, *LOGS).splitlines()
    assert len(rows) <= 40
    assert all(len(row) <= int(columns) for row in rows)
    if columns != "40":
        for label in ("The target", "What was varied", "Masked", "Untried levels", "Never varied", "Not evidence"):
            assert any(row.startswith(label) for row in rows), label
        assert any("kv_cache_dtype=fp8_e4m3, chosen by the engine in all 3" in row for row in rows)
        assert any("Its remedy cannot work" in row for row in rows)


def test_many_runs_are_counted_and_leave_room_for_what_was_never_varied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    texts = [(FOUNDING / name).read_text() for name in ("flashmla-sparse.log", "triton.log")]
    for n in range(12):
        (tmp_path / f"{n}.log").write_text(texts[n % 4 == 0].replace("2026-03-02", f"2026-04-{1 + n:02d}"))
    rows = shown(capsys, str(tmp_path)).splitlines()
    assert len(rows) <= 40
    assert any("✗ 9 show the target, ◌ 3 are masked; each by itself: --json" in row for row in rows)
    assert any(row.startswith("Never varied") for row in rows)


def test_how_the_logs_were_taken_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "3 runs, " in shown(capsys, *LOGS)
    for rank in range(2):
        (tmp_path / f"rank{rank}.log").write_text(f"ValueError: the shape of rank {rank} is wrong\n")
    assert "one run of 2 rank logs" in shown(capsys, str(tmp_path))
    assert "3 runs" in shown(capsys, str(FOUNDING))


def test_the_document_describes_the_target_and_adds_the_story(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, *LOGS)
    assert found["schema"] == "ruleout.diagnosis/1"
    assert found["failure"]["class"] == found["target"]["class"] == "device_side_assert"
    assert found["failure"]["source"] == "default.log"
    assert found["never_varied"][0] == "kv_cache_dtype"
    assert all(isinstance(name, str) for name in found["never_varied"])
    assert [(r["source"], r["masked"], r["informative"]) for r in found["runs"]] == [
        ("default.log", False, True),
        ("triton.log", True, False),
        ("flashmla-sparse.log", False, True),
    ]
    assert {"source", "failure", "why"} <= set(found["masked"][0])
    assert {"name", "tried", "untried"} <= set(found["untried"][0])
    assert found["runs"][1]["failure"]["class"] == "incompatible_config_assert"
    assert {source["name"] for source in found["sources"]} == {"default.log", "triton.log", "flashmla-sparse.log"}
    assert sum(s["probability"] for s in found["suspects"]) + found["unexplained"] == pytest.approx(1)


def test_one_log_has_no_story(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, LOGS[0])
    assert found["never_varied"] == []
    assert "runs" not in found
    assert "The target" not in shown(capsys, LOGS[0])


def test_a_log_given_twice_is_read_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "runs" not in document(capsys, LOGS[0], f"{FOUNDING}/../founding/default.log")
    copy = tmp_path / "copy.log"
    copy.write_bytes(Path(LOGS[0]).read_bytes())
    assert document(capsys, LOGS[0], str(copy))["copies"] == [["copy.log", "default.log"]]
    assert "read once" in shown(capsys, LOGS[0], str(copy))


def test_against_a_good_run_its_warnings_weigh_nothing_and_what_differs_is_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = document(capsys, LOGS[0], "--against", str(HEALTHY))
    assert found["good"] == [HEALTHY.name]
    rope = next(warning for warning in found["warnings"] if "RoPE" in warning["text"])
    assert rope["weight"] == 0
    differs = {item["name"]: (item["good"], item["bad"]) for item in found["against"]}
    assert differs["attention_backend"] == ("triton", "nsa")
    assert differs["tp_size"] == ("2", "8")
    assert not {"port", "host", "model_path", "random_seed"} & set(differs)
    screen = shown(capsys, LOGS[0], "--against", str(HEALTHY))
    assert "attention_backend: triton → nsa" in screen
    assert "shared with a good run" in screen


def test_a_run_that_is_not_known_to_be_good_is_refused_in_two_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.log"
    empty.touch()
    for wrong, why in ((LOGS[1], "it failed in prefill"), (str(empty), "does not say that it ran well")):
        assert run(["diagnose", LOGS[0], "--against", wrong]) == 2
        printed = capsys.readouterr()
        assert not printed.out
        assert len(printed.err.splitlines()) == 2
        assert Path(wrong).name in printed.err
        assert why in printed.err
    assert run(["diagnose", LOGS[0], "--against", str(tmp_path / "missing.log")]) == 2


def test_an_unreadable_log_among_readable_ones_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", *LOGS, str(tmp_path / "missing.log")]) == 2
    assert "missing.log: no such file" in capsys.readouterr().err


def test_an_empty_log_among_others_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.log"
    empty.touch()
    found = document(capsys, *LOGS, str(empty))
    assert found["runs"][3]["says"] == "unresolved"
    assert found["never_varied"][0] == "kv_cache_dtype"


def test_a_good_run_that_tells_nothing_that_the_failing_one_tells_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.log", tmp_path / "bad.log"
    good.write_text("INFO:     the server is ready\nanswered\n")
    bad.write_text("ValueError: bad shape\n")
    assert run(["diagnose", str(bad), "--against", str(good)]) == 2
    told = capsys.readouterr().err
    assert "--against good.log: nothing to compare" in told
    assert len(told.splitlines()) == 2
