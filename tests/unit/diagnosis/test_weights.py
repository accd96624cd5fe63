"""Warnings are weighed by how often failing and healthy runs print them, never by what they say."""

from __future__ import annotations

from pathlib import Path

from ruleout.diagnosis.diagnose import diagnosed
from ruleout.diagnosis.weights import Counts, counted, kind, read, shipped, weighed, weight, written
from ruleout.model import Diagnosis
from ruleout.reading.diagnose import read_facts

EVERYWHERE = "WARNING 11-29 16:25:{0:02d} [frob.py:7] The frobnicator of rank {0} may lead to slower starts"
FAILING = "WARNING 11-29 16:25:{0:02d} [quux.py:9] Quux pages of {0} MiB might cause trouble"
READY = "INFO:     Application startup complete.\nINFO:     Finished server process [12]"
CRASH = "RuntimeError: CUDA error: an illegal memory access was encountered"


def runs(folder: Path) -> list[Diagnosis]:
    found = []
    for n in range(12):
        failed = n % 2 == 0
        lines = [EVERYWHERE.format(n), *([FAILING.format(n)] if failed else []), CRASH if failed else READY]
        path = folder / f"{n}.log"
        path.write_text("\n".join(lines * 1) + "\n")
        found.append(read_facts([path]))
    return found


def test_an_invented_warning_weighs_by_where_it_is_printed(tmp_path: Path) -> None:
    counts = counted(runs(tmp_path))
    assert (counts.healthy, counts.failing) == (6, 6)
    run = weighed(runs(tmp_path)[0], counts)
    everywhere, failing = run.warnings
    assert (everywhere.weight, everywhere.why) == (0.0, "printed by 6 of 6 healthy and 6 of 6 failing runs")
    assert failing.weight is not None
    assert failing.weight > 1


def test_a_warning_that_nobody_has_counted_has_no_weight() -> None:
    assert weight(Counts(5, 5, {}), kind("never seen")) is None
    assert weight(Counts(20, 30, {"seen once": (0, 1)}), "seen once") is None


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    counts = counted(runs(tmp_path))
    assert read(written(counts)) == counts
    assert shipped().healthy > 5
    assert shipped().failing > 5


def test_a_diagnosis_weighs_its_warnings(tmp_path: Path) -> None:
    found = diagnosed(runs(tmp_path)[0])
    assert len(found.warnings) == 2
