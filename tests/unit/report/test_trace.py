"""A trace as a document and as facts: nothing that is claimed is left without its address, and no secret is shown."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruleout.interfaces.cli.tracing import tell_trace
from ruleout.model import Component, FailureClass, Stage
from ruleout.model.trace import BadWeight, Phase, SourceFrame, TensorStats
from ruleout.model.traced import (
    Birth,
    Effect,
    EngineError,
    Found,
    Handshake,
    Presence,
    Trace,
    TraceCoverage,
    TraceLaunch,
)
from ruleout.report.trace import trace_document, trace_facts

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "trace-json.md"
GOOD = TensorStats("arg0", (2, 4), "float32", min=-1.0, max=1.5)
BAD = TensorStats("out", (2, 4), "float32", nan=3, inf=1, min=-1.0, max=1.5, first=(0, 3))
BORN = Birth(
    "model.layers.2.mlp",
    "LlamaMLP",
    "aten.div.Tensor",
    Phase.DECODE,
    3,
    1,
    "nan",
    frames=tuple(SourceFrame(f"/venv/lib/models/f{n}.py", n, "forward") for n in range(6)),
    inputs=(GOOD,),
    outputs=(BAD,),
    tensors="launch-1/records/operation-1.safetensors",
    replay="launch-1/replay-1.py",
)
WEIGHT = BadWeight(replace(BAD, place="weight"), "m.safetensors", "model.layers.2.mlp.up_proj.weight")
ERROR = EngineError(
    FailureClass.SHAPE_MISMATCH,
    Stage.PREFILL,
    "shape mismatch",
    "RuntimeError",
    12,
    "/venv/cache.py:356:update",
    ("cache.py:update",),
    "HTTP 500",
    "launch-1/server.log",
)
SEEN = TraceCoverage(40, 80, 1, 2, 6, 3, {"compiling": 4}, ("compiled code hides what is inside of model",))
TRACE = Trace(
    Found.OPERATION,
    BORN,
    (),
    ERROR,
    (Handshake(7, "2.13.0", ("python", "serve.py"), 0), Handshake(8, "2.13.0", (), 1)),
    SEEN,
    (Effect("--enforce-eager", Presence.STAYS),),
    (
        TraceLaunch(
            ("vllm", "serve", "m", "--api-key", "my-veryverysecret"),
            "launch-1/server.log",
            "launch-1/records",
            1.5,
        ),
    ),
    Component.MOE_RUNNER,
    "NaN born in model.layers.2.mlp",
)


def test_every_key_of_the_document_is_in_its_reference_in_its_order() -> None:
    document = trace_document(TRACE)
    text = REFERENCE.read_text()
    named = [
        key for row in re.findall(r"(?m)^\| (`[^|]+) \|", text.split("### ")[0]) for key in re.findall(r"`(\w+)`", row)
    ]
    assert list(document) == named
    for part in ("born", "failure", "coverage"):
        assert [key for key in document[part] if f"`{key}`" not in text] == []
    weight = trace_document(replace(TRACE, weights=(WEIGHT,)))["weights"][0]
    assert [key for key in weight if f"`{key}`" not in text] == []
    assert [key for key in document["born"]["inputs"][0] if f"`{key}`" not in text] == []


def test_the_document_is_plain_json_and_flat_where_people_look() -> None:
    document = json.loads(json.dumps(trace_document(replace(TRACE, weights=(WEIGHT,))), allow_nan=False))
    assert document["schema"] == "ruleout.trace/1"
    assert (document["found"], document["born"]["class"], document["born"]["phase"]) == (
        "operation",
        "LlamaMLP",
        "decode",
    )
    weight = document["weights"][0]
    assert (weight["nan"], weight["first"], weight["shape"]) == (3, [0, 3], [2, 4])
    assert document["failure"]["class"] == "shape_mismatch"


def test_a_key_on_the_command_is_not_told() -> None:
    assert "veryverysecret" not in json.dumps(trace_document(TRACE))


def facts(trace: Trace) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for label, text in trace_facts(trace, "here"):
        found.setdefault(label, []).append(text)
    return found


def test_an_operation_is_told_with_its_frames_its_numbers_and_its_replay() -> None:
    told = facts(TRACE)
    assert told["In"][0].startswith("models/f5.py:5 forward ← models/f4.py:4 forward")
    assert told["Into the operation"] == ["arg0 float32 2×4: -1 to 1.5"]
    assert told["Out of it"] == ["out float32 2×4: 3 NaN and 1 infinite of 8, the rest -1 to 1.5"]
    assert told["Replay"] == ["python here/launch-1/replay-1.py"]
    assert told["Engine's own error"] == ["here/launch-1/server.log:12   RuntimeError: shape mismatch"]
    assert told["Raised at"] == ["/venv/cache.py:356:update"]


def test_what_limits_an_answer_is_told_with_it() -> None:
    told = facts(TRACE)
    assert told["Seen"] == ["40 modules, 80 calls in 1 process; of the whole model 2 in prefill, 6 in decode"]
    assert told["Not seen"] == ["compiled code hides what is inside of model"]
    assert told["Passed over"] == ["compiling (4)"]
    assert told["Set in order to see"] == ["--enforce-eager: the failure is there with it, too"]
    assert told["Traced"] == ["2 processes with torch, ranks 0, 1; 1 launch, 1:30"]


@pytest.mark.parametrize(
    ("failure", "label", "text"),
    [
        (replace(ERROR, line=0), "What a client sees", "HTTP 500; no error in the log"),
        (replace(ERROR, line=0, client=""), "How it failed", "shape mismatch"),
    ],
)
def test_a_failure_that_no_line_tells_of(failure: EngineError, label: str, text: str) -> None:
    told = facts(Trace(Found.FAILURE, failure=failure))
    assert told[label] == [text]
    assert "Engine's own error" not in told


def test_a_weight_is_told_with_its_file_and_its_first_element() -> None:
    told = facts(Trace(Found.WEIGHTS, None, (WEIGHT,)))
    assert told["Weight"] == [
        "model.layers.2.mlp.up_proj.weight in m.safetensors: "
        "float32 2×4: 3 NaN and 1 infinite of 8, the rest -1 to 1.5, first at [0, 3]"
    ]


def test_the_screen_begins_with_the_answer(capsys: Any) -> None:
    tell_trace(TRACE, "here")
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "✗ NaN born in model.layers.2.mlp"
    assert out[-1] == "  here/trace.json"
    tell_trace(Trace(Found.NOTHING, told="nothing failed"), "here")
    assert capsys.readouterr().out.startswith("✓ Nothing failed")


def test_its_rows_fit_and_a_path_stays_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = "/venv/lib/python3.11/site-packages/transformers/generation/continuous_batching/cache.py:356"
    tell_trace(replace(TRACE, told=f"NaN {'born in a module ' * 8}{path}"), "here")
    rows = capsys.readouterr().out.splitlines()
    assert all(len(row) <= 80 for row in rows if path not in row)
    assert any(row.strip() == path for row in rows)
