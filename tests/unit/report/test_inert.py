"""What others said does nothing in FINDINGS.md: no tag, no link, no escape sequence, no broken table, no secret."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.unit.model.test_redaction import PLANTED
from tests.unit.report.samples import BASE, CASE, ISOLATED, MASK

from ruleout.model import (
    Assumption,
    AssumptionSource,
    AssumptionStatus,
    Case,
    Configuration,
    Elsewhere,
    Hypothesis,
    HypothesisStatus,
    Installation,
    Masked,
    Minimal,
    NextStep,
    NotRuledOut,
    Observation,
    Pivot,
    RuledOut,
    Trial,
    Verdict,
    VerdictStatus,
    Workaround,
)
from ruleout.report.findings import findings
from ruleout.report.markdown import Markdown, visible

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "[a]: javascript:alert(1)",
    "![x](https://evil.example/pixel.png)",
    "<javascript:alert(1)>",
    "<https://evil.example/steal>",
    "\x1b[2J\x1b]0;title\x07red",
    "\u202egnp.exe\u202c\u200b\u2066",
    "a | b | c\n| d |",
    "```\n# heading\n---\n- item",
    "`` ` ```",
    "&lt;b&gt; &#x6a;avascript:",
    "x" * 1_000_000,
    "\0\x07\r\n\u2028\u2029",
    "~~~\n<!-- comment -->",
]


def everywhere(case: Case, text: str) -> tuple[Case, Verdict]:
    """A case and a verdict with that text wherever others have a say."""
    assert ISOLATED.failure is not None
    failure = replace(ISOLATED.failure, message=text, client=text, exception=text)
    first = ISOLATED.trials[0]
    assert first.outcome is not None
    observed = (Observation(text),)
    outcome = replace(first.outcome, failure=failure, reason=text, by_person=True, observed=observed)
    odd = BASE.moved({"kv_cache_dtype": text})
    factors = (replace(case.factors[0], levels=(*case.factors[0].levels, text), target=text), *case.factors[1:])
    case = replace(case, name=text, command=(*case.command, text), env={"NAME": text}, factors=factors)
    verdict = replace(
        ISOLATED,
        status=VerdictStatus.NARROWED,
        why=text,
        failure=failure,
        trials=(
            replace(first, outcome=outcome),
            Trial(2, odd, text, replace(outcome, effective={"kv_cache_dtype": text}), 1.0, text),
            Trial(3, odd, text, replace(outcome, failure=replace(MASK, message=text)), 1.0, text, (text,)),
            Trial(4, odd, text, outcome, 1.0, text, instruments=Configuration({text: text})),
        ),
        hypotheses=(Hypothesis(text, 0.5, HypothesisStatus.OPEN, (1,)),),
        ruled_out=(RuledOut(text, (1,)),),
        not_ruled_out=(NotRuledOut(text, (text,), (text,)),),
        never_varied=(text,),
        masked=(Masked(odd, text, 3),),
        assumptions=(Assumption(text, AssumptionSource.USER, text, AssumptionStatus.OPEN),),
        pivots=(Pivot(1, text, text, text),),
        next=(NextStep(odd, text, 1.0),),
        workarounds=(Workaround(odd, 2),),
        minimal=Minimal((text, "--x"), (text,), (text,), 3),
        installations=(Installation(text, {text: text}, text),),
        shows=text,
        elsewhere=Elsewhere(0.2, claim=f"the log speaks for {text}"),
    )
    return case, verdict


def outside_of_code(line: str) -> str:
    """A line without its code, in which Markdown does nothing."""
    return re.sub(r"(?<!\\)`[^`]*`", "", line)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_inert_wherever_it_stands(text: str) -> None:
    lines = findings(*everywhere(CASE, text)).split("\n")
    plain = findings(*everywhere(CASE, "plain")).split("\n")
    assert [line for line in lines if line.startswith("##")] == [line for line in plain if line.startswith("##")]
    rows = [line for line in lines if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows} == {8}
    assert len(lines) == len(plain)
    for line in lines:
        assert line.isprintable()
        assert len(line) < 40_000
        bare = outside_of_code(line)
        assert re.search(r"(?<!\\)(?:\\\\)*<(?=[A-Za-z/!?])", bare) is None, line
        assert re.search(r"(?<!\\)\](?:\(|\[|:)", bare) is None, line
        assert re.search(r"(?<!\\)(?:\\\\)*`", bare) is None, line


@pytest.mark.parametrize(("line", "secret"), [case for cases in PLANTED.values() for case in cases])
def test_no_planted_secret_is_in_the_record(line: str, secret: str) -> None:
    assert secret not in findings(*everywhere(CASE, line))


def test_no_planted_secret_is_in_the_record_when_all_stand_in_one_place() -> None:
    cases = [case for cases in PLANTED.values() for case in cases]
    assert ISOLATED.failure is not None
    whole = replace(ISOLATED, why="\n".join(line for line, _ in cases)[:39_000])
    assert [secret for _, secret in cases if secret in findings(CASE, whole)] == []


def test_what_is_ordinary_is_written_as_it_is() -> None:
    write = Markdown()
    for text in ("kv_cache_dtype=bf16", "a < b", "x & y", "[1, 2]", "trials/0001/server.log:3", "*", "50 %", "f(x)"):
        assert write.text(text) == text
    assert write.code("`a` b") == "`'a' b`"
    assert visible("a\x1b[31mb\u202ec\nd") == "abc d"
