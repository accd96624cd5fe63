"""The closed word lists of the field: a reader, a rule and a verdict all mean the same thing by them."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """How far a serving deployment has come, in the order of a usual start.

    The order is a habit, not a law: transformers' server is ready before it loads, and kernels compile anywhere.
    What was over before what is therefore read from the trial's own log where it tells.
    """

    INSTALL_IMPORT = "install_import"
    ARG_PARSING = "arg_parsing"
    MODEL_CONFIG = "model_config"
    DISTRIBUTED_INIT = "distributed_init"
    WEIGHT_LOAD = "weight_load"
    KV_CACHE_ALLOC = "kv_cache_alloc"
    KERNEL_COMPILE = "kernel_compile"
    CUDA_GRAPH_CAPTURE = "cuda_graph_capture"
    WARMUP = "warmup"
    READY = "ready"
    PREFILL = "prefill"
    DECODE = "decode"
    CONCURRENCY = "concurrency"
    SHUTDOWN = "shutdown"
    UNKNOWN = "unknown"

    @property
    def inside(self) -> str:
        """` in decode`, to stand behind what happened there; nothing where no line tells of a stage."""
        return "" if self is Stage.UNKNOWN else f" in {self}"


class FailureClass(StrEnum):
    """What kind of failure it is. Where the log names a class and the client saw another, the log's is the class."""

    DEVICE_SIDE_ASSERT = "device_side_assert"
    ILLEGAL_MEMORY_ACCESS = "illegal_memory_access"
    NAN_INF = "nan_inf"
    OOM = "oom"
    HOST_OOM_KILL = "host_oom_kill"
    NO_KERNEL_IMAGE = "no_kernel_image"
    UNSUPPORTED_ARCH = "unsupported_arch"
    SHARED_MEMORY = "shared_memory"
    KERNEL_LAUNCH_ERROR = "kernel_launch_error"
    ILLEGAL_INSTRUCTION = "illegal_instruction"
    INCOMPATIBLE_CONFIG_ASSERT = "incompatible_config_assert"
    IMPORT_ABI = "import_abi"
    MISSING_SYMBOL = "missing_symbol"
    UNKNOWN_MODEL_TYPE = "unknown_model_type"
    QUANT_FORMAT_MISMATCH = "quant_format_mismatch"
    MISSING_WEIGHTS = "missing_weights"
    SHAPE_MISMATCH = "shape_mismatch"
    COMPILE_ERROR = "compile_error"
    NCCL_TIMEOUT_HANG = "nccl_timeout_hang"
    HANG = "hang"
    WRONG_OUTPUT = "wrong_output"
    ACCURACY_LOSS = "accuracy_loss"
    MEMORY_LEAK = "memory_leak"
    OTHER = "other"
    NONE = "none"


class Component(StrEnum):
    """The part of the stack in which a cause lies."""

    ATTENTION_BACKEND = "attention_backend"
    KV_CACHE_DTYPE = "kv_cache_dtype"
    QUANTIZATION = "quantization"
    MOE_RUNNER = "moe_runner"
    ROPE_CONFIG = "rope_config"
    TRANSFORMERS_VERSION = "transformers_version"
    KERNEL_ARCH_SUPPORT = "kernel_arch_support"
    CUDA_GRAPH = "cuda_graph"
    ALLREDUCE = "allreduce"
    NCCL = "nccl"
    MEMORY = "memory"
    SCHEDULER = "scheduler"
    SAMPLING = "sampling"
    TOKENIZER_TEMPLATE = "tokenizer/template"
    WEIGHTS_CHECKPOINT = "weights/checkpoint"
    INSTALL_ABI = "install/abi"
    USER_CONFIG = "user_config"
    SPEC_DECODE = "spec_decode"
    OTHER = "other"


class OutcomeKind(StrEnum):
    """What a trial says about the target failure. Never coerced: a trial that says nothing is not a pass."""

    REPRODUCED = "reproduced"
    CLEAN = "clean"
    OTHER = "other"
    UNRESOLVED = "unresolved"


class Mechanism(StrEnum):
    """By what means a factor's level is set on the deployment."""

    FLAG = "flag"
    ENV = "env"
    PYTHON = "python"
    OVERRIDE = "override"
    PATCH = "patch"
    CACHE = "cache"
    WORKLOAD = "workload"


class Mode(StrEnum):
    """`serve`: wait until ready, probe, stop. `job`: the command ends by itself and exit 0 is clean."""

    SERVE = "serve"
    JOB = "job"


class Goal(StrEnum):
    """What an investigation is for."""

    CAUSE = "cause"
    WORKAROUND = "workaround"


class VerdictStatus(StrEnum):
    """How an investigation ended."""

    ISOLATED = "isolated"
    NARROWED = "narrowed"
    ELSEWHERE = "elsewhere"
    WORKAROUND = "workaround"
    NOT_REPRODUCED = "not_reproduced"
    EXHAUSTED = "exhausted"
    INTERRUPTED = "interrupted"


class HypothesisStatus(StrEnum):
    """Where a hypothesis stands. Only trials can make one `confirmed`."""

    OPEN = "open"
    FAVOURED = "favoured"
    RULED_OUT = "ruled_out"
    CONFIRMED = "confirmed"


class AssumptionStatus(StrEnum):
    """Whether an assumption has been tested, and what came of it."""

    OPEN = "open"
    HELD = "held"
    REFUTED = "refuted"


class AssumptionSource(StrEnum):
    """Who assumed it."""

    USER = "user"
    RULE = "rule"
    PLANNER = "planner"
