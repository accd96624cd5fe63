"""Make the table of model types that transformers knows: which of its releases was the first that names each.

    python tools/model_types.py transformers-*.whl > src/ruleout/model/model_types.json

The wheels are those of https://pypi.org/project/transformers/, one for each minor release. What the oldest of them
knows is left out: of those types, nothing is said but that they are older.
"""

from __future__ import annotations

import ast
import re
import sys
import zipfile
from pathlib import Path

_FILES = ("transformers/models/auto/configuration_auto.py", "transformers/models/auto/auto_mappings.py")
_VERSION = re.compile(r"transformers-(\d+(?:\.\d+)*)-")


def known(wheel: Path) -> set[str]:
    """The model types that a release's automatic configuration names."""
    found: set[str] = set()
    with zipfile.ZipFile(wheel) as archive:
        for name in set(_FILES) & set(archive.namelist()):
            for statement in ast.parse(archive.read(name)).body:
                if "CONFIG_MAPPING_NAMES" in ast.unparse(statement)[:100]:
                    found |= {name for node in ast.walk(statement) for name in _keys(node)}
    return found


def _keys(node: ast.AST) -> list[str]:
    """The keys of a mapping, written as a dict or as pairs."""
    keys: list[ast.expr | None] = []
    if isinstance(node, ast.Dict):
        keys = node.keys
    elif isinstance(node, ast.Tuple) and len(node.elts) == 2:
        keys = node.elts[:1]
    return [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]


def main(wheels: list[Path]) -> None:
    """Print the table."""
    releases = []
    for wheel in wheels:
        version = _VERSION.match(wheel.name)
        if not version:
            raise SystemExit(f"{wheel}: not a wheel of transformers\n  Give wheels as pip downloads them.")
        releases.append((tuple(int(part) for part in version[1].split(".")), known(wheel)))
    releases.sort()
    first: dict[str, str] = {}
    seen = set(releases[0][1])
    for version_, types in releases[1:]:
        first |= {name: ".".join(map(str, version_)) for name in sorted(types - seen)}
        seen |= types
    sys.stdout.write("{\n" + ",\n".join(f'  "{name}": "{version}"' for name, version in first.items()) + "\n}\n")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
