"""Which engine a command starts, through whatever people put before it: variables, wrappers, a shell, a container.

What only carries the command is taken off where that changes nothing: leading variables become the deployment's, and a
shell's script is run as words, so that flags can be set on it. Wrappers that do something of their own stay.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ruleout.model import arguments

_SERVES = {"vllm": "vllm", "sglang": "sglang", "transformers": "transformers", "llama": "llama.cpp"}
"""Programs that serve when their first argument is `serve`."""
_SERVERS = {"llama-server": "llama.cpp", "trtllm-serve": "tensorrt-llm"}
_MODULES = {
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.cli.main": "vllm",
    "sglang.launch_server": "sglang",
    "sglang.cli.main": "sglang",
    "transformers.cli.transformers": "transformers",
    "tensorrt_llm.commands.serve": "tensorrt-llm",
}
_WITH_VERB = frozenset({"vllm.entrypoints.cli.main", "sglang.cli.main", "transformers.cli.transformers"})
_SCRIPTS = {"vllm/entrypoints/openai/api_server.py": "vllm", "sglang/launch_server.py": "sglang"}
_IMAGES = (
    # Images whose entry point is the server: https://docs.vllm.ai/en/latest/deployment/docker.html
    (re.compile(r"(?:^|/)vllm-openai\w*(?:[:@]|$)"), "vllm"),
    # https://github.com/ggml-org/llama.cpp/blob/master/docs/docker.md
    (re.compile(r"(?:^|/)llama\.cpp:server"), "llama.cpp"),
)
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
WRAPPERS = _CONTAINERS | {
    *("env", "sudo", "exec", "nohup", "setsid", "nice", "ionice", "chrt", "timeout", "time", "stdbuf", "unbuffer"),
    *("numactl", "taskset", "srun", "mpirun", "mpiexec", "torchrun", "accelerate", "systemd-run"),
    *("uv", "uvx", "conda", "mamba", "poetry"),
    *("nsys", "ncu", "compute-sanitizer", "gdb", "strace", "ltrace", "py-spy"),
}
"""Programs that run the command behind their own options."""
_PYTHON = re.compile(r"python(\d+(\.\d+)?t?)?|torchrun")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_TOKEN = re.compile(
    r"(?P<control>[;&|<>\n]+)|(?P<word>(?:[^\s'\"\\;&|<>]|\\.|'[^']*'|\"(?:\\.|[^\"\\])*\")+)|\s+|.", re.S
)
_QUOTED = re.compile(r"'[^']*'|\\.")


@dataclass(frozen=True, slots=True)
class Recognised:
    """A command as it is launched.

    Attributes:
        engine: `command` where it is none that is known.
        command: without the variables and the shell that only carried it.
        env: the variables that were taken off it.
        begin: where the engine's own program stands in `command`.
        arguments: where its own arguments begin.
        container: it runs inside one.
    """

    engine: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    begin: int = 0
    arguments: int = 0
    container: bool = False

    @property
    def program(self) -> tuple[str, ...]:
        """How the engine is called, without what stands before it and without its arguments."""
        return self.command[self.begin : self.arguments]

    @property
    def given(self) -> tuple[str, ...]:
        """The engine's own arguments."""
        return self.command[self.arguments :]


def recognise(command: Sequence[str]) -> Recognised:
    """What a command starts."""
    words, env = _without_variables(tuple(command))
    inside = _as_words(words)
    inner, more = _without_variables(inside)
    for found, variables in ((inner, env | more), (words, env)):
        if (place := _place(found)) is not None:
            engine, begin, behind = place
            return Recognised(engine, found, variables, begin, behind, _image(found) is not None)
    return Recognised("command", words, env, arguments=min(arguments.program_ends(words), len(words)))


def _without_variables(words: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Without the variables, `env` and `exec` at its beginning. `env` with options of its own stays."""
    env: dict[str, str] = {}
    while len(words) > 1:
        if found := _ASSIGNMENT.fullmatch(words[0]):
            env[found[1]] = found[2]
        elif words[0] != "exec" and (arguments.program(words[0]) != "env" or words[1].startswith("-")):
            break
        words = words[1:]
    return words, env


# -- a shell ---------------------------------------------------------------------------------------------------


def _as_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """The command with the last command of a shell's script as words; as it is where that could change what it does."""
    shell, script = arguments.shell_position(words), arguments.script_position(words)
    if script is None or len(words) > script + 1 or (parted := _parted(words[script])) is None:
        return words
    before, last = parted
    if not before:
        return (*words[:shell], *(["env"] if shell and _ASSIGNMENT.fullmatch(last[0]) else []), *last)
    last, env = _without_variables(last)
    carried = [f"{name}={shlex.quote(value)}" for name, value in env.items()]
    run = " ".join([before, *carried, *([] if carried else ["exec"]), arguments.FORWARDS])
    return (*words[:script], run, words[shell], *last)


def _parted(script: str) -> tuple[str, tuple[str, ...]] | None:
    """What a script does before its last command, and that command as words; None where that is not certain."""
    script = script.replace("\\\n", " ").strip().rstrip(";").strip()
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


# -- the engine ------------------------------------------------------------------------------------------------


def _place(words: Sequence[str]) -> tuple[str, int, int] | None:
    """The engine, where its program stands, and where its arguments begin."""
    first = arguments.program(words[0]) if words else ""
    if image := _image(words):
        engine = next((name for pattern, name in _IMAGES if pattern.search(words[image])), "")
        starts = range(image + 1, len(words))
        entered = (engine, image, image + 1) if engine else None
    else:
        forwards = arguments.script_position(words) is not None and arguments.shell_script(words) is None
        wrapped = forwards or first in WRAPPERS - _CONTAINERS or _PYTHON.fullmatch(first)
        starts, entered = range(len(words) if wrapped else min(1, len(words))), None
    for i in starts:
        if (found := _starts(words, i)) is not None:
            engine, behind = found
            return engine, _python_before(words, i), behind
    return entered


def _starts(words: Sequence[str], i: int) -> tuple[str, int] | None:
    """The engine whose program's name, module or script stands there, and where its arguments begin."""
    word, after = words[i], words[i + 1] if i + 1 < len(words) else ""
    name = arguments.program(word)
    if name in _SERVES and after == "serve":
        return _SERVES[name], i + 2
    if name in _SERVERS:
        return _SERVERS[name], i + 1 + (after == "serve")
    if word == "-m" and after in _MODULES:
        verb = words[i + 2] if i + 2 < len(words) else ""
        if after in _WITH_VERB and verb != "serve":
            return None
        return _MODULES[after], i + 2 + (verb == "serve")
    script = next((engine for path, engine in _SCRIPTS.items() if word.endswith(path)), None)
    return (script, i + 1) if script and i else None


def _python_before(words: Sequence[str], i: int) -> int:
    """Where the interpreter of a module or script stands, with its own options between."""
    if words[i] != "-m" and not words[i].endswith(".py"):
        return i
    options = i if words[i] == "-m" else i - 1
    while options > 0 and words[options].startswith("-"):
        options -= 1
    return options if _PYTHON.fullmatch(arguments.program(words[options])) else i


_NO_VALUE = {
    "-d",
    "--detach",
    "-i",
    "-t",
    "-it",
    "-ti",
    "--interactive",
    "--tty",
    "--rm",
    "--privileged",
    "--init",
    "-P",
}


def _image(words: Sequence[str]) -> int | None:
    """Where the image of `docker run` stands; None where no container is run."""
    at = next((i for i, word in enumerate(words) if arguments.program(word) in _CONTAINERS), None)
    if at is None or "run" not in words[at:] or (at and arguments.program(words[0]) not in WRAPPERS):
        return None
    i = words.index("run", at) + 1
    while i < len(words) and words[i].startswith("-"):
        i += 1 if "=" in words[i] or words[i] in _NO_VALUE else 2
    return i if i < len(words) else None
