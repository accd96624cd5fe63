"""What makes a trial cheaper: it serves less than the real model, so what holds for it need not hold for the model."""

from __future__ import annotations

from collections.abc import Mapping

from ruleout.model import ABSENT, UNSET, Factor, Mechanism


def _dummy(name: str) -> Factor:
    return Factor(name, Mechanism.FLAG, "--load-format", (ABSENT, "dummy"), ABSENT, proxy=True)


def _layers(few: str) -> Factor:
    return Factor("layers", Mechanism.OVERRIDE, "num_hidden_layers", (UNSET, few), UNSET, proxy=True)


PROXIES: Mapping[str, tuple[Factor, ...]] = {
    "vllm": (_dummy("weights"), _layers("4")),
    "sglang": (_dummy("weights"), _layers("4")),
}
"""By engine: random weights instead of the real ones; fewer layers. Their faults go away, those of late layers too."""
