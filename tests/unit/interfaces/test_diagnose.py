"""`ruleout diagnose` as a verb: what it exits with, what it says of what cannot be read, and that its screen fits."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ruleout.interfaces.cli import pipes
from ruleout.interfaces.cli.diagnosis import printable, screen
from ruleout.interfaces.cli.main import run
from ruleout.model import (
    ChosenBy,
    Component,
    DiagnosedFailure,
    Diagnosis,
    EngineId,
    Environment,
    Evidence,
    FailureClass,
    LogOutcome,
    LogSource,
    LogWarning,
    ProposedStep,
    Setting,
    Stage,
    StageSpan,
    StepKind,
    Suspect,
)

FIXTURES = Path(__file__).parents[1] / "reading" / "fixtures"
CRASH = FIXTURES / "sglang-device-assert.log"

FULL = Diagnosis(
    EngineId("sglang", "0.5.9"),
    LogOutcome.CRASH,
    Stage.DECODE,
    tuple(StageSpan(stage, 10 * n, 12.0 * n) for n, stage in enumerate(Stage, 1) if stage is not Stage.UNKNOWN),
    DiagnosedFailure(
        FailureClass.DEVICE_SIDE_ASSERT,
        "5f2c00000000",
        "Assertion `probability tensor contains either inf, nan or element < 0` failed. " * 4,
        812,
        0,
        True,
        tuple(Evidence("server.log", 840 + n, "consequence " * 30) for n in range(9)),
        "RuntimeError",
        "[2025-11-29 20:41:31 TP0] /pytorch/aten/src/ATen/native/cuda/TensorCompare.cu:112: block: [0,0,0] " * 3,
        "TP0",
        ("model_runner.py:forward", "sampler.py:forward"),
        "server.log",
    ),
    Environment(
        gpu="NVIDIA RTX PRO 6000 Blackwell Server Edition", sm="120", gpus=8, tp=8, dp=8, ep=8,
        quantization="modelopt_fp4", model="/models/zai-org/GLM-5-NVFP4-with-a-long-name", model_type="glm_moe_dsa",
    ),
    tuple(Setting(f"kv_cache_dtype_{n}", "auto", "fp8_e4m3" * 20, ChosenBy.ENGINE, 44, "server.log") for n in range(30))
    + tuple(Setting(f"flag_{n}", "value" * 30, None, ChosenBy.USER, 2, "server.log") for n in range(30)),
    tuple(LogWarning(12 + n, "warning " * 40, source="server.log") for n in range(40)),
    reason="the log reports a failure",
    sources=(LogSource("a-folder/" * 30 + "server.log", 1214, 99, truncated=True),),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import signal

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert run(["diagnose", "--json", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    parsed: dict[str, object] = json.loads(out)
    return parsed


def test_a_failing_log_that_could_be_read_is_a_job_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", str(CRASH)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "device-side assert" in out
    assert "reported late" in out


def test_the_document_begins_with_its_schema_and_has_every_key_of_the_contract(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = document(capsys, str(CRASH))
    assert list(found)[:13] == [
        "schema", "engine", "outcome", "stage", "stages", "failure", "environment", "settings", "warnings", "suspects",
        "unexplained", "never_varied", "next",
    ]  # fmt: skip
    assert found["schema"] == "ruleout.diagnosis/1"
    assert found["never_varied"] == []
    assert isinstance(found["suspects"], list)
    assert isinstance(found["unexplained"], float)
    assert sum(suspect["probability"] for suspect in found["suspects"]) + found["unexplained"] == pytest.approx(1)
    assert all(suspect["evidence"] and suspect["test"] for suspect in found["suspects"])
    assert found["next"]
    assert isinstance(found["failure"], dict)
    assert found["failure"]["class"] == "device_side_assert"


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_a_log(
    packed: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = gzip.compress(CRASH.read_bytes()) if packed else CRASH.read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert document(capsys, "-")["outcome"] == "crash"


def test_a_compressed_log_says_what_the_log_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "server.log.gz"
    path.write_bytes(gzip.compress(CRASH.read_bytes()))
    plain, packed = document(capsys, str(CRASH)), document(capsys, str(path))
    assert isinstance(plain["failure"], dict)
    assert isinstance(packed["failure"], dict)
    assert plain["failure"]["signature"] == packed["failure"]["signature"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_pipe_is_a_log(packed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    data = gzip.compress(CRASH.read_bytes()) if packed else CRASH.read_bytes()
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    assert document(capsys, str(path))["outcome"] == "crash"
    writer.join()


def test_who_waits_for_a_pipe_is_told_so_and_its_log_is_read_once_somebody_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipes, "_PATIENCE", 0.05)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Timer(0.5, path.write_bytes, args=(CRASH.read_bytes(),))
    writer.start()
    assert run(["diagnose", "--json", str(path)]) == 0
    told = capsys.readouterr()
    writer.join()
    assert json.loads(told.out)["outcome"] == "crash"
    assert told.err.count("\n") == 1
    assert f"{path}: a pipe to which nobody has written yet" in told.err


def test_a_pipe_whose_writer_wrote_nothing_is_an_empty_log(capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = os.pipe()
    os.close(theirs)
    assert document(capsys, f"/dev/fd/{ours}")["outcome"] == "unknown"
    os.close(ours)


def test_a_folder_of_rank_logs_is_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ranks").mkdir()
    (tmp_path / "ranks" / "rank0.log").write_text("INFO 11-29 16:25:30 [a.py:9] all is well\n")
    (tmp_path / "ranks" / "rank1.log").write_bytes(CRASH.read_bytes())
    found = document(capsys, str(tmp_path / "ranks"))
    assert isinstance(found["failure"], dict)
    assert found["failure"]["source"] == "rank1.log"
    assert run(["diagnose", str(tmp_path / "ranks")]) == 0
    assert "rank1.log:" in capsys.readouterr().out


ACCOUNTS = b"root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\0" * 5000, ACCOUNTS])
def test_what_is_no_log_is_told_as_such(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(content)
    assert run(["diagnose", str(path)]) == 0
    assert "Nothing recognised" in capsys.readouterr().out
    assert document(capsys, str(path))["failure"] is None


def test_what_cannot_be_read_is_an_error_of_two_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "model.safetensors").write_bytes(b"\0" * 100)
    (tmp_path / "core.log").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "cut.log.gz").write_bytes(b"\x1f\x8b\x08\0\0")
    for name in ("missing.log", "empty", "models", "core.log", "cut.log.gz"):
        wrong = str(tmp_path / name)
        assert run(["diagnose", wrong]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert len(err.splitlines()) == 2
        assert wrong in err
    assert run(["diagnose"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_name_that_is_no_text_harms_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "caf\udce9.log"
    path.write_bytes(CRASH.read_bytes())
    document(capsys, str(path))
    assert run(["diagnose", str(path)]) == 0


SUSPECTED = replace(
    FULL,
    suspects=tuple(
        Suspect(
            component,
            "what may be wrong with it, told at length " * 4,
            0.2,
            evidence=tuple(Evidence("server.log", 100 * n, "a line") for n in range(1, 5)),
            test="fails alike without it",
        )
        for component in (Component.QUANTIZATION, Component.KERNEL_ARCH_SUPPORT, Component.TRANSFORMERS_VERSION)
    ),
    unexplained=0.4,
    next=tuple(ProposedStep(StepKind.TRIAL, "refutes it " * 20, {"--flag": "level"}) for _ in range(5)),
)


@pytest.mark.parametrize("width", [40, 80, 100, 200])
@pytest.mark.parametrize("full", [FULL, SUSPECTED])
def test_the_fullest_answer_fits_one_screen(full: Diagnosis, width: int) -> None:
    rows = [text for text, _ in screen(full, width)]
    assert len(rows) <= 23 or width < 80
    assert max(map(len, rows)) <= width


def test_the_conclusion_comes_first_and_names_its_line() -> None:
    rows = [text for text, _ in screen(FULL, 100)]
    text = "\n".join(rows)
    assert rows[rows.index("") + 1] == "✗ Crashed in decode: device-side assert"
    assert "line 812, TP0" in text
    assert "reported late: the stack (sampler.py:forward) is not where it began" in text
    assert "asked for auto" in text
    assert all("asked for auto" in row for row in (r for r, _ in screen(FULL, 80)) if "kv_cache_dtype_" in row)
    assert "and 39 more (--json)" in text


def test_what_is_no_evidence_is_quoted_and_why_it_is_none_stands_below() -> None:
    warning = LogWarning(9, "a warning that goes on " * 9, 0.0, "printed by 7 of 8 healthy and 10 of 19 failing runs")
    rows = [text for text, _ in screen(replace(FULL, warnings=(warning,)), 80)]
    at = next(n for n, row in enumerate(rows) if row.startswith("Not evidence"))
    assert rows[at].endswith("…")
    assert "line 9  a warning that goes on a warning" in rows[at]
    assert rows[at + 1].strip() == "Printed by 7 of 8 healthy and 10 of 19 failing runs"


@pytest.mark.parametrize("outcome", list(LogOutcome))
def test_every_outcome_has_its_words(outcome: LogOutcome) -> None:
    for diagnosis in (
        replace(FULL, outcome=outcome),
        replace(FULL, outcome=outcome, failure=None, stage=Stage.UNKNOWN),
    ):
        rows = [text for text, _ in screen(diagnosis, 80)]
        assert any(row[:1] in "✗✓?" for row in rows if row)


def test_a_class_that_the_outcome_says_already_is_not_said_twice() -> None:
    assert FULL.failure is not None
    hang = replace(FULL, outcome=LogOutcome.HANG, failure=replace(FULL.failure, class_=FailureClass.HANG))
    assert "✗ Hung in decode" in [text for text, _ in screen(hang, 80)]


def test_a_conclusion_that_no_line_says_is_told_as_one() -> None:
    assert FULL.failure is not None
    failure = replace(FULL.failure, inferred=True, class_=FailureClass.WRONG_OUTPUT)
    guessed = replace(FULL, outcome=LogOutcome.WRONG_OUTPUT, failure=failure)
    assert "? No line tells of a failure; most likely: wrong output in decode" in [t for t, _ in screen(guessed, 80)]


def test_a_healthy_log_is_called_so() -> None:
    rows = [text for text, _ in screen(replace(FULL, outcome=LogOutcome.HEALTHY, failure=None), 80)]
    assert "✓ Healthy: nothing failed; it came as far as decode" in rows


def test_suspects_come_right_after_the_failure_and_add_up() -> None:
    rows = [text for text, _ in screen(SUSPECTED, 100)]
    title = next(n for n, row in enumerate(rows) if row.startswith("Why, most likely"))
    shown = [row for row in rows[title + 1 :] if "%  " in row[:8]]
    assert shown[0].startswith("  20 %  quantization")
    left = int(rows[title].partition("(")[2].partition("%")[0])
    assert left + 20 * len(shown) == 100
    assert any(row.startswith("  1  --flag level: refutes") for row in rows)


def test_nothing_that_would_move_a_terminal_is_printed() -> None:
    assert printable("a\x1b[2Jb\x07\x9bc\u202e", "utf-8") == "a [2Jb  c "
    assert printable("✗ 中 ok", "ascii") == "x ? ok"


@pytest.mark.parametrize("log", ["", "/dev/zero", "/dev/urandom", "/dev/full"])
def test_a_name_that_is_empty_or_a_device_s_is_refused_in_two_lines(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diagnose", log]) == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert len(printed.err.splitlines()) == 2


def test_a_closed_standard_input_is_refused_in_two_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert run(["diagnose", "-"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_standard_input_without_end_is_refused_and_an_empty_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/zero").open() as endless:
        monkeypatch.setattr(sys, "stdin", endless)
        assert run(["diagnose", "-"]) == 2
    with Path(os.devnull).open() as empty:
        monkeypatch.setattr(sys, "stdin", empty)
        assert run(["diagnose", "-"]) == 0


@pytest.mark.parametrize("width", [40, 50, 64, 80, 100])
def test_the_path_always_ends_with_the_last_stage(width: int) -> None:
    rows = [text for text, _ in screen(FULL, width)]
    begin = next(n for n, row in enumerate(rows) if row.startswith("Came through"))
    assert f"{FULL.stages[-1].name}:" in " ".join(rows[begin : begin + 2])


def test_the_catalogue_can_be_listed_shown_and_tried(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["rules", "list"]) == 0
    assert "triton-shared-memory" in capsys.readouterr().out
    assert run(["rules", "show", "triton-shared-memory"]) == 0
    assert "https://github.com/triton-lang/triton" in capsys.readouterr().out
    assert run(["rules", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "ruleout.rules/1"
    assert run(["rules", "test"]) == 0
    assert capsys.readouterr().out.startswith("✓")
    assert run(["rules", "show", "no-such-rule"]) == 2
    assert run(["rules", "test", str(tmp_path / "missing.yaml")]) == 2


def test_without_rules_no_suspect_names_one(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "--no-rules", str(CRASH))
    assert isinstance(found["suspects"], list)
    assert found["suspects"]
    assert not any(suspect["rule"] for suspect in found["suspects"])


def test_rank_logs_in_folders_are_named_by_their_way_from_the_folder_that_was_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("node0/rank_0", "node0/rank_1", "node1/rank_2"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "stderr.log").write_text("INFO 11-29 16:25:30 [a.py:9] all is well\n")
    (tmp_path / "node1" / "rank_2" / "stderr.log").write_text("ValueError: the heads cannot be divided\n")
    found = document(capsys, str(tmp_path))
    assert isinstance(found["failure"], dict)
    assert (found["failure"]["source"], found["failure"]["rank"]) == ("node1/rank_2/stderr.log", 2)
    assert isinstance(found["sources"], list)
    assert len({source["name"] for source in found["sources"]}) == 3
    files = [str(tmp_path / "node0" / rank / "stderr.log") for rank in ("rank_0", "rank_1")]
    found = document(capsys, *files)
    assert isinstance(found["sources"], list)
    assert [source["name"] for source in found["sources"]] == files


def test_what_was_asked_for_and_refused_comes_first_and_names_come_last() -> None:
    settings = (
        Setting("tokenizer", None, "M", ChosenBy.ENGINE, 1),
        Setting("device_config", None, "cpu", ChosenBy.ENGINE, 1),
        Setting("cudagraph_mode", None, "NONE", ChosenBy.ENGINE, 12),
        Setting("attention_backend", "FLASH_ATTN", None, ChosenBy.ENGINE, 38),
    )
    rows = [text for text, _ in screen(replace(FULL, settings=settings), 80)]
    begin = next(n for n, row in enumerate(rows) if row.startswith("Engine's own choice"))
    assert "line 38  attention_backend: asked for FLASH_ATTN, refused" in rows[begin]
    assert "cudagraph_mode = NONE" in rows[begin + 1]


def test_an_ascii_terminal_does_not_show_a_crash_as_unknown() -> None:
    assert printable("✗ Crashed … › decode", "ascii") == "x Crashed .. > decode"
    assert printable("✓ Healthy", "ascii").startswith("+ ")
    assert printable("✗ Crashed", "utf-8") == "✗ Crashed"


def test_an_interrupted_reading_does_not_speak_of_what_was_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("ruleout.reading.runs.read_runs", interrupted)
    assert run(["diagnose", str(CRASH)]) == 130
    assert capsys.readouterr().err.split("\n")[:2] == ["ruleout: interrupted", "  Nothing was started."]


def test_the_columns_of_the_rules_are_as_wide_as_the_longest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "list"]) == 0
    rows = capsys.readouterr().out.splitlines()
    column = max(row.index(" ") for row in rows) + 1
    assert all(row[column - 1] == " " and row[column] != " " for row in rows)


def test_a_secret_of_the_command_is_nowhere_in_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = "hf_" + "QwErTyUiOpAsDfGhJk"
    log = tmp_path / "server.log"
    log.write_text(
        f"$ docker run --rm -e HF_TOKEN={secret} acme/vllm:v1 vllm serve /m --enforce-eager\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    )
    for more in (["--json"], []):
        assert run(["diagnose", *more, str(log)]) == 0
        shown = capsys.readouterr().out
        assert secret not in shown
        assert "docker run" in shown or not more
