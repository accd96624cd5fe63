"""Opening an investigation, new or old, and running it: what `investigate` and `demo` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ruleout.engines import engine_named
from ruleout.investigation.auditing import audited, suspects
from ruleout.investigation.byhand import Given
from ruleout.investigation.casefile import parse_case
from ruleout.investigation.finding import find as find
from ruleout.investigation.folder import Folder, require_room, write_whole
from ruleout.investigation.hosts import this_host
from ruleout.investigation.journal import Journal
from ruleout.investigation.limits import limited
from ruleout.investigation.listener import Listener
from ruleout.investigation.loop import Investigation, check_launches
from ruleout.investigation.references import keep_references
from ruleout.investigation.showing import shows
from ruleout.investigation.suspecting import explained
from ruleout.investigation.whole import parents
from ruleout.model import Budget, Case, MissingError, Notes, RuleoutError, Suspicion, UsageError, Verdict, VerdictStatus
from ruleout.model.audit import Audit
from ruleout.reasoning import assess, conclude
from ruleout.runners.base import Runner
from ruleout.store import Store, holder


def investigate(
    case: Case,
    text: str,
    folder: Folder,
    runner: Runner,
    listener: Listener,
    *,
    resume: bool,
    budget: Budget,
    given: Sequence[Given] = (),
    reduce: bool = False,
    bare: bool = False,
    notes: Sequence[Notes] = (),
) -> Verdict:
    """Run an investigation in its folder.

    Args:
        text: the case file as it was read; a copy is kept.
        budget: what limits this run.
        given: logs of trials that were run by hand.
        reduce: raise the load until a rare failure shows, and find the smallest command that fails.
        bare: the case is a command alone: its factors are chosen once its failure was seen.
        notes: of people, whose trials say where to look.

    Raises:
        UsageError: the folder exists without `resume`, or does not with it; the case changed in what was tried.
        MissingError: the deployment cannot be launched, or there is no room.
    """
    engine = engine_named(case.engine)
    check_launches(case, engine)

    def run(case: Case) -> Verdict:
        require_room(folder.path)
        with Store(folder.path, writing=True) as store:
            try:
                journal, found = _begun(case, text, folder, store, bare)
                if found is not None and not journal.trials:
                    listener.audited(found)
                before = suspects(found)
                work = Investigation(case, folder, journal, engine, runner, listener, given, reduce, before, notes)
                return work.run(budget)
            except (RuleoutError, OSError) as problem:
                if resume or Journal.read(store).trials:
                    raise
                folder.remove()  # nothing was learnt yet, and the case may have to change
                if isinstance(problem, MissingError):
                    raise MissingError(problem.what, "Mend that, and start again.") from None
                raise

    if resume:
        if not folder.exists:
            raise UsageError(f"{folder.path}: nothing to go on with", "Leave out --resume to start.")
        if folder.case.exists() or read_journal(folder).next_number > 1:
            case = unchanged(stored_case(folder), case)
        return run(case)
    with parents(folder.path):
        folder.create()
        try:
            return run(case)
        except MissingError:
            if folder.path.exists() and not (folder.path / "trials").exists() and holder(folder.path) is None:
                folder.remove()  # there is no room for as much as a database
            raise


def _begun(case: Case, text: str, folder: Folder, store: Store, bare: bool) -> tuple[Journal, Audit | None]:
    """The journal with the case written down, and what was found before the launch, if that was looked for only now."""
    keep_references(case, folder)
    write_whole(folder.case, text)
    journal = Journal.read(store)
    if journal.imported:
        raise UsageError(
            f"{folder.path}: it was imported; its command has placeholders in it and may be anybody's",
            "Read its case.yaml, write your own from it, and start that under another name.",
        )
    if not journal.begun_before and (folder.path / "trials").exists():
        raise UsageError(
            f"{folder.path}: there are trials, but the database that knows of them is empty",
            "Restore ruleout.db from a copy, or move the folder away and start anew.",
        )
    journal.begun(text, str(Path.cwd()), bare)
    return journal, audited(case, this_host()) if journal.suspicion is None else None


def stored_case(folder: Folder) -> Case:
    """The case of an investigation. Raises UsageError when its copy is gone or was damaged."""
    try:
        text = folder.case.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{folder.case}: gone or not readable", "Put the case file back there.") from None
    return parse_case(text, str(folder.case), folder.path)


def read_journal(folder: Folder) -> Journal:
    """The state of an investigation, for reading only. Raises UsageError when there is none."""
    with Store(folder.path, writing=False) as store:
        return Journal.read(store)


def unchanged(before: Case, now: Case) -> Case:
    """The case to go on with. Raises UsageError when a trial of before would not be a trial of now.

    A factor that was added counts as having been at its baseline; levels may be added; budgets, costs and wishes may
    change. Anything else that a trial depends on may not.
    """
    for what in ("engine", "command", "env", "mode", "probes", "stages", "target", "host"):
        if getattr(before, what) != getattr(now, what):
            raise UsageError(
                f"case {now.name}: {what} is not what the trials so far were made with",
                "Undo the change, or start anew under another name.",
            )
    known = {f.name: f for f in now.factors}
    for factor in before.factors:
        if factor.name not in known:
            raise UsageError(f"case {now.name}: factor {factor.name} is gone", "Put it back, or start anew.")
        other = known[factor.name]
        gone = [level for level in factor.levels if level not in other.levels]
        if gone:
            raise UsageError(
                f"case {now.name}: factor {factor.name} has lost its level {gone[0]}", "Put it back, or start anew."
            )
        kept = {level: other.values.get(level) for level in factor.values}
        if replace(other, levels=factor.levels, values=kept) != factor:
            raise UsageError(
                f"case {now.name}: factor {factor.name} was changed (mechanism, target or baseline)",
                "Undo the change, or start anew under another name.",
            )
    return now


def current_verdict(case: Case, journal: Journal) -> Verdict:
    """The last verdict if nothing came after it; otherwise what can be said now."""
    verdict, trials = journal.verdict, journal.trials
    if verdict is not None and verdict.trials == trials:
        return verdict
    if journal.target is None or not trials:
        return Verdict(VerdictStatus.INTERRUPTED, 0.0, trials=trials, why="no trial of the baseline has failed yet")
    found = journal.suspicion or Suspicion()
    assessment = assess(case, journal.evidence, priors=found.priors, elsewhere=found.elsewhere)
    verdict = conclude(case, journal.evidence, assessment, journal.target, journal.pivots, VerdictStatus.INTERRUPTED)
    when = shows(replace(case, times=journal.times), engine_named(case.engine), verdict)
    found_out = explained(case, verdict, found)
    verdict = replace(found_out, trials=trials, installations=journal.installations, shows=when)
    return limited(case, verdict)
