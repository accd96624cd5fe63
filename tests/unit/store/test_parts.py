"""What the database takes out of the bodies is what stands in them."""

from __future__ import annotations

from pathlib import Path

from ruleout.store import Store


def test_parts_counts_and_the_last_are_those_of_the_events(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as store:
        for number in range(1, 5):
            store.append(
                "planned", number, {"a": {"b": number}, **({"more": {"x": 1}} if number == 2 else {"more": {}})}
            )
        store.append("finished", 1, {"big": [1, 2, 3], "kept": "yes"})
        store.append("finished", 2, {"big": [], "kept": "last"})
        store.append("abandoned", 3)
        assert [row[1:] for row in store.parts(("planned",), "$.a.b")] == [(n, n) for n in range(1, 5)]
        assert [trial for _, trial in store.parts(("planned",), given="$.more")] == [2]
        assert [row[1:] for row in store.parts(("finished", "abandoned"), "$.kept")] == [
            (1, "yes"),
            (2, "last"),
            (3, None),
        ]
        assert store.unended() == [4]
        last = store.last("finished", "$.big")
        assert last is not None
        assert (last.trial, last.body) == (2, {"kept": "last"})
        assert store.last("no such") is None
        assert [(e.kind, e.trial) for e in store.of_trials([1, 4])] == [
            ("planned", 1),
            ("planned", 4),
            ("finished", 1),
        ]
