"""The command held against the model: what an engine would refuse to start with, and what could not be used of it.

Only plain values are judged: one with a variable or a placeholder in it is whatever the shell makes of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruleout.audit.architecture import native_release
from ruleout.audit.command_words import flag, words
from ruleout.audit.folder import quoted
from ruleout.audit.rope.families import RELEASES
from ruleout.audit.subject import Subject
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Severity
from ruleout.model.model_types import numbers

JUDGED = ("vllm", "sglang", "transformers")
"""The engines whose rules are known here."""
_UNFILLED = re.compile(r"[${}<>…]|\(\(")
_CONTEXT = ("max_model_len", "context_length")
_LIMITS = ("n_positions", "max_seq_len", "seq_length", "model_max_length", "max_sequence_length", "max_seq_length")
"""Other keys that an engine takes for the longest context: with one of these, nothing is said."""
_OVERRIDES = ("hf_overrides", "rope_scaling", "json_model_override_args", "rope_theta", "config_format")
_ALLOWS = {"vllm": "VLLM_ALLOW_LONG_MAX_MODEL_LEN", "sglang": "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"}
_STORED = frozenset({"awq", "awq_marlin", "gptq", "gptq_marlin", "compressed-tensors", "moe_wna16"})
"""Formats that weights are in or not: no engine makes them while it loads."""
_SOURCES = {
    "vllm": "https://github.com/vllm-project/vllm: config/model.py",
    "sglang": "https://github.com/sgl-project/sglang: srt/configs/model_config.py",
}


def command(subject: Subject) -> Iterator[AuditFinding]:
    """What is to be known of the command itself."""
    if not subject.launch.engine:
        return
    yield from _used(subject)
    yield from _model(subject)
    if subject.launch.engine in JUDGED:
        yield from _rules(subject)
        yield from words(subject)
        yield from _context(subject)
        yield from _quantization(subject)


def _used(subject: Subject) -> Iterator[AuditFinding]:
    engine = subject.launch.engine
    if engine == "command":
        what = "the command starts no engine that is known here: the model is judged without it"
        yield _finding(subject, "command-not-known", Severity.WARNING, what, "the command", "Name it: --engine vllm.")
    elif engine not in JUDGED:
        what = f"the rules of {engine} are not known here: the model is judged without them"
        yield _finding(subject, "command-not-known", Severity.NOTE, what, "the command")
    file = subject.launch.value("config")
    if file is not None and engine in ("vllm", "sglang"):
        what = f"more flags stand in {quoted(file)}, which is not read here: the model is judged without them"
        yield _finding(subject, "command-file", Severity.WARNING, what, "--config", "Write them into the command.")


def _model(subject: Subject) -> Iterator[AuditFinding]:
    """The folder that the command serves, where it is another one than this."""
    served, here = subject.launch.model, subject.folder.path
    if served is None or _UNFILLED.search(served):
        return
    path = Path(served)
    try:
        other = path.is_dir() and not path.samefile(here)
    except (OSError, ValueError):
        return
    if other:
        what = f"the command serves {quoted(served)}, and this is the audit of another folder"
        remedy = "Audit the folder that is served, or serve this one."
        yield _finding(subject, "command-other-model", Severity.WARNING, what, quoted(str(here)), remedy)


def _rules(subject: Subject) -> Iterator[AuditFinding]:
    """By which release's rules it was judged, where those of the one that starts are not known."""
    engine, version = subject.launch.engine, subject.launch.version
    if version is None:
        return
    if engine == "transformers":
        nearest = max((one for one in RELEASES if numbers(one) <= numbers(version)), key=numbers, default=RELEASES[0])
        covered = f"{version}.".startswith(f"{nearest}.")
    else:
        nearest = native_release(engine)
        covered = numbers(version)[:2] == numbers(nearest)[:2] and (engine == "vllm" or version == nearest)
    if not covered:
        what = f"the rules of {engine} {version} are not known here: it is judged by those of {nearest}"
        yield _finding(subject, "release-not-covered", Severity.NOTE, what, f"{engine} {version}")


def _context(subject: Subject) -> Iterator[AuditFinding]:
    """A context above what the model was made for: engines refuse it, unless a variable allows it."""
    launch, config = subject.launch, subject.config
    asked, most, allows = launch.number(*_CONTEXT), config.get("max_position_embeddings"), _ALLOWS.get(launch.engine)
    if asked is None or type(most) is not int or most <= 0 or allows is None or launch.env.get(allows, "0") != "0":
        return
    if any(key in config for key in _LIMITS) or launch.value(*_OVERRIDES) is not None:
        return
    limit = max([most, *_stretched(config, most)])
    if asked > limit:
        given = flag(next(name for name in _CONTEXT if name in launch.arguments))
        what = f"{given} {asked} is above the {limit} positions of the model: {launch.engine} refuses to start"
        remedy = f"Lower it, scale the positions (rope_scaling), or allow it all the same: {allows}=1."
        yield _finding(subject, "command-context", Severity.ERROR, what, given, remedy)


def _stretched(config: Any, most: int) -> Iterator[float]:
    """How far the scaling of the positions may reach: the largest that any engine takes it for.

    Of Llama 3's scaling, max_position_embeddings is what it reaches already: neither engine multiplies it.
    """
    for key in ("rope_scaling", "rope_parameters"):
        told = config.get(key)
        parts = (told, *told.values()) if isinstance(told, dict) else ()
        for one in (part for part in parts if isinstance(part, dict)):
            factor, kinds = one.get("factor"), (one.get("rope_type"), one.get("type"))
            if isinstance(factor, int | float) and math.isfinite(factor) and "llama3" not in kinds:
                yield most * factor


def _quantization(subject: Subject) -> Iterator[AuditFinding]:
    """A format that weights have to be in already, where they are not."""
    asked = (subject.launch.value("quantization") or "").lower()
    has_own = any(subject.folder.has(name) for name in ("quantize_config.json", "quant_config.json"))
    if asked not in _STORED or has_own or subject.launch.engine not in _SOURCES:
        return
    method = (subject.quantization or {}).get("quant_method")
    families = [name for name in ("awq", "gptq") if name in asked]
    if subject.quantization is None:
        what = f"--quantization {asked} takes weights that are stored so, and config.json declares none that are"
    elif families and method in ("awq", "gptq") and method not in families:
        what = f"--quantization {asked} does not fit the weights, which are stored as {method}"
    else:
        return
    remedy = "Leave the flag out, or fetch weights in that format."
    yield _finding(subject, "command-quantization", Severity.ERROR, what, "--quantization", remedy)


def _finding(subject: Subject, id_: str, severity: Severity, what: str, where: str, remedy: str = "") -> AuditFinding:
    source = _SOURCES.get(subject.launch.engine, "")
    return AuditFinding(id_, severity, what, where, remedy, source, Component.USER_CONFIG)
