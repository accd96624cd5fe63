"""What engines say when they fail: each message has its class, and where it tells, its stage."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import yaml

from ruleout.reading.diagnose import Stream, read_facts

MESSAGES = yaml.safe_load((Path(__file__).parent / "fixtures" / "messages.yaml").read_text())


@pytest.mark.parametrize("case", MESSAGES, ids=lambda case: f"{case['class']}: {case['message'][:40]}")
def test_a_message_has_its_class_and_its_stage(case: dict[str, str]) -> None:
    found = read_facts([Stream("pasted", io.BytesIO(f"{case['message']}\n".encode()))])
    assert found.failure
    assert found.failure.class_ == case["class"]
    assert found.stage == case.get("stage", found.stage)
