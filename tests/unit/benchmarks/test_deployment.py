"""The simulated deployment is a command like any other: flags in, a staged log out, an exit status, and a ledger."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.planted.failures import MASKS, TARGETS, Shows
from benchmarks.planted.families import make
from benchmarks.planted.founding import ADVISED
from benchmarks.planted.scenario import MASKED, REPRODUCED, Scenario, dumps
from benchmarks.planted.serve import UNTESTABLE, launched, log, parse
from benchmarks.planted.strategies.ruleout_command import case

from ruleout.diagnosis.diagnose import diagnosed
from ruleout.model import Component, Diagnosis, Stage
from ruleout.reading import read_log
from ruleout.reading.diagnose import read_run

ROOT = Path(__file__).resolve().parents[3]


def serve(folder: Path, scenario: Scenario, *flags: str) -> subprocess.CompletedProcess[str]:
    (folder / "s.json").write_text(dumps(scenario))
    command = [sys.executable, "-m", "benchmarks.planted.serve", "--scenario", str(folder / "s.json")]
    command += ["--ledger", str(folder / "l.jsonl"), *flags]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def flags(scenario: Scenario, config: dict[str, str]) -> list[str]:
    words: list[str] = []
    for factor in scenario.factors:
        level = config[factor.name]
        words += [] if level == "absent" else [factor.flag] if level == "present" else [factor.flag, level]
    return words


def diagnosis(folder: Path, scenario: Scenario) -> Diagnosis:
    path = folder / "server.log"
    path.write_text("\n".join(log(scenario, scenario.baseline, TARGETS[scenario.failure])) + "\n")
    run = read_run([path])
    return diagnosed(run.diagnosis, run.near, run.lines)


def test_the_baseline_fails_as_planted_and_the_ledger_says_so(tmp_path: Path) -> None:
    scenario = make("pair", 0)
    done = serve(tmp_path, scenario, *flags(scenario, scenario.baseline))
    assert done.returncode == 1
    assert TARGETS[scenario.failure].lines[-1] in done.stdout
    assert "RULEOUT_COST_MINUTES=12" in done.stdout
    (launch,) = launched(tmp_path / "l.jsonl")
    assert (launch.config, launch.outcome, launch.minutes) == (scenario.baseline, REPRODUCED, 12.0)


def test_a_working_configuration_answers_its_probe(tmp_path: Path) -> None:
    scenario = make("single", 1)
    ((name, levels),) = scenario.causes[0].items()
    config = next(
        config
        for level in scenario.by_name[name].levels
        if level not in levels and scenario.works(config := {**scenario.baseline, name: level})
    )
    done = serve(tmp_path, scenario, *flags(scenario, config))
    assert done.returncode == 0
    assert "200 OK" in done.stdout


def test_what_git_bisect_is_to_skip_exits_with_125(tmp_path: Path) -> None:
    scenario = make("history-20-gaps", 0)
    assert scenario.ordered
    broken = next(r for r in scenario.ordered.levels if scenario.outcome({"revision": r}, 0) == MASKED)
    assert serve(tmp_path, scenario, "--bisect", "--revision", broken).returncode == UNTESTABLE
    assert serve(tmp_path, scenario, "--bisect", "--revision", scenario.ordered.baseline).returncode == 1
    assert serve(tmp_path, scenario, "--revision", broken).returncode == 1


@pytest.mark.parametrize("wrong", [["--nothing", "x"], ["--revision", "r99"], ["--revision"]])
def test_a_flag_or_level_that_there_is_not_is_refused_and_no_trial(tmp_path: Path, wrong: list[str]) -> None:
    done = serve(tmp_path, make("history-20", 0), *wrong)
    assert done.returncode == 2
    assert "serve: error" in done.stderr
    assert launched(tmp_path / "l.jsonl") == []


@pytest.mark.parametrize("family", ["single", "triple", "crowded", "founding", "history-128"])
def test_every_configuration_can_be_written_as_flags(family: str) -> None:
    for seed in range(5):
        scenario = make(family, seed)
        for factor in scenario.factors:
            for level in factor.levels:
                config = {**scenario.baseline, factor.name: level}
                assert parse(scenario, flags(scenario, config)) == config


@pytest.mark.parametrize("shown", [*TARGETS.values(), *MASKS.values()], ids=[*TARGETS, *MASKS])
def test_a_failure_is_read_as_the_first_error_of_its_stage(tmp_path: Path, shown: Shows) -> None:
    scenario = make("single", 0)
    path = tmp_path / "server.log"
    path.write_text("\n".join(log(scenario, scenario.baseline, shown)) + "\n")
    stages = {Stage(stage): pattern for stage, pattern in case(scenario, tmp_path, 1)["stages"].items()}
    reading = read_log(path, stages)
    assert reading.failure is not None
    assert reading.failure_stage == Stage(shown.stage)
    assert reading.cost_minutes == shown.minutes


def test_no_two_failures_are_mistaken_for_each_other(tmp_path: Path) -> None:
    scenario, signatures = make("single", 0), set()
    for number, shown in enumerate([TARGETS["assert-in-decode"], *MASKS.values()]):
        path = tmp_path / f"{number}.log"
        path.write_text("\n".join(log(scenario, scenario.baseline, shown)) + "\n")
        reading = read_log(path, {})
        assert reading.failure
        signatures.add((reading.failure.class_, reading.failure.signature))
    assert len(signatures) == 1 + len(MASKS)


SPOKEN_OF = {
    "attention-in-the-stack": Component.ATTENTION_BACKEND,
    "experts-in-the-stack": Component.MOE_RUNNER,
    "scheduler-in-the-stack": Component.SCHEDULER,
    "drafts-in-the-stack": Component.SPEC_DECODE,
}


def test_the_log_of_a_misleading_deployment_makes_innocent_factors_the_first_suspects(tmp_path: Path) -> None:
    met = set()
    for seed in range(20):
        scenario = make("misleading", seed)
        found = diagnosis(tmp_path, scenario)
        assert found.suspects[0].component is SPOKEN_OF[scenario.failure]
        assert found.warnings
        met.add(scenario.failure)
    assert met == set(SPOKEN_OF)


def test_the_log_of_the_founding_case_says_what_the_engine_chose_and_gives_false_advice(tmp_path: Path) -> None:
    scenario = make("founding", 0)
    found = diagnosis(tmp_path, scenario)
    chosen = {setting.name: setting for setting in found.settings if setting.chosen_by == "engine"}
    assert set(chosen) == {"kv_cache_dtype"}
    assert chosen["kv_cache_dtype"].resolved == "fp8_e4m3"
    for shown in (None, *TARGETS.values()):
        assert any(f"transformers=={ADVISED}" in line for line in log(scenario, scenario.baseline, shown))


def test_the_engine_chooses_for_itself_only_where_it_is_left_the_choice() -> None:
    scenario = make("founding", 0)
    told = log(scenario, {**scenario.baseline, "kv_cache_dtype": "bf16"}, None)
    assert not any("Setting KV cache dtype" in line for line in told)
