"""The schema, step by step, with a ledger of the steps that were taken. A step is never edited, only followed."""

from __future__ import annotations

import sqlite3

STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "0001 events",
        (
            """CREATE TABLE events (
                 id INTEGER PRIMARY KEY AUTOINCREMENT,
                 wall REAL NOT NULL,
                 kind TEXT NOT NULL,
                 trial INTEGER,
                 body TEXT NOT NULL CHECK (json_valid(body))
               )""",
            """CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
               BEGIN SELECT RAISE(ABORT, 'events are only added to'); END""",
            """CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
               BEGIN SELECT RAISE(ABORT, 'events are only added to'); END""",
        ),
    ),
    (
        "0002 replacing is changing",
        (
            """CREATE TRIGGER events_are_not_replaced BEFORE INSERT ON events
               WHEN EXISTS (SELECT 1 FROM events WHERE id = NEW.id)
               BEGIN SELECT RAISE(ABORT, 'events are only added to'); END""",
        ),
    ),
)


def migrate(db: sqlite3.Connection) -> None:
    """Take the steps that are missing, all of them or none. Raises sqlite3.DatabaseError."""
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, at TEXT DEFAULT CURRENT_TIMESTAMP)")
        done = steps_taken(db)
        for name, statements in STEPS:
            if name in done:
                continue
            for statement in statements:
                db.execute(statement)
            db.execute("INSERT INTO migrations (name) VALUES (?)", (name,))
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def steps_taken(db: sqlite3.Connection) -> set[str]:
    """The steps so far. Raises sqlite3.DatabaseError when there is no ledger, or one with steps that are not known."""
    done = {row[0] for row in db.execute("SELECT name FROM migrations")}
    if done - {name for name, _ in STEPS}:
        raise sqlite3.DatabaseError("made by a newer version of ruleout")
    return done
