"""A folder of an investigation that is older, newer or damaged: every verb works on it, or says so in two lines."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.investigations import stored

from ruleout.interfaces.cli.main import _run as run
from ruleout.store import DATABASE

NAME = "kv-of-eight-bits"
READING = [
    ["status"],
    ["status", "--json"],
    ["findings"],
    ["report"],
    ["issue", "--yes", "-o", "made/issue.md"],
    ["export", "-o", "made/a.zip"],
    ["export", "--junit", "made/a.xml"],
    ["rules", "new", "--from", NAME, "-o", "made/rule.yaml"],
]
WRITING = [["investigate", "--resume", NAME, "--budget-trials", "1"], ["mark", "2", "clean"]]
Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored(tmp_path_factory.mktemp("sound")).path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RULEOUT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def damaged(sound: Path, damage: Damage) -> Path:
    """A copy of the investigation, with that done to its database."""
    folder = Path("ruleout") / NAME
    shutil.rmtree(folder.parent, ignore_errors=True)
    shutil.copytree(sound, folder)
    damage(folder / DATABASE)
    return folder / DATABASE


def sql(*statements: str) -> Damage:
    def change(path: Path) -> None:
        db = sqlite3.connect(path, isolation_level=None)
        for name in ("changed", "deleted", "replaced"):
            db.execute(f"DROP TRIGGER IF EXISTS events_are_not_{name}")
        for statement in statements:
            db.execute(statement)
        db.close()

    return change


def bodies(change: Callable[[str, Any], Any]) -> Damage:
    """The documents of all events, changed by their kind."""

    def rewrite(path: Path) -> None:
        sql()(path)
        db = sqlite3.connect(path, isolation_level=None)
        for number, kind, body in db.execute("SELECT id, kind, body FROM events").fetchall():
            db.execute("UPDATE events SET body = ? WHERE id = ?", (json.dumps(change(kind, json.loads(body))), number))
        db.close()

    return rewrite


def without(*keys: str) -> Damage:
    """Keys that came later: in all documents, however deep."""

    def less(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: less(item) for key, item in value.items() if key not in keys}
        return [less(item) for item in value] if isinstance(value, list) else value

    return bodies(lambda kind, body: body if kind == "case" else less(body))


def first(part: float) -> Damage:
    return lambda path: os.truncate(path, int(path.stat().st_size * part))


def noise(begin: float, length: int) -> Damage:
    def spoil(path: Path) -> None:
        data = bytearray(path.read_bytes())
        at = int(len(data) * begin)
        data[at : at + length] = random.Random(3).randbytes(length)
        path.write_bytes(data)

    return spoil


KILLED = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("PRAGMA journal_mode = " + sys.argv[2])
if sys.argv[2] == "delete":
    db.execute("BEGIN IMMEDIATE")
for number in range(1000):
    db.execute("INSERT INTO events (wall, kind, body) VALUES (0, 'x', json_object('a', hex(randomblob(500))))")
os.kill(os.getpid(), 9)
"""


def killed(mode: str, then: Damage = lambda path: None) -> Damage:
    """Whoever wrote to it was killed meanwhile."""

    def spoil(path: Path) -> None:
        subprocess.run([sys.executable, "-c", KILLED, str(path), mode], check=False)
        beside = path.with_name(f"{DATABASE}-{'wal' if mode == 'wal' else 'journal'}")
        assert beside.stat().st_size
        then(beside)

    return spoil


def exchanged(path: Path) -> Path:
    path.unlink()
    return path


USABLE: dict[str, Damage] = {
    "what is suspected elsewhere was not kept": without("elsewhere"),
    "much was not kept": without(
        *("elsewhere", "without", "instruments", "others", "effective", "observed", "by_person", "hearsay"),
        *("shows", "limits", "minimal", "installations", "client", "consequences", "pivots", "assumptions", "priors"),
    ),
    "one step less": sql("DELETE FROM migrations WHERE name LIKE '0002%'"),
    "keys of later": bodies(lambda kind, body: {**body, "later": [1]}),
    "a kind of event of later": sql("INSERT INTO events (wall, kind, trial, body) VALUES (1, 'later', 1, '{}')"),
    "written to by one that was killed": killed("delete"),
    "the same, with a log ahead": killed("wal"),
    "the log ahead is gone": killed("wal", lambda path: path.unlink()),
    "the log ahead is of something else": killed("wal", lambda path: path.write_bytes(b"x" * 9999)),
    "the journal is of something else": lambda path: path.with_name("ruleout.db-journal").write_bytes(b"x" * 4096),
}


@pytest.mark.parametrize("damage", USABLE.values(), ids=USABLE)
def test_every_verb_works(sound: Path, damage: Damage, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in READING + WRITING:
        damaged(sound, damage)
        shutil.rmtree("made", ignore_errors=True)
        assert run(verb) == (1 if verb[0] == "investigate" else 0), (verb, capsys.readouterr().err)
        capsys.readouterr()
        assert run(["status", "--json"]) == 0
        trials = json.loads(capsys.readouterr().out)["trials"]
        assert [(t["id"], t["outcome"]) for t in trials[:3]] == [(1, "reproduced"), (2, "clean"), (3, "reproduced")]


NEWER = sql("INSERT INTO migrations (name) VALUES ('9999 of later')")
UNUSABLE: dict[str, Damage] = {
    "a step of later": NEWER,
    "a class of failure of later": bodies(
        lambda kind, body: json.loads(json.dumps(body).replace('"class": "', '"class": "later_'))
    ),
    "a status of later": bodies(
        lambda kind, body: {"verdict": {**body["verdict"], "status": "later"}} if kind == "verdict" else body
    ),
    "another table": sql("DROP TABLE events", "CREATE TABLE events (x)"),
    "no ledger": sql("DROP TABLE migrations"),
    "an event is gone": sql("DELETE FROM events WHERE kind = 'planned' AND trial = 2"),
    "an event of no trial": sql("INSERT INTO events (wall, kind, trial, body) VALUES (1, 'finished', 77, '{}')"),
    "a list for a document": bodies(lambda kind, body: [1] if kind == "finished" else body),
    "nothing in it": bodies(lambda kind, body: {} if kind == "finished" else body),
    "no text": lambda path: path.write_bytes(path.read_bytes().replace(b'"outcome"', b'"outc\xff\xfe"')),
    "cut to a byte": first(1e-4),
    "cut in the middle": first(0.5),
    "cut at the end": first(0.9),
    "noise in its head": noise(0.0, 60),
    "noise in the middle": noise(0.5, 9000),
    "something else": lambda path: path.write_text("a shopping list"),
    "a folder": lambda path: exchanged(path).mkdir(),
    "a link to nothing": lambda path: exchanged(path).symlink_to("/nowhere/at/all"),
}


@pytest.mark.parametrize("damage", UNUSABLE.values(), ids=UNUSABLE)
def test_every_verb_says_so_in_two_lines_and_nothing_is_made_or_changed(
    sound: Path, damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    before = None
    for verb in READING + WRITING:
        path = damaged(sound, damage)
        before = path.read_bytes() if path.is_file() else None
        assert run(verb) in (2, 4), verb
        out, err = capsys.readouterr()
        assert (verb, out) == (verb, "")
        assert len(err.splitlines()) == 2, (verb, err)
        assert max(map(len, err.splitlines())) < 400
        assert "defect" not in err
        assert err.splitlines()[1].strip()
        assert not Path("made").exists()
        assert (path.read_bytes() if path.is_file() else None) == before, verb


def test_of_a_newer_one_that_is_said(sound: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for damage in (NEWER, UNUSABLE["a class of failure of later"]):
        damaged(sound, damage)
        assert run(["status"]) == 2
        assert "newer" in capsys.readouterr().err


def test_an_empty_file_is_no_investigation_and_is_not_taken_for_one(
    sound: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in [*READING, WRITING[0]]:
        path = damaged(sound, first(0))
        assert run(verb) == 2, verb
        assert len(capsys.readouterr().err.splitlines()) == 2
        assert (path.parent / "trials" / "0001" / "server.log").is_file()
