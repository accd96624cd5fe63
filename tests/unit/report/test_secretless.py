"""What opens doors is in no diagnosis that is shown; what a command needs to run again stays."""

from __future__ import annotations

import json
from dataclasses import replace

from ruleout.model import ChosenBy, Diagnosis, EngineId, Evidence, LogOutcome, ProposedStep, Setting, Stage, StepKind
from ruleout.model.diagnosis import LogWarning
from ruleout.report.diagnosis import diagnosis_document
from ruleout.report.secretless import secretless

TOKEN = "hf_" + "aBcDeFgHiJkLmNoPqRsT"
COMMAND = f"HF_TOKEN={TOKEN} vllm serve /home/me/m --host box7 --api-key open-sesame-123"
RUN = Diagnosis(
    EngineId("vllm"),
    LogOutcome.CRASH,
    Stage.DECODE,
    settings=(
        Setting("HF_TOKEN", TOKEN, None, ChosenBy.USER, 1),
        Setting("api_key", "open-sesame-123", None, ChosenBy.USER, 1),
        Setting("port", "8000", None, ChosenBy.USER, 1),
    ),
    warnings=(LogWarning(3, f"Authorization: Bearer {TOKEN}"),),
    next=(ProposedStep(StepKind.TRIAL, "why", {"--x": "1"}, f"{COMMAND} --x 1"),),
    command=COMMAND,
)


def test_no_secret_is_in_command_steps_settings_or_lines_and_one_secret_has_one_placeholder() -> None:
    shown, _ = secretless(RUN, None)
    text = json.dumps(diagnosis_document(shown))
    assert TOKEN not in text
    assert "sesame" not in text
    placeholder = shown.settings[0].requested
    assert placeholder
    assert f"HF_TOKEN={placeholder} vllm serve /home/me/m --host box7" in shown.command
    assert shown.next[0].command == f"{shown.command} --x 1"
    assert placeholder in shown.warnings[0].text


def test_what_holds_no_secret_is_left_as_it_is() -> None:
    plain = replace(RUN, command="vllm serve /home/me/m", settings=RUN.settings[2:], warnings=(), next=())
    assert secretless(plain, None) == (plain, None)
    assert secretless(replace(plain, reason="on 10.0.0.7"), None)[0].reason == "on 10.0.0.7"
    line = Evidence("a.log", 3, "see me@example.org")
    assert line.text in json.dumps(diagnosis_document(secretless(replace(plain, reason=line.text), None)[0]))
