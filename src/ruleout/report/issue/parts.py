"""The parts of a bug report, each as Markdown, for whichever heading a project wants them under.

A maintainer has two minutes: what fails, the command to paste, the nearest command that works, then the proof.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from difflib import SequenceMatcher

from ruleout import __version__
from ruleout.model import Mode, OutcomeKind, Stage, VerdictStatus, arguments, carried
from ruleout.model.issue import IssueMaterial
from ruleout.report import evidence, words
from ruleout.report.issue import command as commands
from ruleout.report.issue.markdown import block, cell, code, folded, one_line, prose
from ruleout.report.issue.rate import told
from ruleout.report.summary import shown_by

LONGEST_REPORT = 24_000
"""Characters of an environment's report: GitHub takes 65 536 for a whole issue."""
MOST_TRIALS = 60
NEIGHBOURS = 3
SERVING = frozenset({Stage.READY, Stage.PREFILL, Stage.DECODE, Stage.CONCURRENCY, Stage.SHUTDOWN, Stage.UNKNOWN})
"""Stages after which a client may have been there."""
PORTS = {"sglang": 30000, "llama.cpp": 8080}
"""Where an engine listens unless it is told otherwise, if that is not 8000."""


def summary(material: IssueMaterial) -> str:
    """What fails, how a client sees it, how often, and what it hangs on, in a paragraph and a list."""
    return "\n".join(_summary(material))


def _summary(material: IssueMaterial) -> Iterator[str]:
    case, verdict, failure = material.case, material.verdict, material.failure
    stage = failure.exposure.stage
    where = "" if stage is Stage.UNKNOWN else f", in `{stage}`"
    yield f"{code(words.failure(failure))}: `{failure.class_}`{where}."
    yield ""
    changed = any(t.without or commands.whole(case, t) != case.baseline for t in verdict.trials)
    how = "as it is and with settings changed" if changed else "as it is"
    made = words.made(verdict)
    yield f"ruleout {__version__} launched the failing command {how}, in {made}; the table below has their numbers."
    yield ""
    if material.model:
        yield f"- Model: {prose(material.model)}"
    if failure.client:
        yield f"- What a client sees: {prose(failure.client)}"
    if failure.asynchronous:
        yield "- It is reported late: the stack is where it was noticed, not where it was born."
    shown, launches = commands.launches(case, verdict, case.baseline)
    if launches:
        yield f"- As it is, the command failed in {told(shown, launches)}."
    yield from _over_all(material)
    if verdict.shows:
        yield f"- When it shows: {prose(verdict.shows)}"
    yield from _cause(material)
    for way_out in words.ways_out(verdict)[:3]:
        yield f"- Workaround: {code(words.workaround(case, way_out.set))} ({words.clean_runs(way_out, verdict)})"
    for limit in verdict.limits:
        yield f"- It works up to: {prose(words.limit(case, limit, verdict))}"


def _over_all(material: IssueMaterial) -> Iterator[str]:
    """How often it shows wherever its cause is present, if that is more than the failing deployment itself."""
    case, verdict = material.case, material.verdict
    every = {kind: commands.telling(verdict, kind) for kind in (OutcomeKind.REPRODUCED, OutcomeKind.CLEAN)}
    failing, clean = every.values()
    if not verdict.causes and not clean and any(commands.whole(case, t) != case.baseline for t in failing):
        yield f"- Whatever was changed: it failed in {told(len(failing), len(failing))}."
    for cause in verdict.causes:
        shown, passed = (sum(carried(case, cause, t.configuration, "") for t in trials) for trials in every.values())
        if shown + passed > commands.launches(case, verdict, case.baseline)[1]:
            text = commands.cause(case, verdict, cause)
            yield f"- {text}, whatever else was changed: it failed in {told(shown, shown + passed)}."


def _cause(material: IssueMaterial) -> Iterator[str]:
    case, verdict = material.case, material.verdict
    isolated = verdict.status is VerdictStatus.ISOLATED
    causes = [commands.cause(case, verdict, cause) for cause in verdict.causes]
    if causes:
        noun = "causes, each enough by itself" if causes[1:] else "cause"
        label = noun.capitalize() if isolated else f"Likeliest {noun}, not proven"
        yield f"- {label}: {'; '.join(causes)} ({words.percent(verdict.probability)})"
    if isolated and causes:
        proof = [f"{text} ({words.some_trials(ids)})" for text, ids in shown_by(case, verdict)]
        yield f"- Shown by: {'; '.join(proof)}."
    elif verdict.why:
        yield f"- Why that is not proven: {prose(verdict.why)}"
    if verdict.status is VerdictStatus.ELSEWHERE:
        claim = verdict.elsewhere.claim
        yield f"- {prose(claim[:1].upper() + claim[1:])}."
    elif verdict.elsewhere.told and not isolated:
        yield f"- The evidence speaks for {prose(verdict.elsewhere.told)}."
        if verdict.elsewhere.advice:
            yield f"- What may help: {prose(verdict.elsewhere.advice)}."


def reproduction(material: IssueMaterial) -> str:
    """The command, what of it is needed, and the request to send."""
    case, verdict = material.case, material.verdict
    env, argv = commands.typed(case, case.baseline)
    minimal = verdict.minimal
    if minimal is not None:
        argv = commands.short(minimal.command)
    out = [block(commands.shell(env, argv), "bash")]
    shell = arguments.shell_script(case.command)
    parts = commands.parts(case, verdict)
    if minimal is not None:
        every = "each flag of it is needed" if minimal.complete else "not every flag of it was taken off by itself"
        out.append(f"The smallest command that was found to fail; {every}.")
    elif shell is None:
        out.append("The command as it was run. What is known of its parts:")
    else:
        out.append(f"The command as it was run, a script of {code(shell)}: none of its parts is proven needed.")
    if parts and all(part.known == commands.NEVER_MOVED for part in parts):
        out[-1] = "The command as it was run. No trial tells which of its parts are needed."
    elif parts:
        out.append("\n".join(f"- {code(part.typed)}: {part.known}" for part in parts))
    out += _request(material)
    if material.config:
        out.append(
            "The model is a folder where the trials ran, with this configuration. Whether weights made at random"
            " from it fail alike was not tried."
        )
        out.append(folded("The model's <code>config.json</code>", block(material.config, "json")))
    return "\n\n".join(out)


def _request(material: IssueMaterial) -> Iterator[str]:
    sent, case = material.sent, material.case
    if sent is None:
        yield _without_request(material)
        return
    at = arguments.value_of(case.command, "--port") or str(PORTS.get(case.engine, 8000))
    url = f"http://127.0.0.1:{at}{sent.path}"
    body = f" -H 'Content-Type: application/json' -d {shlex.quote(_compact(sent.body))}" if sent.body else ""
    many = f" ({sent.concurrency} of them at once)" if sent.concurrency > 1 else ""
    yield f"Once it is ready, send this; it fails at {prose(sent.name)}{many}:"
    yield block(f"curl -sS -X {sent.method} {shlex.quote(url)}{body}", "bash")


def _without_request(material: IssueMaterial) -> str:
    failure = material.failure
    if material.case.mode is Mode.JOB:
        return "It fails while it runs."
    if failure.exposure.step or failure.exposure.stage in SERVING:
        return "The request that failed is not on record."
    return "It fails before it is ready: no request is needed."


def _compact(body: str) -> str:
    try:
        return json.dumps(json.loads(body), ensure_ascii=False)
    except ValueError:
        return body


def neighbour(material: IssueMaterial) -> str:
    """The nearest configuration that does not fail, as a difference to one that does."""
    found = commands.nearest(material.case, material.verdict)
    if not found:
        return "No trial was clean: there is no passing neighbour to compare with."
    one = "one thing" if len(found[0].factors) == 1 else f"{len(found[0].factors)} things, and none nearer was clean"
    lead = f"Nearest configuration that does not fail; it differs in {one} (`-` fails, `+` does not):"
    return "\n\n".join((lead, *(_compared(material, pair) for pair in found[:NEIGHBOURS])))


def _compared(material: IssueMaterial, pair: commands.Pair) -> str:
    case, verdict = material.case, material.verdict
    before = commands.lines(*commands.typed(case, pair.fails.configuration))
    after = commands.lines(*commands.typed(case, pair.passes.configuration))
    shown, launches = commands.launches(case, verdict, pair.passes.configuration)
    fails, of = commands.launches(case, verdict, pair.fails.configuration)
    both = (("-", pair.fails), ("+", pair.passes))
    more = [f"{sign} {text}" for sign, trial in both for text in commands.beyond(case, trial.configuration)]
    levels = ((sign, f, commands.whole(case, trial).get(f, "unset")) for sign, trial in both for f in pair.factors)
    own = [f"{sign} {factor}={level}" for sign, factor, level in levels]
    changed = [*_difference(before, after), *more]
    if not any(line.startswith(("-", "+")) for line in changed):
        changed += own
    rates = f"`-` failed in {told(fails, of)}; `+` failed in {told(shown, launches)}."
    return f"Trial {pair.passes.id} against trial {pair.fails.id}: {rates}\n\n" + block("\n".join(changed), "diff")


def _difference(before: list[str], after: list[str]) -> list[str]:
    out: list[str] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            out += [f"  {line}" for line in before[a:b]]
        else:
            out += [f"- {line}" for line in before[a:b]] + [f"+ {line}" for line in after[c:d]]
    return out


def first_error(material: IssueMaterial) -> str:
    """The first error with the lines around it."""
    found, failure = material.excerpt, material.failure
    if found is None:
        return f"No line of the log tells of it. Seen from outside: {prose(failure.client or failure.message)}"
    last = found.first + len(found.lines) - 1
    return "\n\n".join(
        (f"First error: line {found.marked} of the log (lines {found.first} to {last}):", block("\n".join(found.lines)))
    )


def ruled_out(material: IssueMaterial) -> str:
    """What is no cause, by which trial; what only looks so; and all trials."""
    lines = list(_ruled_out(material))
    body = "\n".join(lines) if lines else "Nothing was ruled out."
    return f"{body}\n\n{_trials(material)}" if material.verdict.trials else body


def _ruled_out(material: IssueMaterial) -> Iterator[str]:
    case, verdict = material.case, material.verdict
    by_id = {trial.id: trial for trial in verdict.trials}
    for out in verdict.ruled_out:
        factor = case.factor(out.factor) if out.factor in case.baseline else None
        levels = [by_id[n].configuration.get(out.factor, "") for n in out.because if n in by_id] if factor else []
        others = [level for level in dict.fromkeys(levels) if factor and level not in ("", factor.baseline)]
        typed = [words.on_command(factor, level) for level in others] if factor else []
        each = (code(text) if text.startswith("without ") else f"with {code(text)}" for text in typed)
        how = f": it fails {', '.join(each)} too" if typed else ""
        yield f"- Ruled out: {code(out.factor)}{how} ({words.trials(out.because)})"
    hidden = {masked.trial: masked.configuration for masked in verdict.masked}
    for failure, ids in evidence.masks(verdict):
        one = f"with {code(commands.changed(case, hidden[ids[0]]))} it"
        what = one if len(ids) == 1 else words.count(len(ids), "configuration")
        yield f"- Says nothing: {what} failed of something else, {code(failure)} ({words.trials(ids)})"
    for told_ in words.replaced(case, verdict.trials):
        yield f"- Asked for, not in effect: {prose(told_)}"
    for left in verdict.not_ruled_out:
        why = prose(evidence.left_of(verdict, left))
        yield f"- Not ruled out: {code(left.factor)}, tried {code(', '.join(left.tried))}; {why}"
    for label, names in evidence.constant(case, verdict):
        yield f"- {label}: {prose(', '.join(names))}"


def _trials(material: IssueMaterial) -> str:
    case, verdict = material.case, material.verdict
    rows = ["| trial | changed against the failing command | outcome |", "|---|---|---|"]
    for trial in verdict.trials[:MOST_TRIALS]:
        rows.append(f"| {trial.id} | {cell(commands.ran(case, trial))} | {words.outcome(trial.outcome)} |")
    left = len(verdict.trials) - MOST_TRIALS
    more = f"\n\n{words.count(left, 'further trial')} left out here." if left > 0 else ""
    return folded(f"All {words.made(verdict)}", "\n".join(rows) + more)


def known(material: IssueMaterial) -> str:
    """Rules of ruleout's catalogue that hold for this run, with what they rest on."""
    if not material.known:
        return "No rule of ruleout's catalogue of known failures matches this log."
    lines = []
    for one in material.known:
        where = f" ({', '.join(one.references)})" if one.references else ""
        lines.append(f"- `{one.rule}`: {prose(one.claim)}{where}")
    return "Known failures that this log matches:\n\n" + "\n".join(lines)


def environment(material: IssueMaterial, wanted: str) -> str:
    """The report of the engine's own script, and the versions that the trials ran with."""
    out = []
    for place in material.verdict.installations:
        facts = {name: value for name, value in place.facts.items() if value}
        out.append(block("\n".join(f"{name}: {one_line(value)}" for name, value in facts.items())))
    own = [one for one in material.environments if one.command == wanted]
    for one in own or material.environments:
        text = one.text.strip()
        cut = f"\n… [{len(text) - LONGEST_REPORT} characters left out]" if len(text) > LONGEST_REPORT else ""
        plain = re.fullmatch(r"[\w ./-]+", one.command)
        title = f"The output of <code>{one.command}</code>, run where the trials ran" if plain else "As it was told"
        out.append(folded(title, block(text[:LONGEST_REPORT] + cut)))
    if not own:
        out.append(f"Not run: `{wanted}`. Run it where the trials ran, and paste its output here.")
    return "\n\n".join(out)


def expected(material: IssueMaterial) -> str:
    """What should have happened, which the nearest passing neighbour shows to be possible."""
    pair = next(iter(commands.nearest(material.case, material.verdict)), None)
    job = material.case.mode is Mode.JOB
    what, does = ("The command ends without a failure", "does") if job else ("The request is answered", "is")
    if pair is None:
        return f"{what}, or the start is refused with a message that says what is not supported."
    change = commands.changed(material.case, pair.passes.configuration)
    how = code(change) if change.startswith("without ") else f"with {code(change)}"
    return f"{what}, as it {does} {how} (trial {pair.passes.id})."
