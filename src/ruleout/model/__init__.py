"""The words of the field, as frozen types without I/O. Read this package first: it is what ruleout is about.

A **case** has **factors** with **levels**. A **trial** runs one **configuration**; its **outcome** is judged against
the target **failure** at its **exposure**. A **verdict** names a **cause** with the trials that confirm it.
"""

from ruleout.model.case import ABSENT, PRESENT, UNSET, Budget, Case, Cost, Factor, Probe, Ready, Target
from ruleout.model.configuration import Configuration
from ruleout.model.errors import MissingError, RuleoutError, UsageError
from ruleout.model.outcome import Evidence, Exposure, Failure, Outcome, Trial
from ruleout.model.verdict import (
    Assumption,
    Carrier,
    Cause,
    Confirmation,
    Elsewhere,
    Hypothesis,
    Masked,
    NextStep,
    NotRuledOut,
    Pivot,
    RuledOut,
    Verdict,
    Workaround,
)
from ruleout.model.vocabulary import (
    AssumptionSource,
    AssumptionStatus,
    Component,
    FailureClass,
    Goal,
    HypothesisStatus,
    Mechanism,
    Mode,
    OutcomeKind,
    Stage,
    VerdictStatus,
)

__all__ = [
    "ABSENT",
    "PRESENT",
    "UNSET",
    "Assumption",
    "AssumptionSource",
    "AssumptionStatus",
    "Budget",
    "Carrier",
    "Case",
    "Cause",
    "Component",
    "Configuration",
    "Confirmation",
    "Cost",
    "Elsewhere",
    "Evidence",
    "Exposure",
    "Factor",
    "Failure",
    "FailureClass",
    "Goal",
    "Hypothesis",
    "HypothesisStatus",
    "Masked",
    "Mechanism",
    "MissingError",
    "Mode",
    "NextStep",
    "NotRuledOut",
    "Outcome",
    "OutcomeKind",
    "Pivot",
    "Probe",
    "Ready",
    "RuledOut",
    "RuleoutError",
    "Stage",
    "Target",
    "Trial",
    "UsageError",
    "Verdict",
    "VerdictStatus",
    "Workaround",
]
