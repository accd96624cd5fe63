"""Where an investigation stands: the same story at every width, with and without colour, of few trials and of many."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support import long

from ruleout.interfaces.cli.main import run
from ruleout.interfaces.cli.verdict import tell_verdict
from ruleout.investigation.folder import Folder
from ruleout.investigation.glance import MANY
from ruleout.model import (
    Carrier,
    Configuration,
    Confirmation,
    Hypothesis,
    HypothesisStatus,
    Masked,
    OutcomeKind,
    RuledOut,
    Verdict,
    VerdictStatus,
    Workaround,
)

HEAVY = ("pydantic", "numpy", "jinja2", "ruleout.investigation.loop", "ruleout.reasoning", "ruleout.engines.registry")
ANSI = re.compile(r"\x1b\[[0-9;]*m")
FEW, LONG = 9, 10_000


def verdict_of(number: int) -> Verdict:
    """A verdict of so many trials, with something under most labels."""
    trials = long.trials(long.case_of(), number)
    masked = tuple(
        Masked(t.configuration, "oom", t.id) for t in trials if t.outcome and t.outcome.kind is OutcomeKind.OTHER
    )
    return Verdict(
        VerdictStatus.ISOLATED,
        0.994,
        ((Carrier("f2", ("a",)),),),
        Confirmation((1, 4), (2,), (2,), number),
        (Workaround(Configuration(f2="b"), 2),),
        long.SHOWN,
        trials=trials,
        hypotheses=(Hypothesis("f2=a", 0.994, HypothesisStatus.CONFIRMED, (1, 2)),),
        ruled_out=(RuledOut("f3", tuple(range(1, number, 3))),),
        masked=masked,
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which investigations are, as a person is in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return tmp_path / "ruleout"


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What `status` prints."""
    assert run(["status", *arguments]) == 0
    return capsys.readouterr().out


def words_of(text: str) -> list[str]:
    return "".join(ANSI.sub("", text).split()).split("·")


@pytest.mark.parametrize("number", [FEW, MANY + 20])
def test_the_story_is_the_same_at_every_width_and_with_colour(
    number: int, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    long.write(here / "long", number, verdict_of(number))
    stories = []
    for width in (80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        plain = told(capsys, "long")
        assert max(map(len, plain.splitlines())) <= width
        assert all(line == line.rstrip() for line in plain.splitlines())
        assert "\x1b" not in plain
        monkeypatch.setenv("FORCE_COLOR", "1")
        coloured = told(capsys, "long")
        monkeypatch.delenv("FORCE_COLOR")
        assert coloured != plain
        assert ANSI.sub("", coloured) == plain
        stories.append(words_of(plain))
    assert stories[0] == stories[1]


def test_it_ends_as_the_investigation_ended(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = verdict_of(FEW)
    case = long.write(here / "long", FEW, verdict)
    tell_verdict(case, verdict, Folder((here / "long").absolute()))
    ended = capsys.readouterr().out
    assert told(capsys).endswith(f"\n\n{ended}"), "below the trials, and apart from them"
    assert ended.startswith("✓ Isolated (99.4 %): f2=a")


def test_of_many_trials_the_same_is_told_without_reading_them(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    number = MANY + 20
    long.write(here / "long", number, verdict_of(number))
    glanced, read = told(capsys), told(capsys, "--all")

    def story(text: str) -> list[str]:
        lines = text.splitlines()
        return lines[next(i for i, line in enumerate(lines) if line.startswith("✓")) :]

    assert story(glanced)[:-2] == story(read)[:-1][: len(story(glanced)) - 2]
    assert f"{number} trials (174 reproduced, 173 clean, 173 masked), 104:00:00" in " ".join(glanced.split())
    assert f"{number - 30} trials before these" in glanced
    assert read.count("  #") == number
    assert glanced.count("  #") == 30


def test_without_a_verdict_that_holds_for_all_trials_what_led_last_is_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    number = MANY + 20
    long.write(here / "long", number)
    told_open = told(capsys)
    assert "Interrupted, not isolated: likeliest (50 %) is f1=a" in told_open
    assert "ruleout report ruleout/long" in " ".join(told_open.split())


def test_ten_thousand_trials_take_no_time(here: Path) -> None:
    long.write(here / "long", LONG, verdict_of(LONG))
    script = (
        "import sys; from ruleout.interfaces.cli.main import run; status = run(['status']); "
        f"print(status, [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stderr.splitlines()[-1] == "0 []"
    assert "10000 trials" in done.stdout
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used < 1.0  # seconds of CPU; a third of that where nothing else runs


@pytest.mark.parametrize("number", [FEW, MANY + 20])
def test_what_engines_print_is_inert_and_secrets_are_left_out(
    number: int, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = "sk-aB3dE5gH7jK9mN1pQ3sT"
    evil = f"\x1b[2Jboom \u202e {key} " + "x" * 1_000_000
    verdict = replace(verdict_of(number), failure=replace(long.SHOWN, message=evil, client=evil))
    long.write(here / "long", number, verdict)
    text = told(capsys)
    assert not {"\x1b", "\u202e"} & set(text)
    assert key not in text
    assert "boom" in text
    assert len(text) < 20_000
