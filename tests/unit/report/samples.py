"""Verdicts written by hand, in the shape that an investigation leaves."""

from __future__ import annotations

from ruleout.model import (
    Assumption,
    AssumptionSource,
    AssumptionStatus,
    Carrier,
    Case,
    Configuration,
    Confirmation,
    Elsewhere,
    Evidence,
    Exposure,
    Factor,
    Failure,
    FailureClass,
    Hypothesis,
    HypothesisStatus,
    Masked,
    Mechanism,
    NextStep,
    NotRuledOut,
    Outcome,
    OutcomeKind,
    Pivot,
    RuledOut,
    Stage,
    Trial,
    Verdict,
    VerdictStatus,
    Workaround,
)

CASE = Case(
    "glm5",
    "sglang",
    ("python3", "-m", "sglang.launch_server", "--tp", "8"),
    (
        Factor("kv_cache_dtype", Mechanism.FLAG, "--kv-cache-dtype", ("auto", "bf16", "fp8_e4m3"), "auto"),
        Factor("cuda_graph", Mechanism.FLAG, "--disable-cuda-graph", ("absent", "present"), "absent"),
        Factor("deep_gemm", Mechanism.ENV, "SGLANG_DEEP_GEMM", ("unset", "0"), "unset"),
    ),
    env={"NCCL_P2P_LEVEL": "SYS"},
)
BASE = CASE.baseline
FAILURE = Failure(
    FailureClass.DEVICE_SIDE_ASSERT,
    Exposure(Stage.DECODE, 1),
    "Assertion `probability tensor contains either `inf`, `nan` or element < 0` failed",
    "5f2c",
    asynchronous=True,
    client="completion 1 of 2: HTTP 500",
    evidence=(Evidence("server.log", 812, "Assertion"), Evidence("probe 1", 0, "HTTP 500")),
)
MASK = Failure(
    FailureClass.INCOMPATIBLE_CONFIG_ASSERT,
    Exposure(Stage.MODEL_CONFIG),
    "assert not a | b\nfp8",
    "77",
    "AssertionError",
)
REPRODUCED = Outcome(OutcomeKind.REPRODUCED, Stage.DECODE, "the failure to explain", FAILURE)
MASKED = Outcome(OutcomeKind.OTHER, Stage.MODEL_CONFIG, "masked", MASK)
CLEAN = Outcome(OutcomeKind.CLEAN, Stage.READY, "every probe passed")


def trial(number: int, outcome: Outcome, minutes: float = 12.1, **moved: str) -> Trial:
    """A judged trial."""
    return Trial(number, BASE.moved(moved), "as planned", outcome, minutes, f"trials/{number:04d}/server.log")


ISOLATED = Verdict(
    status=VerdictStatus.ISOLATED,
    probability=0.994,
    causes=((Carrier("kv_cache_dtype", ("auto", "fp8_e4m3")), Carrier("cuda_graph", ("absent",))),),
    confirmed_by=Confirmation((4,), (3, 5), (3,), 6),
    workarounds=(
        Workaround(Configuration(kv_cache_dtype="bf16"), 3),
        Workaround(Configuration(cuda_graph="present"), 5),
    ),
    failure=FAILURE,
    manifest_rate=0.62,
    elsewhere=Elsewhere(0.001),
    trials=(
        trial(1, REPRODUCED),
        trial(2, MASKED, 0.5, kv_cache_dtype="fp8_e4m3", deep_gemm="0"),
        trial(3, CLEAN, kv_cache_dtype="bf16"),
        trial(4, REPRODUCED, deep_gemm="0"),
        trial(5, CLEAN, cuda_graph="present"),
        trial(6, REPRODUCED),
    ),
    hypotheses=(
        Hypothesis("kv_cache_dtype=auto together with cuda_graph=absent", 0.994, HypothesisStatus.CONFIRMED, (3, 4)),
        Hypothesis("elsewhere", 0.001, HypothesisStatus.RULED_OUT, (3, 5)),
    ),
    ruled_out=(RuledOut("deep_gemm", (4,)),),
    not_ruled_out=(NotRuledOut("attention", ("eager",), ("fa3", "trtllm")),),
    never_varied=("the machine and its driver",),
    masked=(Masked(Configuration(kv_cache_dtype="fp8_e4m3", deep_gemm="0"), "assert not `fp8`", 2),),
    assumptions=(
        Assumption("it shows every time", AssumptionSource.PLANNER, "no clean run", AssumptionStatus.REFUTED),
    ),
    pivots=(Pivot(3, "cuda_graph=absent", "kv_cache_dtype=auto", "trial 3 was clean"),),
    next=(NextStep(Configuration(deep_gemm="0"), "tells most", 12.0),),
)
NOT_REPRODUCED = Verdict(
    VerdictStatus.NOT_REPRODUCED, 0.0, trials=(trial(1, CLEAN),), why="the baseline failed in 0 of 1 runs"
)
