"""A failure that is reported late is watched once: where it is born is told, or that watching it changes it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

ENGINE = '''
"""A fake engine with no GPU: it prints what an error of a CUDA kernel looks like when it is reported late."""
import os, sys
waited = os.environ.get("CUDA_LAUNCH_BLOCKING") == "1"
if "--backend" in sys.argv and sys.argv[sys.argv.index("--backend") + 1] == "plain":
    sys.exit(0)
if waited and "--race" in sys.argv:
    sys.exit(0)
where = ("attention.py", "paged_decode") if waited else ("sampler.py", "synchronize")
print("Traceback (most recent call last):")
print('  File "/engine/runner.py", line 10, in step')
print("    run()")
print(f'  File "/engine/{where[0]}", line 33, in {where[1]}')
print("    launch()")
print("RuntimeError: CUDA error: an illegal memory access was encountered")
print("CUDA kernel errors might be asynchronously reported at some other API call.")
print("For debugging consider passing CUDA_LAUNCH_BLOCKING=1")
sys.exit(1)
'''
FACTORS = {"backend": ["fused", "plain"], "dtype": ["f16", "f32"]}


WATCHED = "CUDA_LAUNCH_BLOCKING=1 --enforce-eager"


def case(workshop: Workshop, *flags: str, **more: Any) -> Any:
    """A case of a known engine, or of what a person says is one."""
    path = workshop.folder / "fake_engine.py"
    path.write_text(ENGINE)
    more = {"engine": "vllm", **more}
    return workshop.case(command=[sys.executable, str(path), *flags], factors=FACTORS, **more)


def test_where_it_is_born_is_told_and_no_factor_is_judged_by_it(workshop: Workshop) -> None:
    done = workshop.run("investigate", "--json", case(workshop))
    assert (done.status, done.causes) == (0, [{"backend": ["fused"]}]), done.err
    assert done.document["failure"]["asynchronous"] is True
    first, watched, *others = done.document["trials"]
    assert "instruments" not in first
    assert watched["instruments"] == {"CUDA_LAUNCH_BLOCKING": "1", "--enforce-eager": "present"}
    assert watched["outcome"] == "reproduced"
    (seen,) = watched["observed"]
    assert seen["text"] == (
        f"with {WATCHED} it fails in attention.py:paged_decode: there it is born, and not only noticed"
    )
    assert not any("instruments" in trial for trial in others)
    proof = done.document["confirmed_by"]
    assert watched["id"] not in {*proof["sufficient"], *proof["necessary"], proof["baseline_again"]}
    findings = (workshop.investigation() / "FINDINGS.md").read_text()
    assert f"- Watched: {seen['text']} (trials/0002/server.log:6) [trial 2]" in findings
    assert f"baseline, watched with {WATCHED}" in findings


def test_a_failure_that_goes_away_while_it_is_watched_is_an_observer_effect(workshop: Workshop) -> None:
    done = workshop.run("investigate", "--json", case(workshop, "--race"))
    assert done.causes == [{"backend": ["fused"]}], done.err
    watched = done.document["trials"][1]
    assert watched["outcome"] == "clean"
    text = watched["observed"][0]["text"]
    assert text.startswith(f"observer effect: with {WATCHED} the failure did not show; ")
    assert watched["observed"][0]["component"] == "cuda_graph"
    assert "races between them go away" in text
    assert text in (workshop.investigation() / "FINDINGS.md").read_text()
    assert not any(workaround["trial"] == 2 for workaround in done.document["workarounds"])


def test_what_is_not_decided_offers_the_ladder_with_price_and_effect(workshop: Workshop) -> None:
    done = workshop.run("investigate", "--json", "--budget-trials", "2", case(workshop, "--race"))
    assert done.document["status"] == "exhausted"
    assert len(done.document["trials"]) == 2, "a launch that looks closer is a launch"
    steps = [step for step in done.document["next"] if "CUDA_ENABLE_COREDUMP_ON_EXCEPTION" in step["change"]]
    assert len(steps) == 1
    assert "price: disk" in steps[0]["why"]
    assert "observer effect: none until it fails" in steps[0]["why"]
    assert "- CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 " in (workshop.investigation() / "FINDINGS.md").read_text()


@pytest.mark.parametrize(
    "more",
    [{"env": {"CUDA_LAUNCH_BLOCKING": "1"}}, {"goal": "workaround"}, {"engine": "command"}],
    ids=["watched already", "a way out", "no known engine"],
)
def test_where_it_would_tell_nothing_it_is_not_watched(workshop: Workshop, more: dict[str, Any]) -> None:
    done = workshop.run("investigate", "--json", case(workshop, **more))
    assert not any("instruments" in trial for trial in done.document["trials"]), done.document["trials"]


def test_a_watched_trial_is_not_made_again_after_a_resume(workshop: Workshop) -> None:
    path = case(workshop, "--race")
    workshop.run("investigate", "--json", "--budget-trials", "2", path)
    done = workshop.run("investigate", "--json", "--resume", path)
    assert [trial["id"] for trial in done.document["trials"] if "instruments" in trial] == [2]
    assert done.causes == [{"backend": ["fused"]}]
