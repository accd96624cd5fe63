"""How many launches a trace takes, what it asks of each, and what it concludes; runs and records are made up."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.support.traced import DOWN, HELLO, born, checkpoint, model_process, operation, write

from ruleout.engines import recognise
from ruleout.investigation.folder import TRACES
from ruleout.investigation.tracing.trace import Wishes, next_folder, trace_case
from ruleout.model import Case, MissingError, Mode, Probe, UsageError
from ruleout.model.traced import Found, Presence, Trace
from ruleout.runners.base import Event

Script = Callable[[Path, int], Iterable[dict[str, Any]]]
"""What the processes of a launch write before the answer of a step: from the folder for records and the step."""


@dataclass
class Acted:
    """A runner whose deployment is a script: for each launch, what it writes and answers."""

    launches: list[tuple[Script, str]]
    log: str = ""
    ran: list[Mapping[str, Any]] = field(default_factory=list)
    refuses: str = ""

    def run(self, trial: Mapping[str, Any], on_event: Callable[[Event], None]) -> list[Event]:
        """See `Runner.run`."""
        spool = Path(trial["spool"])
        script, text = self.launches[len(self.ran)]
        self.ran.append(trial)
        (spool / "server.log").write_text(self.log)
        said: list[Event] = []

        def say(kind: str, **more: Any) -> None:
            event = {"kind": kind, "seq": len(said), "mono": 60.0 * len(self.ran) + len(said), **more}
            said.append(event)
            with (spool / "events.jsonl").open("a") as file:
                file.write(json.dumps(event) + "\n")
            on_event(event)

        if self.refuses:
            say("end", reason="refused", detail=self.refuses)
            return said
        records = Path(trial["env"]["set"]["RULEOUT_TRACE_DIR"])
        say("started", pid=7)
        if trial["mode"] == "job":
            model_process(records, *script(records, 0))
            say("exit", code=0 if text else 1, signal=None)
            say("end", reason="done", detail="")
            return said
        say("ready", seconds=1.0)
        choice = {"text": text, "message": {"content": text}, "finish_reason": "stop"}
        body = json.dumps({"choices": [choice], "usage": {"completion_tokens": 3}})
        try:
            for probe in trial["probes"]:
                told = list(script(records, probe["step"]))
                if probe["step"] == 1 and told and told[0] is not HELLO:
                    model_process(records)
                if told:
                    write(records, *told)
                for number in range(probe["requests"]):
                    say("probe", step=probe["step"], request=number + 1, status=200, body=body)
        except BaseException:
            with (spool / "events.jsonl").open("a") as file:
                file.write(json.dumps({"kind": "end", "seq": 99, "reason": "interrupted", "detail": "asked"}) + "\n")
            raise
        say("end", reason="done", detail="")
        return said

    def interrupt(self) -> None:
        """See `Runner.interrupt`."""

    def recover(self, spool: Path) -> list[Event]:
        """See `Runner.recover`."""
        return []

    def steps(self, launch: int = 1) -> list[int]:
        """Which steps were answered."""
        spool = Path(self.ran[launch - 1]["spool"])
        events = [json.loads(line) for line in (spool / "events.jsonl").read_text().splitlines()]
        return [event["step"] for event in events if event["kind"] == "probe"]


SHAPES = "shape mismatch: value tensor of shape [35, 4, 64] cannot be broadcast"
FINE, EMPTY = " Paris", ""


def always(*records: dict[str, Any]) -> Script:
    return lambda folder, step: records or [{"kind": "end"}]


def command(*words: str) -> Case:
    found = recognise(words)
    return Case("c", found.engine, found.command, env=found.env, probes=PROBES)


PROBES = (Probe(repeat=2), Probe(prompt="b"), Probe(prompt="c", requests=2))
TRANSFORMERS = command("transformers", "serve", "--force-model", "m")
VLLM = command("vllm", "serve", "m")
JOB = Case("c", "command", ("python3", "x.py"), mode=Mode.JOB)


def traced(tmp_path: Path, runner: Acted, case: Case = TRANSFORMERS, wishes: Wishes | None = None) -> Trace:
    return trace_case(case, tmp_path / "0001", runner, wishes or Wishes(), lambda text: None)


def usual(runner: Acted) -> int:
    """How many steps are asked before they are asked again."""
    return len(runner.ran[0]["probes"]) // 2


def test_where_all_is_finite_each_request_is_sent_once(tmp_path: Path) -> None:
    runner = Acted([(always(), FINE)])
    found = traced(tmp_path, runner)
    assert (found.found, found.born, found.failure) == (Found.NOTHING, None, None)
    assert max(runner.steps()) == usual(runner)
    assert runner.ran[0]["probes"][usual(runner)]["name"] == "completion 1 of 2, again"


def test_a_launch_ends_as_soon_as_the_operation_is_named(tmp_path: Path) -> None:
    runner = Acted([(lambda folder, step: [born(), operation()] if step >= 2 else [born()], EMPTY)])
    found = traced(tmp_path, runner)
    assert (found.found, runner.steps()) == (Found.OPERATION, [1, 2])
    assert found.born is not None
    assert found.born.operation == "aten.mm.default"
    assert found.failure is not None
    assert found.failure.client.startswith("completion 1 of 2: HTTP 200, ")
    assert found.told.startswith(f"NaN born in {DOWN} (Linear) by aten.mm.default, in prefill")


def test_what_only_a_later_request_shows_is_asked_again(tmp_path: Path) -> None:
    def script(folder: Path, step: int) -> list[dict[str, Any]]:
        return [born(), operation()] if step >= 3 + 4 else [born()] if step >= 3 else [{"kind": "end"}]

    runner = Acted([(script, FINE)])
    found = traced(tmp_path, runner)
    assert (found.found, usual(runner), max(runner.steps())) == (Found.OPERATION, 4, 7)


def test_a_birth_that_was_not_seen_again_is_launched_once_more_and_armed(tmp_path: Path) -> None:
    runner = Acted([(always(born()), EMPTY), (always(born(), operation()), EMPTY)])
    found = traced(tmp_path, runner)
    assert found.found is Found.OPERATION
    assert [trial["env"]["set"].get("RULEOUT_TRACE_ARM") for trial in runner.ran] == [None, DOWN]
    assert found.born is not None
    assert found.born.launch == 2
    assert len(found.launches) == 2


def test_a_birth_that_may_be_its_parents_is_armed_everywhere(tmp_path: Path) -> None:
    runner = Acted([(always(born(exact=False)), EMPTY), (always(), FINE)])
    found = traced(tmp_path, runner)
    assert (found.found, runner.ran[1]["env"]["set"]["RULEOUT_TRACE_ARM"]) == (Found.MODULE, "*")


def test_what_a_weight_brought_along_needs_no_second_launch(tmp_path: Path) -> None:
    runner = Acted([(always(checkpoint(), born()), EMPTY)])
    found = traced(tmp_path, runner)
    assert (found.found, len(runner.ran)) == (Found.WEIGHTS, 1)
    assert found.weights[0].tensor == f"{DOWN}.weight"


def test_a_job_is_traced_to_its_end(tmp_path: Path) -> None:
    runner = Acted([(always(born(), operation()), FINE)])
    assert traced(tmp_path, runner, JOB).found is Found.OPERATION


def test_a_failure_without_a_bad_number_is_the_answer_with_its_frame(tmp_path: Path) -> None:
    log = (
        f"Error in generation loop: {SHAPES}\nTraceback (most recent call last):\n"
        '  File "/venv/lib/transformers/cache.py", line 44, in update\n    self.keys[i] = keys\n'
        f"RuntimeError: {SHAPES}\n"
    )
    found = traced(tmp_path, Acted([(always(), EMPTY)], log))
    assert found.found is Found.FAILURE
    assert (found.born, found.weights) == (None, ())
    assert found.failure is not None
    assert found.failure.class_ == "shape_mismatch"
    assert found.failure.frame == "/venv/lib/transformers/cache.py:44:update"
    assert found.failure.log == "launch-1/server.log"
    assert "no number was bad" in found.told


# -- eager mode ------------------------------------------------------------------------------------------------


def test_eager_mode_is_asked_for_and_what_stays_with_it_is_said(tmp_path: Path) -> None:
    runner = Acted([(always(born(), operation()), EMPTY)])
    found = traced(tmp_path, runner, VLLM)
    assert "--enforce-eager" in runner.ran[0]["argv"]
    assert [(e.change, e.failure) for e in found.effects] == [("--enforce-eager", Presence.STAYS)]


def test_a_failure_that_is_gone_in_eager_mode_is_looked_for_without(tmp_path: Path) -> None:
    runner = Acted([(always(), FINE), (always(), EMPTY)])
    found = traced(tmp_path, runner, VLLM)
    assert [("--enforce-eager" in trial["argv"]) for trial in runner.ran] == [True, False]
    assert "VLLM_CACHE_ROOT" in runner.ran[1]["env"]["set"], "what is compiled with hooks is for nobody else"
    assert "VLLM_CACHE_ROOT" not in runner.ran[0]["env"]["set"]
    assert [e.failure for e in found.effects] == [Presence.GONE]
    assert found.found is Found.FAILURE


def test_what_fails_neither_way_is_found_to_be_nothing(tmp_path: Path) -> None:
    found = traced(tmp_path, Acted([(always(), FINE), (always(), FINE)]), VLLM)
    assert (found.found, [e.failure for e in found.effects]) == (Found.NOTHING, [Presence.UNTESTED])


def test_graphs_are_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    runner = Acted([(always(), FINE)])
    found = traced(tmp_path, runner, VLLM, Wishes(keep_graphs=True))
    assert "--enforce-eager" not in runner.ran[0]["argv"]
    assert (found.effects, len(runner.ran)) == ((), 1)


def test_a_flag_that_the_engine_does_not_take_is_left_out(tmp_path: Path) -> None:
    class Strict(Acted):
        def run(self, trial: Mapping[str, Any], on_event: Callable[[Event], None]) -> list[Event]:
            if "--enforce-eager" not in trial["argv"]:
                return super().run(trial, on_event)
            self.ran.append(trial)
            log = "vllm: error: unrecognized arguments: --enforce-eager\n"
            (Path(trial["spool"]) / "server.log").write_text(log)
            return [
                {"kind": "exit", "seq": 1, "code": 2, "signal": None, "mono": 1.0},
                {"kind": "end", "seq": 2, "reason": "exit", "detail": "", "mono": 2.0},
            ]

    runner = Strict([(always(), FINE), (always(), FINE)])
    found = traced(tmp_path, runner, VLLM)
    assert (found.found, found.effects, len(runner.ran)) == (Found.NOTHING, (), 2)
    assert [launch.log for launch in found.launches] == ["launch-2/server.log"]


def test_a_second_launch_that_cannot_be_made_costs_no_answer(tmp_path: Path) -> None:
    class Once(Acted):
        def run(self, trial: Mapping[str, Any], on_event: Callable[[Event], None]) -> list[Event]:
            if self.ran:
                self.refuses = "port 1 is taken"
            return super().run(trial, on_event)

    found = traced(tmp_path, Once([(always(born()), EMPTY), (always(), EMPTY)]))
    assert (found.found, len(found.launches)) == (Found.MODULE, 1)


# -- nobody home -----------------------------------------------------------------------------------------------


def test_a_tracer_that_nobody_took_in_is_told_after_the_first_answer(tmp_path: Path) -> None:
    runner = Acted([(lambda folder, step: [], FINE)])
    with pytest.raises(MissingError, match="no process with the model could be traced: none of its processes"):
        traced(tmp_path, runner)
    assert runner.steps() == [1]


def test_torch_without_a_model_is_no_trace_of_it(tmp_path: Path) -> None:
    hooks = {"kind": "hooks", "torch": "2.13.0"}
    runner = Acted([(lambda folder, step: [HELLO, hooks], EMPTY)])
    with pytest.raises(MissingError, match="none of them called a module of a model; the command itself failed"):
        traced(tmp_path, runner)


def test_a_failure_before_torch_came_is_the_logs_to_tell(tmp_path: Path) -> None:
    log = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nImportError: no torch here\n'

    class Crashed(Acted):
        def run(self, trial: Mapping[str, Any], on_event: Callable[[Event], None]) -> list[Event]:
            spool = Path(trial["spool"])
            self.ran.append(trial)
            (spool / "server.log").write_text(self.log)
            write(Path(trial["env"]["set"]["RULEOUT_TRACE_DIR"]), HELLO)
            return [
                {"kind": "exit", "seq": 1, "code": 1, "signal": None, "mono": 1.0},
                {"kind": "end", "seq": 2, "reason": "exit", "detail": "", "mono": 2.0},
            ]

    found = traced(tmp_path, Crashed([], log))
    assert found.found is Found.FAILURE
    assert found.failure is not None
    assert found.failure.message == "no torch here"


def test_a_command_that_cannot_be_launched_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="not found"):
        traced(tmp_path, Acted([(always(), FINE)], refuses="nosuch was not found"))
    assert not (tmp_path / "0001" / "launch-1").exists()


def test_where_there_is_no_room_the_folder_is_named_and_not_the_tracers_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, to: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source))

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(MissingError, match="No space left") as problem:
        traced(tmp_path, Acted([]))
    assert problem.value.what.startswith(f"{tmp_path}/")


def test_a_folder_that_pythonpath_cannot_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="PYTHONPATH cannot hold"):
        traced(tmp_path / "a:b", Acted([]))


def test_what_is_on_pythonpath_already_stays_behind_the_tracer(tmp_path: Path) -> None:
    runner = Acted([(always(), FINE)])
    case = command("PYTHONPATH=/mine", "transformers", "serve", "--force-model", "m")
    traced(tmp_path, runner, case)
    assert runner.ran[0]["env"]["set"]["PYTHONPATH"].split(":")[1:] == ["/mine"]


def test_traces_are_numbered_beside_the_investigation(tmp_path: Path) -> None:
    assert next_folder(tmp_path) == tmp_path / TRACES / "0001"
    (tmp_path / TRACES / "0041").mkdir(parents=True)
    assert next_folder(tmp_path) == tmp_path / TRACES / "0042"
