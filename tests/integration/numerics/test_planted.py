"""The benchmark's faults in a real library: each shows, and the judge who says so can say no."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.numerics import engines
from benchmarks.numerics.cases import FAULTS, HEALTHY, draw

from ruleout.engines.environments import installed
from ruleout.engines.recipes import recipe

pytestmark = [pytest.mark.engine, pytest.mark.slow]
ENGINE = "transformers-5.2.0"
ASKED = """
import sys, torch
from dataclasses import replace
from benchmarks.numerics.cases import draw
from benchmarks.numerics.inside import faults, models, serving
from benchmarks.numerics.inside.judge import Judge

case = next(each for each in draw(0, 60, 0) if each.kind == "exp-overflow")
case = replace(case, family="llama", dtype="float16", attention="eager", request=replace(case.request, sampling=False))
model = models.build(models.configuration("llama"), 1, "float16", "eager")
rows = serving.prompts(case.request, 1)
planted = faults.plant(model, case, 0, rows)
truth = replace(planted.truth, **eval(sys.argv[1]))
judge = Judge(truth)
judge.start(model)
steps = serving.serve(model, case.request, rows)
judge.stop()
print(judge.wrong(steps))
"""


@pytest.fixture(scope="module")
def python() -> Path:
    """The engine's interpreter."""
    made = None if os.environ.get("RULEOUT_SKIP_ENGINES") else installed(recipe(ENGINE))
    if made is None:
        pytest.skip(f"{ENGINE} is not installed: ruleout lab engine {ENGINE}")
    return made.python


def test_a_case_of_every_kind_is_proven(python: Path, tmp_path: Path) -> None:
    cases = [replace(case, environment=ENGINE) for case in draw(0, len(FAULTS), len(HEALTHY))]
    ran = engines.run(ENGINE, "judge", cases, tmp_path)
    assert ran is not None
    for case in cases:
        ranks = ran.ranks[case.name]
        assert not [rank["error"] for rank in ranks if rank.get("error")], case
        assert len(ranks) == case.ranks
        assert all(rank["finite"] for rank in ranks) is not case.faulty or case.kind == "logits-fill"


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("{}", ""),
        ("{'module': 'model.norm'}", "born in"),
        ("{'operations': ('mul',)}", "operations are"),
        ("{'phase': 'decode', 'step': 1}", "born in"),
        ("{'parameter': 'weight'}", "bad parameters are []"),
    ],
)
def test_the_judge_refuses_what_is_not_the_truth(python: Path, claim: str, says: str) -> None:
    env = {**os.environ, "PYTHONPATH": "", "HF_HUB_OFFLINE": "1"}
    argv = [str(python), "-c", ASKED, claim]
    ran = subprocess.run(argv, capture_output=True, text=True, cwd=engines.ROOT, env=env, timeout=200)
    assert ran.returncode == 0, ran.stderr
    said = ran.stdout.strip()
    assert said.startswith(says) if says else said == ""
