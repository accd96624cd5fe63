"""What a page says and in which order; how it looks is the template's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ruleout.model import Case, Verdict, VerdictStatus
from ruleout.model.course import Course
from ruleout.report import evidence, words
from ruleout.report.page.plots import GROUPS, UNTOLD, Bar, bars, beliefs, strip
from ruleout.report.page.trials import MARKS, MOST, link, matrix
from ruleout.report.safe import Safe
from ruleout.report.summary import facts, headline

WORTH_A_LINE = 0.001
LISTED = 60
"""Masked trials of one failure that are named."""
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]{1,30}(?![\w-])")
_NUMBER = re.compile(r"(?<=\d) (?=%)|(?<=[<>]) (?=[\d.]+ %|\d+:\d\d)|(?<=\btrial) (?=\d|$)|(?<=\btrials) (?=\d|$)")
_TRIALS = re.compile(r"(?<=trial )\d+|(?<=trials )\d+(?:, \d+)*")


def page(case: Case, verdict: Verdict, course: Course | None = None) -> str:
    """The page. Files are linked relative to the folder of the investigation."""
    course = course or Course()
    trials = matrix(case, verdict)
    shown = [row.trial for row in trials.rows]
    safe = Safe.of(case, verdict, ("\n".join(excerpt.lines) for excerpt in course.excerpts))
    anchors = {e.address: f"e{number}" for number, e in enumerate(course.excerpts, 1)}
    rows = {trial.id for trial in shown}
    drawn = bars(shown, course.laps)
    template = _environment(safe).get_template("page.html.j2")
    return template.render(
        case=case,
        verdict=verdict,
        tone=_TONES.get(verdict.status, "open"),
        headline=headline(case, verdict),
        facts=[(label, list(_linked(text, anchors, rows))) for label, text in facts(case, verdict, "")],
        marks=MARKS,
        most=MOST,
        matrix=trials,
        parts=[(part.title, Markup(escape(safe.lines(part.text)))) for part in trials.parts],
        strip=strip(verdict.trials) if trials.parts else (),
        plot=beliefs(course.beliefs, verdict),
        hypotheses=list(_hypotheses(verdict, rows)),
        bars=drawn,
        groups=_legend(drawn, course),
        total=words.minutes(words.total(verdict)),
        longest=words.minutes(max((trial.minutes for trial in shown), default=0.0)),
        made=words.made(verdict),
        digits=len(str(max(rows, default=0))),
        excerpts=[
            (anchors[e.address], replace(e, lines=tuple(map(escape, safe.block(e.lines)))), link(e.source))
            for e in course.excerpts
        ],
        birth=course.birth,
        lists=[
            ("Looks ruled out, is not", [list(_linked(t, anchors, rows)) for t in _looks_ruled_out(case, verdict)]),
            ("Changes of mind", [list(_linked(t, anchors, rows)) for t in _pivots(verdict)]),
            ("Assumptions", [[(f"{a.status}: {a.text} (test: {a.test})", "")] for a in verdict.assumptions]),
        ],
        setting=list(_setting(case, verdict)),
    )


_TONES = {
    VerdictStatus.ISOLATED: "clean",
    VerdictStatus.WORKAROUND: "clean",
}


@cache
def _templates() -> PackageLoader:
    return PackageLoader("ruleout.report.page", ".")


def _environment(safe: Safe) -> Environment:
    """Whatever a template prints goes through `safe` and is escaped."""

    def finalize(value: Any) -> Any:
        return _whole(safe(value)) if isinstance(value, str) and not isinstance(value, Markup) else value

    def unbroken(value: str) -> Markup:
        """With flags that no line is broken within: browsers break them behind each hyphen."""
        return Markup(_FLAG.sub(r'<span class="flag">\g<0></span>', str(escape(_whole(safe(value))))))

    made = Environment(
        loader=_templates(),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
    )
    made.filters["unbroken"] = unbroken
    return made


def _whole(text: str) -> str:
    """Numbers that no line tears from what they count."""
    return _NUMBER.sub("\N{NO-BREAK SPACE}", text)


def _legend(drawn: tuple[Bar, ...], course: Course) -> list[tuple[str, list[str]]]:
    """The shades of the time line that occur, each with its stages that do."""
    seen = {lap.stage for laps in course.laps.values() for lap in laps}
    shades = {shade for bar in drawn for shade, _, _ in bar.pieces}
    known = [(name, [stage for stage in stages if stage in seen]) for name, stages in GROUPS.items() if name in shades]
    return known + ([(UNTOLD, [])] if UNTOLD in shades else [])


def _linked(text: str, anchors: dict[str, str], rows: set[int]) -> Iterator[tuple[str, str]]:
    """A text in pieces, each with the place of the page that it speaks of: an excerpt, the row of a trial."""
    address = next((a for a in sorted(anchors, key=len, reverse=True) if re.search(rf"{re.escape(a)}(?!\d)", text)), "")
    before, found, behind = text.partition(address) if address else (text, "", "")
    yield from _to_rows(before, rows)
    if found:
        yield found, anchors[address]
        yield from _to_rows(behind, rows)


def _to_rows(text: str, rows: set[int]) -> Iterator[tuple[str, str]]:
    end = 0
    for numbers in _TRIALS.finditer(text):
        for number in re.finditer(r"\d+", numbers[0]):
            begin = numbers.start() + number.start()
            if begin > end:
                yield text[end:begin], ""
            end = begin + len(number[0])
            yield number[0], f"t{number[0]}" if int(number[0]) in rows else ""
    if text[end:]:
        yield text[end:], ""


def _hypotheses(verdict: Verdict, rows: set[int]) -> Iterator[dict[str, Any]]:
    told = [h for h in verdict.hypotheses if h.probability >= WORTH_A_LINE]
    for h in told:
        yield {
            "percent": words.percent(h.probability),
            "width": round(100 * h.probability, 1),
            "claim": h.claim,
            "status": h.status.replace("_", " "),
            "because": list(_to_rows(words.some_trials(h.because), rows))[1:] if h.because else [],
        }
    if rest := words.rest(told):
        percent, width = words.percent(rest), round(100 * rest, 1)
        yield {"percent": percent, "width": width, "claim": words.OTHERS, "status": "", "because": []}


def _pivots(verdict: Verdict) -> Iterator[str]:
    for pivot in verdict.pivots:
        yield f"after trial {pivot.after_trial}: from “{pivot.from_}” to “{pivot.to}”"


def _looks_ruled_out(case: Case, verdict: Verdict) -> Iterator[str]:
    yield from (f"asked for, not in effect: {told}" for told in words.replaced(case, verdict.trials))
    for failure, ids in evidence.masks(verdict):
        yield f"masked: {words.trials(ids[:LISTED])}{_more(ids)} failed otherwise: {failure or 'how is not told'}"
    for left in verdict.not_ruled_out:
        yield f"{left.factor}: tried {', '.join(left.tried)}; {evidence.left_of(verdict, left)}"
    yield from (f"levels untried: {left}" for left in evidence.untried(case, verdict))
    yield from (f"{label.lower()}: {', '.join(names)}" for label, names in evidence.constant(case, verdict))


def _more(ids: Sequence[int]) -> str:
    return f" and {len(ids) - LISTED} more" if len(ids) > LISTED else ""


def _setting(case: Case, verdict: Verdict) -> Iterator[tuple[str, str]]:
    yield "Engine", case.engine
    yield "Command", " ".join(case.command)
    for name, value in case.env.items():
        yield "Environment", f"{name}={value}"
    for one in verdict.installations:
        yield "Installed", f"{words.installed(one)} ({one.python})"
    for factor in case.factors:
        yield f"Factor {factor.name}", words.levels(factor) + (" (proxy: never a cause)" if factor.proxy else "")
