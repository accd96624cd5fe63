"""Notes of people, in many styles: what a careful reader takes from them is taken, and nothing else."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleout.model import Configuration, Notes, OutcomeKind
from ruleout.reading.notes import read_notes
from ruleout.reading.notes.changes import changes_in
from ruleout.reading.notes.outcomes import Problem, judge

FIXTURES = Path(__file__).parents[2] / "fixtures" / "notes"
STYLES = sorted(FIXTURES.glob("*.yaml"), key=lambda path: int(path.name.partition("_")[0]))
Row = tuple[int, Configuration, str, int]


def read(text: str) -> Notes:
    return read_notes(text.encode())


def told(text: str) -> list[tuple[dict[str, str], str, int]]:
    """The trials of a text, without their lines."""
    return [(dict(t.changes), t.outcome.value, t.times) for t in read(text).trials]


def rows(listed: list[dict[str, Any]]) -> Counter[Row]:
    return Counter((r["line"], Configuration(r["changes"]), r["outcome"], r.get("times", 1)) for r in listed)


@pytest.mark.parametrize("expected", STYLES, ids=lambda path: path.stem)
def test_the_trials_of_a_style_are_those_that_a_careful_reader_takes(expected: Path) -> None:
    (path,) = (p for p in FIXTURES.glob(f"{expected.stem}.*") if p != expected)
    document = yaml.safe_load(expected.read_text())
    notes = read_notes(path.read_bytes(), path.name)
    found = Counter((t.line, t.changes, t.outcome.value, t.times) for t in notes.trials)
    wanted = rows(document["trials"])
    told_too = rows(document.get("may", []) + document.get("left", []))
    assert found - told_too - wanted == Counter()
    assert (found & wanted).total() >= 0.9 * wanted.total(), wanted - found
    assert notes.command == document["command"]


def test_many_styles_are_there() -> None:
    assert len(STYLES) >= 64


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("**OK**, 200 requests", OutcomeKind.CLEAN),
        ("no hang in 2 h", OutcomeKind.CLEAN),
        ("didn't crash", OutcomeKind.CLEAN),
        ("still good", OutcomeKind.CLEAN),
        ("works. 31 tok/s instead of 48", OutcomeKind.CLEAN),
        ("works for ten minutes, then hangs", OutcomeKind.REPRODUCED),
        ("still not working", OutcomeKind.REPRODUCED),
        ("changed nothing", OutcomeKind.REPRODUCED),
        ("same assert", OutcomeKind.REPRODUCED),
        ("❌", OutcomeKind.REPRODUCED),
        ("different error: `assert not self.x`", OutcomeKind.OTHER),
        ("does not even start", OutcomeKind.OTHER),
        ("aborted, the node was needed for something else", OutcomeKind.UNRESOLVED),
        ("ran, but with the wrong model, so not counted", OutcomeKind.UNRESOLVED),
        ("went through, all 300", OutcomeKind.CLEAN),
        ("finished too", OutcomeKind.CLEAN),
        ("never finished loading, crash", OutcomeKind.REPRODUCED),
        ("loads fine. Crash at the first request", OutcomeKind.REPRODUCED),
        ("OOM instead of the assert", OutcomeKind.OTHER),
        ("memory access fault", OutcomeKind.REPRODUCED),
        ("läuft, kein Absturz", OutcomeKind.CLEAN),
        ("ohne Fehler durch", OutcomeKind.CLEAN),
        ("läuft nicht", OutcomeKind.REPRODUCED),
        ("startet erst gar nicht", OutcomeKind.OTHER),
    ],
)
def test_an_outcome_is_told_in_many_words(text: str, kind: OutcomeKind) -> None:
    judged = judge(text)
    assert judged is not None
    assert [k for k, _ in judged.runs] == [kind]


@pytest.mark.parametrize("text", ["not tried yet", "TODO", "(queued)", "will try tomorrow"])
def test_what_was_not_made_has_no_outcome(text: str) -> None:
    judged = judge(text)
    assert judged is not None
    assert judged.runs == ()


@pytest.mark.parametrize("text", ["", "12 minutes", "31 tok/s", "`--no-crash`", "loads fine, testing now"])
def test_words_that_say_nothing_of_an_outcome_say_nothing(text: str) -> None:
    assert judge(text) is None


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("crashed 4 of 5", ((OutcomeKind.REPRODUCED, 4), (OutcomeKind.CLEAN, 1))),
        ("ok 3/5", ((OutcomeKind.CLEAN, 3), (OutcomeKind.REPRODUCED, 2))),
        ("0 of 5 crashed", ((OutcomeKind.CLEAN, 5),)),
        ("no crash in 7 runs", ((OutcomeKind.CLEAN, 7),)),
        ("crash, 3 of 200 requests", ((OutcomeKind.REPRODUCED, 1),)),
        ("crash on 1 of 4 ranks", ((OutcomeKind.REPRODUCED, 1),)),
    ],
)
def test_runs_are_counted_and_requests_are_not(text: str, runs: object) -> None:
    judged = judge(text)
    assert judged is not None
    assert judged.runs == runs


def test_a_failure_of_another_kind_is_another_failure() -> None:
    garbage = Problem.of(["garbage after 40 requests"])
    segfault = Problem.of(["segfault in 4 of 5 runs"])
    hang = Problem.of(["hangs after 2 h"])
    device = Problem.of(["device-side assert triggered in decode"])
    for text, problem, kind in (
        ("ValueError: no scales", garbage, OutcomeKind.OTHER),
        ("garbage", garbage, OutcomeKind.REPRODUCED),
        ("crash", segfault, OutcomeKind.REPRODUCED),
        ("CUDA out of memory", segfault, OutcomeKind.OTHER),
        ("same, out of memory", segfault, OutcomeKind.REPRODUCED),
        ("hung, killed after 20 min", hang, OutcomeKind.REPRODUCED),
        ("killed by the OOM killer before it got to the hang", hang, OutcomeKind.OTHER),
        ("hang gone, but garbage", hang, OutcomeKind.OTHER),
        ("did not start (AssertionError: store_fp8)", device, OutcomeKind.OTHER),
        ("the same assert", device, OutcomeKind.REPRODUCED),
    ):
        judged = judge(text, problem)
        assert judged is not None
        assert judged.runs[0][0] is kind, text


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("`--kv-cache-dtype bf16 --page-size=64`", {"--kv-cache-dtype": "bf16", "--page-size": "64"}),
        ("--enforce-eager makes no difference", {"--enforce-eager": "present"}),
        ("--flash-attn off: ok", {"--flash-attn": "off"}),
        ("without `--a-b` and `--c-d`", {"--a-b": "absent", "--c-d": "absent"}),
        ("NCCL_ALGO=Ring, NCCL_PROTO=Simple", {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}),
        ("with vllm 0.14.2", {"vllm": "0.14.2"}),
        ("CUDA graphs off", {"cuda_graphs": "off"}),
        ("kv_cache_dtype=bf16", {"kv_cache_dtype": "bf16"}),
        ("`--kv-cache-dtype` to `bf16`", {"--kv-cache-dtype": "bf16"}),
        ("--chunked-prefill-size -1", {"--chunked-prefill-size": "-1"}),
        ("--enforce-eager -22 % tput", {"--enforce-eager": "present"}),
        ("""`--hf-overrides '{"a": 1}'`""", {"--hf-overrides": '{"a": 1}'}),
        ("`ValueError: got dtype=bf16, wanted --x`", {}),
    ],
)
def test_a_change_is_told_by_flags_variables_versions_and_words(text: str, changes: dict[str, str]) -> None:
    assert {c.name: c.level for c in changes_in(text).settings} == changes


def test_what_is_planned_asked_supposed_or_struck_out_is_no_trial() -> None:
    text = """
- baseline: crash
- [ ] `--a-a`: crash
- ~~`--b-b`: ok~~
- `--c-c`? maybe ok

I think with `--d-d` it would crash. Does `--e-e` work?

## Next steps
- `--f-f` should be ok

## Conclusion
With `--g-g` it is fine.
"""
    assert told(text) == [({}, "reproduced", 1)]
    assert {u.why for u in read(text).unused} >= {"not done yet", "struck out", "only planned"}


def test_a_trial_may_build_on_another() -> None:
    text = """
| run | change | result |
|---|---|---|
| 1 | none | crash |
| 2 | `--a-a 1` | crash |
| 3 | like run 2, and `--b-b 2` | ok |
"""
    assert told(text)[2] == ({"--a-a": "1", "--b-b": "2"}, "clean", 1)


SAME_AS = """
- run 1: baseline: crash
- run 2: `--a-a 1`: crash
- run 3: same as run 2, with `--b-b`: ok
- run 4: same as run 9 but `--c-c`: ok
- run 5: from 8 GPUs to 4, `--d-d 4`: crash
- 2 with `--h-h`: ok
- run 6: `--e-e`: same as run 3
- run 7: `--f-f`
- ran it again: ok
- run 8: `--g-g`: ok
- same again to be sure, fine
"""


def test_same_as_another_run_is_what_that_one_changed_or_how_it_ended_and_nothing_where_it_is_unknown() -> None:
    assert told(SAME_AS) == [
        ({}, "reproduced", 1),
        ({"--a-a": "1"}, "reproduced", 1),
        ({"--a-a": "1", "--b-b": "present"}, "clean", 1),
        ({"--d-d": "4"}, "reproduced", 1),
        ({"--a-a": "1", "--h-h": "present"}, "clean", 1),
        ({"--e-e": "present"}, "clean", 1),
        ({"--g-g": "present"}, "clean", 1),
        ({"--g-g": "present"}, "clean", 1),
    ]
    assert "builds on a trial that is not told" in {u.why for u in read(SAME_AS).unused}


def test_a_baseline_that_was_changed_in_words_not_understood_is_no_baseline() -> None:
    assert told("- baseline: crash\n- baseline with half the load: ok\n") == [({}, "reproduced", 1)]


def test_words_name_the_flag_that_the_command_has() -> None:
    assert told("`vllm serve m --tp 4`\n\n- baseline: crash\n- tp 1: ok\n- tp 4: crash\n")[1] == (
        {"--tp": "1"},
        "clean",
        1,
    )


@pytest.mark.parametrize(
    "item",
    [
        "`--a-a`: hangs?",
        "`--a-a` is required or it fails",
        "we use `--a-a` because of the OOM in March",
        "`--a-a`: according to the docs this is broken",
        "read the log: nothing before the crash",
    ],
)
def test_what_is_asked_explained_or_heard_of_is_no_trial(item: str) -> None:
    assert told(f"- baseline: crash\n- {item}\n") == [({}, "reproduced", 1)]


def test_what_helps_only_with_another_change_is_one_trial_of_both() -> None:
    text = "- baseline: crash\n- `--a-a` works, but only with `--b-b 2`\n"
    assert told(text)[1:] == [({"--a-a": "present", "--b-b": "2"}, "clean", 1)]


def test_a_session_in_a_terminal_tells_by_its_comments_only() -> None:
    text = """
# why does it hang

```console
me@box:~$ vllm serve m --a-a 1 \\
>    --b-b
# -> hangs
$ vllm serve m --a-a 1     # works
INFO: shutting down, error
$ nvidia-smi
# killed the zombie

# with eager: hangs too
$ vllm serve m --a-a 1 --b-b --enforce-eager

$ vllm serve m --a-a 2 --b-b
# should work, could not check
```
"""
    assert told(text) == [
        ({}, "reproduced", 1),
        ({"--b-b": "absent"}, "clean", 1),
        ({"--enforce-eager": "present"}, "reproduced", 1),
    ]


def test_an_export_keeps_its_empty_cells_and_reads_columns_of_levels() -> None:
    text = "run\tattn\towner\targs\tresult\n1\tfa3\tBE\t\tcrash\n2\ttriton\tBE\t\tok\n3\tfa3\tBE\t--a-a\tcrash\n"
    assert told(text) == [
        ({}, "reproduced", 1),
        ({"attn": "triton"}, "clean", 1),
        ({"--a-a": "present"}, "reproduced", 1),
    ]


def test_a_count_of_failures_beside_one_of_runs_is_an_outcome() -> None:
    text = 'args;runs;crashed;note\n"";5;5;\n--a-a;5;0;"slow; see wiki"\n--b-b;5;4;\n--c-c;0;;\n'
    assert told(text) == [
        ({}, "reproduced", 5),
        ({"--a-a": "present"}, "clean", 5),
        ({"--b-b": "present"}, "reproduced", 4),
        ({"--b-b": "present"}, "clean", 1),
    ]


def test_what_brings_its_own_failure_has_not_shown_the_one_that_the_notes_are_about() -> None:
    text = "- baseline: crash\n- `--a-a`: OOM, does not fit\n- `--b-b`: crash\n"
    assert [outcome for _, outcome, _ in told(text)] == ["reproduced", "other", "reproduced"]
    assert told("- baseline: OOM\n- `--a-a`: OOM\n")[1][1] == "reproduced"


def test_a_word_that_only_opens_a_sentence_is_no_outcome() -> None:
    assert told("- baseline: crash\n- ok so try `--a-a`\n") == [({}, "reproduced", 1)]


SCRIPT = """\
#!/bin/sh
# as documented -> crash
# vllm serve m --a-a 1
# eager -> ok
# vllm serve m --a-a 1 --enforce-eager

# graphs off, works
vllm serve m --a-a 1 --b-b 2
"""


def test_a_script_keeps_its_earlier_commands_behind_comments() -> None:
    assert told(SCRIPT) == [
        ({}, "reproduced", 1),
        ({"--enforce-eager": "present"}, "clean", 1),
        ({"--b-b": "2"}, "clean", 1),
    ]


def test_rows_that_differ_in_a_column_that_is_not_understood_are_no_baselines() -> None:
    text = "run,weather there,args,result\n1,rain and wind,,crash\n2,sun,,ok\n3,rain and wind,--a-a,ok\n"
    assert told(text) == [({}, "reproduced", 1), ({"--a-a": "present"}, "clean", 1)]


def test_a_table_of_something_else_is_no_table_of_trials() -> None:
    assert told("| package | version |\n|---|---|\n| torch | 2.10 |\n| vllm | 0.14 |\n") == []


LOGGED = """\
INFO 11-29 16:25:30 [core.py:97] Initializing an engine with enforce_eager=True, it failed before
[2026-01-29 00:30:16 TP0] server_args=ServerArgs(model_path='m', kv_cache_dtype='auto') no error
(EngineCore pid=12) WARNING 08-03 21:02:58 [__init__.py:204] min_p and logit_bias=x will not work
  File "/x/y.py", line 3, in forward with --enforce-eager: crash
You are sending unauthenticated requests to the HF Hub. Please set a HF_TOKEN to enable higher limits, or it fails
"""


def test_a_title_that_names_no_failure_does_not_make_a_crash_another_one() -> None:
    assert told("# what I tried\n\n- `--a-a`: crash\n- `--b-b`: ok\n")[0][1] == "reproduced"


def test_a_log_that_was_pasted_tells_of_no_trial() -> None:
    assert told(LOGGED) == []
    assert told(f"# what I tried\n\n- `--a-a`: crash\n\n{LOGGED}\n- `--b-b`: ok\n") == [
        ({"--a-a": "present"}, "reproduced", 1),
        ({"--b-b": "present"}, "clean", 1),
    ]


@pytest.mark.parametrize(
    "text",
    [  # of a manual, not of a diary
        "The server can be started with `--port N`; a port that is taken would be an error.",
        "- `serve` prints the readiness of all that it started, and then, in the end, also says of each what failed",
        "| option | what it is for |\n|---|---|\n| `--json` | prints one document, for who asks for what failed |\n",
        "vllm 0.15.0, CUDA 13, two H100; it crashes.",
        "| flag | meaning | default |\n|---|---|---|\n| `--a-a` | fails early | off |\n| `--b-b` | ok | on |\n",
        "I was told `--a-a` breaks everything.",
        '```mermaid\nflowchart\n  A -->|crash| B["--a-a 1"]\n  B -->|ok| C["--b-b"]\n  C -->|ok| D["--c-c"]\n```\n',
        "- `ruleout investigate case.yaml --reduce` crashed\n",
        "Things to check:\n- fix the `--a-a` crash in our wrapper\n",
    ],
)
def test_what_only_describes_is_no_trial(text: str) -> None:
    assert told(text) == []


def test_a_note_may_have_words_of_its_own_for_its_problem_and_its_command() -> None:
    text = """
symptom S = `device-side assert triggered`
cmd C = `vllm serve m --a-a 1`

- C: S after 4 min
- C + `--b-b`: S after 5 min
- C + `--c-c`: no S in an hour
"""
    assert [(changes, kind) for changes, kind, _ in told(text)] == [
        ({}, "reproduced"),
        ({"--b-b": "present"}, "reproduced"),
        ({"--c-c": "present"}, "clean"),
    ]
    babble = "It spits out garbage.\n\n- `--a-a`: same babble\n- `--b-b 2048`: babble after 3k\n"
    assert [kind for _, kind, _ in told(babble)] == ["reproduced", "reproduced"]


def test_scores_are_told_apart_by_what_a_note_calls_good_and_bad() -> None:
    text = "good = 0.9, broken is anything below 0.6\n\n"
    text += "| change | pass@1 |\n|---|---|\n| none | 0.41 |\n| `--a-a` | 0.90 |\n"
    assert [kind for _, kind, _ in told(text)] == ["reproduced", "clean"]


def test_a_title_that_tells_an_outcome_gives_it_to_what_is_listed_under_it() -> None:
    text = """
# OOM after two hours

What helped:
- dropping `--a-a` to 0.90

What didn't help:
- `--b-b`
- `--c-c 64`

What broke other things:
- `--d-d` (requests timed out)

Still on my list:
- `--e-e`
"""
    assert [(changes, kind) for changes, kind, _ in told(text)] == [
        ({"--a-a": "0.90"}, "clean"),
        ({"--b-b": "present"}, "reproduced"),
        ({"--c-c": "64"}, "reproduced"),
        ({"--d-d": "present"}, "other"),
    ]


@pytest.mark.parametrize(
    ("row", "changes"),
    [
        ("kv_cache_dtype: fp8 -> auto -> no NaN", {"kv_cache_dtype": "auto"}),
        ("--page-size 64 → 1: NaN", {"--page-size": "1"}),
        ("`--page-size 1` (was 64): NaN", {"--page-size": "1"}),
    ],
)
def test_from_one_level_to_another_is_the_other(row: str, changes: dict[str, str]) -> None:
    assert [c for c, _, _ in told(f"NaN logits\n\nrun 1: stock config -> NaN\nrun 2: {row}\n")][1:] == [changes]


def test_an_empty_cell_is_the_one_above_where_nothing_is_told_in_words() -> None:
    text = (
        "| env | option | seen |\n|---|---|---|\n| default | none | hang |\n| A_A=1 | none | ok |\n| | --b-b | ok |\n"
    )
    assert told(text)[1:] == [({"A_A": "1"}, "clean", 1), ({"A_A": "1", "--b-b": "present"}, "clean", 1)]


def test_what_was_taken_back_or_only_named_is_not_set() -> None:
    text = """
It hangs.

Took `--a-a` away; 6 hours, nothing. With it back and `--b-b`, it hung at 35 min.
Then `--c-c 4` instead of `--b-b`: hang.
"""
    assert [(changes, kind) for changes, kind, _ in told(text)] == [
        ({"--a-a": "absent"}, "clean"),
        ({"--b-b": "present"}, "reproduced"),
        ({"--c-c": "4"}, "reproduced"),
    ]


def test_the_surroundings_of_notes_are_no_trial() -> None:
    text = "# hang\n\n- engine: vllm 0.11\n- gpu: H100\n\nWe run vllm 0.11.0 and it hangs.\n\n- `--a-a`: hang\n"
    assert told(text) == [({"--a-a": "present"}, "reproduced", 1)]


def test_every_line_is_counted_where_it_stands_in_the_file() -> None:
    text = "\ufeff# x\r\n\r\n- `--a-a`: crash\r\n\r\n\r\n- `--b-b`: ok\r\n"
    assert [t.line for t in read(text).trials] == [3, 6]


def test_points_that_ended_in_different_ways_did_not_all_end_as_their_title_says() -> None:
    text = "# Hang\n\n- `--a-a`: hang\n- `--b-b`: ok\n"
    assert told(text) == [({"--a-a": "present"}, "reproduced", 1), ({"--b-b": "present"}, "clean", 1)]
    grouped = "## Still hangs\n\n- `--a-a`\n- `--b-b`, ok at first\n"
    assert {outcome for _, outcome, _ in told(grouped)} == {"reproduced"}


MEASURED = """\
try\tdelta\twall_s\texit\tverdict
a\t(none)\t300\t139\tREPRO
b\t--a-a 2\t900\t0\tCLEAN
c\t--b-b\t900\t0\tCLEAN
"""
MERGED = """
| driver | torch | extra | result |
|---|---|---|---|
| 550.1 | 2.7 | - | crash |
|       |     | `--a-a` | crash |
|       | 2.8 | - | ok |
| 560.2 | 2.7 | - | crash |
|       |     | `--a-a` | ok |
"""
DITTO = """
| # | flags | env | outcome |
|---|---|---|---|
| 1 | none | none | crash |
| 2 | `--a-a` | | " |
| 3 | | `X_Y=1` | " |
| 4 | `--b-b` | | ok |
"""
RULED = """\
+----+--------------+---------------+
| Nr | Set          | After an hour |
+====+==============+===============+
| 0  | as deployed  | timeout       |
+----+--------------+---------------+
| 1  | ``A_A=1``    | timeout       |
|    | ``B_B=2``    |               |
+----+--------------+---------------+
| 2  | ``C_C=3``    | healthy       |
+----+--------------+---------------+
"""
SELECTED = """\
db=> select id, args_added, verdict from runs;
 id |  args_added   |   verdict
----+---------------+--------------
  1 |               | FAIL segfault
  2 | --a-a 1       | PASS
  3 | --b-b         | RUNNING
(3 rows)
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (MEASURED, [({}, "reproduced"), ({"--a-a": "2"}, "clean"), ({"--b-b": "present"}, "clean")]),
        (
            MERGED,
            [
                ({}, "reproduced"),
                ({"--a-a": "present"}, "reproduced"),
                ({"torch": "2.8"}, "clean"),
                ({"driver": "560.2"}, "reproduced"),
                ({"driver": "560.2", "--a-a": "present"}, "clean"),
            ],
        ),
        (
            DITTO,
            [
                ({}, "reproduced"),
                ({"--a-a": "present"}, "reproduced"),
                ({"X_Y": "1"}, "reproduced"),
                ({"--b-b": "present"}, "clean"),
            ],
        ),
        (RULED, [({}, "reproduced"), ({"A_A": "1", "B_B": "2"}, "reproduced"), ({"C_C": "3"}, "clean")]),
        (SELECTED, [({}, "reproduced"), ({"--a-a": "1"}, "clean"), ({"--b-b": "present"}, "unresolved")]),
    ],
    ids=["measured", "merged", "ditto", "ruled", "selected"],
)
def test_a_table_may_measure_merge_repeat_and_be_ruled(text: str, wanted: list[tuple[dict[str, str], str]]) -> None:
    assert [(changes, outcome) for changes, outcome, _ in told(text)] == wanted


def test_an_empty_cell_is_the_level_of_the_baseline_where_nothing_was_merged() -> None:
    text = "run,attn,kv,result\n1,fa3,auto,crash\n2,triton,,ok\n3,,fp8,crash\n"
    assert [changes for changes, _, _ in told(text)] == [{}, {"attn": "triton"}, {"kv": "fp8"}]


def test_a_dash_parts_a_label_from_a_flag_and_a_minus_takes_one_away() -> None:
    text = "### Attempt 1 - unchanged\n\ncrash\n\n### Attempt 2 - `--a-a 2`\n\nok\n"
    assert told(text) == [({}, "reproduced", 1), ({"--a-a": "2"}, "clean", 1)]
    assert {c.level for c in changes_in("- `--a-a`").settings} == {"absent"}


def test_a_title_may_have_what_was_set_and_the_end_as_points() -> None:
    text = "1) graphs off\n   - `--a-a`\n   - no crash\n2) cache\n   - `X_Y=0`\n   - crash, faster\n"
    assert told(text) == [({"--a-a": "present"}, "clean", 1), ({"X_Y": "0"}, "reproduced", 1)]


def test_who_moves_to_another_machine_makes_a_trial() -> None:
    text = "It hangs.\n\nI moved to the 4x A100 box with `--a-a 4`. Hung again.\n\nThen `--b-b`: fine.\n"
    assert told(text) == [({"--a-a": "4"}, "reproduced", 1), ({"--b-b": "present"}, "clean", 1)]


def test_lines_under_a_day_are_points_also_where_they_begin_with_a_flag() -> None:
    text = "2025-01-06\n  - script as it is: segfault\n\n2025-01-07\n  - --a-a 4: ok\n  - --b-b: segfault\n"
    assert told(text)[1:] == [({"--a-a": "4"}, "clean", 1), ({"--b-b": "present"}, "reproduced", 1)]


def test_what_was_installed_between_two_commands_is_a_change() -> None:
    text = """
vllm serve m --a-a
# ^ segfault

pip install -U vllm==0.10.0
vllm serve m --a-a
# ^ works
"""
    assert told(text) == [({}, "reproduced", 1), ({"vllm": "0.10.0"}, "clean", 1)]


ANSWERED = """
%s in production.

```
$ vllm serve m --a-a
%s
```

```
$ vllm serve m --a-a --b-b
INFO: "POST /v1/completions HTTP/1.1" 200 OK
```

```
$ vllm serve m --a-a --c-c
INFO: "POST /v1/completions HTTP/1.1" 200 OK

RuntimeError: segmentation fault
```
"""


def test_an_answer_in_a_log_is_a_success_where_a_crash_is_looked_for_and_none_follows() -> None:
    assert told(ANSWERED % ("Segfaults", "segmentation fault")) == [
        ({}, "reproduced", 1),
        ({"--b-b": "present"}, "clean", 1),
        ({"--c-c": "present"}, "reproduced", 1),
    ]
    assert "clean" not in {outcome for _, outcome, _ in told(ANSWERED % ("Garbage", "!!!!!!!"))}


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Error at minute 28, close to the end", "reproduced"),
        ("ran to the end", "clean"),
        ("restarted with its normal args. Crashed again", "reproduced"),
        ("exit code 0", "clean"),
        ("rc=139", "reproduced"),
        ("refuses to start, as the documentation says", "other"),
        ("cut it off after an hour, it may or may not have come up", "unresolved"),
        ("the build had not finished when my time was over", "unresolved"),
    ],
)
def test_words_beside_an_outcome_do_not_turn_it(text: str, outcome: str) -> None:
    assert told(f"Crashes with CUDA error.\n\n- baseline: crash\n- `--a-a`: {text}\n")[1] == (
        {"--a-a": "present"},
        outcome,
        1,
    )


@pytest.mark.parametrize(
    "text",
    [
        'The server is vLLM 0.8.3 on 8x H20, normal args\n`--a-a 8 --b-b`. "Stuck" below = no tokens.',
        "Check: ask 50 questions at concurrency 48, look for garbage.",
        "I considered `--a-a`, but the hang is elsewhere, so I did not spend a run on it.",
        "Follow-ups: dump of a stuck engine; ask about `A_A=0`.",
        "(EAGLE3, sglang 0.5.3, 1x L40S) 319 was still running",
    ],
)
def test_machines_checks_definitions_and_ideas_are_no_trials(text: str) -> None:
    assert told(f"# Hang\n\n{text}\n\n- `--x-x`: hang\n- `--y-y`: ok\n") == [
        ({"--x-x": "present"}, "reproduced", 1),
        ({"--y-y": "present"}, "clean", 1),
    ]


ENTRY = """
### A kernel refuses the cache

- Says: the kernel fails with `--kv-{n} fp8`
- Mends it: `--kv-{n} auto`, which works
- Refuted if: it fails alike with `--kv-{n} auto`
"""


def test_a_catalogue_of_failures_tells_of_no_attempt() -> None:
    catalogue = read("# Known failures\n" + "".join(ENTRY.format(n=n) for n in range(9)))
    assert catalogue.trials == ()
    assert [u.why for u in catalogue.unused] == ["describes failures, and no attempts"]
    assert read((Path(__file__).parents[3] / "docs" / "known-failures.md").read_text()).trials == ()
    diary = "".join(f"### Run {n}\ntried: `--a-{n} x`\nresult: crash\nfix: no\nmeaning: none\n" for n in range(9))
    assert len(read(diary).trials) == 9


def test_a_long_text_is_read_in_little_time() -> None:
    notes = "\n\n".join(p.read_text() for p in sorted(FIXTURES.iterdir()) if p.suffix != ".yaml")
    text = (notes * (166_000 // len(notes) + 1))[:166_000]
    began = time.process_time()
    assert len(read(text).trials) > 100
    assert time.process_time() - began < 6


HOSTILE = [
    "",
    "\0" * 1000,
    "|" * 100_000,
    "`" * 100_001,
    "- " * 50_000,
    "#" * 100_000,
    "(" * 50_000 + "crash",
    "--a " * 50_000 + ": crash",
    "| a | result |\n" * 3000,
    ("- `--a-a` → " + "crash " * 20_000 + "\n") * 3,
    "> " * 20_000 + "- `--a`: ok",
    "a=b " * 50_000,
    "\n".join(" " * n + f"- `--x{n}`: crash" for n in range(300)),
    "x" * 1_000_000 + "\n- `--a-a`: crash\n",
    "\u202e--a-a\u202c: crash\x1b[2J\n",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_takes_long_or_fails(text: str) -> None:
    began = time.process_time()
    notes = read(text)
    assert time.process_time() - began < 5
    assert all(t.text.isprintable() and len(t.text) < 300 for t in notes.trials)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "- ",
                "| ",
                "\n",
                "`--a-a`",
                "--b 1",
                " crash ",
                "ok",
                ": ",
                "# ",
                "run 1",
                "```",
                "X_Y=1",
                "=",
                "  ",
                "→",
                "[ ] ",
            ]
        )
        | st.text(max_size=4),
        max_size=40,
    ).map("".join)
)
def test_whatever_is_written_a_trial_has_a_line_of_it_and_an_outcome(text: str) -> None:
    notes = read(text)
    lines = len(text.splitlines())
    assert all(1 <= t.line <= lines and t.times > 0 for t in notes.trials)
    assert all(1 <= u.line <= lines and u.why for u in notes.unused)
