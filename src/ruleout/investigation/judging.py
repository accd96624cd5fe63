"""What a run says about the target failure. A different failure is never "still failing", and never a pass either.

It hides the target if it struck before the target could have shown (masked). Only a run that got past the target's
exposure can be clean.
"""

from __future__ import annotations

from ruleout.investigation.run import Run
from ruleout.model import Failure, Outcome, OutcomeKind, Stage, Target
from ruleout.reading import similar


def judge(target: Failure | None, run: Run, wanted: Target | None = None) -> Outcome:
    """The outcome of a run.

    Args:
        target: the failure to explain; None while the baseline has not shown it: then any failure is it.
        wanted: what the case says about the target; a first failure that does not fit is another one.
    """
    if run.broken_off:
        return Outcome(OutcomeKind.UNRESOLVED, run.reached, run.broken_off)
    failure = run.failure
    if failure is None:
        return Outcome(OutcomeKind.CLEAN, run.reached, "every probe passed" if run.steps else "it ended with 0")
    if target is None:
        if wanted is not None and not fits(failure, wanted):
            return Outcome(
                OutcomeKind.OTHER, run.reached, f"{failure.class_}, not the target's {wanted.class_}", failure
            )
        return Outcome(OutcomeKind.REPRODUCED, run.reached, "the failure to explain", failure)
    if similar(failure, target) and same_exposure(failure, target):
        return Outcome(OutcomeKind.REPRODUCED, run.reached, "the same failure at the same exposure", failure)
    if similar(failure, target) and not failure.exposure.step:
        place = failure.exposure.stage.inside or " where no stage is told"
        reason = f"the same message{place}, which may be another failure"
        return Outcome(OutcomeKind.OTHER, run.reached, reason, failure)
    if exposure_over(target, run):
        reason = f"another failure ({failure.class_}), after the target's exposure was over"
        return Outcome(OutcomeKind.CLEAN, run.reached, reason, failure)
    reason = f"masked: another failure ({failure.class_}{failure.exposure.stage.inside}) before the target could show"
    return Outcome(OutcomeKind.OTHER, run.reached, reason, failure)


def fits(failure: Failure, wanted: Target) -> bool:
    """Whether a failure is of the class and, if given, the stage of a target."""
    return failure.class_ is wanted.class_ and wanted.stage in (None, failure.exposure.stage)


def same_exposure(failure: Failure, target: Failure) -> bool:
    """The same stage; or both in answer to the same probe step, where prefill and decode cannot always be told.

    Of a start, also the same signature, which counts the stack: a setting may add or take away the lines by which the
    log tells its stages.
    """
    here, there = failure.exposure, target.exposure
    if here.stage is there.stage:
        return True
    return here.step == there.step and (here.step > 0 or failure.signature == target.signature != "")


def exposure_over(target: Failure, run: Run) -> bool:
    """Whether the run got past the moment at which the target shows, before anything else failed."""
    failure, shown = run.failure, target.exposure
    if failure is None:
        return True
    if shown.step:
        return failure.exposure.step > shown.step
    if failure.exposure.step:
        return True
    if Stage.UNKNOWN in (shown.stage, failure.exposure.stage) or shown.stage not in run.sequence:
        return False
    after = run.sequence[run.sequence.index(shown.stage) + 1 :]
    return failure.exposure.stage is not shown.stage and failure.exposure.stage in after
