"""Which logs are ranks of one run and which are runs of their own: by what they hold, not by what they are called."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ruleout.reading.runs import read_runs


def log(flags: str = "", day: int = 1, hour: int = 9, rank: int = 0, *, launch: bool = True) -> str:
    """A log of an engine that nobody knows: its launch, if any, and a failure."""
    time = f"2026-03-{day:02d} {hour:02d}:00"
    head = f"$ python3 -m quux.serve --model /m/a {flags}\n" if launch else ""
    return head + f"{time}:01 [rank{rank}]: joining\n{time}:59 [rank{rank}]: ValueError: bad shape {rank}\n"


def groups(*given: Path) -> list[list[str]]:
    return [sorted(source.name for source in run.diagnosis.sources) for run in read_runs(list(given)).runs]


def write(folder: Path, logs: dict[str, str]) -> list[Path]:
    for name, text in logs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return [folder / name for name in logs]


def test_logs_named_one_by_one_are_runs(tmp_path: Path) -> None:
    paths = write(tmp_path, {"a.log": log("--x 1"), "b.log": log("--x 2", hour=10), "c.log": log(hour=11)})
    assert groups(*paths) == [["a.log"], ["b.log"], ["c.log"]]


def test_the_same_command_again_later_is_another_run(tmp_path: Path) -> None:
    paths = write(tmp_path, {"a.log": log("--x 1"), "b.log": log("--x 1", hour=10)})
    assert groups(*paths) == [["a.log"], ["b.log"]]
    assert len(groups(tmp_path)) == 2


@pytest.mark.parametrize("launch", [True, False])
def test_rank_logs_of_one_launch_are_one_run_however_they_are_given(tmp_path: Path, launch: bool) -> None:
    logs = {f"rank{n}.log": log(f"--x 1 --node-rank {n}", rank=n, launch=launch) for n in range(3)}
    paths = write(tmp_path, logs)
    assert groups(*paths) == groups(tmp_path) == [["rank0.log", "rank1.log", "rank2.log"]]


def test_ranks_are_told_by_what_the_logs_hold_where_names_say_nothing(tmp_path: Path) -> None:
    logs = {"left.log": log(rank=0, launch=False), "right.log": log(rank=1, launch=False)}
    assert groups(*write(tmp_path, logs)) == [["left.log", "right.log"]]
    late = {"left.log": log(rank=0, launch=False), "late.log": log(rank=1, hour=12, launch=False)}
    assert groups(*write(tmp_path, late)) == [["left.log"], ["late.log"]]


def test_a_number_in_a_name_makes_no_rank_of_a_trial(tmp_path: Path) -> None:
    paths = write(tmp_path, {"tp4.log": log("--tp 4"), "tp8.log": log("--tp 8", hour=10)})
    assert groups(*paths) == groups(tmp_path) == [["tp4.log"], ["tp8.log"]]


def test_a_folder_of_folders_is_its_runs_each_with_all_its_logs(tmp_path: Path) -> None:
    logs = {}
    for n in (1, 2, 3):
        logs[f"{n:04d}/server.log"] = log(f"--x {n}", hour=8 + n)
        logs[f"{n:04d}/probe.log"] = "answered\n" * n
    write(tmp_path, logs)
    assert groups(tmp_path) == [[f"{n:04d}/probe.log", f"{n:04d}/server.log"] for n in (1, 2, 3)]


def test_ranks_in_folders_of_nodes_are_one_run(tmp_path: Path) -> None:
    logs = {f"node{n}/rank_{r}/err.log": log(rank=r, launch=False) for n, r in ((0, 0), (0, 1), (1, 2))}
    write(tmp_path, logs)
    assert len(groups(tmp_path)) == 1


def test_two_folders_of_rank_logs_are_two_runs(tmp_path: Path) -> None:
    for folder, hour in (("bad", 9), ("good", 12)):
        write(tmp_path, {f"{folder}/rank{n}.log": log("--x 1", hour=hour, rank=n) for n in range(2)})
    assert groups(tmp_path / "bad", tmp_path / "good") == [
        ["bad/rank0.log", "bad/rank1.log"],
        ["good/rank0.log", "good/rank1.log"],
    ]


def test_two_servers_that_were_ready_are_two_runs_even_without_their_commands(tmp_path: Path) -> None:
    ready = "INFO:     the server is ready\n"
    write(tmp_path, {"a.log": ready + "ValueError: one\n", "b.log": ready + "KeyError: 'two'\n"})
    assert groups(tmp_path) == [["a.log"], ["b.log"]]


def test_a_log_without_a_launch_belongs_to_the_run_it_was_written_during(tmp_path: Path) -> None:
    logs = {"a.log": log("--x 1"), "b.log": log("--x 2", hour=10), "client.log": log(hour=10, rank=7, launch=False)}
    assert groups(*write(tmp_path, logs)) == [["a.log"], ["b.log", "client.log"]]


def test_a_copy_is_read_once_and_two_empty_logs_are_no_copies(tmp_path: Path) -> None:
    (path,) = write(tmp_path, {"a.log": log()})
    shutil.copy(path, tmp_path / "b.log")
    found = read_runs([path, tmp_path / "b.log"])
    assert (len(found.runs), found.copies) == (1, (("b.log", "a.log"),))
    empty = write(tmp_path, {"c.log": "", "d.log": ""})
    assert read_runs([path, *empty]).copies == ()


def test_engines_that_differ_are_never_one_run(tmp_path: Path) -> None:
    logs = {
        "rank0.log": "$ vllm serve m --dtype half\nValueError: a\n",
        "rank1.log": "$ python3 -m sglang.launch_server --model-path m\nValueError: a\n",
    }
    assert len(groups(*write(tmp_path, logs))) == 2


def torch_warns(hour: int) -> str:
    """A line with a clock without a year, as libraries print them before the engine says anything."""
    return f"W0607 {hour:02d}:56:57.513000 1 quux/pytree.py:630] <enum 'Grain'> is registered already\n"


@pytest.mark.parametrize("folder", [False, True])
def test_clocks_without_a_year_do_not_make_one_run_of_two_that_are_hours_apart(tmp_path: Path, folder: bool) -> None:
    ready = "[2026-06-07 11:58:00] INFO:     the server is ready\n[2026-06-07 11:58:30] answered\n"
    died = "[2026-06-07 18:35:38] joining\nAssertionError: KV9 expects another backend\n"
    greeting = "SGLang Version 0.5.11\n"
    logs = {"good.log": greeting + torch_warns(11) + ready, "bad.log": greeting + torch_warns(18) + died}
    paths = write(tmp_path, logs)
    assert len(groups(tmp_path) if folder else groups(*paths)) == 2


def test_clocks_of_which_one_has_no_year_say_nothing_about_two_ranks(tmp_path: Path) -> None:
    logs = {f"rank{n}.log": log(rank=n, launch=False) for n in range(2)}
    logs["rank1.log"] = logs["rank1.log"].replace("2026-03-01", "INFO 03-01")
    write(tmp_path, logs)
    assert groups(tmp_path) == [["rank0.log", "rank1.log"]]


def test_what_failed_before_it_was_ready_is_no_rank_of_a_run_that_served_well(tmp_path: Path) -> None:
    well = "[2026-03-01 09:00:01] INFO:     The server is fired up and ready to roll!\n[2026-03-01 09:09:01] answered\n"
    failed = "[2026-03-01 09:05:01] Load weight begin. avail mem=70 GB\nKeyError: 'layers.3.quux_scale'\n"
    write(tmp_path, {"a.log": well, "b.log": failed})
    runs = read_runs([tmp_path]).runs
    assert [(run.diagnosis.sources[0].name, run.diagnosis.failure is None) for run in runs] == [
        ("a.log", True),
        ("b.log", False),
    ]
