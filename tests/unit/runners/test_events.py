"""Reading a spool that may have been torn, and joining it with what came through the mirror."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruleout.runners.base import ended, merged, parse_event, read_events


def event(seq: int, kind: str = "log") -> dict[str, Any]:
    return {"kind": kind, "seq": seq}


def test_torn_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"kind": "a"}\n\n42\n{"kind": 3}\nnoise \xff\n{"kind": "b"}\n{"kind": "c", "x')
    assert [found["kind"] for found in read_events(path)] == ["a", "b"]


def test_a_missing_spool_holds_no_events(tmp_path: Path) -> None:
    assert read_events(tmp_path / "none" / "events.jsonl") == []


def test_an_unknown_kind_is_still_an_event() -> None:
    assert parse_event(b'{"kind": "of the future"}') == {"kind": "of the future"}


def test_spool_and_mirror_make_one_record_in_order_with_the_end_last() -> None:
    spool = [event(1), event(3), event(6, "end")]
    mirror = [event(2), event(3), event(7, "stopped")]
    assert [found["seq"] for found in merged(spool, mirror)] == [1, 2, 3, 7, 6]


def test_a_record_without_its_end_has_not_ended() -> None:
    assert not ended([event(1)])
    assert ended([event(1), event(2, "end")])
