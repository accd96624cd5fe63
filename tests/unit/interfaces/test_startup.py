"""A short log is answered at once: a diagnosis imports nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOG = Path(__file__).parents[1] / "reading" / "fixtures" / "sglang-device-assert.log"
HEAVY = ("pydantic", "numpy", "jinja2", "yaml", "httpx", "psutil", "asyncio", "ruleout.investigation.loop")


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_a_diagnosis_imports_nothing_that_takes_long(arguments: tuple[str, ...], tmp_path: Path) -> None:
    script = (
        "import sys; from ruleout.interfaces.cli.main import run; "
        f"status = run({['diagnose', *arguments, str(LOG)]!r}); "
        f"print(status, [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.split("\n")[0] == "0 []"


def test_whoever_stops_reading_the_answer_early_is_told_nothing(tmp_path: Path) -> None:
    command = f"{sys.executable} -m ruleout diagnose --json {LOG} | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("{", "")


def test_every_verb_of_the_group_can_be_imported() -> None:
    import click

    from ruleout.interfaces.cli.main import cli
    from ruleout.interfaces.cli.verbs import VERBS

    context = click.Context(cli)
    for verb in cli.list_commands(context):
        command = cli.get_command(context, verb)
        assert command is not None
        assert command.name == verb
    assert set(VERBS) == set(cli.list_commands(context))
    assert cli.get_command(context, "no-such-verb") is None
