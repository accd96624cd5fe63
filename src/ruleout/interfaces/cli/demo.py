"""`ruleout demo`: the main job on a real engine that really fails, on this machine's CPU."""

from __future__ import annotations

from pathlib import Path

import click

from ruleout.engines.environments import TRANSFORMERS_5_2_0, environment
from ruleout.interfaces.cli.investigate import conduct, folder_option, json_option
from ruleout.interfaces.cli.streams import tell_progress
from ruleout.investigation.casefile import parse_case
from ruleout.investigation.folder import Folder
from ruleout.lab.demo import demo_case_yaml
from ruleout.lab.models import tiny_models


@click.command(short_help="Investigate a real failure of a real engine, here on the CPU.")
@folder_option
@json_option
def demo(chosen: Path | None, as_json: bool) -> int:
    """Investigate a real failure of a real engine on this machine's CPU.

    Transformers 5.2.0 serves a tiny GLM-MoE-DSA model and says it is ready; then every answer is empty. The first time,
    the engine is installed and the models are built in the cache folder. A previous demo is set aside.
    """

    def tell(text: str) -> None:
        tell_progress(f"  {text}")

    engine = environment(TRANSFORMERS_5_2_0, tell)
    text = demo_case_yaml(engine, tiny_models(engine, tell))
    case = parse_case(text, "the demo's case.yaml")
    folder = Folder.of(case, chosen)
    aside = folder.set_aside()
    if aside is not None:
        tell(f"the previous demo is now {aside}")
    return conduct(case, text, folder, case.budget, resume=False, as_json=as_json)
