"""The headings of each project's template in their order, and under them what a maintainer needs."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from markdown_it import MarkdownIt
from tests.support.strategies import verdicts
from tests.unit.report.samples import BASE, CASE, CLEAN, ISOLATED, NOT_REPRODUCED, REPRODUCED, trial

from ruleout.model import (
    Carrier,
    Configuration,
    Exposure,
    Factor,
    Masked,
    Mechanism,
    Minimal,
    Stage,
    Verdict,
    VerdictStatus,
)
from ruleout.model.issue import Excerpt, IssueMaterial, KnownFailure, OwnReport, Sent
from ruleout.report.issue import TEMPLATES, body, title, written

# As read at the addresses that `TEMPLATES` names.
HEADINGS = {
    "sglang": ["Checklist", "Describe the bug", "Reproduction", "Environment"],
    "vllm": ["Your current environment", "🐛 Describe the bug", "Before submitting a new issue..."],
    "transformers": ["System Info", "Who can help?", "Information", "Tasks", "Reproduction", "Expected behavior"],
    "flashinfer": [
        "Before submitting",
        "Environment",
        "Bug description",
        "Minimal reproduction",
        "Additional context",
    ],
}
TITLES = {"sglang": "[Bug] ", "vllm": "[Bug]: ", "transformers": "", "flashinfer": ""}
MATERIAL = IssueMaterial(
    CASE,
    ISOLATED,
    Excerpt("trials/0001/server.log", 810, 812, ("before", "```", "Assertion `probability tensor` failed", "<b>")),
    Sent("completion 1 of 2", "POST", "/v1/completions", '{"prompt": "it\'s"}'),
    (OwnReport("python -m sglang.check_env", "Python: 3.12\n```\n"),),
    (KnownFailure("fp4-gemm", "tiles were left unwritten", ("https://github.com/a/b/issues/1",)),),
    "GLM-5 (model type glm_moe_dsa)",
    '{"model_type": "glm_moe_dsa"}',
)


def headings(text: str) -> list[str]:
    """Those outside of code."""
    return re.findall(r"(?m)^### (.*)$", re.sub(r"(?ms)^(`{3,})\w*$.*?^\1$", "", text))


@pytest.mark.parametrize("project", HEADINGS)
def test_headings_and_their_order_are_the_template_s(project: str) -> None:
    assert headings(body(project, MATERIAL)) == HEADINGS[project]
    assert title(project, MATERIAL).startswith(f"{TITLES[project]}Assertion")
    assert TEMPLATES[project].address.startswith("https://github.com/")


@pytest.mark.parametrize("project", HEADINGS)
@settings(max_examples=15, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(verdicts)
def test_any_verdict_has_all_headings_and_no_section_is_empty(project: str, verdict: Verdict) -> None:
    verdict = verdict if verdict.failure is not None else replace(verdict, failure=ISOLATED.failure)
    text = body(project, IssueMaterial(CASE, verdict))
    assert headings(text) == HEADINGS[project]
    assert all(part.strip() for part in re.split(r"(?m)^### .*$", text)[1:])
    assert "\n" not in title(project, IssueMaterial(CASE, verdict))


@pytest.mark.parametrize("project", HEADINGS)
def test_each_report_has_all_that_a_maintainer_needs(project: str) -> None:
    text = body(project, MATERIAL)
    for needed in (
        "NCCL_P2P_LEVEL=SYS python3 -m sglang.launch_server --tp 8 --kv-cache-dtype auto",
        "- `--tp 8`: unproven: it was in every trial",
        "curl -sS -X POST http://127.0.0.1:30000/v1/completions",
        "line 812 of the log (lines 810 to 813)",
        "Assertion `probability tensor` failed",
        "Ruled out: `deep_gemm`: it fails with `SGLANG_DEEP_GEMM=0` too (trial 4)",
        "failed in 2 of 2 launches (95 % sure: in more than 22 % of them)",
        "`fp4-gemm`: tiles were left unwritten (https://github.com/a/b/issues/1)",
        "Python: 3.12",
        "model type `glm_moe_dsa`",
        "HTTP 500",
    ):
        assert needed in text, needed


def test_the_nearest_neighbour_is_the_smallest_difference_between_a_failing_and_a_clean_trial() -> None:
    text = body("sglang", MATERIAL)
    assert "+ --kv-cache-dtype bf16\n" in text
    assert "+ --disable-cuda-graph\n" in text  # another way to differ in one thing
    assert text.count("```diff") == 2
    far = replace(ISOLATED, trials=(trial(1, REPRODUCED), trial(2, CLEAN, kv_cache_dtype="bf16", deep_gemm="0")))
    assert "differs in 2 things, and none nearer was clean" in body("sglang", replace(MATERIAL, verdict=far))
    none = replace(ISOLATED, trials=(trial(1, REPRODUCED),))
    assert "there is no passing neighbour" in body("sglang", replace(MATERIAL, verdict=none))


def test_a_flag_is_called_needed_only_by_two_trials_that_differ_in_nothing_else() -> None:
    case = replace(CASE, command=(*CASE.command, "--kv-cache-dtype", "auto"))
    text = body("sglang", replace(MATERIAL, case=case))
    assert "- `--kv-cache-dtype auto`: needed: with `--kv-cache-dtype bf16`, clean (trial 3, against trial 1)" in text
    both = replace(ISOLATED, trials=(trial(1, REPRODUCED), trial(2, CLEAN, kv_cache_dtype="bf16", deep_gemm="0")))
    text = body("sglang", replace(MATERIAL, case=case, verdict=both))
    assert "- `--kv-cache-dtype auto`: unproven, though it is part of the likeliest cause" in text


def test_a_level_that_was_not_in_effect_proves_nothing() -> None:
    case = replace(CASE, command=(*CASE.command, "--kv-cache-dtype", "auto"))
    moved = trial(2, replace(CLEAN, effective={"kv_cache_dtype": "fp8_e4m3"}), kv_cache_dtype="bf16")
    verdict = replace(ISOLATED, trials=(trial(1, REPRODUCED), moved))
    assert "needed: with" not in body("sglang", replace(MATERIAL, case=case, verdict=verdict))


def test_what_shows_only_sometimes_is_not_proven_by_one_clean_run() -> None:
    case = replace(CASE, command=(*CASE.command, "--kv-cache-dtype", "auto"))
    sometimes = (trial(1, REPRODUCED), *(trial(n, CLEAN) for n in (2, 3)))
    once = replace(ISOLATED, trials=(*sometimes, trial(4, CLEAN, kv_cache_dtype="bf16")))
    text = body("sglang", replace(MATERIAL, case=case, verdict=once))
    assert "`--kv-cache-dtype auto`: unproven: with `--kv-cache-dtype bf16`, clean" in text
    assert "which 67 % of such runs are by luck" in text
    often = replace(once, trials=(*once.trials, *(trial(n, CLEAN, kv_cache_dtype="bf16") for n in range(5, 14))))
    text = body("sglang", replace(MATERIAL, case=case, verdict=often))
    assert "`--kv-cache-dtype auto`: needed" in text
    assert "`+` failed in 0 of 10 launches" in text


def test_a_configuration_that_failed_once_is_no_passing_neighbour() -> None:
    both = (trial(1, REPRODUCED), trial(2, CLEAN, kv_cache_dtype="bf16"), trial(3, REPRODUCED, kv_cache_dtype="bf16"))
    text = body("sglang", replace(MATERIAL, verdict=replace(ISOLATED, trials=both)))
    assert "there is no passing neighbour" in text


def test_a_level_that_the_command_does_not_say_is_on_it_as_it_is_when_it_runs() -> None:
    env = "NCCL_P2P_LEVEL=SYS python3 -m sglang.launch_server --tp 8 --kv-cache-dtype auto\n"
    assert env in body("sglang", MATERIAL)


def test_the_smallest_command_says_which_of_its_flags_are_proven() -> None:
    minimal = Minimal(("/x/python3", "-m", "sglang.launch_server", "--tp", "8"), ("--tp",), ("--host",), 9, True)
    text = body("sglang", replace(MATERIAL, verdict=replace(ISOLATED, minimal=minimal)))
    assert "NCCL_P2P_LEVEL=SYS python3 -m sglang.launch_server --tp 8" in text
    assert "each flag of it is needed" in text
    assert "- `--tp 8`: needed: taken off by itself, the failure does not show" in text


def test_that_no_request_is_needed_is_said_of_a_start_only() -> None:
    assert "The request that failed is not on record" in body("vllm", replace(MATERIAL, sent=None))
    assert ISOLATED.failure is not None
    early = replace(ISOLATED.failure, exposure=Exposure(Stage.WEIGHT_LOAD))
    text = body("vllm", replace(MATERIAL, sent=None, verdict=replace(ISOLATED, failure=early)))
    assert "It fails before it is ready: no request is needed." in text


def test_what_is_not_proven_is_not_said_to_be() -> None:
    narrowed = replace(ISOLATED, status=VerdictStatus.NARROWED, why="no trial left")
    text = body("vllm", replace(MATERIAL, verdict=narrowed))
    assert "- Likeliest cause, not proven: `--kv-cache-dtype auto`" in text
    assert "Shown by" not in text


def test_what_did_not_fail_is_nothing_to_report() -> None:
    with pytest.raises(ValueError, match="nothing failed"):
        title("vllm", IssueMaterial(CASE, NOT_REPRODUCED))


def test_of_several_causes_none_is_called_needed_and_each_enough_by_itself() -> None:
    case = replace(CASE, command=(*CASE.command, "--kv-cache-dtype", "auto"))
    trials = (
        trial(1, REPRODUCED),
        trial(2, REPRODUCED, kv_cache_dtype="bf16"),
        trial(3, REPRODUCED, deep_gemm="0"),
        trial(4, CLEAN, kv_cache_dtype="bf16", deep_gemm="0"),
    )
    causes = ((Carrier("kv_cache_dtype", ("auto",)),), (Carrier("deep_gemm", ("unset",)),))
    text = body("sglang", replace(MATERIAL, case=case, verdict=replace(ISOLATED, causes=causes, trials=trials)))
    assert "- Causes, each enough by itself: `--kv-cache-dtype auto`; `SGLANG_DEEP_GEMM unset` (" in text
    assert (
        "- `--kv-cache-dtype auto`: one of several that make it fail: with `--kv-cache-dtype bf16`, clean (trial 4,"
        " against trial 3); it fails with `--kv-cache-dtype bf16` too (trial 2), of another"
    ) in text
    assert ": needed:" not in text


def test_other_levels_that_carry_the_same_cause_do_not_make_it_one_of_several() -> None:
    case = replace(CASE, command=(*CASE.command, "--kv-cache-dtype", "auto"))
    trials = (
        trial(1, REPRODUCED),
        trial(2, REPRODUCED, kv_cache_dtype="fp8_e4m3"),
        trial(3, CLEAN, kv_cache_dtype="bf16"),
    )
    causes = ((Carrier("kv_cache_dtype", ("auto", "fp8_e4m3")),),)
    text = body("sglang", replace(MATERIAL, case=case, verdict=replace(ISOLATED, causes=causes, trials=trials)))
    assert "- `--kv-cache-dtype auto`: needed: with `--kv-cache-dtype bf16`, clean" in text
    assert "- Cause: `--kv-cache-dtype auto` or `--kv-cache-dtype fp8_e4m3` (" in text


def test_of_a_command_that_was_only_repeated_no_part_is_listed() -> None:
    only = replace(ISOLATED, trials=(replace(trial(1, REPRODUCED), configuration=Configuration()),))
    case = replace(CASE, factors=(), env={})
    text = body("sglang", replace(MATERIAL, case=case, verdict=only))
    assert "No trial tells which of its parts are needed." in text
    assert "launched the failing command as it is, in 1 trial;" in text
    assert "- `--tp 8`" not in text


def test_what_failed_of_the_same_other_thing_is_told_once() -> None:
    others = tuple(Masked(BASE.moved({"deep_gemm": "0"}), "no memory", n) for n in (5, 6, 9))
    text = body("sglang", replace(MATERIAL, verdict=replace(ISOLATED, masked=(*ISOLATED.masked, *others))))
    assert "- Says nothing: 3 configurations failed of something else, `no memory` (trials 5, 6, 9)" in text
    assert text.count("- Says nothing: ") == 2


def test_where_nothing_that_was_changed_helps_that_is_said_with_how_often() -> None:
    trials = (trial(1, REPRODUCED), trial(2, REPRODUCED, kv_cache_dtype="bf16"), trial(3, REPRODUCED, deep_gemm="0"))
    elsewhere = replace(ISOLATED, status=VerdictStatus.ELSEWHERE, causes=(), workarounds=(), trials=trials)
    text = body("sglang", replace(MATERIAL, verdict=elsewhere))
    assert "- Whatever was changed: it failed in 3 of 3 launches" in text


def test_another_model_is_the_last_neighbour_to_compare_with() -> None:
    case = replace(CASE, factors=(*CASE.factors, Factor("model", Mechanism.FLAG, "--model", ("a", "b"), "a")))
    trials = (trial(1, REPRODUCED), trial(2, CLEAN, model="b"), trial(3, CLEAN, kv_cache_dtype="bf16"))
    text = body("transformers", replace(MATERIAL, case=case, verdict=replace(ISOLATED, trials=trials)))
    assert text.index("Trial 3 against trial 1") < text.index("Trial 2 against trial 1")
    assert "The request is answered, as it is with `--kv-cache-dtype bf16` (trial 3)." in text


def test_a_title_is_cut_between_words_and_the_whole_message_stands_below() -> None:
    message = " ".join(f"word{letter * 5}" for letter in "abcdefghijklmnopqrst")
    assert ISOLATED.failure is not None
    failure = replace(ISOLATED.failure, message=message, exception="")
    found = replace(MATERIAL, verdict=replace(ISOLATED, failure=failure), engine="sglang 0.5.9")
    heading = title("flashinfer", found)
    assert re.fullmatch(r"(word(\w)\2{4} )+word(\w)\3{4}… \(in decode, sglang 0.5.9\)", heading)
    assert message in body("flashinfer", found)


def test_an_environment_that_was_not_told_is_asked_for_by_the_project_s_own_command() -> None:
    assert "Not run: `python -m vllm.collect_env`" in body("vllm", MATERIAL)
    assert "Not run" not in body("sglang", MATERIAL)


def test_a_difference_that_is_on_no_command_line_is_told_in_words() -> None:
    case = replace(CASE, factors=tuple(replace(f, target="", mechanism="patch") for f in CASE.factors))  # type: ignore[arg-type]
    assert "+ kv_cache_dtype=bf16" in body("sglang", replace(MATERIAL, case=case))


HOSTILE = (
    "</details> ``` <script>alert(1)</script> @torvalds [x](javascript:alert(1)) \x1b[31m\u202e #1 |\n### Environment"
)


@pytest.mark.parametrize("project", HEADINGS)
def test_hostile_text_is_inert_wherever_it_stands(project: str) -> None:
    assert ISOLATED.failure is not None
    failure = replace(ISOLATED.failure, message=HOSTILE, client=HOSTILE)
    verdict = replace(
        ISOLATED,
        failure=failure,
        why=HOSTILE,
        shows=HOSTILE,
        status=VerdictStatus.NARROWED,
        elsewhere=replace(ISOLATED.elsewhere, claim=f"speaks for {HOSTILE}"),
        masked=(replace(ISOLATED.masked[0], failure=HOSTILE, configuration=Configuration(kv_cache_dtype=HOSTILE)),),
        never_varied=(HOSTILE,),
        trials=(*ISOLATED.trials, trial(7, CLEAN, kv_cache_dtype=HOSTILE)),
    )
    hostile = IssueMaterial(
        replace(CASE, command=(*CASE.command, HOSTILE), env={"X": HOSTILE}),
        verdict,
        Excerpt("s", 1, 1, tuple(HOSTILE.split("\n"))),
        Sent(HOSTILE, "POST", "/x", HOSTILE),
        (OwnReport(HOSTILE, HOSTILE),),
        (KnownFailure("rule", HOSTILE),),
        HOSTILE,
        HOSTILE,
    )
    text = written(title(project, hostile), body(project, hostile))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert headings(text) == HEADINGS[project]
    outside = re.sub(r"(?ms)^(`{3,})\w*$.*?^\1$", "", text)
    outside = re.sub(r"(?s)(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)
    ours = r"</?(?:details|summary|code)>|<!--.*?-->|https://github.com/\S+|(?m:^#+ |^- \[ \]|^\|.*$)"
    left = re.sub(ours, "", outside)
    assert not re.search(r"[<>@#\[\]]|javascript", left)
    assert outside.count("<details>") == outside.count("</details>")


@pytest.mark.parametrize("project", HEADINGS)
def test_a_renderer_finds_our_headings_and_no_markup_of_a_log(project: str) -> None:
    lines = [
        "```",
        "~~~",
        "````text",
        "### Environment",
        "</details><img src=x onerror=alert(1)>",
        "[a](javascript:alert(1)) ![b](https://evil.example/p.png)",
        "<https://evil.example> @torvalds https://evil.example",
        "\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07",
        "    indented",
        "- [ ] box",
        "| a | b |",
        "x" * (1 << 20),
    ]
    hostile = replace(
        MATERIAL,
        excerpt=Excerpt("s", 1, 1, tuple(lines)),
        environments=(OwnReport("python -m sglang.check_env", "\n".join(lines)),),
        sent=Sent("a", "POST", "/", "\n".join(lines[:-1])),
        config="\n".join(lines[:-1]),
        known=(KnownFailure("r", "; ".join(lines[:-1])),),
        verdict=replace(ISOLATED, shows="; ".join(lines[:-1]), never_varied=tuple(lines[:-1])),
    )
    text = body(project, hostile)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    titles = [tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open"]
    assert titles == HEADINGS[project]
    inline = [child for token in tokens for child in token.children or ()]
    links = [child.attrs["href"] for child in inline if child.type == "link_open"]
    assert links == []
    assert not [child for child in inline if child.type == "image"]
    html = "".join(token.content for token in (*tokens, *inline) if token.type in ("html_block", "html_inline"))
    assert set(re.findall(r"<[^>]*>", html)) <= {
        "<details>", "</details>", "<summary>", "</summary>", "<code>", "</code>",
        "<!-- Left to you: fewer than three people who maintain this part. -->",
    }  # fmt: skip
    assert len(text) < 1 << 16
