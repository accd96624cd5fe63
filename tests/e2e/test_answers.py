"""What the command answers: verdicts with their exit status, JSON and nothing else, into pipes and while trials run."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

FACTORS = {"batching": ["on", "off"], "dtype": ["f32", "bf16"]}
FAILS = [{"--batching": "on"}]
VERDICT_KEYS = {
    "schema", "status", "elsewhere", "cause", "causes", "probability", "confirmed_by", "workarounds", "failure",
    "manifest_rate", "trials", "hypotheses", "ruled_out", "not_ruled_out", "never_varied", "masked", "assumptions",
    "pivots",
}  # fmt: skip


def test_a_cause_is_isolated_and_the_status_is_zero(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    done = workshop.run("investigate", "--json", workshop.case(factors=FACTORS, stages={"weight_load": "Loading weig"}))
    document = done.document
    assert (done.status, document["status"], done.causes) == (0, "isolated", [{"batching": ["on"]}])
    assert document.keys() >= VERDICT_KEYS
    assert document["schema"] == "ruleout.verdict/1"
    assert document["cause"] == document["causes"][0]
    assert document["failure"]["class"] == "shape_mismatch"
    assert document["failure"]["stage"] == "weight_load"
    assert {"set": {"batching": "off"}} in [{"set": w["set"]} for w in document["workarounds"]]
    confirmed = document["confirmed_by"]
    assert all(confirmed[what] for what in ("sufficient", "necessary", "complete", "baseline_again"))
    assert [trial["minutes"] for trial in document["trials"]] == [1.0] * len(workshop.ledger)
    tried = [{f: entry["flags"][f"--{f}"] for f in FACTORS if f"--{f}" in entry["flags"]} for entry in workshop.ledger]
    assert tried == [trial["configuration"] for trial in document["trials"]]
    findings = (workshop.investigation() / "FINDINGS.md").read_text()
    assert "batching" in findings
    assert workshop.run("findings").out == findings


def test_a_failure_that_depends_on_no_factor_is_elsewhere(workshop: Workshop) -> None:
    workshop.plan(fails=[{}])
    done = workshop.run("investigate", "--json", workshop.case(factors=FACTORS))
    assert (done.status, done.document["status"], done.document["cause"]) == (1, "elsewhere", [])
    assert done.document["elsewhere"]["probability"] > 0.9


def test_a_failure_that_does_not_show_is_not_reproduced(workshop: Workshop) -> None:
    workshop.plan()
    done = workshop.run("investigate", "--json", workshop.case(factors=FACTORS))
    assert (done.status, done.document["status"], done.document["failure"]) == (5, "not_reproduced", None)
    assert [trial["outcome"] for trial in done.document["trials"]] == ["clean"] * 7
    assert "0 of 7 runs" in done.document["why"]
    workshop.plan(fails=[{}])
    other = workshop.case("other", factors=FACTORS, target={"class": "oom"})
    done = workshop.run("investigate", "--json", other)
    assert (done.status, done.document["status"]) == (5, "not_reproduced")
    assert [trial["outcome"] for trial in done.document["trials"]] == ["other"] * 2


def test_a_budget_of_trials_is_kept_and_can_be_raised(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    case = workshop.case(factors=FACTORS, budget={"trials": 1})
    done = workshop.run("investigate", "--json", case)
    assert (done.status, done.document["status"], len(workshop.ledger)) == (1, "exhausted", 1)
    done = workshop.run("investigate", "--json", "--resume", "--budget-trials", "2", case)
    assert (done.status, done.document["status"], len(workshop.ledger)) == (1, "exhausted", 2)
    done = workshop.run("investigate", "--json", "--resume", "--budget-trials", "50", case)
    assert (done.status, done.document["status"]) == (0, "isolated")


def test_a_budget_of_time_is_kept(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS, minutes=30)
    done = workshop.run("investigate", "--json", "--budget-time", "1h", workshop.case(factors=FACTORS))
    assert (done.status, done.document["status"], len(workshop.ledger)) == (1, "exhausted", 2)


def test_a_workaround_is_enough_where_that_is_the_goal(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    keep = {"dtype": "f32"}
    done = workshop.run("investigate", "--json", workshop.case(factors=FACTORS, goal="workaround", keep=keep))
    assert (done.status, done.document["status"]) == (0, "workaround")
    assert done.document["trials"][-1]["outcome"] == "clean"
    assert done.document["workarounds"][0]["set"] == {"batching": "off"}


def test_the_pair_that_makes_a_server_answer_with_nothing_is_isolated(workshop: Workshop) -> None:
    """HTTP 200 and empty: the log names the failure, the client says how it looks."""
    workshop.plan(mode="serve", fails=[{"--batching": "on", "--model": "glm"}], how="empty")
    factors: dict[str, Any] = {
        "dtype": ["f32", "bf16"],
        "model": ["glm", "llama", "qwen"],
        "seed": ["absent", "7"],
        "batching": ["on", "off"],
        "cache": {"env": "FAKE_CACHE", "levels": ["unset", "0", "1"], "baseline": "unset"},
    }
    done = workshop.run("investigate", "--json", workshop.case(mode="serve", factors=factors))
    assert (done.status, done.document["status"]) == (0, "isolated"), done.err
    assert done.causes in (
        [{"model": ["glm"], "batching": ["on"]}],
        [{"batching": ["on"], "model": ["glm"]}],
    )
    failure = done.document["failure"]
    assert (failure["class"], failure["exception"]) == ("shape_mismatch", "RuntimeError")
    assert "HTTP 200, empty content" in failure["client"]
    assert failure["message"].startswith("shape mismatch: value tensor")
    plain = workshop.run("status")
    assert plain.status == 0
    assert "HTTP 200, empty content" in plain.out
    assert "Isolated" in plain.out


def test_an_empty_answer_without_any_word_in_the_log_is_a_wrong_output(workshop: Workshop) -> None:
    workshop.plan(mode="serve", fails=FAILS, how="empty", silent=True)
    done = workshop.run("investigate", "--json", workshop.case(mode="serve", factors=FACTORS))
    assert (done.status, done.document["failure"]["class"]) == (0, "wrong_output")
    assert "HTTP 200, empty content" in done.document["failure"]["client"]
    assert done.causes == [{"batching": ["on"]}]


def test_another_failure_is_not_taken_for_the_target(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS, other=[{"--dtype": "fp8"}])
    factors = {"dtype": ["f32", "fp8", "bf16"], "batching": ["on", "off"]}
    done = workshop.run("investigate", "--json", workshop.case(factors=factors))
    assert done.causes == [{"batching": ["on"]}]
    for trial in done.document["trials"]:
        masked = trial["configuration"]["dtype"] == "fp8"
        assert (trial["outcome"] == "other") == masked
    assert {m["configuration"]["dtype"] for m in done.document["masked"]} <= {"fp8"}


def test_a_dry_run_launches_nothing(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    case = workshop.case(factors=FACTORS)
    done = workshop.run("investigate", "--dry-run", "--json", case)
    assert (done.status, done.document["schema"], done.err) == (0, "ruleout.plan/1", "")
    assert done.document["command"][: len(workshop.command)] == workshop.command
    plain = workshop.run("investigate", "--dry-run", case)
    assert plain.status == 0
    assert "nothing is launched" in plain.out
    assert workshop.ledger == []
    assert not (workshop.cwd / "ruleout").exists()
    assert workshop.run("investigate", case).status == 0


def test_status_and_findings_look_at_a_trial_that_runs_without_disturbing_it(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS, hold={"phase": "load", "start": 2})
    running = workshop.start("investigate", "--json", workshop.case(factors=FACTORS))
    workshop.wait_until_held()
    for _ in range(2):
        status = workshop.run("status", "--json")
        assert (status.status, status.err) == (0, "")
        assert [entry["trial"] for entry in status.document["running"]] == [2]
        assert [trial["id"] for trial in status.document["trials"]] == [1]
    plain = workshop.run("status", "fake")
    assert "running" in plain.out
    findings = workshop.run("findings")
    assert (findings.status, findings.err) == (0, "")
    assert findings.out.startswith("#")
    assert len(workshop.ledger) == 2
    assert workshop.alive() != []
    workshop.let_go()
    done = running.end()
    assert (done.status, done.causes) == (0, [{"batching": ["on"]}])
    assert len(workshop.ledger) == len(done.document["trials"])


def test_status_before_the_first_trial_has_ended_says_so(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS, hold={"phase": "load", "start": 1})
    running = workshop.start("investigate", workshop.case(factors=FACTORS))
    workshop.wait_until_held()
    for words in (["status"], ["findings"]):
        done = workshop.run(*words)
        assert (done.status, done.err) == (0, "")
        assert done.out
    workshop.let_go()
    assert running.end().status == 0


@pytest.mark.parametrize("words", ["status", "status --json", "findings"])
def test_a_reader_that_goes_away_changes_nothing(workshop: Workshop, words: str) -> None:
    workshop.plan(fails=FAILS)
    assert workshop.run("investigate", workshop.case(factors=FACTORS)).status == 0
    done = workshop.start_shell(f"set -o pipefail; $RULEOUT {words} | head -1").end()
    assert (done.status, done.err) == (0, "")
    assert len(done.out.splitlines()) == 1
    gone = workshop.start_shell(f"set -o pipefail; $RULEOUT {words} | (exec 0<&-)").end()
    assert (gone.status, gone.out, gone.err) == (0, "", "")


def test_an_answer_that_finds_no_room_is_told(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    assert workshop.run("investigate", "--budget-trials", "1", workshop.case(factors=FACTORS)).status == 1
    for words in ("status", "status --json", "findings"):
        workshop.start_shell(f"$RULEOUT {words} > /dev/full").end().told(4, "No space left")


@pytest.mark.parametrize("words", ["", "--json"], ids=["plain", "json"])
def test_the_exit_status_of_an_investigation_does_not_depend_on_readers(workshop: Workshop, words: str) -> None:
    """Neither the answer's nor the progress's: with both gone it goes on and keeps its record."""
    workshop.plan(fails=[{}])
    case = workshop.case(factors=FACTORS)
    script = f"( $RULEOUT investigate {words} {case}; echo $? > status ) 2>&1 | (exec 0<&-)"
    workshop.start_shell(script).end()
    assert (workshop.cwd / "status").read_text() == "1\n"
    assert workshop.run("status", "--json").document["status"] == "elsewhere"
    assert (workshop.investigation() / "FINDINGS.md").exists()


def test_progress_goes_to_stderr_a_line_a_trial_without_colours(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    done = workshop.run("investigate", workshop.case(factors=FACTORS), TERM="xterm-256color")
    assert "\x1b" not in done.out + done.err
    assert [line.split()[0] for line in done.err.splitlines()] == [f"#{n}" for n in range(1, len(workshop.ledger) + 1)]
    assert done.out.splitlines()[0].startswith("✓ Isolated")


@pytest.mark.parametrize(
    "locale",
    [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}],
    ids=["C", "ascii", "latin-1"],
)
def test_any_locale_will_do(workshop: Workshop, locale: dict[str, Any]) -> None:
    workshop.plan(fails=[{"--größe": "zwölf"}])
    case = workshop.case(factors={"größe": ["zwölf", "elf"], "dtype": ["f32", "bf16"]})
    running = workshop.start("investigate", case, **locale)
    assert running.process.wait(60) == 0
    assert b"Traceback" not in running.paths[1].read_bytes()
    assert b"Isolated" in running.paths[0].read_bytes()
    status = workshop.start("status", "--json", **locale)
    assert status.process.wait(60) == 0
    document = json.loads(status.paths[0].read_bytes())
    assert document["cause"] == [{"factor": "größe", "levels": ["zwölf"]}]


def test_the_record_stays_readable_by_others_tools(workshop: Workshop) -> None:
    workshop.plan(mode="serve", fails=FAILS, how="die")
    case = workshop.case(mode="serve", factors=FACTORS)
    done = workshop.run("investigate", "--json", case)
    folder = workshop.investigation()
    assert (folder / "case.yaml").read_text() == case.read_text()
    for trial in done.document["trials"]:
        spool = folder / "trials" / f"{trial['id']:04d}"
        files = {"trial.json", "events.jsonl", "server.log", "answers.json", "evidence"}
        assert {path.name for path in spool.iterdir()} == files
        assert all(file.read_text().strip() for file in (spool / "evidence").iterdir())
        events = [json.loads(line) for line in (spool / "events.jsonl").read_text().splitlines()]
        assert {event["schema"] for event in events} == {"ruleout.event/1"}
        assert events[-1]["kind"] == "end"
        assert (folder / trial["log"]) == spool / "server.log"


def test_the_version_and_the_help_need_nothing(workshop: Workshop) -> None:
    done = workshop.run("--version", RULEOUT_CACHE_DIR="/proc/nowhere")
    assert (done.status, done.out.split()[0]) == (0, "ruleout")
    done = workshop.run("investigate", "--help", RULEOUT_CACHE_DIR="/proc/nowhere")
    assert done.status == 0
    assert sys.executable not in done.out
