"""What a command sets by hand, as factors: it is what differs from a usual start, so it is suspected first.

What says which deployment it is (the model, its names, ports, parallel sizes, paths) is never varied.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ruleout.engines import Recognised
from ruleout.engines.catalogue import Offer
from ruleout.engines.configfile import configured
from ruleout.engines.switches import parted
from ruleout.investigation.sizes import sized
from ruleout.model import ABSENT, PRESENT, UNSET, Diagnosis, Factor, Mechanism, arguments

MOST_LEVELS = 5
_IDENTITY = re.compile(
    r"--(?:model(?:[-_](?:path|tag))?|force-model|served[-_]model[-_]name|alias|tokenizer.*|.*revision|trust[-_]remote[-_]code"
    r"|host|(?:.*-)?port|api-key.*|ssl-.*|uds|root-path|allow.*|device|nnodes|node-rank|(?:dist|master)-.*|headless"
    r"|(?:tp|pp|dp|ep)(?:[-_]size)?|.*parallel.*|.*[-_](?:dir|path|file|url)|config|extra_llm_api_options|chat-template.*"
    r"|.*parser|lora.*|mmproj.*|hf-.*|json-model-override-args|.*log.*|.*metrics.*|uvicorn.*|seed|api-server-count|help|version)"
)
"""Flags that say what is served, where and to whom: another value would be another deployment, not a trial of this."""
_VARIABLES = re.compile(
    r"(?:NCCL|VLLM|SGLANG|SGL|TORCH|TORCHINDUCTOR|PYTORCH|CUDA|TRITON|FLASHINFER|GGML|TLLM|TRTLLM|HSA|HIP|AITER|UCX)_\w+"
)
_LEFT_ALONE = re.compile(
    r".*VISIBLE.*|.*(?:KEY|TOKEN|PATH|HOME|DIR|ROOT|URL|USAGE_STATS|TRACK|ARCH_LIST|HOST_IP|PORT|IFNAME|HCA)$"
    r"|.*(?:_LOG|LOGGING|DEBUG).*"
)
"""Variables that say where things are, for whom, or how much is told of them."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A factor, and why it is varied. `given`: the command sets it."""

    factor: Factor
    why: str
    given: bool = False


def given(found: Recognised, catalogue: Sequence[Offer], diagnosis: Diagnosis | None) -> Iterator[Choice]:
    """The flags and the variables that the command sets, in its order."""
    offers = {offer.flag: offer for offer in catalogue}
    for flag, value in _flags(found).items():
        offer = offers.get(flag)
        if value is None and (off := arguments.negation(flag)) in offers:
            # On by itself, so that its absence changes nothing: of both, an engine takes the last.
            yield Choice(flag_factor(str(off), ABSENT, [PRESENT]), f"the command gives {flag}", given=True)
            continue
        level = PRESENT if value is None else value
        without = [] if level in ("auto", offer.default if offer else "") else [ABSENT]  # the same by another word
        factor = flag_factor(flag, level, [*without, *(worth_of(offer) if offer else ())])
        yield from _choice(factor, diagnosis, "given in the command")
    yield from _configured(found, offers)
    for name, value in found.variables.items():
        if _VARIABLES.fullmatch(name) and not _LEFT_ALONE.fullmatch(name):
            others = worth_of(offers[name]) if name in offers else []
            factor = offered(name, [UNSET, *others], value)
            yield from _choice(factor, diagnosis, "given in the environment")


def _flags(found: Recognised) -> dict[str, str | None]:
    """The long flags of a command that may be varied, with their values.

    Those of several values are left alone, in one place or in several: a level is one value, and cannot give them back.
    """
    given = parted(found.engine, found.given)
    often = Counter(flag for flag, _ in given)
    return {
        flag: values[0] if values else None
        for flag, values in given
        if flag.startswith("--") and len(flag) > 2 and len(values) < 2 and often[flag] < 2
        if not _IDENTITY.fullmatch(flag)
    }


def _configured(found: Recognised, offers: Mapping[str, Offer]) -> Iterator[Choice]:
    """What a file sets is varied by flags of the command, which go before it; it cannot be left out so."""
    for flag, value in configured(found).items():
        off, offer = str(arguments.negation(flag)), offers.get(flag)
        if _IDENTITY.fullmatch(flag) or found.value_of(flag) is not None:
            continue
        if value is not None and offer is not None and set(worth_of(offer)) - {value}:
            yield Choice(flag_factor(flag, value, worth_of(offer)), f"{flag[2:]} is set by --config", given=True)
        elif value is None and found.engine == "vllm" and flag not in found.given and off not in found.given:
            yield Choice(flag_factor(off, ABSENT, [PRESENT]), f"{flag[2:]} is set by --config", given=True)


def _choice(factor: Factor, diagnosis: Diagnosis | None, why: str) -> Iterator[Choice]:
    suspects = diagnosis.suspects if diagnosis else ()
    worth = sized(factor, suspects, failed=diagnosis is not None)
    if worth is not None and len(worth.levels) > 1:
        searched = "; the largest that works is looked for" if worth.ordered else ""
        yield Choice(worth, why + searched, given=True)


def worth_of(offer: Offer) -> list[str]:
    """The levels worth a trial that are not what the engine does by itself."""
    return [level for level in offer.levels if level != "auto"]


def flag_factor(flag: str, baseline: str, others: Sequence[str]) -> Factor:
    """A flag as a factor, of no more levels than are worth their trials."""
    levels = tuple(dict.fromkeys([baseline, *others]))[:MOST_LEVELS]
    return Factor(factor_name(flag), Mechanism.FLAG, flag, levels, baseline)


def offered(name: str, others: Sequence[str], baseline: str = UNSET) -> Factor:
    """A setting that the command leaves alone, a flag or a variable, as a factor. `baseline`: of a variable."""
    if not arguments.variable(name):
        return flag_factor(name, ABSENT, others)
    levels = tuple(dict.fromkeys([baseline, *others]))[:MOST_LEVELS]
    return Factor(factor_name(name), Mechanism.ENV, name, levels, baseline)


def factor_name(target: str) -> str:
    """What a factor is called after the flag or the variable that it sets."""
    return target.lstrip("-").replace("-", "_").lower()
