"""The benchmark of diagnoses: what it counts, and that it says clearly when there is nothing to count."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import xml.dom.minidom
from pathlib import Path
from types import ModuleType

import pytest

from ruleout.model import Component

ROOT = Path(__file__).parents[3]
BENCHMARK = ROOT / "benchmarks" / "diagnosis"
C = Component
CASES = [
    ("RuntimeError: CUDA error: no kernel image is available for execution", "no_kernel_image", "install/abi"),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "oom", "memory"),
    ("RuntimeError: Assertion error (foo.hpp:12): Unsupported architecture", "unsupported_arch", "kernel_arch_support"),
    ("AttributeError: 'FooConfig' object has no attribute 'x'", "import_abi", "transformers_version"),
]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(BENCHMARK), *arguments], capture_output=True, text=True, check=False)


def write_cases(folder: Path, many: int = 12) -> Path:
    folder.mkdir()
    for n in range(many):
        line, class_, component = CASES[n % len(CASES)]
        case = {
            "id": f"case-{n:02d}",
            "engine": "vllm",
            "stage": "warmup",
            "failure_class": class_,
            "root_cause_component": component,
            "symptom_lines": [line],
            "command_flags": ["--enforce-eager"],
            "source_url": f"https://github.com/acme/engine/issues/{n}",
        }
        (folder / f"{case['id']}.yaml").write_text(json.dumps(case))
    return folder


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARK))
    return importlib.import_module("measure")


@pytest.mark.parametrize("arguments", [(), ("--cases", "/nowhere/at/all")])
def test_without_cases_it_says_what_to_do(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2
    assert "--cases DIR" in done.stdout


def test_an_empty_folder_is_a_mistake(tmp_path: Path) -> None:
    done = run("--cases", str(tmp_path))
    assert done.returncode == 1
    assert "no labelled cases in there" in done.stdout


def test_cases_are_measured_and_the_curve_is_drawn(tmp_path: Path) -> None:
    svg = tmp_path / "curve.svg"
    done = run("--cases", str(write_cases(tmp_path / "cases")), "--repeats", "1", "--svg", str(svg))
    assert done.returncode == 0, done.stderr
    assert "12 cases; class 1.00" in done.stdout
    assert "with rules, held-out thirds" in done.stdout
    drawn = xml.dom.minidom.parseString(svg.read_text(encoding="utf-8"))
    assert len(drawn.getElementsByTagName("polyline")) == 2


def test_a_bin_counts_what_was_given_and_what_was_right(part: ModuleType) -> None:
    told = [({C.MEMORY: 0.7, C.NCCL: 0.1}, C.MEMORY)] * 7 + [({C.MEMORY: 0.7, C.NCCL: 0.1}, C.NCCL)] * 3
    low, high = part.bins(told)
    assert (low.number, low.right, high.number, high.right) == (10, 0.3, 10, 0.7)
    assert high.stated == pytest.approx(0.7)
    assert high.low < 0.7 < high.high
    twice = part.bins(told * 2, repeats=2)[1]
    assert (twice.number, twice.right, twice.low) == (high.number, high.right, high.low)
    assert (part.ranked(told).first, part.ranked(told).three) == (0.7, 1.0)
    assert part.ranked([({}, C.NCCL)]).three == 0.0


def test_a_held_out_case_is_not_known_from_its_own_rules_counts_or_clues(
    part: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases, folds = importlib.import_module("cases"), importlib.import_module("folds")
    found = cases.read(write_cases(tmp_path / "cases"), tmp_path)
    held, train = [c for c in found if c.component is C.MEMORY], [c for c in found if c.component is not C.MEMORY]
    known = folds.learned(train)
    assert C.MEMORY not in {c for row in known.counted.values() for c in row}
    assert not {id(f.clue) for f in held[0].clues} <= known.clues
    assert held[0].cites("https://github.com/acme/engine/issues/1")
    assert not held[0].cites("https://github.com/acme/engine/issues/11")
    for train, rest in folds.thirds(found, 2):
        assert not {c.thread for c in train} & {c.thread for c in rest}
        assert len(train) + len(rest) == len(found)
