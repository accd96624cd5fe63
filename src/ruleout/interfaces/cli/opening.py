"""What `investigate` was asked to investigate: a case file, a command, or one of them that was begun before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ruleout.investigation.bare import bare_case, widened
from ruleout.investigation.casefile import read_case
from ruleout.investigation.casewriting import case_text
from ruleout.investigation.folder import Folder
from ruleout.investigation.references import read_reference
from ruleout.investigation.session import find, stored_case
from ruleout.model import Case, Mode, Probe, UsageError


@dataclass(frozen=True)
class Opened:
    """A case and its text. `bare`: its factors are still to be chosen."""

    case: Case
    text: str
    bare: bool = False


@dataclass(frozen=True)
class Asked:
    """What the command line names."""

    case_file: str | None
    command: tuple[str, ...] | None
    chosen: Path | None
    resume: bool
    reference: Path | None = None

    def opened(self, by_hand: Sequence[str], dry_run: bool) -> Opened:
        """The case. Raises UsageError when nothing is named, or too much.

        Args:
            by_hand: logs that were given; of a command's, the first one's failure says what is worth varying.
            dry_run: nothing may be run, not even the engine's `--help`.
        """
        if self.command is None:
            if self.reference is not None:
                raise UsageError(
                    "--reference is for a command behind `--`", "In a case: {kind: compare, reference: FILE} in probes."
                )
            return self._of_file()
        if self.case_file is not None:
            raise UsageError(
                f"both {self.case_file} and a command are given", "Give one: the case file names a command itself."
            )
        case = self._compared(bare_case(self.command))
        folder = Folder.of(case, self.chosen)
        if self.resume and folder.case.exists():
            before = stored_case(folder)
            probes = case.probes or before.probes
            case = replace(
                before, engine=case.engine, command=case.command, env=case.env, mode=case.mode, probes=probes
            )
            return Opened(case, folder.case.read_text(encoding="utf-8"))
        if not (by_hand or dry_run):
            return Opened(case, case_text(case), bare=True)
        log = Path(by_hand[0].partition(":")[0]) if by_hand else None
        case, choices = widened(case, log if log is not None and log.is_file() else None, ask=not dry_run)
        return Opened(case, case_text(case, choices))

    def _compared(self, case: Case) -> Case:
        """The case with its answers compared, where a reference is given. Raises UsageError when it cannot be asked."""
        if self.reference is None:
            return case
        if case.mode is not Mode.SERVE:
            raise UsageError(
                f"--reference: {case.command[0]} is no server that is known, so nothing can be compared",
                "Write a case file, with `ready:` and the probe {kind: compare, reference: FILE}.",
            )
        reference = read_reference(self.reference, str(self.reference))
        return replace(case, probes=(Probe("compare", reference=reference),))

    def _of_file(self) -> Opened:
        if self.case_file is None:
            raise UsageError("nothing to investigate", "Name a case file, or give a command behind `--`.")
        path = Path(self.case_file)
        if self.resume and not path.is_file():
            path = find(self.case_file, self.chosen).case
        case = read_case(path)
        return Opened(case, path.read_text(encoding="utf-8-sig"))
