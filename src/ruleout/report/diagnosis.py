"""A diagnosis as a JSON document, to the letter of `ruleout.diagnosis/1`, and the words in which people read it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from ruleout.model.diagnosis import SURVIVED, Diagnosis, Environment, LogOutcome
from ruleout.model.story import Story
from ruleout.model.vocabulary import FailureClass, Stage

DIAGNOSIS = "ruleout.diagnosis/1"

ENGINES = {
    "sglang": "SGLang",
    "vllm": "vLLM",
    "transformers": "Transformers",
    "tensorrt-llm": "TensorRT-LLM",
    "lmdeploy": "LMDeploy",
}
_CLASSES = {
    FailureClass.DEVICE_SIDE_ASSERT: "device-side assert",
    FailureClass.NAN_INF: "NaN or infinity",
    FailureClass.OOM: "out of memory",
    FailureClass.HOST_OOM_KILL: "killed for want of host memory",
    FailureClass.UNSUPPORTED_ARCH: "unsupported architecture",
    FailureClass.INCOMPATIBLE_CONFIG_ASSERT: "incompatible configuration",
    FailureClass.IMPORT_ABI: "import or ABI",
    FailureClass.QUANT_FORMAT_MISMATCH: "quantization format",
    FailureClass.NCCL_TIMEOUT_HANG: "a collective timed out",
    FailureClass.OTHER: "",
    FailureClass.NONE: "",
}
_STAGES = {
    Stage.INSTALL_IMPORT: "while importing",
    Stage.ARG_PARSING: "while parsing its arguments",
    Stage.MODEL_CONFIG: "while reading the model's configuration",
    Stage.DISTRIBUTED_INIT: "while joining its processes",
    Stage.WEIGHT_LOAD: "while loading weights",
    Stage.KV_CACHE_ALLOC: "while allocating the KV cache",
    Stage.KERNEL_COMPILE: "while compiling kernels",
    Stage.CUDA_GRAPH_CAPTURE: "while capturing CUDA graphs",
    Stage.WARMUP: "while warming up",
    Stage.READY: "when it was ready",
    Stage.CONCURRENCY: "under parallel load",
    Stage.SHUTDOWN: "while shutting down",
}


def diagnosis_document(diagnosis: Diagnosis, story: Story | None = None) -> dict[str, Any]:
    """`ruleout.diagnosis/1`. What the log does not say is null, what nobody has concluded yet is empty.

    With several runs it describes the target failure, and has the story's keys besides.
    """
    document: dict[str, Any] = {"schema": DIAGNOSIS, **_plain(diagnosis)}
    if story is not None:
        document |= _plain(story)
        for told, run in zip(document["runs"], story.runs, strict=True):
            told |= {"masked": run.masked, "informative": run.informative}
    return document


def _plain(value: Any) -> Any:
    """Plain data, in the order of the fields. Without pydantic, whose import takes longer than most readings."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {field.name.rstrip("_"): _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return shown(value) if isinstance(value, str) else value


def shown(text: str) -> str:
    """Text that any terminal and any parser takes: a file's name may hold bytes that are no text."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def what_ran(diagnosis: Diagnosis) -> list[str]:
    """Engine, model, hardware, parallelism: as much of it as the log tells."""
    environment, engine = diagnosis.environment, diagnosis.engine
    parts = [f"{ENGINES.get(engine.name, engine.name)} {engine.version or ''}".strip(), _model(environment)]
    parts += [environment.quantization or "", _hardware(environment)]
    for name, size in (("TP", environment.tp), ("DP", environment.dp), ("PP", environment.pp), ("EP", environment.ep)):
        parts.append(f"{name} {size}" if size and size > 1 else "")
    return [part for part in parts if part]


def _model(environment: Environment) -> str:
    name = environment.model or ""
    if name.startswith(("/", "~", ".")) or name.count("/") > 1:
        name = name.rstrip("/").rpartition("/")[2]
    kind = environment.model_type or environment.architecture
    return f"{name} ({kind})" if name and kind else name or kind or ""


def _hardware(environment: Environment) -> str:
    name = environment.gpu or ""
    if environment.gpus and name:
        name = f"{environment.gpus} × {name}"
    sm = environment.sm or ""
    sm = sm if sm.startswith("gfx") or not sm else f"SM{sm}"
    return f"{name} ({sm})" if name and sm else name or sm


def conclusion(diagnosis: Diagnosis) -> str:
    """How the run ended, in a line."""
    where = stage(diagnosis.stage)
    failure = diagnosis.failure
    kind = class_(failure.class_) if failure and failure.class_.value != diagnosis.outcome.value else ""
    told = f": {kind}" if kind else ""
    if failure and failure.inferred:
        likeliest = class_(failure.class_) or diagnosis.outcome.value
        return f"No line tells of a failure; most likely: {likeliest}{where}"
    if diagnosis.outcome is LogOutcome.HEALTHY:
        if survived(diagnosis):
            return f"Healthy: {survived(diagnosis)}{_reached(diagnosis)}"
        return f"Healthy: nothing failed{_reached(diagnosis)}"
    if diagnosis.outcome is LogOutcome.STOPPED:
        if failure:
            return f"Stopped by its operator; a request failed before{where}, the server went on{_furthest(diagnosis)}"
        if survived(diagnosis):
            return f"Stopped by its operator; {survived(diagnosis)}{_reached(diagnosis)}"
        return f"Stopped by its operator: nothing failed before{_reached(diagnosis)}"
    if diagnosis.outcome is LogOutcome.UNKNOWN:
        if diagnosis.failure:
            return f"Failed{where}{told}"
        if recognised(diagnosis):
            return f"No failure is told, and no proper end{_reached(diagnosis)}"
        return "Nothing recognised: no engine's lines, and none that tells of a failure"
    verb = {
        LogOutcome.CRASH: "Crashed",
        LogOutcome.HANG: "Hung",
        LogOutcome.KILLED: "Killed",
        LogOutcome.WRONG_OUTPUT: "Wrong output",
    }[diagnosis.outcome]
    return f"{verb}{where}{told}"


def survived(diagnosis: Diagnosis) -> str:
    """What the run survived, as a clause; empty when there was nothing."""
    lines = [warning.line for warning in diagnosis.warnings if warning.why == SURVIVED]
    if not lines:
        return ""
    many = f"{len(lines)} errors (the first on line {min(lines)})" if lines[1:] else f"an error (line {lines[0]})"
    return f"it survived {many} and went on"


def sure(diagnosis: Diagnosis) -> bool:
    """Whether the log itself says how the run ended."""
    return diagnosis.outcome is not LogOutcome.UNKNOWN and not (diagnosis.failure and diagnosis.failure.inferred)


def recognised(diagnosis: Diagnosis) -> bool:
    """Whether the log says anything that a reader knows."""
    return bool(diagnosis.engine.name or diagnosis.stages or diagnosis.settings or diagnosis.failure)


def stage(reached: Stage) -> str:
    """Where it failed, as a part of a sentence, with a blank before it."""
    return "" if reached is Stage.UNKNOWN else f" {_STAGES.get(reached, f'in {reached}')}"


_FURTHEST = (Stage.CONCURRENCY, Stage.DECODE, Stage.PREFILL, Stage.READY)


def _furthest(diagnosis: Diagnosis) -> str:
    """How far a run came that failed on the way."""
    began = {span.name for span in diagnosis.stages}
    return next((f"; it came as far as {stage}" for stage in _FURTHEST if stage in began), "")


def _reached(diagnosis: Diagnosis) -> str:
    return "" if diagnosis.stage is Stage.UNKNOWN else f"; it came as far as {diagnosis.stage}"


def class_(kind: FailureClass) -> str:
    """A failure class in words, empty for one that says nothing."""
    return _CLASSES.get(kind, kind.value.replace("_", " "))
