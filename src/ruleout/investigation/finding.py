"""Which investigation is meant: by a case file, a folder, a name, or nothing at all."""

from __future__ import annotations

from pathlib import Path

from ruleout.investigation.folder import HOME, Folder
from ruleout.model.errors import UsageError


def find(name: str | None, chosen: Path | None) -> Folder:
    """The folder of an investigation: the chosen one; or by a case file, a folder, a name, or nothing: the last one.

    Raises UsageError when there is none.
    """
    root = Path(HOME).absolute()
    if chosen is not None:
        folders = [chosen.absolute()]
    elif name is None:
        there = (db for db in root.glob("[!.]*/ruleout.db") if db.is_file())  # a dot: not whole yet
        folders = [db.parent for db in sorted(there, key=lambda p: -p.stat().st_mtime)]
    else:
        path = Path(name)
        folders = [root / name, path.absolute()]
        if path.is_file() and path.suffix in (".yaml", ".yml"):
            from ruleout.investigation.casefile import read_case  # takes longer than all else that finding does

            folders.insert(0, root / read_case(path).name)
    found = next((Folder(path) for path in folders if Folder(path).exists), None)
    if found is None:
        where = chosen or name or root
        raise UsageError(f"{where}: no investigation here", "Start one with `ruleout investigate CASE.yaml`.")
    return found
