"""An engine that can be seen in a command but not be launched as one: as a job, it would never end by itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from ruleout.engines.containers import CLIENTS
from ruleout.engines.recognising import recognise
from ruleout.model import arguments

_STARTS = re.compile(
    r"\b(?:(?:vllm|sglang|transformers) serve|vllm\.entrypoints\.openai\.api_server|sglang\.launch_server"
    r"|llama-server|trtllm-serve)\b"
)
_SUBSTITUTED = re.compile(r"\$\(|`|\$\{?\w+\}?")
_MODEL = frozenset({"--model", "--model-path"})
"""Flags that only a server of a model has."""
_CARRIERS = {
    "ssh": "Write a case file with `host: {ssh: HOST}` and the command as it is on that host.",
    "kubectl": "Run ruleout inside of the pod, with the command that its container runs.",
    "oc": "Run ruleout inside of the pod, with the command that its container runs.",
    "tmux": "Give the command itself; ruleout keeps its log.",
    "screen": "Give the command itself; ruleout keeps its log.",
}


def unreached(command: Sequence[str]) -> tuple[str, str] | None:
    """What is wrong, and what to do, where a command starts an engine that it keeps out of reach; None elsewhere."""
    words = tuple(command)
    found = recognise(words)
    if not words or found.engine != "command":
        return None
    if found.within is not None and _MODEL & {word.partition("=")[0] for word in found.given}:
        return (
            f"the image {found.within.words[found.within.image]} starts a program that is not known by its name",
            "Name the program: `--entrypoint vllm` before the image and `serve` behind it, or what it starts.",
        )
    first = arguments.program(words[0])
    if (told := _of_compose(words)) is not None:
        return told
    at = arguments.script_position(words)
    if at is not None:
        last = re.split(r"&&|;|\n", words[at].replace("\\\n", " ").strip().rstrip("; \n"))[-1]
        return _of_script(last)
    started = _STARTS.search(" ".join(words))
    if started is None:
        return None
    if first in CLIENTS and "exec" in words[1:3]:
        return (
            f"{first} exec starts {started[0]} in a container that goes on without it, so a trial could not stop it",
            "Give `docker run …` with the same command, or run ruleout inside of the container.",
        )
    return (
        (f"{first} starts {started[0]} where a trial cannot stop it", _CARRIERS[first]) if first in _CARRIERS else None
    )


def _of_compose(words: Sequence[str]) -> tuple[str, str] | None:
    first = arguments.program(words[0])
    if first in ("docker-compose", "podman-compose") or (first in CLIENTS and words[1:2] == ("compose",)):
        return (
            f"{shlex.join(words[:3])}: what it starts stands in its file, where no flag can be changed",
            "Give the service's own command: `docker run …` with its image, ports, variables and arguments.",
        )
    return None


def _of_script(last: str) -> tuple[str, str] | None:
    started = _STARTS.search(last)
    if started is None:
        return None
    value = _SUBSTITUTED.search(last)
    why = f"{value[0]} in it is known to the shell alone" if value else "it cannot be taken apart with certainty"
    return (
        f"the script starts {started[0]}, and its flags cannot be changed: {why}",
        "Give the command itself behind `--`, with the values in their places and without pipes.",
    )
