"""Weights that are NaN, zero or scaled absurdly load without a word: only reading them tells before a request does.

What is absurd is told by the others: a scale that is ten thousand times that of the same kind in the other layers is
wrong in any model, whatever scales mean in its format.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from statistics import median

from ruleout.audit.deep_reading import statistics
from ruleout.audit.folder import Unreadable, quoted
from ruleout.audit.subject import Progress, Subject
from ruleout.audit.tensors import few
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Severity, TensorStatistics

_SCALES = ("scale", "scales", "scale_inv", "scale_2", "global_scale")
_FLOATS = ("F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "F8_E8M0")
_SHARED = ("weight_scale_2", "weight_global_scale")
_JOINED = ({"q_proj", "k_proj", "v_proj"}, {"gate_proj", "up_proj"}, {"q_a_proj", "kv_a_proj_with_mqa"})
FAR = 1e4
_HUGE = 1e30
_SOURCE = "https://docs.vllm.ai/en/stable/features/quantization/"


def read(subject: Subject, progress: Progress) -> tuple[tuple[TensorStatistics, ...], list[AuditFinding]]:
    """Reads every tensor of the checkpoint once, and says which file could not be read to its end.

    Args:
        progress: told how many bytes of how many have been read.
    """
    headers = list(subject.checkpoint.headers.values())
    sizes = [sum(tensor.bytes for tensor in header.tensors if tensor.end <= header.size) for header in headers]
    found: list[TensorStatistics] = []
    problems: list[AuditFinding] = []
    done = 0
    for header, size in zip(headers, sizes, strict=True):
        try:
            found.extend(statistics(subject.folder, header, progress, done, sum(sizes)))
        except Unreadable as problem:
            problems.append(
                _finding("deep-unreadable", Severity.ERROR, problem.why, quoted(problem.name), problem.remedy)
            )
        except OSError as problem:
            what = f"cannot be read to its end: {problem.strerror}"
            problems.append(
                _finding("deep-unreadable", Severity.ERROR, what, quoted(header.file), "Look after the disk.")
            )
        done += size
    return tuple(found), problems


def judge(tensors: Iterable[TensorStatistics]) -> Iterator[AuditFinding]:
    """What is wrong with the numbers."""
    known = list(tensors)
    scales = [tensor for tensor in known if is_scale(tensor.name)]
    weights = [tensor for tensor in known if not is_scale(tensor.name)]
    yield from _not_finite(known)
    yield from _empty(weights)
    yield from _scales(scales)
    yield from _apart(scales)


def is_scale(name: str) -> bool:
    """Whether a tensor scales another, by its name."""
    return name.rpartition(".")[2].endswith(_SCALES)


def _not_finite(known: list[TensorStatistics]) -> Iterator[AuditFinding]:
    for tensor in known:
        if tensor.nan or tensor.inf:
            parts = [f"{number} {word}" for number, word in ((tensor.nan, "NaN"), (tensor.inf, "infinite")) if number]
            what = f"{' and '.join(parts)} of {tensor.count} elements: whatever they touch becomes NaN"
            yield _about("deep-not-finite", Severity.ERROR, tensor, what, "Fetch the release again; quantise it again.")
        elif tensor.dtype in ("F64", "F32", "BF16") and tensor.largest > _HUGE:
            what = f"holds a number of {tensor.largest:.1e}: these bytes are no weights"
            yield _about("deep-absurd", Severity.ERROR, tensor, what, "Fetch the file again.")


def _empty(weights: list[TensorStatistics]) -> Iterator[AuditFinding]:
    for tensor in weights:
        if tensor.name.endswith(("bias", "_zero_point", "qzeros", "weight_shape", "g_idx")) or tensor.count < 2:
            continue
        if tensor.zeros == tensor.count:
            what = f"all {tensor.count} elements are zero: the layer passes nothing on"
            yield _about("deep-all-zero", Severity.WARNING, tensor, what, "Fetch the release again.")
        elif tensor.constant and len(tensor.shape) > 1 and not tensor.nan and not tensor.inf:
            what = (
                f"all {tensor.count} elements are the same: it was never trained, or never loaded before it was saved"
            )
            yield _about("deep-constant", Severity.WARNING, tensor, what, "Fetch the release again.")


def _scales(scales: list[TensorStatistics]) -> Iterator[AuditFinding]:
    kinds: dict[tuple[str, str], list[TensorStatistics]] = defaultdict(list)
    for tensor in scales:
        kinds[tensor.name.rpartition(".")[2], tensor.dtype].append(tensor)
        if tensor.zeros:
            told = "is zero" if tensor.count == 1 else f"has {tensor.zeros} zeros among {tensor.count} scales"
            severity = Severity.ERROR if tensor.zeros == tensor.count else Severity.WARNING
            what = f"{told}: what it scales reads back as zero, or is divided by it"
            yield _about("deep-zero-scale", severity, tensor, what, "Quantise these layers again.")
    for (kind, dtype), members in kinds.items():
        known = [tensor.largest for tensor in members if tensor.largest > 0 and tensor.zeros != tensor.count]
        if dtype not in _FLOATS or len(known) < 4:
            continue
        usual = median(known)
        for tensor in members:
            if tensor.largest > usual * FAR or 0 < tensor.largest < usual / FAR:
                what = f"is {tensor.largest:.3g}; {kind} of the other layers is about {usual:.3g}"
                yield _about("deep-absurd-scale", Severity.ERROR, tensor, what, "Quantise this layer again.")


def _apart(scales: list[TensorStatistics]) -> Iterator[AuditFinding]:
    """One kernel takes one global scale: joined layers with two are read with one of them."""
    groups: dict[tuple[str, str, int], dict[str, float]] = defaultdict(dict)
    for tensor in scales:
        module, _, suffix = tensor.name.rpartition(".")
        parent, _, layer = module.rpartition(".")
        for number, joined in enumerate(_JOINED):
            if suffix in _SHARED and tensor.count == 1 and layer in joined:
                groups[parent, suffix, number][layer] = tensor.largest
    apart = [(key, values) for key, values in groups.items() if len(set(values.values())) > 1]
    if apart:
        (parent, suffix, _), values = apart[0]
        told = ", ".join(f"{layer} {value:.4g}" for layer, value in values.items())
        names = [f"{base}.{kind}" for (base, kind, _), _ in apart]
        what = f"{len(apart)} joined layers have parts with different {suffix}: {few(names)} ({told}); "
        what += "engines take one for all"
        remedy = "Quantise joined layers with one global scale."
        yield _finding("deep-joined-scales", Severity.WARNING, what, quoted(f"{parent}.*.{suffix}"), remedy)


def _about(name: str, severity: Severity, tensor: TensorStatistics, what: str, remedy: str) -> AuditFinding:
    return _finding(name, severity, what, f"{quoted(tensor.file)}: {quoted(tensor.name)}", remedy)


def _finding(name: str, severity: Severity, what: str, where: str, remedy: str) -> AuditFinding:
    return AuditFinding(name, severity, what, where, remedy, _SOURCE, Component.WEIGHTS_CHECKPOINT)
