# mypy: disable-error-code="import-not-found"
"""Runs in an engine's own environment: what the real library makes of configurations, one JSON object a line."""

import copy
import json
import sys
import warnings
from typing import Any

warnings.filterwarnings("ignore")
import torch  # noqa: E402
import transformers  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402

DEFAULTS: dict[str, Any] = {}

transformers.logging.set_verbosity(transformers.logging.CRITICAL)


def rotary(model: Any) -> Any:
    """The module that turns positions."""
    found = [m for m in model.modules() if type(m).__name__.endswith("RotaryEmbedding")]
    return found[0]


def fresh(kind: str) -> Any:
    """The configuration's class with its default arguments as they were: 5.2 changes some of them in place."""
    class_ = CONFIG_MAPPING[kind]
    first = DEFAULTS.setdefault(kind, copy.deepcopy(class_.__init__.__defaults__))
    class_.__init__.__defaults__ = copy.deepcopy(first)
    return class_


def made(config: dict[str, Any]) -> dict[str, Any]:
    """The frequencies and scalings by the kind of layer, after a forward."""
    kind = config.pop("model_type")
    built = fresh(kind)(**config)
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(built, attn_implementation="eager").eval()
    module = rotary(model)
    buffers = dict(module.named_buffers())
    frequencies = {
        name.removesuffix("inv_freq").rstrip("_"): value.tolist()
        for name, value in buffers.items()
        if name.endswith("inv_freq") and "original" not in name
    }
    scalings = {
        layer: float(getattr(module, f"{layer}_attention_scaling" if layer else "attention_scaling"))
        for layer in frequencies
    }
    with torch.no_grad():
        model(input_ids=torch.arange(6)[None], use_cache=False)
    return {"frequencies": frequencies, "scalings": scalings}


for line in sys.stdin:
    try:
        answer = made(json.loads(line))
    except Exception as problem:
        answer = {"error": f"{type(problem).__name__}: {problem}"[:300]}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
