"""Deployments that hang, stay, hide or talk without end: the verdict is right all the same, and none of them stays."""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

FACTORS = {"batching": ["on", "off"], "dtype": ["f32", "bf16"]}
FAILS = [{"--batching": "on"}]
CAUSE = [{"batching": ["on"]}]


def test_a_server_that_never_becomes_ready_is_a_hang(workshop: Workshop) -> None:
    workshop.plan(mode="serve", never_ready=True)
    case = workshop.case(mode="serve", factors=FACTORS, ready={"path": "/health", "timeout": "2s"})
    done = workshop.run("investigate", "--json", "--budget-trials", "1", case)
    (trial,) = done.document["trials"]
    assert trial["outcome"] == "reproduced"
    assert trial["failure"]["class"] == "hang"
    assert "not ready after 2 s" in trial["failure"]["message"]
    assert workshop.run("check", "--case", case, "--target", "hang").status == 1
    assert workshop.alive() == []


def test_a_request_that_is_never_answered_is_a_hang(workshop: Workshop) -> None:
    workshop.plan(mode="serve", hold={"phase": "probe", "start": 1})
    case = workshop.case(mode="serve", factors=FACTORS, probes=[{"kind": "completion", "timeout": "1s"}])
    done = workshop.run("investigate", "--json", "--budget-trials", "1", case)
    (trial,) = done.document["trials"]
    assert trial["failure"]["class"] == "hang"
    assert "no answer in 1 s" in trial["failure"]["client"]
    assert workshop.alive() == []


def test_a_job_beyond_its_time_is_a_hang(workshop: Workshop) -> None:
    workshop.plan(seconds=600)
    done = workshop.run(
        "investigate", "--json", "--budget-trials", "1", workshop.case(factors=FACTORS, timeout="1s"), seconds=20
    )
    (trial,) = done.document["trials"]
    assert (trial["outcome"], trial["failure"]["class"]) == ("reproduced", "hang")
    assert workshop.alive() == []


@pytest.mark.slow
def test_an_engine_that_ignores_sigterm_is_killed_after_its_grace(workshop: Workshop) -> None:
    workshop.plan(mode="serve", ignores_term=True)
    begun = time.monotonic()
    done = workshop.run("check", "--case", workshop.case(mode="serve", factors=FACTORS))
    assert done.status == 0, done.err
    assert 9 < time.monotonic() - begun < 20
    assert workshop.alive() == []


@pytest.mark.parametrize("kind", ["session", "daemon"])
def test_children_that_left_the_engine_s_session_go_with_it(workshop: Workshop, kind: str) -> None:
    workshop.plan(fails=FAILS, children=[kind, kind])
    done = workshop.run("investigate", "--json", workshop.case(factors=FACTORS))
    assert (done.status, done.causes) == (0, CAUSE), done.err
    assert workshop.alive() == []


def test_a_server_that_daemonises_is_served_judged_and_stopped(workshop: Workshop) -> None:
    workshop.plan(mode="serve", fails=FAILS, how="die", daemon=True)
    done = workshop.run("investigate", "--json", workshop.case(mode="serve", factors=FACTORS))
    assert (done.status, done.causes) == (0, CAUSE), done.err
    assert workshop.alive() == []


@pytest.mark.slow
def test_a_log_of_a_gigabyte_is_read_in_little_memory(workshop: Workshop) -> None:
    """The command's own peak; the agent's and the engine's do not count."""
    size = 1 << 30
    if psutil.disk_usage(str(workshop.folder)).free < 3 * size:
        pytest.skip("no room for the log")
    workshop.plan(fails=FAILS, log_bytes=size)
    case = workshop.case(factors=FACTORS)
    measured = (
        "import sys\n"
        "from ruleout.interfaces.cli.main import run\n"
        "status = run(sys.argv[1:])\n"
        "hwm = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "sys.stderr.write(f'peak {hwm}\\n')\n"
        "sys.exit(status)\n"
    )
    running = workshop.start_python(measured, "investigate", "--json", "--budget-trials", "1", case)
    done = running.end(120)
    (trial,) = done.document["trials"]
    assert (trial["outcome"], trial["failure"]["class"]) == ("reproduced", "shape_mismatch"), done.err
    log = workshop.investigation() / trial["log"]
    assert log.stat().st_size > size
    assert log.stat().st_blocks * 512 > size
    assert int(done.err.split()[-1]) < 300 << 10, done.err
    log.unlink()


def test_a_log_beyond_the_budget_of_the_disk_is_no_outcome(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS, log_bytes=30_000_000, seconds=20)
    case = workshop.case(factors=FACTORS, budget={"disk": "10MB"})
    workshop.run("check", "--case", case).told(132, "log", "limit")
    done = workshop.run("investigate", case)
    assert (done.status, done.out) == (4, "")
    assert "the log grew" in done.err
    assert workshop.alive() == []


def test_a_log_that_is_no_text_is_read(workshop: Workshop) -> None:
    script = "import os, sys; os.write(1, bytes(range(256)) * 400 + b'\\r' * 9999 + b'x' * 3000000); "
    script += "raise RuntimeError('\\udcff NaN \\x1b[31m in the \\0 logits')"
    done = workshop.run("check", "--json", "--", "python3", "-S", "-c", script)
    assert (done.status, done.document["result"]) == (1, "reproduced")
    assert done.document["failure"]["exception"] == "RuntimeError"


def test_the_limits_of_this_process_are_the_engine_s(workshop: Workshop) -> None:
    """A deployment runs as it would in this shell: its limits, its environment and its folder."""
    script = "import os, resource; assert os.getcwd() == %r; assert os.environ['HOME'] == %r; "
    script += "assert resource.getrlimit(resource.RLIMIT_NOFILE) == %r"
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    done = workshop.run(
        "check", "--", "python3", "-S", "-c", script % (str(workshop.cwd), workshop.env["HOME"], limits)
    )
    assert done.status == 0, done.out
