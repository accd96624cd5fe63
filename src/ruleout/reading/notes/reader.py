"""Notes of people to trials: claims against the command as deployed, each built on those that it refers to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from ruleout.model import Configuration, Notes, OutcomeKind, ToldTrial, Unused
from ruleout.reading.notes import terms
from ruleout.reading.notes.claims import BASELINE, PREVIOUS, REPEAT, Claim
from ruleout.reading.notes.commands import ABSENT, PRESENT, Command, command_in, flags_of
from ruleout.reading.notes.layout import Layout
from ruleout.reading.notes.nodes import Node
from ruleout.reading.notes.outcomes import Problem, judge
from ruleout.reading.notes.own import own_findings
from ruleout.reading.notes.reading import Reading
from ruleout.reading.notes.signs import symptoms
from ruleout.reading.notes.text import cleaned, lines_of, shown

_PROBLEM = re.compile(r"(?i)^\W*(?P<key>[A-Za-z][\w ]{0,24}?)\**\s*[:=]\**\s+(?P<value>\S.*)$")
_AS_IN = re.compile(r"\((--?[A-Za-z][^)]*)\)")
_ATTEMPT = re.compile(r"(?i)[\s\-*_#|]*(?:results?|outcome|verdict|changed?|tried|ran|did|set|saw|got)[*_]*\s*:")
MOST_HEAD = 40
MOST_APART = 4
MOST_REMEDIES = 5
"""As often a diary names causes and fixes; a text that does so more often is a catalogue of failures."""


def read_notes(data: bytes, source: str = "") -> Notes:
    """The trials that notes tell of. Never fails: what cannot be used is listed with the reason."""
    lines = lines_of(data)
    own = own_findings(lines, source)
    if own is not None:
        return own
    if _is_catalogue(lines):
        return Notes(source, "", 0, "", (), (Unused(1, shown(lines[0]), "describes failures, and no attempts"),))
    tree = Layout(lines).tree()
    command, at = _command(tree)
    known = _known(command, lines)
    before = _comments_first(lines)
    first = Reading(Problem(), known, before)
    first.read(tree.kids)
    first.close()
    problem = _problem(tree, lines, first)
    reading = Reading(problem, known, before)
    defined = (m for line in lines[:MOST_HEAD] for m in terms.DEFINES.finditer(line))
    reading.plain = frozenset(
        m["name"]
        for m in defined
        if m["name"] and m["what"].lower() in ("cmd", "command", "base", "baseline", "config")
    )
    reading.read(tree.kids)
    reading.close()
    trials, unused = _trials(reading, command)
    told = {trial.line for trial in trials}
    left = {(one.line, one.why): one for one in (*unused, *reading.unused) if one.line not in told}
    said = next((t.failure for t in trials if t.outcome is OutcomeKind.REPRODUCED), "")
    return Notes(
        source, str(command or ""), at, said, tuple(trials), tuple(sorted(left.values(), key=lambda u: u.line))
    )


def _is_catalogue(lines: list[str]) -> bool:
    """Whether a text describes many failures, each with its signs and its remedy, and so tells what nobody has done."""
    keys = Counter(found["key"].lower() for line in lines if (found := terms.REMEDY.match(line)))
    tried = sum(bool(_ATTEMPT.match(line)) for line in lines)
    return sum(n >= MOST_REMEDIES for n in keys.values()) > 1 and tried * 3 < keys.total()


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for kid in node.kids:
        yield from _walk(kid)


def _command(tree: Node) -> tuple[Command | None, int]:
    """The command as deployed: the first that is told."""
    for node in _walk(tree):
        for text in node.texts:
            command = command_in(re.sub(r"^\s*#+\s+", "", text.text))
            if command is not None and "..." not in command.words:
                return command, text.line(command.begin)
    return None, 0


def _known(command: Command | None, lines: list[str]) -> Mapping[str, str]:
    """The settings of the command as deployed; flags in brackets near the top where there is none."""
    if command is not None:
        return command.settings
    for line in lines[:15]:
        if found := _AS_IN.search(line):
            return flags_of(found[1].replace("`", "").split())
    return {}


def _comments_first(lines: list[str]) -> bool:
    """Whether comments stand before the commands that they are about."""
    kinds = ["gap"]
    for before, line in pairwise(["", *lines]):
        bare = line.strip()
        if before.rstrip().endswith("\\"):
            continue
        if terms.OTHER_PROGRAM.match(bare):
            continue
        comment = re.match(r"#+\s*", bare)
        if command_in(cleaned(bare[comment.end() :] if comment else bare)):
            kinds.append("command")
        elif comment and judge(bare):
            kinds.append("said")
        elif bare:
            kinds.append("other")
        else:
            kinds.append("gap")
    kinds.append("gap")
    around = [(kinds[n - 1], kinds[n + 1]) for n in range(1, len(kinds) - 1) if kinds[n] == "command"]
    return sum(b == "said" for b, _ in around) > sum(a == "said" for _, a in around)


def _problem(tree: Node, lines: list[str], first: Reading) -> Problem:
    """What fails: told by titles, by `problem:` and its like, or before the first trial."""
    plain = next((c for c in first.claims if c.found.command), None)
    begins = min(
        (c.line for c in first.claims if c is not plain and (_sets(c) or c.base or c.found.command)),
        default=min((c.line for c in first.claims if c is not plain and c.found.settings), default=len(lines) + 1),
    )
    texts: list[str] = []
    for node in _walk(tree):
        if node.kind == "grid" or not node.texts:
            continue
        for text in node.texts:
            keyed = _PROBLEM.match(text.text)
            if keyed and terms.KEY_PROBLEM.fullmatch(keyed["key"].strip()):
                texts.append(text.text)
            elif (
                text.line() < begins
                and (node.kind != "section" or node.depth <= 2 or not node.kids)
                and not command_in(text.text)
            ):
                texts.append(re.sub(r"`--?[a-z][^`]*`", " ", text.text))
            elif text.line() < begins and (command := command_in(text.text)):
                texts.append(text.text[: command.begin] + " . " + text.text[command.end :])
    problem = Problem.of(texts[:MOST_HEAD])
    again = {found[1].lower() for line in lines for found in terms.SAME_NOUN.finditer(line)}
    problem = replace(problem, names=problem.names | {n for n in again - terms.GENERIC if n not in terms.PLAIN_NOUNS})
    if problem.kinds:
        return problem
    failed = [c for c in first.claims if c.judged and c.judged.kind is not OutcomeKind.CLEAN]
    base = [c.said or c.text for c in failed if c.base == BASELINE or c.found.command]
    problem = Problem.of(base[:1])
    if problem.kinds:
        return problem
    named = Counter(kind for c in first.claims for kind in {k for k, _, _ in symptoms(f"{c.said} {c.text}")})
    return Problem(frozenset(kind for kind, n in named.most_common(1) if n > 1))


def _trials(reading: Reading, command: Command | None) -> tuple[list[ToldTrial], list[Unused]]:
    """The claims as trials: with what they build on, and without what is told twice."""
    trials: list[ToldTrial] = []
    unused: list[Unused] = []
    labels: dict[str, Mapping[str, str]] = {}
    previous: Mapping[str, str] = {}
    last = False
    switched: set[str] = set()
    seen: set[tuple[Configuration, OutcomeKind]] = set()
    known = reading.known
    commands = sum(claim.found.command is not None for claim in reading.claims)
    begins = next((n for n, c in enumerate(reading.claims) if not c.loose or _sets(c) or c.base), len(reading.claims))
    versions = [claim.line for claim in reading.claims if _versions(claim)]
    for n, claim in enumerate(reading.claims):
        alone = not any(0 < abs(line - claim.line) <= 2 for line in versions)
        minor = claim.loose and all(s.name in terms.MINOR_PACKAGES for s in claim.found.settings)
        if claim.loose and _versions(claim) and (minor or (n < begins and alone)):
            continue  # the surroundings
        if (
            claim.loose
            and claim.found.command
            and commands < 2
            and command is not None
            and claim.found.command.words == command.words
        ):
            continue  # the command as deployed, with what the notes are about
        changes = _changes(claim, known, command, labels, previous)
        if changes:
            gone = {n for n, level in changes.items() if level == ABSENT and n not in known and n in switched}
            changes = {n: level for n, level in changes.items() if n not in gone}
            switched |= {n for n, level in changes.items() if level != ABSENT}
        if changes is None:
            unused.append(Unused(claim.line, claim.text, "builds on a trial that is not told"))
            continue
        configuration = Configuration(changes)
        if (
            claim.found.command
            and claim.loose
            and trials
            and not last
            and trials[-1].changes == configuration
            and claim.line - trials[-1].line <= MOST_APART
        ):
            continue  # the command of what was told just before it
        last = claim.found.command is not None
        runs = claim.judged.runs if claim.judged else ()
        if claim.prose and all((configuration, kind) in seen for kind, _ in runs):
            continue
        for kind, times in runs:
            failure = (claim.said or claim.text) if kind is not OutcomeKind.CLEAN else ""
            trials.append(ToldTrial(claim.line, claim.text, configuration, kind, times, failure, claim.label))
            seen.add((configuration, kind))
        if claim.label:
            labels[claim.label.lower()] = changes
        previous = changes
    return trials, unused


def _sets(claim: Claim) -> bool:
    """Whether a claim sets more than a version."""
    return any(not re.fullmatch(terms.PACKAGES, s.name, re.IGNORECASE) for s in claim.found.settings) or bool(
        claim.levels
    )


def _versions(claim: Claim) -> bool:
    """Whether a claim sets versions only."""
    return bool(claim.found.settings) and not _sets(claim)


def _changes(
    claim: Claim,
    known: Mapping[str, str],
    command: Command | None,
    labels: Mapping[str, Mapping[str, str]],
    previous: Mapping[str, str],
) -> dict[str, str] | None:
    """What a claim changed against the command as deployed; None if it builds on a trial that is not known."""
    changes: dict[str, str] = {}
    if claim.base in (PREVIOUS, REPEAT):
        changes.update(previous)
    elif claim.base and claim.base != BASELINE:
        if claim.base.lower() in labels:
            changes.update(labels[claim.base.lower()])
        elif re.fullmatch(r"\d+|[A-Z]", claim.base) and re.search(
            rf"(?i)(?:same as|like) (?:run|try|attempt|test|trial|exp)\W*{re.escape(claim.base)}", claim.text
        ):
            return None
    if claim.found.command is not None:
        base = command or claim.found.command
        merged = Command(claim.found.command.words, {**claim.exported, **claim.found.command.settings})
        theirs = Command(base.words, base.settings)
        difference = merged.difference(theirs)
        changes.update(difference)
        return changes
    own = {s.name: s.level for s in claim.found.settings}
    if claim.base not in (PREVIOUS, REPEAT) or own:
        own = {**own, **claim.levels}
    for name, level in own.items():
        level = _spelled(name, level, known)
        if known.get(name) == level or (
            level == ABSENT and known and name not in known and name not in changes and not name.startswith("-")
        ):
            changes.pop(name, None)
        else:
            changes[name] = level
    return changes


def _spelled(name: str, level: str, known: Mapping[str, str]) -> str:
    if level.lower() == "off" and known.get(name) == PRESENT:
        return ABSENT
    return level
