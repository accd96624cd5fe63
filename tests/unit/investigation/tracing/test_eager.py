"""Graphs and compiled code are asked for away, and what that took is told."""

from __future__ import annotations

import pytest

from ruleout.engines import recognise
from ruleout.investigation.tracing.eager import eager
from ruleout.model import Case

VLLM = ("vllm", "serve", "m")
SGLANG = ("python3", "-m", "sglang.launch_server", "--model-path", "m")
SERVE = ("transformers", "serve", "--force-model", "m")


@pytest.mark.parametrize(
    ("words", "becomes", "change"),
    [
        (VLLM, (*VLLM, "--enforce-eager"), "--enforce-eager"),
        ((*VLLM, "--enforce-eager"), (*VLLM, "--enforce-eager"), ""),
        (
            (*VLLM, "--no-enforce-eager"),
            (*VLLM, "--enforce-eager"),
            "--enforce-eager without --no-enforce-eager",
        ),
        (SGLANG, (*SGLANG, "--disable-cuda-graph"), "--disable-cuda-graph"),
        ((*SGLANG, "--enable-torch-compile", "--disable-cuda-graph"), (*SGLANG, "--disable-cuda-graph"), None),
        (SERVE, SERVE, ""),
        ((*SERVE, "--compile"), SERVE, "without --compile"),
        (("bash", "-c", "vllm serve m | grep log"), ("bash", "-c", "vllm serve m | grep log"), ""),
        (("python3", "x.py"), ("python3", "x.py"), ""),
    ],
)
def test_what_hides_modules_is_taken_off(words: tuple[str, ...], becomes: tuple[str, ...], change: str | None) -> None:
    found = recognise(words)
    seen = eager(Case("c", found.engine, found.command))
    assert seen.case.command == becomes
    assert seen.change == ("without --enable-torch-compile" if change is None else change)


def test_nothing_else_of_the_case_is_changed() -> None:
    case = Case("c", "vllm", VLLM, env={"A": "b"})
    assert eager(case).case.env == {"A": "b"}
