"""What is missing or in the way is named, in two lines; nothing of others is stopped, and nothing of ours is left."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.investigations import FAILING, stored

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

SLOW = pytest.mark.slow
"""More of the same."""
FACTORS = {"batching": ["on", "off"], "dtype": ["f32", "bf16"]}
FAILS = [{"--batching": "on"}]


def test_a_port_that_somebody_else_holds_is_refused_and_the_holder_named(workshop: Workshop) -> None:
    workshop.plan(mode="serve", fails=FAILS, how="die")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        case = workshop.case(mode="serve", factors=FACTORS)
        case.write_text(case.read_text().replace("'{port}'", f"'{port}'"))
        workshop.run("investigate", case).told(4, f"port {port}", f"process {os.getpid()} ", "start again")
        workshop.run("check", "--case", case).told(132, f"port {port}", f"process {os.getpid()} ")
        with socket.create_connection(("127.0.0.1", int(port))):
            assert other.accept()
        assert workshop.ledger == []
    done = workshop.run("investigate", "--json", case)
    assert (done.status, done.causes) == (0, [{"batching": ["on"]}])
    assert len(workshop.ledger) == len(done.document["trials"])


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["no-such-engine", "serve"], ["no-such-engine", "not found", "install it"]),
        (["./not-executable"], ["./not-executable", "chmod +x"]),
        (["./here"], ["./here"]),
        (["./bad-interpreter"], ["./bad-interpreter", "interpreter"]),
    ],
    ids=["not installed", "not executable", "a folder", "interpreter missing"],
)
def test_a_command_that_cannot_be_started_is_told(workshop: Workshop, command: list[str], words: list[str]) -> None:
    (workshop.cwd / "not-executable").write_text("#!/bin/sh\n")
    (workshop.cwd / "here").mkdir()
    (workshop.cwd / "bad-interpreter").write_text("#!/no/such/interpreter\n")
    (workshop.cwd / "bad-interpreter").chmod(0o755)
    workshop.plan()
    workshop.run("investigate", workshop.case(command=command, factors=FACTORS)).told(4, *words)
    if command[0] == "no-such-engine":
        workshop.run("check", "--", *command).told(132, *words)


def test_a_working_folder_that_has_gone_is_told(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    case = workshop.case(factors=FACTORS, cwd=str(workshop.folder / "gone"))
    workshop.run("investigate", case).told(2, "gone", "not a folder")


def test_an_investigation_that_exists_is_not_begun_again(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    case = workshop.case(factors=FACTORS)
    assert workshop.run("investigate", case).status == 0
    starts = len(workshop.ledger)
    workshop.run("investigate", case).told(2, "exists already", "--resume", "--dir")
    again = workshop.run("investigate", "--resume", "--json", case)
    assert (again.status, again.causes) == (0, [{"batching": ["on"]}])
    assert len(workshop.ledger) == starts


def test_a_folder_that_is_somebody_else_s_is_left_alone(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    theirs = workshop.investigation() / "thesis.tex"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("years of work")
    workshop.run("investigate", workshop.case(factors=FACTORS)).told(2, "exists already")
    assert [path.name for path in theirs.parent.iterdir()] == ["thesis.tex"]


def test_there_is_nothing_to_resume(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    workshop.run("investigate", "--resume", workshop.case(factors=FACTORS)).told(2, "nothing to go on with")
    workshop.run("investigate", "--resume", "no-such-name").told(2, "no-such-name")
    assert not (workshop.cwd / "ruleout").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"factors": {"batching": ["on"]}}, ["fewer than two levels"], marks=SLOW),
        ({"factors": {"batching": ["on", "auto"], "dtype": ["f32", "bf16"]}}, ["batching", "off"]),
        pytest.param({"factors": {**FACTORS, "batching": ["off", "on"]}}, ["batching", "baseline"], marks=SLOW),
        pytest.param({"factors": {"batching": ["on", "off"]}}, ["dtype", "gone"], marks=SLOW),
        ({"command": ["python3", "other.py"]}, ["command"]),
        pytest.param({"env": {"A": "1"}}, ["env"], marks=SLOW),
        pytest.param({"mode": "serve"}, ["command"], marks=SLOW),
    ],
    ids=["a level removed", "a level changed", "another baseline", "a factor removed", "command", "env", "mode"],
)
def test_what_trials_were_made_with_may_not_change(
    workshop: Workshop, change: dict[str, Any], words: list[str]
) -> None:
    workshop.plan(fails=FAILS)
    stopped = workshop.run("investigate", "--budget-trials", "1", "--json", workshop.case(factors=FACTORS))
    assert (stopped.status, stopped.document["status"]) == (1, "exhausted")
    kept = (workshop.investigation() / "case.yaml").read_text()
    workshop.run("investigate", "--resume", workshop.case(**{"factors": FACTORS, **change})).told(2, *words)
    assert len(workshop.ledger) == 1
    assert (workshop.investigation() / "case.yaml").read_text() == kept
    done = workshop.run("investigate", "--resume", "--json", workshop.case(factors=FACTORS))
    assert (done.status, done.causes) == (0, [{"batching": ["on"]}])


def test_a_factor_that_is_added_counts_as_having_been_at_its_baseline(workshop: Workshop) -> None:
    """It is needed, too; without it the verdict was wrong, or at least not the whole one."""
    workshop.plan(fails=[{"--batching": "on", "--model": "glm"}])
    flags = ["--model", "glm"]
    first = workshop.run("investigate", "--json", workshop.case(flags=flags, factors=FACTORS))
    assert first.causes == [{"batching": ["on"]}]
    starts = len(workshop.ledger)
    more = workshop.case(flags=flags, factors={**FACTORS, "model": ["glm", "llama"]}, budget={"trials": 60})
    done = workshop.run("investigate", "--resume", "--json", more)
    assert done.status in (0, 1), done.err
    assert done.causes == [{"batching": ["on"], "model": ["glm"]}], done.err
    assert done.document["trials"][:starts] == first.document["trials"]
    assert len(workshop.ledger) == len(done.document["trials"]) > starts


def test_two_at_once_on_one_investigation_is_one_too_many(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS, hold={"phase": "load", "start": 2})
    case = workshop.case(factors=FACTORS)
    first = workshop.start("investigate", case)
    workshop.wait_until_held()
    for words in (["--resume"], []):
        workshop.run("investigate", *words, case).told(2)
    second = workshop.run("investigate", "--resume", case)
    second.told(2, f"process {first.pid}", "status")
    workshop.let_go()
    assert first.end().status == 0
    assert [workshop.starts_of(trial["id"]) for trial in workshop.run("status", "--json").document["trials"]] == [
        1
    ] * len(workshop.ledger)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 megabytes."""
    yield from _mounted(tmp_path / "disk", "size=24m")


def _mounted(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)
    if mount.returncode:
        pytest.skip("this user may not mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize("free_kib", [0, 8400, *(pytest.param(n, marks=SLOW) for n in (4, 20, 1000))])
def test_a_disk_without_room_is_told_and_the_engine_stopped(
    workshop: Workshop, small_disk: Path, free_kib: int
) -> None:
    """Wherever it strikes: the folder, the database, the trial's document, its events, its log."""
    workshop.plan(fails=FAILS, log_bytes=12_000_000, children=["session"])
    case = workshop.case(factors=FACTORS)
    filler = small_disk / "filler"
    with filler.open("wb") as full:
        full.write(b"x" * (24 * 1024 - free_kib) * 1024)
    done = workshop.run("investigate", case, "--dir", small_disk / "fake")
    assert workshop.alive() == []
    assert done.status == 4, done
    assert done.out == ""
    assert "Traceback" not in done.err
    lines = [line for line in done.err.splitlines() if not line.startswith("  #")]
    assert len(lines) == 2, done.err
    assert lines[0].startswith("ruleout: ")
    assert str(small_disk) in lines[0]
    filler.unlink()
    workshop.plan(fails=FAILS)
    if (small_disk / "fake" / "ruleout.db").exists():
        done = workshop.run("investigate", case, "--dir", small_disk / "fake", "--resume", "--json")
        assert (done.status, done.causes) == (0, [{"batching": ["on"]}]), done.err


def test_a_full_disk_in_the_middle_is_no_outcome(workshop: Workshop, small_disk: Path) -> None:
    workshop.plan(fails=FAILS, hold={"phase": "load", "start": 2, "children": ["session"]})
    case = workshop.case(factors=FACTORS)
    running = workshop.start("investigate", case, "--dir", small_disk / "fake")
    workshop.wait_until_held()
    filler = small_disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as full:
        while full.write(b"x" * 512):
            pass
    workshop.let_go()
    done = running.end()
    assert done.status == 4, done.err
    assert next(line for line in done.err.splitlines() if not line.startswith("  #")).startswith("ruleout: ")
    assert workshop.alive() == []
    filler.unlink()
    done = workshop.run("investigate", case, "--dir", small_disk / "fake", "--resume", "--json")
    assert (done.status, done.causes) == (0, [{"batching": ["on"]}]), done.err


@pytest.mark.parametrize("free_kib", [0, 60, 1000, 9000])
def test_what_fails_for_want_of_room_leaves_not_even_a_folder(
    workshop: Workshop, small_disk: Path, free_kib: int
) -> None:
    """A log of random words does not get smaller by packing."""
    words = random.Random(1)
    log = "".join(f"INFO: {words.randbytes(60).hex()}\n" for _ in range(80_000))
    kept = stored(workshop.cwd, failing=FAILING + log).path
    archive = workshop.folder / "a.zip"
    assert workshop.run("export", "--dir", kept, "-o", archive).status == 0
    (small_disk / "filler").write_bytes(b"x" * (24 * 1024 - free_kib) * 1024)
    workshop.plan(fails=FAILS)
    case = workshop.case(factors=FACTORS)
    missing = workshop.case("missing", command=["/no/such/program"], factors=FACTORS)
    verbs: list[tuple[str | Path, ...]] = [
        ("import", archive, "--dir", small_disk / "new" / "it"),
        ("export", "--dir", kept, "-o", small_disk / "new" / "a.zip"),
        ("investigate", missing, "--dir", small_disk / "new" / "it"),
        ("trace", "--dir", small_disk / "new" / "it", "--", "/no/such/program"),
    ]
    if free_kib < 60:
        verbs += [
            ("export", "--dir", kept, "--junit", small_disk / "new" / "a.xml"),
            ("issue", "--dir", kept, "--yes", "-o", small_disk / "new" / "a.md"),
            ("rules", "new", "--from", kept, "-o", small_disk / "new" / "a.yaml"),
            ("investigate", case, "--dir", small_disk / "new" / "it"),
        ]
    for verb in verbs:
        done = workshop.run(*verb)
        assert done.status == 4, (verb, done)
        assert "Traceback" not in done.err
        problem, remedy = done.err.splitlines()[-2:]
        assert problem.startswith("ruleout: "), verb
        assert ".part" not in problem
        assert remedy.strip(), verb
        assert [path.name for path in small_disk.iterdir()] == ["filler"], verb


def test_an_investigation_that_may_only_be_read_is_read(workshop: Workshop, small_disk: Path) -> None:
    kept = small_disk / "kept"
    shutil.copytree(stored(workshop.cwd).path, kept)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    made = workshop.folder / "made"
    assert workshop.run("status", "--dir", kept).status == 0
    assert workshop.run("export", "--dir", kept, "-o", made / "a.zip").status == 0
    assert workshop.run("export", "--dir", kept, "--junit", made / "a.xml").status == 0
    assert workshop.run("issue", "--dir", kept, "--yes", "-o", made / "a.md").status == 0
    done = workshop.run("findings", "--dir", kept)
    assert done.out.startswith("# kv-of-eight-bits")
    verbs: list[tuple[str | Path, ...]] = [
        ("findings", "--dir", kept),
        ("report", "--dir", kept),
        ("mark", "2", "clean", "--dir", kept),
        ("investigate", "--resume", kept / "case.yaml", "--dir", kept),
    ]
    for verb in verbs:
        done = workshop.run(*verb)
        assert done.status == 4, (verb, done)
        problem, remedy = done.err.splitlines()
        assert problem.startswith(f"ruleout: {kept}"), verb
        assert remedy.startswith("  Make "), verb


@pytest.fixture
def locked_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that cannot be written, not even by root if there is a way."""
    if os.geteuid() == 0:
        yield from _mounted(tmp_path / "locked", "size=1m,ro")
    else:
        folder = tmp_path / "locked"
        folder.mkdir()
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def test_a_folder_that_cannot_be_written_is_told(workshop: Workshop, locked_folder: Path) -> None:
    workshop.plan(fails=FAILS)
    case = workshop.case(factors=FACTORS)
    workshop.run("investigate", case, "--dir", locked_folder).told(4, str(locked_folder), "--dir")
    workshop.run("check", "--", *workshop.command, RULEOUT_CACHE_DIR=str(locked_folder / "x")).told(
        132, "RULEOUT_CACHE_DIR"
    )
    done = workshop.run("investigate", case, RULEOUT_CACHE_DIR=str(locked_folder / "x"))
    done.told(4, str(locked_folder))
    assert workshop.ledger == []


@pytest.mark.parametrize("damage", ["database", "case", "gone"])
def test_a_damaged_investigation_is_told(workshop: Workshop, damage: str) -> None:
    workshop.plan(fails=FAILS)
    case = workshop.case(factors=FACTORS)
    assert workshop.run("investigate", "--budget-trials", "1", case).status == 1
    folder = workshop.investigation()
    if damage == "database":
        (folder / "ruleout.db").write_bytes(b"this is no database" * 1000)
    elif damage == "case":
        (folder / "case.yaml").write_bytes(b"\xff\xfe")
    else:
        (folder / "case.yaml").unlink()
    for words in (["status"], ["investigate", "--resume", str(case)]):
        workshop.run(*words).told(2, str(folder))
