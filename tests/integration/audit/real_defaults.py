# mypy: disable-error-code="import-not-found"
"""Runs in an engine's own environment: the configuration of every model type as the real library has it, one a line."""

import contextlib
import json
import sys
import warnings

warnings.filterwarnings("ignore")
import transformers  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES  # noqa: E402

transformers.logging.set_verbosity(transformers.logging.CRITICAL)

for kind in CONFIG_MAPPING_NAMES:
    with contextlib.suppress(Exception):  # some are made of others, and have none of their own
        config = json.loads(CONFIG_MAPPING[kind]().to_json_string(use_diff=False))
        sys.stdout.write(json.dumps(config) + "\n")
