"""A shell's script does the same whether it is given as text or its last command as words."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

import pytest

from ruleout.engines.scripts import as_words, without_variables

SAYS = """printf '%s|' "$PWD" "${A-}" "${B-}" "$@"; echo"""


def said(argv: Sequence[str], env: dict[str, str], folder: str) -> str:
    env = {"PATH": "/usr/bin:/bin", **env}
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "script",
    [
        "sh say m",
        "A=1 sh say 'a b' --c=\\\"d\\\"",
        "export A=1 B='x y'; sh say m",
        "cd /\nexport A=1\nB=2 sh say m",
        "set -e; cd / && A=1 exec sh say \\\n  m",
        ". ./vars; export B=2; sh say m",
        "A=1; export A; sh say $A",
        "export A=$PWD && sh say m",
        "sh say m > out.txt; cat out.txt",
    ],
)
def test_a_script_does_what_it_did(script: str, tmp_path: object) -> None:
    folder = str(tmp_path)
    with open(f"{folder}/say", "w", encoding="utf-8") as say:
        say.write(SAYS + "\n")
    with open(f"{folder}/vars", "w", encoding="utf-8") as variables:
        variables.write("export A=from-a-file\n")
    script = script.replace("sh say", f"sh {folder}/say")
    words, env = without_variables(as_words(("bash", "-c", script)))
    assert said(["bash", "-c", script], {}, folder) == said(words, env, folder) != "", shlex.join(words)
