"""What a person writes in case.yaml becomes a case, to the letter; whatever does not fit is told with its line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleout.investigation.casefile import MAX_BYTES, parse_case, read_case
from ruleout.model import (
    Budget,
    Case,
    Configuration,
    Cost,
    Factor,
    FailureClass,
    Goal,
    Mechanism,
    Mode,
    Others,
    Probe,
    Ready,
    Stage,
    Target,
    UsageError,
)

EXAMPLE = """\
name: glm5-nvfp4-decode
engine: sglang                     # a comment
command: [python3, -m, sglang.launch_server, --model-path, /models/GLM-5-NVFP4, --tp, "8"]
env: {NCCL_P2P_LEVEL: SYS}
host: local
mode: serve
ready: {timeout: 20m}
stages: {weight_load: "Load weight begin", kv_cache_alloc: "KV Cache is allocated"}
probes:
  - {kind: completion, prompt: "The capital of France is", max_tokens: 32, repeat: 2}
  - {kind: load, concurrency: 64, requests: 128}
target: {class: device_side_assert, stage: decode}
factors:
  kv_cache_dtype: {flag: --kv-cache-dtype, levels: [auto, bf16, fp8_e4m3], baseline: auto}
  cuda_graph:     {flag: --disable-cuda-graph, levels: [absent, present], baseline: absent}
  deep_gemm:      {env: SGLANG_ENABLE_DEEP_GEMM, levels: [unset, "0"], baseline: unset}
  transformers:   {python: {"5.2.0": /venvs/tf52/bin/python, "4.57.1": /venvs/tf457/bin/python}, baseline: "5.2.0"}
  sglang:         {python: {"0.5.8": /a/bin/python, "0.5.9": /b/bin/python}, ordered: true, baseline: "0.5.9"}
  layers:         {override: num_hidden_layers, levels: ["78", "4"], baseline: "78", proxy: true}
  smem_fix:       {patch: {"off": null, "on": pr14311.diff}, baseline: "off"}
  jit_cache:      {cache: [~/.cache/flashinfer], levels: [kept, fresh], baseline: kept}
  concurrency:    {workload: concurrency, levels: ["1", "64"], baseline: "64"}
good: [{kv_cache_dtype: bf16}]
never: [{cuda_graph: present, kv_cache_dtype: fp8_e4m3}]
keep: {transformers: "5.2.0"}
cost: {trial: 12m, levels: {layers: {"4": 2m}}, measured: true}
workers: 1
budget: {trials: 40, time: 6h, disk: 50GB}
goal: cause
"""


def test_the_example_of_the_contract_is_the_case_that_it_describes() -> None:
    assert parse_case(EXAMPLE) == Case(
        name="glm5-nvfp4-decode",
        engine="sglang",
        command=("python3", "-m", "sglang.launch_server", "--model-path", "/models/GLM-5-NVFP4", "--tp", "8"),
        env={"NCCL_P2P_LEVEL": "SYS"},
        host="local",
        mode=Mode.SERVE,
        ready=Ready(1200.0),
        stages={"weight_load": "Load weight begin", "kv_cache_alloc": "KV Cache is allocated"},
        probes=(
            Probe("completion", "The capital of France is", 32, 2),
            Probe("load", concurrency=64, requests=128),
        ),
        target=Target(FailureClass.DEVICE_SIDE_ASSERT, Stage.DECODE),
        factors=(
            Factor("kv_cache_dtype", Mechanism.FLAG, "--kv-cache-dtype", ("auto", "bf16", "fp8_e4m3"), "auto"),
            Factor("cuda_graph", Mechanism.FLAG, "--disable-cuda-graph", ("absent", "present"), "absent"),
            Factor("deep_gemm", Mechanism.ENV, "SGLANG_ENABLE_DEEP_GEMM", ("unset", "0"), "unset"),
            Factor(
                "transformers",
                Mechanism.PYTHON,
                "",
                ("5.2.0", "4.57.1"),
                "5.2.0",
                {"5.2.0": "/venvs/tf52/bin/python", "4.57.1": "/venvs/tf457/bin/python"},
            ),
            Factor(
                "sglang",
                Mechanism.PYTHON,
                "",
                ("0.5.8", "0.5.9"),
                "0.5.9",
                {"0.5.8": "/a/bin/python", "0.5.9": "/b/bin/python"},
                ordered=True,
            ),
            Factor("layers", Mechanism.OVERRIDE, "num_hidden_layers", ("78", "4"), "78", proxy=True),
            Factor("smem_fix", Mechanism.PATCH, "", ("off", "on"), "off", {"off": None, "on": "pr14311.diff"}),
            Factor("jit_cache", Mechanism.CACHE, "~/.cache/flashinfer", ("kept", "fresh"), "kept"),
            Factor("concurrency", Mechanism.WORKLOAD, "concurrency", ("1", "64"), "64"),
        ),
        good=(Configuration(kv_cache_dtype="bf16"),),
        never=(Configuration(cuda_graph="present", kv_cache_dtype="fp8_e4m3"),),
        keep=Configuration(transformers="5.2.0"),
        cost=Cost(12.0, {"layers": {"4": 2.0}}, True),
        budget=Budget(40, 360.0, 50 * 10**9),
        workers=1,
        goal=Goal.CAUSE,
    )


SMALL = """\
name: n
engine: command
command: [run, it]
factors:
  kv: {flag: --kv, levels: [auto, bf16], baseline: auto}
"""


def refused(text: str) -> tuple[str, str]:
    """What is wrong and what to do, of a case that is not right."""
    with pytest.raises(UsageError) as caught:
        parse_case(text)
    what, remedy = str(caught.value).split("\n")
    assert remedy.strip()
    return what, remedy.strip()


@pytest.mark.parametrize(
    "level", ["off", "on", "yes", "no", "true", "1e-3", "010", "0x1F", "1_000", "12:30:45", ".5", "2026-01-01"]
)
def test_a_level_without_quotes_is_the_text_as_written(level: str) -> None:
    (factor,) = parse_case(SMALL.replace("bf16", level)).factors
    assert factor.levels == ("auto", level)


@pytest.mark.parametrize("level", ["null", "~", "a: b", "8 ", "", "[x]", "%"])
def test_a_level_in_quotes_is_the_text_in_them(level: str) -> None:
    (factor,) = parse_case(SMALL.replace("bf16", f'"{level}"')).factors
    assert factor.levels == ("auto", level)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("90s", 90), ("20m", 1200), ("1h30m", 5400), ("6h", 21600), ("1h1m1s", 3661), ("0.5s", 0.5), ("1.5h", 5400)],
)
def test_a_duration_has_its_unit(written: str, seconds: float) -> None:
    assert parse_case(f"{SMALL}ready: {{timeout: {written}}}\n").ready.timeout == seconds


@pytest.mark.parametrize(
    ("written", "size"),
    [("50GB", 50 * 10**9), ("1 TB", 10**12), ("1.5MB", 1_500_000), ("2GiB", 2**31), ("512kb", 512_000), ("3B", 3)],
)
def test_a_size_has_its_unit(written: str, size: int) -> None:
    assert parse_case(f"{SMALL}budget: {{disk: {written}}}\n").budget.disk == size


def test_a_command_may_be_written_as_in_a_shell() -> None:
    assert parse_case("name: n\ncommand: serve --prompt 'a b' -x\n").command == ("serve", "--prompt", "a b", "-x")


def test_a_case_needs_no_more_than_a_name_and_a_command() -> None:
    case = parse_case("name: n\ncommand: [run]\n")
    assert case == Case("n", "command", ("run",))


def test_an_estimate_that_measured_minutes_must_not_replace_is_kept_as_such() -> None:
    assert parse_case(f"{SMALL}cost: {{trial: 30s, measured: false}}\n").cost == Cost(0.5, {}, False)


@pytest.mark.parametrize(
    ("text", "line", "what", "remedy"),
    [
        pytest.param(f"{SMALL}factrs: {{}}\n", 6, "unknown key factrs", "Did you mean factors?", id="key"),
        pytest.param(
            f"{SMALL}\n\nbudget:\n  trials: 4\n  tyme: 3h\n",
            10,
            "unknown key budget.tyme",
            "Did you mean time?",
            id="key below",
        ),
        pytest.param(
            SMALL.replace("levels", "levles"),
            5,
            "unknown key factors.kv.levles",
            "Did you mean levels?",
            id="key of a factor",
        ),
        pytest.param(
            f"{SMALL}probes:\n  - {{kind: load}}\n  - {{kind: load, paralel: 3}}\n",
            8,
            "unknown key probes.1.paralel",
            "Known here: kind, prompt",
            id="key of a probe",
        ),
        pytest.param(
            f"{SMALL}good:\n  - {{kv: bf16}}\n  - {{kv: fp8}}\n",
            8,
            'good: factor kv has no level "fp8"',
            "Levels: auto, bf16.",
            id="level in good",
        ),
        pytest.param(
            f"{SMALL}never: [{{kv: fp8}}]\n",
            6,
            'never: factor kv has no level "fp8"',
            "Levels: auto, bf16.",
            id="level in never",
        ),
        pytest.param(
            f"{SMALL}keep:\n  kv: fp8\n", 7, 'keep: factor kv has no level "fp8"', "Levels:", id="level in keep"
        ),
        pytest.param(
            f"{SMALL}cost:\n  levels:\n    kv:\n      fp8: 2m\n",
            9,
            'cost: factor kv has no level "fp8"',
            "Levels:",
            id="level in cost",
        ),
        pytest.param(
            f"{SMALL.replace('kv:', 'kv_dtype:')}keep:\n  kv_dtpe: bf16\n",
            7,
            "keep: unknown factor kv_dtpe",
            "Did you mean kv_dtype?",
            id="factor in keep",
        ),
        pytest.param(
            f"{SMALL}good:\n  - kv: bf16\n    graphs: off\n",
            8,
            "good: unknown factor graphs",
            "Factors: kv.",
            id="factor in good",
        ),
        pytest.param(
            f"{SMALL}never:\n  - {{kv: bf16}}\n  - {{kv: auto}}\n",
            8,
            "never forbids the baseline itself",
            "leave this out",
            id="baseline forbidden",
        ),
        pytest.param(
            f"{SMALL}never: [{{}}]\n",
            6,
            "never forbids the baseline itself",
            "leave this out",
            id="everything forbidden",
        ),
        pytest.param(
            f"{SMALL}never: [{{kv: bf16}}]\ngood:\n  - {{kv: bf16}}\n",
            8,
            "good names a configuration that never forbids",
            "Leave out one",
            id="good forbidden",
        ),
        pytest.param(f"{SMALL}\tgoal: cause\n", 6, "a tab", "Indent with spaces.", id="tab"),
        pytest.param("name: n\nready:\n\ttimeout: 3m\n", 3, "a tab", "Indent with spaces.", id="tab below"),
        pytest.param(f"{SMALL}name: m\n", 6, "key 'name' stands twice (first in line 1)", "Keep one", id="key twice"),
        pytest.param(
            f"{SMALL}  tp: {{}}\n  kv: {{}}\n",
            7,
            "key 'kv' stands twice (first in line 5)",
            "Keep one",
            id="factor twice",
        ),
        pytest.param(
            SMALL.replace("baseline: auto", "baseline: fp8"),
            5,
            'factor kv has baseline "fp8", which is not one of its levels (auto, bf16)',
            'Add "fp8" to levels, or name the level the failing command really uses.',
            id="baseline",
        ),
        pytest.param(
            SMALL.replace("flag: --kv, ", ""),
            5,
            "factor kv has no mechanism",
            "Give exactly one of flag, env, python, override, patch, cache, workload.",
            id="no mechanism",
        ),
        pytest.param(
            SMALL.replace("flag: --kv", "flag: --kv, env: KV"),
            5,
            "factor kv has flag and env",
            "Give exactly one",
            id="two mechanisms",
        ),
        pytest.param(
            SMALL.replace("--kv", '""'), 5, "factor kv: flag names nothing", "Name what it sets", id="empty flag"
        ),
        pytest.param(
            SMALL.replace("[auto, bf16]", "[auto, bf16, auto]"),
            5,
            'factor kv has level "auto" twice',
            "Keep one",
            id="level twice",
        ),
        pytest.param(
            SMALL.replace("[auto, bf16]", "[auto]"),
            5,
            "factor kv has fewer than two levels",
            "Give `levels: [a, b]`",
            id="one level",
        ),
        pytest.param(
            SMALL.replace("bf16", "null"),
            5,
            "factors.kv.levels.1 has no value",
            'quote it: "null"',
            id="level without text",
        ),
        pytest.param(
            SMALL.replace("flag: --kv", "python: {auto: /a, fp8: /b}"),
            5,
            "factor kv: levels differ from the keys of python",
            "Leave it out.",
            id="levels of a python",
        ),
        pytest.param(
            f"{SMALL}  kv2: {{flag: --kv, levels: [a, b], baseline: a}}\n",
            6,
            "factors kv and kv2 both set --kv",
            "Make them one factor",
            id="two factors on one flag",
        ),
        pytest.param(
            f"{SMALL}stages:\n  decode: '('\n",
            7,
            "stages.decode: not a regex",
            "Mend the regex.",
            id="regex of a stage",
        ),
        pytest.param(
            f"{SMALL}ready:\n  log: '['\n", 7, "ready.log: not a regex", "Mend the regex.", id="regex of ready"
        ),
        pytest.param(
            f"{SMALL}stages:\n  ready: x\n  decoding: x\n", 8, "'decoding' is not known", "'decode'", id="stage"
        ),
        pytest.param(
            f"{SMALL}target:\n  class: oom\n  stage: decod\n",
            8,
            "target.stage: 'decod' is not known",
            "'decode'",
            id="stage of the target",
        ),
        pytest.param(
            f"{SMALL}target:\n  class: bad\n", 7, "target.class: 'bad' is not known", "'oom'", id="class of the target"
        ),
        pytest.param(
            f"{SMALL}target:\n  stage: decode\n",
            6,
            "target.class is missing",
            "Add `class:`.",
            id="target without class",
        ),
        pytest.param(f"{SMALL}mode: jb\n", 6, "mode: 'jb' is not known", "Write one of 'serve' or 'job'.", id="mode"),
        pytest.param(f"{SMALL}ready:\n  timeout: 20\n", 7, "'20' is not a duration", "", id="duration without unit"),
        pytest.param(f"{SMALL}ready:\n  timeout: 20 minutes\n", 7, "is not a duration", "", id="duration"),
        pytest.param(
            f"{SMALL}ready:\n  timeout: {'9' * 400}h\n", 7, "longer than anybody waits", "", id="endless duration"
        ),
        pytest.param(f"{SMALL}budget:\n  disk: 50\n", 7, "'50' is not a size", "", id="size without unit"),
        pytest.param(f"{SMALL}budget:\n  disk: {'9' * 400}GB\n", 7, "more than any disk holds", "", id="endless size"),
        pytest.param(f"{SMALL}budget:\n  trials: 0\n", 7, "budget.trials", "", id="no trials"),
        pytest.param(
            f"{SMALL}probes: [{{kind: compare}}]\n", 6, "has no reference", "ruleout probe --save", id="compare"
        ),
        pytest.param(
            f"{SMALL}probes:\n  - {{kind: load}}\n  - {{kind: compare, reference: nowhere.json}}\n",
            8,
            "reference nowhere.json: no such file",
            "Name one that is there",
            id="missing reference",
        ),
        pytest.param(
            f"{SMALL}probes: [{{kind: long, reference: r.json}}]\n",
            6,
            "kind long has no reference",
            "Use kind: compare",
            id="reference of another kind",
        ),
        pytest.param(
            f"{SMALL}probes: [{{kind: compare, reference: r.json, max_tokens: 3}}]\n",
            6,
            "max_tokens of a probe of kind compare is its reference's",
            "Leave it out",
            id="what the reference says",
        ),
        pytest.param(
            f"{SMALL}probes: [{{kind: dance}}]\n", 6, "'dance' is not known", "'streaming'", id="kind of probe"
        ),
        pytest.param(
            SMALL.replace("name: n", "name: ../x"),
            1,
            "'../x' cannot name a folder",
            "Use letters",
            id="name with a path",
        ),
        pytest.param(
            SMALL.replace("name: n", "name: .."), 1, "'..' cannot name a folder", "Use letters", id="name of dots"
        ),
        pytest.param(
            SMALL.replace("name: n", 'name: ""'), 1, "'' cannot name a folder", "Use letters", id="empty name"
        ),
        pytest.param(SMALL.replace("name: n\n", ""), 1, "name is missing", "Add `name:`.", id="no name"),
        pytest.param("name: n\nengine: command\n", 1, "command is missing", "Add `command:`.", id="no command"),
        pytest.param(SMALL.replace("[run, it]", "[]"), 3, "command is empty", "Give it", id="empty command"),
        pytest.param(SMALL.replace("[run, it]", "run 'it"), 3, "command: No closing quotation", "", id="command torn"),
        pytest.param("- a\n- b\n", 1, "not a case: a mapping", "Begin with", id="list"),
        pytest.param("hello\n", 1, "not a case: a mapping", "Begin with", id="word"),
        pytest.param("", 1, "not a case: a mapping", "Begin with", id="empty"),
        pytest.param("# nothing\n", 1, "not a case: a mapping", "Begin with", id="comment only"),
        pytest.param(f"{SMALL}---\nname: m\n", 6, "another document", "", id="two documents"),
        pytest.param(f"{SMALL}env: *x\n", 6, "undefined alias", "", id="alias of nothing"),
        pytest.param(f"{SMALL}env: {{A: [b\n", 7, "not YAML", "", id="not closed"),
        pytest.param("name: n\ncommand: [\0]\n", 2, "not a text file", "UTF-8", id="binary"),
        pytest.param(f'{SMALL}env: {{A: "\\0"}}\n', 6, "a character that no command can hold", "", id="NUL"),
        pytest.param(
            f'{SMALL}env: {{"\\ud800": x}}\n', 6, "a character that no name can hold", "", id="lone surrogate"
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_a_remedy(text: str, line: int, what: str, remedy: str) -> None:
    told, advice = refused(text)
    assert told.startswith(f"case.yaml, line {line}: ")
    assert what in told
    assert remedy in advice


def test_of_several_mistakes_the_first_in_the_file_is_told() -> None:
    what, _ = refused(f"nme: n\n{SMALL}goal: fame\n")
    assert what == "case.yaml, line 1: unknown key nme"


def test_lines_are_counted_through_windows_line_ends() -> None:
    what, _ = refused(f"{SMALL}factrs: {{}}\n".replace("\n", "\r\n"))
    assert what == "case.yaml, line 6: unknown key factrs"


def test_windows_line_ends_are_no_part_of_a_level() -> None:
    assert parse_case(EXAMPLE.replace("\n", "\r\n")) == parse_case(EXAMPLE)


def test_aliases_that_multiply_are_refused_at_once() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    what, remedy = refused(bomb)
    assert "more than 100000 values" in what
    assert "aliases" in remedy


@pytest.mark.parametrize("text", ["a: &a [*a]\n", "[" * 20_000, "a: " + "[" * 5_000, "&a name: {b: *a}\n"])
def test_what_is_nested_without_end_is_refused(text: str) -> None:
    refused(text)


# -- files ---------------------------------------------------------------------------------------------------------


def read(folder: Path, data: bytes) -> Case:
    path = folder / "case.yaml"
    path.write_bytes(data)
    return read_case(path)


def test_a_byte_order_mark_is_no_part_of_the_case(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbf" + SMALL.encode()) == parse_case(SMALL)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (SMALL.encode() + b"env: {A: \xff}\n", "case.yaml, line 6: not UTF-8"),
        (SMALL.encode("utf-16"), "case.yaml, line 1: not UTF-8"),
        (SMALL.encode("utf-16-be"), "case.yaml, line 1: not a text file"),
        (b"\x7fELF\x02\x01\x01\0\0\0", "case.yaml, line 1: not a text file"),
        (b"# " + b"x" * MAX_BYTES, f"more than {MAX_BYTES} bytes"),
    ],
    ids=["latin 1", "utf 16", "utf 16 without mark", "binary", "huge"],
)
def test_a_file_that_is_no_case_is_refused_in_two_lines(tmp_path: Path, data: bytes, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, data)
    lines = str(caught.value).split("\n")
    assert what in lines[0]
    assert len(lines) == 2


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(UsageError, match="is not a file"):
            read_case(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nope\.yaml: cannot be read: No such file"):
        read_case(tmp_path / "nope.yaml")


def test_a_folder_is_no_case(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder, not a case file"):
        read_case(tmp_path)


def test_a_working_folder_is_looked_for_beside_the_case(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    assert read(tmp_path, f"{SMALL}cwd: work\n".encode()).cwd == str(tmp_path / "work")


def test_a_working_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cwd work is not a folder"):
        read(tmp_path, f"{SMALL}cwd: work\n".encode())


# -- whatever is written -------------------------------------------------------------------------------------------


def parse(text: str) -> None:
    """The case, or a message of two lines; nothing else may happen."""
    try:
        parse_case(text)
    except UsageError as problem:
        lines = str(problem).split("\n")
        assert len(lines) == 2, lines
        assert lines[0].startswith("case.yaml"), lines
        assert lines[1].strip(), lines


@settings(max_examples=200, deadline=None)
@given(st.text() | st.text("abc:-[]{}&*!|>'\"%@`#?, \n\t0", max_size=40))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    parse(text)


PIECES = [
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "-",
    "\t",
    "\n",
    '"',
    "'",
    "&a ",
    "*a",
    "!!int ",
    "null",
    "~",
    "- ",
    "? ",
    "|",
    "<<",
    "0",
    "\\",
    "é",
]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(EXAMPLE)), st.integers(0, 12), st.sampled_from(PIECES) | st.text(max_size=3))
def test_no_slip_in_a_case_does_more_than_be_refused(at: int, dropped: int, put: str) -> None:
    parse(EXAMPLE[:at] + put + EXAMPLE[at + dropped :])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text("ab/.\n%: ", max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "kv", "class", "levels", "4"]), inner, max_size=2)
    ),
    max_leaves=5,
)
KEYS = [line.split(":")[0] for line in EXAMPLE.splitlines() if line[0].isalpha()]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(KEYS), VALUES)
def test_no_value_of_a_key_does_more_than_be_refused(key: str, value: object) -> None:
    kept = [line for line in SMALL.splitlines() if not line.startswith(f"{key}:")]
    if key == "factors":
        kept = [line for line in kept if not line.startswith(" ")]
    parse("\n".join([*kept, f"{key}: {json.dumps(value)}", ""]))


@pytest.mark.parametrize(
    ("text", "others"),
    [("refuse", Others()), ("share", Others(share=True)), ("{wait: 30m}", Others(wait=1800.0))],
)
def test_what_is_to_be_done_about_others_may_be_said(text: str, others: Others) -> None:
    case = parse_case(f"name: a\ncommand: [x]\nmode: job\nothers: {text}\n")
    assert case.others == others


@pytest.mark.parametrize(
    ("probe", "words", "remedy"),
    [
        ("{tolerance: 0.1}", "a probe of kind completion has no tolerance", "compare"),
        ('{kind: http, method: "X\\ny"}', "no method of HTTP", "GET"),
        ("{max_tokens: 0}", "max_tokens is too small: 0", "at least 1"),
        ("{concurrency: 5000}", "concurrency is too large: 5000", "at most 4096"),
    ],
)
def test_what_is_wrong_with_a_probe_is_told_with_its_line(probe: str, words: str, remedy: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_case(f"name: a\ncommand: [x]\nprobes:\n  - {probe}\n")
    assert words in error.value.what
    assert "line 4" in error.value.what
    assert remedy in error.value.remedy
