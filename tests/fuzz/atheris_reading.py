"""Coverage-guided fuzzing of reading and redaction: no exception, no hang, whatever the bytes.

`pip install atheris` into an environment that has ruleout's dependencies (it is no dependency of ours), then

    python tests/fuzz/atheris_reading.py -max_total_time=600 -timeout=10 CORPUS

where the folder CORPUS may begin as a copy of tests/unit/reading/fixtures. A finding is written to a file by libFuzzer;
make it a test in test_reading.py.
"""

from __future__ import annotations

import io
import sys

import atheris  # type: ignore[import-untyped]

with atheris.instrument_imports(include=["ruleout"]):
    from ruleout.interfaces.cli.diagnosis import screen
    from ruleout.model.redaction import redact
    from ruleout.reading.diagnose import Stream, read_facts
    from ruleout.report.diagnosis import diagnosis_document


def one_input(data: bytes) -> None:
    """Reads, renders, redacts; what is redacted stays as it is."""
    diagnosis = read_facts([Stream("log", io.BytesIO(data))])
    diagnosis_document(diagnosis)
    list(screen(diagnosis, 80))
    once = redact(data.decode("utf-8", "replace")).text
    assert redact(once).text == once, "redacting again changed the text"


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
