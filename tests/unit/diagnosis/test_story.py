"""Several runs of one story: the founding case, the same with every name exchanged, and stories that are none."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

import pytest
from tests.support.exchanged import exchanged

from ruleout.diagnosis.story import told
from ruleout.engines.levels import levels_of
from ruleout.model import Component, Diagnosis, OutcomeKind, Stage
from ruleout.model.story import Levels, Story
from ruleout.reading.diagnose import Run, Stream, read_run
from ruleout.reading.runs import read_runs

FOUNDING = Path(__file__).parent / "fixtures" / "founding"
NAMES = ("default.log", "triton.log", "flashmla-sparse.log")
Change = Callable[[str], str]


def same(text: str) -> str:
    return text


def founding(change: Change = same, more: Mapping[str, str] | None = None) -> list[Run]:
    """The runs of the founding case and more logs, all with their names changed."""
    texts = {name: (FOUNDING / name).read_text() for name in NAMES} | dict(more or {})
    return [read(change(name), change(text)) for name, text in texts.items()]


@cache
def read(name: str, text: str) -> Run:
    return read_run([Stream(name, io.BytesIO(text.encode()))])


def levels(change: Change, engine: str, version: str | None) -> list[Levels]:
    """SGLang's levels under changed names."""
    listed = levels_of("sglang", "0.5.9")
    return [
        Levels(change(one.name), tuple(change(level) for level in one.levels), one.component, "its list")
        for one in listed
    ]


def tale(change: Change = same, more: Mapping[str, str] | None = None) -> tuple[Diagnosis, Story]:
    return told(founding(change, more), levels=partial(levels, change))


HEALTHY = "".join(
    line for line in (FOUNDING / "default.log").read_text().splitlines(keepends=True)[:31]
) + '[2026-03-02 09:59:59] INFO:     127.0.0.1:4 - "POST /v1/completions HTTP/1.1" 200 OK\n'  # fmt: skip
BETTER = HEALTHY.replace("port 30000\n", "port 30000 --kv-cache-dtype bf16\n", 1)
BETTER = BETTER.replace("Setting KV cache dtype to fp8_e4m3", "Keeping the").replace("'fp8_e4m3'", "'bf16'")
BETTER = BETTER.replace("for fp8_e4m3 KV", "for KV").replace("float8_e4m3fn", "bfloat16").replace(" 09:", " 12:")
MISTYPED = """\
$ python3 -m sglang.launch_server --model-path /models/GLM-5-NVFP4 --tp 8 --nsa-decode-backend flashmla
usage: launch_server.py [-h] --model-path MODEL_PATH
launch_server.py: error: argument --nsa-decode-backend: invalid choice: 'flashmla' (choose from 'flashmla_sparse', \
'flashmla_kv', 'fa3', 'tilelang', 'aiter', 'trtllm')
"""


@pytest.mark.parametrize("change", [same, exchanged])
def test_triton_s_failure_masks_and_the_dtype_that_the_engine_chose_was_never_varied(change: Change) -> None:
    diagnosis, story = tale(change)
    assert story.target
    assert story.target.runs == (change("default.log"), change("flashmla-sparse.log"))
    assert (story.target.stage, diagnosis.stage) == (Stage.DECODE, Stage.DECODE)
    assert [run.says for run in story.runs] == [OutcomeKind.REPRODUCED, OutcomeKind.OTHER, OutcomeKind.REPRODUCED]
    assert [(run.masked, run.informative) for run in story.runs][1] == (True, False)
    (masked,) = story.masked
    assert (masked.source, masked.stage) == (change("triton.log"), Stage.PREFILL)
    assert change("assert not self.nsa_kv_cache_store_fp8") in masked.failure
    first = story.shared[0]
    assert (first.name, first.value) == (change("kv_cache_dtype"), change("fp8_e4m3"))
    assert first.chosen_by == "engine"
    assert first.spoken_of
    assert first.spoken_of.source == change("triton.log")
    assert diagnosis.never_varied[0] == change("kv_cache_dtype")


@pytest.mark.parametrize("change", [same, exchanged])
def test_what_was_varied_is_what_was_asked_of_one_run_and_not_of_the_others(change: Change) -> None:
    _, story = tale(change)
    assert [run.varied for run in story.runs] == [
        {},
        {change("attention_backend"): change("triton"), change("sampling_backend"): change("pytorch")},
        {change("nsa_decode_backend"): change("flashmla_sparse")},
    ]
    asked = [one.name for one in story.varied if one.asked]
    assert set(asked) == {change(name) for name in ("attention_backend", "sampling_backend", "nsa_decode_backend")}


@pytest.mark.parametrize("change", [same, exchanged])
def test_what_was_varied_in_a_masked_run_only_was_never_varied_and_that_is_said(change: Change) -> None:
    _, story = tale(change)
    by_name = {item.name: item for item in story.shared}
    backend = by_name[change("attention_backend")]
    assert backend.only_masked == {change("triton"): (change("triton.log"),)}
    assert change("nsa_decode_backend") not in by_name


@pytest.mark.parametrize("change", [same, exchanged])
def test_five_of_seven_decode_backends_are_untried(change: Change) -> None:
    _, story = tale(change)
    first = story.untried[0]
    assert first.name == change("nsa_decode_backend")
    assert set(first.tried) == {change("flashmla_kv"), change("flashmla_sparse")}
    assert set(first.untried) == {change(level) for level in ("flashmla_auto", "fa3", "tilelang", "aiter", "trtllm")}
    by_name = {item.name: item for item in story.untried}
    assert by_name[change("attention_backend")].masked == (change("triton"),)


@pytest.mark.parametrize("change", [same, exchanged])
def test_levels_that_a_log_lists_are_known_without_any_list_of_the_engine_s(change: Change) -> None:
    _, story = told(founding(change, {"mistyped.log": MISTYPED}))
    item = {item.name: item for item in story.untried}[change("nsa_decode_backend")]
    assert set(item.untried) == {change(level) for level in ("fa3", "tilelang", "aiter", "trtllm")}
    assert item.said_by == "mistyped.log:3"
    assert story.runs[3].masked


def test_the_structural_conclusions_are_the_same_whatever_things_are_called() -> None:
    """All settings that both readers know are the same; what only SGLang's reader knows may be more."""
    _, story = tale()
    _, other = tale(exchanged)
    ours = {exchanged(item.name) for item in story.shared}
    theirs = {item.name for item in other.shared}
    known_by_the_environment = {
        "python",
        "cogwheels",
        "engine",
        "engine_version",
        "chatter",
        "squashing",
        "quantization",
    }
    assert ours - theirs <= known_by_the_environment | {"y9_slab_motor", "z7_slab_motor"}  # the names of their flags
    assert {"mu_pile_kind", "gaze_motor", "mux_porter_motor", "skip_tape", "quo_chew_motor"} <= theirs & ours
    assert [(run.says, run.masked) for run in story.runs] == [(run.says, run.masked) for run in other.runs]
    assert other.target
    assert story.target
    assert story.target.class_ is other.target.class_


def test_the_rope_warning_weighs_nothing_and_its_remedy_cannot_work() -> None:
    diagnosis, _ = tale()
    (warning,) = [w for w in diagnosis.warnings if "RoPE" in w.text]
    assert warning.weight == 0
    assert "4.57.1 does not know glm_moe_dsa" in warning.remedy


def test_a_warning_that_a_good_run_prints_too_weighs_nothing_whatever_it_is_called() -> None:
    alone, _ = tale(exchanged)
    assert [w.weight for w in alone.warnings if "Twine" in w.text] == [None]
    beside, story = tale(exchanged, {"better.log": BETTER})
    assert story.good == ("better.log",)
    (warning,) = [w for w in beside.warnings if "Twine" in w.text]
    assert warning.weight == 0
    assert "good runs too" in warning.why


@pytest.mark.parametrize("change", [same, exchanged])
def test_what_a_good_run_had_otherwise_is_no_longer_never_varied(change: Change) -> None:
    diagnosis, story = tale(change, {"better.log": BETTER})
    assert change("kv_cache_dtype") not in diagnosis.never_varied
    assert story.against[0].name == change("kv_cache_dtype")
    assert (story.against[0].good, story.against[0].bad) == ("bf16", change("fp8_e4m3"))
    assert all(item.good for item in story.shared if item.name in (change("moe_runner_backend"), "page_size"))


def test_what_only_some_good_runs_had_otherwise_is_no_cause_alone() -> None:
    """One good run differs in the type of the cache and the model, the other in the type of the cache only."""
    other = BETTER.replace("GLM-5-NVFP4", "Tiny-NVFP4").replace(" 12:", " 14:")
    _, story = tale(more={"better.log": BETTER, "other.log": other})
    every = {difference.name: difference.every for difference in story.against}
    assert every["kv_cache_dtype"]
    assert not every["model"]


def test_a_setting_that_one_of_two_failing_runs_tells_is_not_said_to_be_shared() -> None:
    tail = "".join((FOUNDING / "default.log").read_text().splitlines(keepends=True)[28:])
    _, story = told([read("tail.log", tail), read("sparse.log", (FOUNDING / NAMES[2]).read_text())])
    assert story.target
    assert len(story.target.runs) == 2
    assert "fp4_gemm_backend" not in {item.name for item in story.shared}


def test_what_a_good_run_had_otherwise_makes_its_component_likelier() -> None:
    def of(diagnosis: Diagnosis) -> float:
        return next((s.probability for s in diagnosis.suspects if s.component is Component.KV_CACHE_DTYPE), 0.0)

    before, _ = tale()
    after, _ = tale(more={"better.log": BETTER})
    assert of(after) > 2 * of(before)
    assert sum(s.probability for s in after.suspects) + after.unexplained == pytest.approx(1)


def test_the_masked_failure_is_evidence_for_what_it_speaks_of_and_a_trial_of_it_is_proposed() -> None:
    diagnosis, _ = tale()
    kept = {s.component: s for s in diagnosis.suspects}
    assert "triton.log" in {e.source for e in kept[Component.KV_CACHE_DTYPE].evidence}
    assert diagnosis.next[0].change == {"--kv-cache-dtype": "bf16"}
    assert diagnosis.next[0].command.endswith("--kv-cache-dtype bf16")
    assert not any("--attention-backend" in step.change for step in diagnosis.next)  # triton.log has tried it


def test_two_levels_of_seven_that_fail_alike_clear_little() -> None:
    from ruleout.diagnosis.story.weighing import moves

    _, story = tale()
    known = {one.name: one for one in levels_of("sglang", "0.5.9")}
    moved = moves(story, known)
    assert moved[Component.ATTENTION_BACKEND].by == pytest.approx(5 / 6)
    assert moved[Component.KV_CACHE_DTYPE].by > 1


def test_runs_in_which_nothing_failed_have_no_target() -> None:
    diagnosis, story = told([read(f"{n}.log", HEALTHY) for n in range(2)])
    assert story.target is None
    assert diagnosis.failure is None
    assert (diagnosis.never_varied, story.shared, story.masked) == ((), (), ())


def test_a_run_that_ended_silently_before_the_target_says_nothing() -> None:
    cut = "".join((FOUNDING / "default.log").read_text().splitlines(keepends=True)[:20])
    _, story = tale(more={"cut.log": cut, "empty.log": ""})
    assert [run.says for run in story.runs[3:]] == [OutcomeKind.UNRESOLVED, OutcomeKind.UNRESOLVED]
    assert not story.runs[3].informative


def test_a_run_that_failed_later_than_the_target_has_come_past_it() -> None:
    early = (FOUNDING / "triton.log").read_text()
    late = (FOUNDING / "default.log").read_text()
    runs = {"early.log": early, "again.log": early.replace(" 10:", " 13:"), "late.log": late}
    _, story = told([read(name, text) for name, text in runs.items()])
    assert story.target
    assert story.target.stage is Stage.PREFILL
    assert [run.says for run in story.runs] == [OutcomeKind.REPRODUCED, OutcomeKind.REPRODUCED, OutcomeKind.CLEAN]
    assert not story.masked


def test_slips_of_the_hand_are_not_the_story_however_many_there_are() -> None:
    more = {f"mistyped-{n}.log": MISTYPED.replace("--tp 8", f"--tp {n}") for n in (1, 2, 4)}
    _, story = tale(more=more)
    assert story.target
    assert story.target.stage is Stage.DECODE
    assert "arguments" in story.target.why


def test_forty_runs_are_one_story(tmp_path: Path) -> None:
    text = (FOUNDING / "flashmla-sparse.log").read_text()
    for n in range(40):
        (tmp_path / f"{n}.log").write_text(text.replace("2026-03-02", f"2026-0{3 + n // 20}-{1 + n % 20:02d}"))
    found = read_runs([tmp_path / f"{n}.log" for n in range(40)])
    _, story = told(found.runs)
    assert story.target
    assert len(story.target.runs) == 40
    assert not any(one.asked for one in story.varied)


def printed(hour: int, fails: str = "", **values: str) -> str:
    """An SGLang run whose log shows no command: its configuration, a measured line, and how it went on."""
    fields = {"model_path": "'/m/quux'", "dtype": "'auto'", "attention_backend": "None", "chunked_prefill_size": "4096"}
    dump = ", ".join(f"{name}={value}" for name, value in (fields | values).items())
    at = f"[2026-04-01 {hour:02d}:00"
    text = f"{at}:01] server_args=ServerArgs({dump})\n{at}:02 TP0] Load weight begin. avail mem=70 GB\n"
    text += f"{at}:30 TP0] max_total_num_tokens={1000 + hour}, context_len={hour}, max_running_requests={hour}\n"
    text += f"{at}:40] The server is fired up and ready to roll!\n"
    text += f"{at}:41] Decode batch. #running-req: 1, #token: 9\n"
    if fails:
        text += f"{at}:50 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        text += f'  File "/x/scheduler.py", line 7, in run_quux\n    self.quux()\n{fails}\n'
    return text


def test_a_printed_configuration_that_differs_is_varied_though_no_log_shows_a_command() -> None:
    fails = "RuntimeError: CUDA error: an illegal memory access was encountered"
    texts = {
        "a.log": printed(9, fails, attention_backend="'fa3'"),
        "b.log": printed(10, fails, attention_backend="'flashinfer'", disable_cuda_graph="True"),
        "c.log": printed(11, fails, attention_backend="'triton'", chunked_prefill_size="2048"),
    }
    _, story = told([read(name, text) for name, text in texts.items()], levels=levels_of)
    assert [run.varied["attention_backend"] for run in story.runs] == ["fa3", "flashinfer", "triton"]
    assert story.runs[2].varied["chunked_prefill_size"] == "2048"
    assert {one.name for one in story.varied if one.asked} == {"attention_backend", "chunked_prefill_size"}
    (untried,) = (item for item in story.untried if item.name == "attention_backend")
    assert set(untried.tried) == {"fa3", "flashinfer", "triton"}
    assert "torch_native" in untried.untried


def test_what_an_exception_passes_through_was_on_and_a_good_run_without_it_differs() -> None:
    place = "site-packages/transformers/generation/continuous_batching/quux_api.py"
    bad = (
        "Loading /m/tiny@main\nLoaded model /m/tiny@main\nError in generation loop: shape mismatch: 4\n"
        f'Traceback (most recent call last):\n  File "/v/{place}", line 8, in _loop\n    self.step()\n'
        "RuntimeError: shape mismatch: 4\n"
    )
    good = (
        "INFO:     Application startup complete.\n[transformers] Loading /m/tiny\n"
        "[transformers] [Request received] Model: /m/tiny, CB: False\n"
        'INFO:     127.0.0.1:48 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    )
    _, story = told([read("bad.log", bad), read("good.log", good)], levels=levels_of)
    first = story.against[0]
    assert (first.name, first.good, first.bad) == ("continuous_batching", "False", "True")
    assert [run.varied["continuous_batching"] for run in story.runs] == ["True", "False"]


IMA = "RuntimeError: CUDA error: an illegal memory access was encountered"


def lasting(hours: int, text: str) -> str:
    """The same run with its failure, or another request, so many hours later."""
    return text.replace("09:00:50", f"{9 + hours:02d}:00:50")


def test_a_good_run_of_minutes_proves_little_against_a_failure_after_hours() -> None:
    bad = lasting(6, printed(9, IMA))
    good = printed(9, kv_cache_dtype="'fp8_e5m2'")
    runs = [read("bad.log", bad), read("good.log", good)]
    _, story = told(runs, levels=levels_of)
    assert story.runs[1].says is OutcomeKind.UNRESOLVED
    assert "served 1 s" in story.runs[1].why
    assert "6 h 00 min" in story.runs[1].why
    diagnosis, story = told(runs[:1], runs[1:], levels_of)
    assert [(run.source, round(run.needed)) for run in story.brief] == [("good.log", 6 * 3600 + 10)]
    long = lasting(5, printed(9, kv_cache_dtype="'fp8_e5m2'") + "[2026-04-01 09:00:50] Decode batch. #token: 1\n")
    beside, story = told(runs[:1], [read("long.log", long)], levels_of)
    assert story.brief == ()
    assert [suspect.probability for suspect in diagnosis.suspects] != [s.probability for s in beside.suspects]


def test_a_failure_that_shows_at_once_is_disproved_by_a_run_of_minutes() -> None:
    _, story = told([read("bad.log", printed(9, IMA)), read("good.log", printed(12))])
    assert [run.says for run in story.runs] == [OutcomeKind.REPRODUCED, OutcomeKind.CLEAN]


def test_of_a_good_run_of_another_engine_engine_and_model_come_first_and_settings_are_not_compared() -> None:
    other = (
        "INFO 04-01 12:00:00 [api_server.py:1] vLLM API server version 0.11.0\n"
        "INFO 04-01 12:00:01 [utils.py:1] non-default args: {'model': '/m/other', 'attention_backend': 'FLASH_ATTN'}\n"
        "INFO:     Application startup complete.\n"
        'INFO:     127.0.0.1:4 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    )
    _, story = told([read("bad.log", printed(9, IMA, attention_backend="'fa3'"))], [read("good.log", other)], levels_of)
    names = [difference.name for difference in story.against]
    assert set(names[:2]) == {"engine", "model"}
    assert "attention_backend" not in names
    assert not story.untried
