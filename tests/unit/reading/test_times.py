"""Clocks with and without a year or a leading zero, side by side in one run."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleout.model import FailureClass
from ruleout.reading.runs import read_runs
from ruleout.reading.times import in_year, seconds


@pytest.mark.parametrize("stamp", ["E912", "E0912"])
def test_a_stamp_of_glog_is_read_with_and_without_its_month_s_zero(stamp: str) -> None:
    found, like = seconds(f"[rank0]:[{stamp} 11:33:26.100 ProcessGroupNCCL.cpp:632] x"), seconds("2025-09-12 11:23:31")
    assert found is not None
    assert like is not None
    assert in_year(found, like) - like == pytest.approx(9 * 60 + 55.1)


def test_a_stamp_of_two_figures_of_month_is_not_taken_for_one() -> None:
    assert seconds("E1112 00:00:00.0 1 a.py:1] x") == seconds("INFO 11-12 00:00:00 [a.py:1] x")


def test_a_night_between_two_years_is_one_night() -> None:
    before, after = seconds("2025-12-31 23:59:59"), seconds("I0101 00:00:01 1 a.cpp:1] x")
    assert before is not None
    assert after is not None
    assert in_year(after, before) - before == 2


def test_the_29th_of_february_stays_where_a_year_has_none() -> None:
    day, like = seconds("I0229 00:00:00 1 a.cpp:1] x"), seconds("2025-03-01 00:00:00")
    assert day is not None
    assert in_year(day, like) == seconds("2024-02-29 00:00:00")


@pytest.mark.parametrize("month", ["3", "03"])
def test_of_ranks_the_one_that_failed_ten_minutes_before_the_others_timed_out_is_the_failure(
    tmp_path: Path, month: str
) -> None:
    for rank in range(3):
        log = f"[2026-03-04 09:00:00] server_args=ServerArgs(model_path='Zeta', tp_size=3, node_rank={rank})\n"
        log += f"[2026-03-04 09:01:00 TP{rank}] Load weight begin. avail mem=40.5 GB\n"
        if rank == 1:
            log += f"[2026-03-04 09:02:00 TP{rank}] Scheduler hit an exception: Traceback (most recent call last):\n"
            log += '  File "/x/a.py", line 3, in f\n    f()\ntorch.OutOfMemoryError: CUDA out of memory.\n'
        else:
            log += f"[rank{rank}]:[E{month}04 09:12:00.100 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught "
            log += "collective operation timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE) ran for 600012 ms\n"
        (tmp_path / f"node{rank}.log").write_text(log)
    runs = read_runs([tmp_path]).runs
    assert len(runs) == 1
    failure = runs[0].diagnosis.failure
    assert failure is not None
    assert (failure.class_, failure.source) == (FailureClass.OOM, "node1.log")
    assert {e.source for e in failure.consequences} == {"node0.log", "node2.log"}
