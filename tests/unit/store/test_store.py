"""What happened is only ever added to, by one process at a time, and can be read while it is."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.strategies import text

from ruleout.model import MissingError, UsageError
from ruleout.store import DAMAGED, DATABASE, Store
from ruleout.store.migrations import STEPS, migrate


def kinds(folder: Path) -> list[str]:
    with Store(folder, writing=False) as store:
        return [event.kind for event in store.events()]


def test_events_come_back_in_the_order_in_which_they_were_added(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as store:
        store.append("case", None, {"text": "name: n"})
        store.append("planned", 1, {"levels": ["a", None, 1.5, {"b": True}], "text": "Grüße 漢字"})
        store.append("finished", 1)
        events = list(store.events())
    assert [(e.id, e.kind, e.trial, e.body) for e in events] == [
        (1, "case", None, {"text": "name: n"}),
        (2, "planned", 1, {"levels": ["a", None, 1.5, {"b": True}], "text": "Grüße 漢字"}),
        (3, "finished", 1, {}),
    ]


def test_events_are_still_there_when_it_is_opened_again(tmp_path: Path) -> None:
    for kind in ("one", "two"):
        with Store(tmp_path, writing=True) as store:
            store.append(kind)
    assert kinds(tmp_path) == ["one", "two"]


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(-1e9, 1e9) | text,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2),
    )
)
def test_a_body_comes_back_as_it_went(tmp_path: Path, value: Any) -> None:
    with Store(tmp_path, writing=True) as store:
        store.append("any", 1, {"value": value})
        *_, last = store.events()
    assert last.body == {"value": value}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET kind = 'clean'",
        "UPDATE events SET body = '{}' WHERE id = 1",
        "DELETE FROM events",
        "DELETE FROM events WHERE id = 1",
        "INSERT OR REPLACE INTO events (id, wall, kind, body) VALUES (1, 0, 'clean', '{}')",
    ],
)
def test_the_database_itself_refuses_to_rewrite_what_happened(tmp_path: Path, statement: str) -> None:
    with Store(tmp_path, writing=True) as store:
        store.append("reproduced", 1)
    db = sqlite3.connect(tmp_path / DATABASE)
    with pytest.raises(sqlite3.IntegrityError, match="events are only added to"):
        db.execute(statement)
    db.close()
    assert kinds(tmp_path) == ["reproduced"]


def test_a_body_that_is_no_json_is_refused_by_the_database(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True):
        pass
    db = sqlite3.connect(tmp_path / DATABASE)
    with pytest.raises(sqlite3.IntegrityError):
        db.execute("INSERT INTO events (wall, kind, body) VALUES (0, 'x', 'not json')")
    db.close()


def test_events_that_are_added_together_are_all_there_or_none_of_them(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as store:
        with store.together():
            store.append("one")
            store.append("two")
        with contextlib.suppress(KeyError), store.together():
            store.append("three")
            raise KeyError
        store.append("four")
    assert kinds(tmp_path) == ["one", "two", "four"]


# -- one writer ----------------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as store:
        store.append("case")
        with pytest.raises(UsageError, match=rf"another ruleout \(process {os.getpid()}\) is working on this"):
            Store(tmp_path, writing=True)
        store.append("planned", 1)
    assert kinds(tmp_path) == ["case", "planned"]


HOLD = """
import sys
from pathlib import Path
from ruleout.store import Store
store = Store(Path(sys.argv[1]), writing=True)
store.append("held")
print("holding", flush=True)
sys.stdin.read()
"""


def test_a_writer_of_another_process_is_named_and_its_death_frees_the_store(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holding\n"
        with pytest.raises(UsageError, match=rf"\(process {holder.pid}\)"):
            Store(tmp_path, writing=True)
        assert kinds(tmp_path) == ["held"]
        holder.kill()
        holder.wait()
        with Store(tmp_path, writing=True) as store:
            store.append("free")
    assert kinds(tmp_path) == ["held", "free"]


def test_a_store_that_was_closed_can_be_written_by_the_next(tmp_path: Path) -> None:
    Store(tmp_path, writing=True).close()
    Store(tmp_path, writing=True).close()
    assert kinds(tmp_path) == []


def test_it_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as writer:
        writer.append("one")
        with Store(tmp_path, writing=False) as reader:
            assert [e.kind for e in reader.events()] == ["one"]
            writer.append("two")
            assert [e.kind for e in reader.events()] == ["one", "two"]


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as writer:
        writer.append("one")
    with Store(tmp_path, writing=False) as reader, pytest.raises(MissingError, match="readonly"):
        reader.append("two")
    assert kinds(tmp_path) == ["one"]


def test_reading_where_there_is_nothing_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no investigation here"):
        Store(tmp_path, writing=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a?mode=rwc", "a%20b", "a#b", "a b"])
def test_any_name_of_a_folder_can_be_read(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    with Store(folder, writing=True) as writer:
        writer.append("one")
    assert kinds(folder) == ["one"]


# -- files that are no store ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("writing", [True, False])
def test_a_file_that_is_no_database_is_told_in_two_lines_and_left_alone(tmp_path: Path, writing: bool) -> None:
    (tmp_path / DATABASE).write_bytes(b"this is not a database" * 100)
    with pytest.raises(UsageError) as caught:
        Store(tmp_path, writing=writing)
    what, remedy = str(caught.value).split("\n")
    assert f"{tmp_path / DATABASE}: not a database of ruleout's" in what
    assert remedy.strip() == DAMAGED
    assert (tmp_path / DATABASE).read_bytes() == b"this is not a database" * 100


def test_a_file_that_is_no_database_does_not_keep_the_lock(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"this is not a database" * 100)
    with pytest.raises(UsageError):
        Store(tmp_path, writing=True)
    (tmp_path / DATABASE).unlink()
    with Store(tmp_path, writing=True) as store:
        store.append("one")


def test_a_database_of_something_else_is_not_read_as_ours(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / DATABASE)
    db.execute("CREATE TABLE other (x)")
    db.close()
    with pytest.raises(UsageError, match="not a database of ruleout's"):
        Store(tmp_path, writing=False)


def test_a_page_that_was_destroyed_is_a_message_and_no_traceback(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as store:
        for number in range(20):
            store.append("planned", number, {"text": "x" * 2000})
    path = tmp_path / DATABASE
    data = bytearray(path.read_bytes())
    data[8192:20480] = b"\xff" * (20480 - 8192)
    path.write_bytes(data)
    with pytest.raises(UsageError, match="not a database of ruleout's"), Store(tmp_path, writing=False) as reader:
        list(reader.events())


# -- migrations ----------------------------------------------------------------------------------------------------


def test_migrating_again_changes_nothing() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db)
    before = db.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
    ledger = db.execute("SELECT * FROM migrations").fetchall()
    migrate(db)
    assert db.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall() == before
    assert db.execute("SELECT * FROM migrations").fetchall() == ledger
    assert [row[0] for row in ledger] == [name for name, _ in STEPS]


@pytest.mark.parametrize("writing", [True, False])
def test_a_store_made_by_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path, writing: bool) -> None:
    with Store(tmp_path, writing=True) as store:
        store.append("one")
    db = sqlite3.connect(tmp_path / DATABASE)
    db.execute("INSERT INTO migrations (name) VALUES ('9999 of another time')")
    db.commit()
    db.close()
    with pytest.raises(UsageError) as caught:
        Store(tmp_path, writing=writing)
    what, remedy = str(caught.value).split("\n")
    assert "made by a newer version of ruleout" in what
    assert remedy.strip() == "Use the ruleout that made it, or a newer one."


def test_a_step_that_fails_leaves_no_half_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db)
    broken = (*STEPS, ("0002 broken", ("CREATE TABLE half (x)", "this is no SQL")))
    monkeypatch.setattr("ruleout.store.migrations.STEPS", broken)
    with pytest.raises(sqlite3.DatabaseError):
        migrate(db)
    db.rollback()
    assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)
    assert db.execute("SELECT count(*) FROM migrations").fetchone() == (len(STEPS),)
