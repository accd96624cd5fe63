"""`docker run` as words: its own options end where the image stands, and what stands behind is the engine's.

A trial changes what belongs to the container alone: it runs in the foreground without a terminal, is removed when it
ends, and is reached by a port of the loopback interface. The options are those of
https://docs.docker.com/reference/cli/docker/container/run/. No test of this project runs a container.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ruleout.model import arguments

CLIENTS = frozenset({"docker", "podman", "nerdctl"})
_IMAGES = (
    # Images whose entry point is the server: https://docs.vllm.ai/en/latest/deployment/docker.html
    (re.compile(r"(?:^|/)vllm-openai[\w-]*(?:[:@]|$)"), "vllm"),
    # https://github.com/ggml-org/llama.cpp/blob/master/docs/docker.md
    (re.compile(r"(?:^|/)llama\.cpp:server"), "llama.cpp"),
)
_SWITCHES = frozenset(
    {"--detach", "--interactive", "--tty", "--rm", "--privileged", "--init", "--publish-all", "--quiet", "--read-only"}
    | {"--oom-kill-disable", "--no-healthcheck", "--disable-content-trust", "--replace", "--help"}
)
_CLUSTER = re.compile(r"-[ditPq]+")
_ENV, _PORTS, _NETWORK = ("-e", "--env"), ("-p", "--publish"), ("--network", "--net")
_FOR_GOOD = ("--name", "--restart", "--cidfile", "--detach", "--tty", "--rm")
"""Options by which a container outlives its command, keeps the next one from being made, or needs a terminal; and the
one that is set anew."""
_NO_PORTS = re.compile(r"none|container:.*")

Option = tuple[tuple[str, ...], str, str | None]
"""The words of an option, its flag, and its value if it has one."""


@dataclass(frozen=True, slots=True)
class Container:
    """A command that runs a container. `options`: where the options of `run` begin; `image`: where the image stands."""

    words: tuple[str, ...]
    options: int
    image: int

    @property
    def engine(self) -> str | None:
        """The engine that the image starts by itself; None where that is not known, or it is told to start another."""
        if self.option("--entrypoint"):
            return None
        return next((name for pattern, name in _IMAGES if pattern.search(self.words[self.image])), None)

    @property
    def env(self) -> Mapping[str, str]:
        """The variables that are given a value in it; those that it takes from outside are not among them."""
        pairs = [value.partition("=") for _, flag, value in self._given() if flag in _ENV and value]
        return {name: value for name, equals, value in pairs if equals}

    @property
    def on_host(self) -> bool:
        """It has the network of the host, so there is no port to publish."""
        return self.option(*_NETWORK) == "host"

    @property
    def unreachable(self) -> str | None:
        """The network in which no port of it can be published; None where one can."""
        network = self.option(*_NETWORK) or ""
        return network if _NO_PORTS.fullmatch(network) else None

    def option(self, *flags: str) -> str | None:
        """The value of an option; None where it is not given."""
        return next((value for _, flag, value in self._given() if flag in flags), None)

    def with_variable(self, name: str, value: str | None) -> tuple[str, ...]:
        """The words with a variable set in the container; None: they do not set it."""
        kept = self._but(lambda flag, given: flag in _ENV and (given or "").partition("=")[0] == name)
        return self._with([*kept, *(() if value is None else ("-e", f"{name}={value}"))])

    def with_entry_point(self, program: str) -> tuple[str, ...]:
        """The words with that program before the command of the container, in the place of its entry point."""
        kept = self._but(lambda flag, _: flag == "--entrypoint")
        begin, behind = self.words[: self.options], self.words[self.image + 1 :]
        return (*begin, *kept, "--entrypoint", "", self.words[self.image], program, *behind)

    def for_a_trial(self, port: str) -> tuple[str, ...]:
        """The words as one trial runs them; `port` is the server's inside, which `{port}` outside leads to."""
        kept = self._but(lambda flag, given: flag in _FOR_GOOD or (flag in _PORTS and _inside(given) == port))
        kept = [_in_the_foreground(word) if _CLUSTER.fullmatch(word) else word for word in kept]
        published = [] if self.on_host else ["-p", f"127.0.0.1:{{port}}:{port}"]
        return self._with(["--rm", *(word for word in kept if word != "-"), *published])

    def _given(self) -> Iterator[Option]:
        return _parted(self.words[self.options : self.image])

    def _but(self, drop: Callable[[str, str | None], bool]) -> list[str]:
        return [word for words, flag, value in self._given() if not drop(flag, value) for word in words]

    def _with(self, options: Sequence[str]) -> tuple[str, ...]:
        return (*self.words[: self.options], *options, *self.words[self.image :])


def container(words: Sequence[str], at: int) -> Container | None:
    """The container that a client's command runs, the client standing at that place; None where it runs none anew."""
    words = tuple(words)
    begin = at + 1 + (words[at + 1 : at + 2] == ("container",))
    if arguments.program(words[at]) not in CLIENTS or words[begin : begin + 1] != ("run",):
        return None
    image = begin + 1 + sum(len(option) for option, _, _ in _parted(words[begin + 1 :]))
    return Container(words, begin + 1, image) if image < len(words) else None


def _parted(words: Sequence[str]) -> Iterator[Option]:
    """The options at the beginning of these words."""
    i = 0
    while i < len(words) and words[i].startswith("-"):
        flag, equals, value = words[i].partition("=")
        if equals or flag in _SWITCHES or _CLUSTER.fullmatch(flag):
            yield (words[i],), flag, value if equals else None
            i += 1
        else:
            yield tuple(words[i : i + 2]), flag, words[i + 1] if i + 1 < len(words) else None
            i += 2


def _inside(published: str | None) -> str:
    """The port inside of `[[address:]port:]port[/protocol]`."""
    return (published or "").rpartition(":")[2].partition("/")[0]


def _in_the_foreground(cluster: str) -> str:
    """`-dit` without what needs a terminal or leaves for the background; `-` if nothing is left."""
    return cluster.replace("d", "").replace("t", "")
