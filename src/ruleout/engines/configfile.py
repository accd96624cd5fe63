"""What `--config FILE` sets: a flag of the command goes before it, so a trial overrides it and leaves the file alone.

Its keys are the flags without their dashes: https://docs.vllm.ai/en/stable/configuration/serve_args.html and
https://docs.sglang.io/advanced_features/server_arguments.html. That of TensorRT-LLM holds other things.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ruleout.engines.recognising import Recognised

_ENGINES = frozenset({"vllm", "sglang"})
MOST_BYTES = 1 << 20


def configured(found: Recognised, cwd: str | None = None) -> Mapping[str, str | None]:
    """The flags that the file sets, with their values; None: a switch that is on.

    Empty where there is none, or none to be read. Lists and nested values are left alone, as are switches that are off.
    """
    name = found.value_of("--config") if found.engine in _ENGINES and not found.container else None
    if name is None:
        return {}
    import yaml

    path = os.path.expanduser(os.path.join(cwd or "", name))
    try:
        with open(path, encoding="utf-8") as stream:
            document = yaml.load(stream.read(MOST_BYTES), Loader=yaml.BaseLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    if not isinstance(document, dict):
        return {}
    named = {f"--{str(key).replace('_', '-')}": value for key, value in document.items()}
    said = {flag: value for flag, value in named.items() if isinstance(value, str) and value.lower() != "false"}
    return {flag: None if value.lower() == "true" else value for flag, value in said.items()}
