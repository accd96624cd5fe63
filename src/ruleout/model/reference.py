"""What a deployment that is known to be right answered: greedy text and, where the engine tells them, logprobs.

It is made once and holds for every deployment of the same model: another engine, release, kernel or number format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ServedModel:
    """Which model a server has.

    Attributes:
        name: the last part of its path or its name on a hub.
        type: `model_type` of its configuration; None where that is not at hand.
        digest: of what its configuration says of its architecture; None where that is not at hand. Formats of weights
            and the release that wrote it are left out: a quantised model is compared with the one it was made from.
    """

    name: str
    type: str | None = None
    digest: str | None = None

    def differs(self, other: ServedModel) -> bool:
        """Whether they are certainly not the same model. Names are only asked where nothing else is known."""
        for mine, theirs in ((self.digest, other.digest), (self.type, other.type)):
            if mine is not None and theirs is not None:
                return mine != theirs
        return self.name != other.name


@dataclass(frozen=True, slots=True)
class Recorded:
    """One prompt and its greedy completion.

    Attributes:
        tokens: of the completion, as text; empty where the engine does not tell them.
        logprobs: of these tokens, in nats.
        runners_up: the logprob of the likeliest other token at each place; None where that is not known.
    """

    prompt: str
    max_tokens: int
    text: str
    finish_reason: str | None = None
    tokens: tuple[str, ...] = ()
    logprobs: tuple[float, ...] = ()
    runners_up: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """`ruleout.reference/1`.

    Attributes:
        path: where completions were asked for: chat puts the prompt into a template, so its answers are others.
        engine: its name; `command` where it was none that is known.
        versions: of the engine and of what it stands on, as far as they were at hand.
        command: that was launched; empty for a server that was running already.
        source: the file it was read from; no part of what it says.
    """

    path: str
    model: ServedModel
    answers: tuple[Recorded, ...]
    engine: str = "command"
    versions: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    source: str = field(default="", compare=False)
