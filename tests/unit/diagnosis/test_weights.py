"""Warnings are weighed by how often failing and healthy runs print them, never by what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ruleout.diagnosis.diagnose import diagnosed
from ruleout.diagnosis.kinds import kind, names_of
from ruleout.diagnosis.weights import Counts, Seen, against, counted, read, shipped, weighed, weight, written
from ruleout.model import Diagnosis, LogWarning
from ruleout.reading.diagnose import read_facts

ROOT = Path(__file__).parents[3]
LAB = Path(os.environ.get("RULEOUT_LAB_LOGS") or ROOT.parent / "shared" / "lab" / "logs")
EVERYWHERE = "WARNING 11-29 16:25:{0:02d} [frob.py:7] The frobnicator of rank {0} may lead to slower starts"
FAILING = "WARNING 11-29 16:25:{0:02d} [quux.py:9] Quux pages of {0} MiB might cause trouble"
READY = "INFO:     Application startup complete.\nINFO:     Finished server process [12]"
CRASH = "RuntimeError: CUDA error: an illegal memory access was encountered"


def write(folder: Path, n: int, *, failed: bool) -> Path:
    lines = [EVERYWHERE.format(n), *([FAILING.format(n)] if failed else []), CRASH if failed else READY]
    path = folder / f"{n:02d}.log"
    path.write_text("\n".join(lines) + "\n")
    return path


def runs(folder: Path, many: int = 12) -> list[Diagnosis]:
    return [read_facts([write(folder, n, failed=n % 2 == 0)]) for n in range(many)]


def test_the_rebuilt_table_gives_weight_to_what_failing_runs_alone_print(tmp_path: Path) -> None:
    logs, table = tmp_path / "logs", tmp_path / "table.json"
    logs.mkdir()
    failing, *_ = runs(logs, 16)
    real = [LAB] if LAB.is_dir() else []
    tool = [sys.executable, str(ROOT / "tools" / "warning_weights.py"), *map(str, ("--output", table, logs, *real))]
    done = subprocess.run(tool, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    everywhere, own = weighed(failing, read(table.read_text())).warnings
    assert everywhere.weight == 0.0
    assert own.weight is not None
    assert own.weight > 0
    assert own.why.startswith("printed by 0 of ")


def test_the_tool_names_a_log_that_is_not_there(tmp_path: Path) -> None:
    tool = [
        sys.executable,
        str(ROOT / "tools" / "warning_weights.py"),
        "--output",
        str(tmp_path / "t"),
        str(tmp_path / "none.log"),
    ]
    done = subprocess.run(tool, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "none.log: No such file" in done.stderr
    assert "Traceback" not in done.stderr


def test_counts_tell_where_it_was_printed(tmp_path: Path) -> None:
    counts = counted(runs(tmp_path))
    assert list(counts.runs.values()) == [(6, 6)]
    everywhere, failing = weighed(runs(tmp_path)[0], counts).warnings
    assert (everywhere.weight, everywhere.why) == (0.0, "printed by 6 of 6 healthy and 6 of 6 failing runs")
    assert failing.weight is not None
    assert failing.weight > 1


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (None, None),
        (Seen(0, 20, 1, 30), None),  # one run tells nothing
        (Seen(0, 20, 2, 33), None),  # two of those that failed: as likely as not by chance
        (Seen(1, 20, 0, 30), 0.0),  # a healthy run printed it
        (Seen(1, 20, 4, 31), 0.0),  # not so much more often that chance would not do it
        (Seen(0, 2, 2, 2), 1.61),
        (Seen(1, 20, 20, 31), 2.19),
    ],
)
def test_a_weight_needs_more_than_chance(seen: Seen | None, expected: float | None) -> None:
    found = weight(seen)
    assert found == (None if expected is None else pytest.approx(expected, abs=0.01))


def test_the_more_runs_agree_the_smaller_the_chance() -> None:
    chances = [Seen(0, n, n, n).chance for n in (1, 2, 3, 6)]
    assert chances == sorted(chances, reverse=True)
    assert Seen(0, 1, 1, 1).chance == pytest.approx(0.25)  # one of two, and half of the ties
    assert Seen(3, 6, 3, 6).chance == pytest.approx(0.5)


def test_engines_that_never_print_it_do_not_count() -> None:
    counts = Counts({"vllm": (100, 0), "sglang": (3, 3)}, {"k": {"sglang": (3, 3)}})
    assert str(counts.seen("k")) == "printed by 3 of 3 healthy and 3 of 3 failing runs"
    assert str(Seen(1, 1, 0, 0)) == "printed by 1 of 1 healthy runs; no failing one is known"


def test_only_what_came_before_the_failure_counts(tmp_path: Path) -> None:
    path = tmp_path / "late.log"
    path.write_text(f"{CRASH}\n{FAILING.format(1)}\n")
    assert counted([read_facts([path])]).kinds == {}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Acme 1.2.3 may cause trouble with page size 64", "Acme 2.0.0rc1 may cause trouble with page size 128", True),
        ("x/a.py:7: UserWarning: the 'foo' argument is old", "y/b.py:90: UserWarning: the 'bar' argument is old", True),
        ("Unknown environment variable detected: ACME_ONE", "Unknown environment variable detected: ACME_TWO", True),
        ("pages of the cache may lead to slower starts", "pages of the cache may lead to wrong answers", False),
        ("Casting torch.bfloat16 to torch.float16", "Loading torch.bfloat16", False),
        ("50%|#### | 3/6 [00:01<00:01, 2.1it/s]this might cause trouble later", "this might cause trouble later", True),
    ],
)
def test_a_kind_is_the_sentence_without_what_varies(one: str, other: str, same: bool) -> None:
    assert (kind(one) == kind(other)) is same


def test_the_name_of_the_model_is_no_part_of_a_kind(tmp_path: Path) -> None:
    kinds = set()
    for name in ("acme", "nadir"):
        path = tmp_path / f"{name}.log"
        path.write_text(
            f"[2026-02-26 05:19:58] server_args=ServerArgs(model_path='/models/{name}', tp_size=1)\n"
            f"[2026-02-26 05:19:58] WARNING config.py:9: the layers of {name} may cause slower starts\n"
        )
        run = read_facts([path])
        kinds |= {kind(warning.text, names_of(run)) for warning in run.warnings}
    assert len(kinds) == 1


def test_a_good_log_takes_the_weight_from_what_it_prints_too(tmp_path: Path) -> None:
    failing, good = (read_facts([write(tmp_path, n, failed=n == 0)]) for n in (0, 1))
    none = Counts({}, {})
    everywhere, own = against(failing, [good], none).warnings
    assert (everywhere.weight, everywhere.why) == (0.0, "printed by 1 of 1 good runs too")
    assert own.weight == pytest.approx(1.1, abs=0.01)
    assert "those compared here" in own.why
    more = against(failing, [good, good, good], none).warnings[1]
    assert (more.weight or 0) > (own.weight or 0)


def test_a_good_log_does_not_overrule_the_healthy_runs_of_the_table(tmp_path: Path) -> None:
    failing, good = (read_facts([write(tmp_path, n, failed=n == 0)]) for n in (0, 1))
    table = counted([replace(failing, failure=None)] * 5)
    assert against(failing, [good], table).warnings[1].weight == 0.0


def test_a_good_log_that_failed_is_refused(tmp_path: Path) -> None:
    failing = read_facts([write(tmp_path, 0, failed=True)])
    with pytest.raises(ValueError, match="failed itself"):
        against(failing, [failing])


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    counts = counted(runs(tmp_path))
    assert read(written(counts)) == counts
    assert counts + Counts({}, {}) == counts
    healthy, failing = (sum(row[n] for row in shipped().runs.values()) for n in (0, 1))
    assert min(healthy, failing) > 5


@pytest.mark.parametrize(
    "text",
    [
        "Transformers version 9.1.0 is used for model type acme. If you experience issues related to RoPE parameters, "
        "they may be due to incompatibilities between Transformers >=5.0.0 and some models. You can try downgrading to "
        "transformers==4.57.1 as a workaround.",
        "DeepGemm is enabled but the scale_fmt of checkpoint is not ue8m0. This might cause accuracy degradation on "
        "Blackwell.",
    ],
)
def test_what_healthy_starts_print_as_often_weighs_nothing_by_the_shipped_counts(text: str, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(f"[2026-02-26 05:19:58] WARNING model_config.py:1025: {text}\n{CRASH}\n")
    (warning,) = diagnosed(read_facts([path])).warnings
    assert isinstance(warning, LogWarning)
    assert warning.weight == 0.0
    assert "healthy and" in warning.why
