"""Which engine a command starts, through whatever people put before it: variables, wrappers, a shell, a container.

What only carries the command is taken off where that changes nothing: leading variables become the deployment's, and a
shell's script is run as words, so that flags can be set on it. Wrappers that do something of their own stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ruleout.engines.containers import CLIENTS, Container, container
from ruleout.engines.scripts import as_words, without_variables
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
_PLAIN = frozenset({"nohup", "setsid", "nice", "ionice", "chrt", "timeout", "time", "stdbuf", "unbuffer", "numactl"}
                   | {"taskset", "prlimit"})  # fmt: skip
"""Wrappers that give on the environment as it is, and are none of a language's."""
WRAPPERS = _PLAIN | CLIENTS | {
    *("env", "sudo", "doas", "exec", "systemd-run", "cgexec", "dotenv"),
    *("srun", "mpirun", "mpiexec", "torchrun", "accelerate", "trtllm-llmapi-launch"),
    *("uv", "uvx", "conda", "mamba", "micromamba", "poetry", "pdm", "pixi", "hatch", "rye", "pipenv", "pipx"),
    *("apptainer", "singularity"),
    *("nsys", "ncu", "compute-sanitizer", "cuda-gdb", "rocprof", "rocprofv3"),
    *("gdb", "strace", "ltrace", "perf", "py-spy"),
}  # fmt: skip
"""Programs that run the command behind their own options."""
_PYTHON = re.compile(r"python(\d+(\.\d+)?t?)?|torchrun")


@dataclass(frozen=True, slots=True)
class Recognised:
    """A command as it is launched.

    Attributes:
        engine: `command` where it is none that is known.
        command: without the variables and the shell that only carried it.
        env: the variables that were taken off it.
        begin: where the engine's own program stands in `command`.
        arguments: where its own arguments begin.
        within: the container that it runs in; None: in none.
    """

    engine: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    begin: int = 0
    arguments: int = 0
    within: Container | None = None

    @property
    def container(self) -> bool:
        """It runs inside one."""
        return self.within is not None

    @property
    def program(self) -> tuple[str, ...]:
        """How the engine is called, without what stands before it and without its arguments."""
        return self.command[self.begin : self.arguments]

    @property
    def given(self) -> tuple[str, ...]:
        """The engine's own arguments."""
        return self.command[self.arguments :]

    def value_of(self, *flags: str) -> str | None:
        """The value that the engine's arguments give the first of these flags that they have; None: they have none."""
        words = ("", *self.given)
        return next((value for flag in flags if (value := arguments.value_of(words, flag)) is not None), None)

    @property
    def variables(self) -> Mapping[str, str]:
        """Those that the command sets for the engine: in a container, those that it is given there."""
        return self.within.env if self.within is not None else self.env


def recognise(command: Sequence[str]) -> Recognised:
    """What a command starts."""
    return _recognised(tuple(command))


@lru_cache(maxsize=512)
def _recognised(command: tuple[str, ...]) -> Recognised:
    words, env = without_variables(command)
    inner, more = _carried(as_words(_entered(words)))
    for found, variables in ((inner, env | more), (words, env)):
        within = _container(found)
        if (place := _place(found, within)) is not None:
            engine, begin, behind = place
            return Recognised(engine, found, variables, begin, behind, within)
    return Recognised("command", words, env, arguments=_own_arguments(words), within=_container(words))


def _own_arguments(words: tuple[str, ...]) -> int:
    """Where the arguments of a program begin that is no engine's; behind all words where only a wrapper's are known."""
    begin = 0
    if within := _container(words):
        begin = within.image
    elif words and arguments.program(words[0]) in WRAPPERS:
        begin = len(words)
    python = next((i for i, word in enumerate(words) if _PYTHON.fullmatch(arguments.program(word))), None)
    begin = begin if python is None else python
    return min(begin + arguments.program_ends(words[begin:]), len(words))


def _carried(words: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Without the variables at its beginning, and those that `env` sets behind wrappers that give them on."""
    words, env = without_variables(words)
    at = next((i for i, word in enumerate(words) if arguments.program(word) == "env"), None)
    before = {arguments.program(word) for word in words[:at]}
    if at is None or arguments.program(words[0]) not in _PLAIN or before & (WRAPPERS - _PLAIN):
        return words, env
    behind, more = without_variables(words[at:])
    return (*words[:at], *behind), {**env, **more}


def _entered(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a container with a shell as its entry point (`--entrypoint bash IMAGE -c "…"`) as its command."""
    within = _container(words)
    shell = within.option("--entrypoint") if within else None
    if within is None or shell is None or arguments.program(shell) not in arguments.SHELLS:
        return words
    return within.with_entry_point(shell)


def _container(words: Sequence[str]) -> Container | None:
    """The container that a command runs; None where it runs none."""
    at = next((i for i, word in enumerate(words) if arguments.program(word) in CLIENTS), None)
    if at is None or (at and arguments.program(words[0]) not in WRAPPERS):
        return None
    return container(words, at)


def _place(words: Sequence[str], within: Container | None) -> tuple[str, int, int] | None:
    """The engine, where its program stands, and where its arguments begin."""
    first = arguments.program(words[0]) if words else ""
    begins = 0
    if within is not None:
        if (entry := within.option("--entrypoint")) and (found := _starts([entry, *words[within.image + 1 :]], 0)):
            return found[0], within.image, within.image + found[1]
        begins = within.image + 1
        wrapped = True
    else:
        forwards = arguments.script_position(words) is not None and arguments.shell_script(words) is None
        wrapped = bool(forwards or first in WRAPPERS - CLIENTS or _PYTHON.fullmatch(first))
    for i in range(begins, len(words) if wrapped else min(1, len(words))):
        if (found := _starts(words, i)) is not None:
            engine, behind = found
            return engine, _python_before(words, i), behind
    if within is not None and within.engine is not None:
        return within.engine, within.image, within.image + 1
    return None


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
