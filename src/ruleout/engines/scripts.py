"""A shell's script whose last command can be run as words: flags are set on words, never inside of a text.

What stands before that command does what it did. Variables that are only carried become the deployment's; where the
engine's output goes is left out, since a trial keeps the log itself. Where anything could change, nothing is touched.
"""

from __future__ import annotations

import re
import shlex

from ruleout.model import arguments

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_TOKEN = re.compile(
    r"(?P<control>[;&|<>\n]+)|(?P<word>(?:[^\s'\"\\;&|<>]|\\.|'[^']*'|\"(?:\\.|[^\"\\])*\")+)|\s+|.", re.S
)
_QUOTED = re.compile(r"'[^']*'|\\.")
_FILE = r"(?:[^\s'\"\\;&|<>]|'[^']*'|\"[^\"]*\")+"
_OUTPUT = re.compile(
    rf"(?:\s*(?:(?:(?<!\S)\d)?>>?\s*(?:&\d|{_FILE})|&>>?\s*{_FILE}|>&\s*{_FILE}|\|&?\s*tee(?:\s+{_FILE})*|(?<!&)&))+\s*$"
)
"""Where the output of a script's last command goes, and that it goes on in the background."""
_STATEMENT = re.compile(r"(?:[^\s'\"\\;&]|\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\S\n])+(?:;|&&|\n)*\s*|.", re.S)
_CHANGES_NO_VARIABLE = frozenset({"cd", "set", "ulimit", "umask"})


def as_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """The command with the last command of a shell's script as words; as it is where that could change what it does."""
    shell, script = arguments.shell_position(words), arguments.script_position(words)
    if script is None or len(words) > script + 1 or (parted := _parted(words[script])) is None:
        return words
    before, last = parted
    before, variables, harmless = _without_exports(before)
    last, own = without_variables(last)
    if harmless:
        variables, own = variables | own, {}
    outside = [f"{name}={value}" for name, value in variables.items()]
    outside = ["env", *outside] if shell and outside else outside
    if not before:
        return (*words[:shell], *outside, *last)
    carried = [f"{name}={shlex.quote(value)}" for name, value in own.items()]
    ends = " " if before.endswith((";", "&&")) else "\n"
    run = before + ends + " ".join([*(carried or ["exec"]), arguments.FORWARDS])
    return (*words[:shell], *outside, *words[shell:script], run, words[shell], *last)


def without_variables(words: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Without the variables, `env` and `exec` at its beginning. `env` with options of its own stays."""
    env: dict[str, str] = {}
    while len(words) > 1:
        if found := _ASSIGNMENT.fullmatch(words[0]):
            env[found[1]] = found[2]
        elif words[0] != "exec" and (arguments.program(words[0]) != "env" or words[1].startswith("-")):
            break
        words = words[1:]
    return words, env


def _without_exports(before: str) -> tuple[str, dict[str, str], bool]:
    """What a script does first, without the variables that it exports; these; and whether it changes no other ones.

    What stands behind a command that may change variables stays as it is.
    """
    kept, env, harmless = "", {}, True
    for statement in _STATEMENT.findall(before):
        try:
            words = shlex.split(statement.strip().rstrip(";&"))
        except ValueError:
            words = []
        pairs = [_ASSIGNMENT.fullmatch(word) for word in words[1:]]
        exports = words[:1] == ["export"] and all(pairs) and not re.search(r"[$`~]", _QUOTED.sub("", statement))
        harmless = harmless and (exports or words[:1] == [] or words[0] in _CHANGES_NO_VARIABLE)
        if exports and harmless:
            env.update({pair[1]: pair[2] for pair in pairs if pair})
        else:
            kept += statement
    return kept.strip(), env, harmless


def _parted(script: str) -> tuple[str, tuple[str, ...]] | None:
    """What a script does before its last command, and that command as words; None where that is not certain."""
    script = script.replace("\\\n", " ").strip().rstrip(";").strip()
    script = _OUTPUT.sub("", script)
    begin = 0
    for found in _TOKEN.finditer(script):
        if found["control"] and (found["control"] == "&&" or not found["control"].strip(";\n")):
            begin = found.end()
        elif not (found["word"] or found[0].isspace()):
            begin = -1
        if begin < 0 or (found["control"] and begin != found.end()):
            return None
    last = script[begin:]
    if re.search(r"[$`]", _QUOTED.sub("", last)) or re.search(r"(?:^|\s)~", last):
        return None  # the shell would put something else there
    try:
        words = tuple(shlex.split(last))
    except ValueError:
        return None
    return (script[:begin].strip(), words) if words else None
