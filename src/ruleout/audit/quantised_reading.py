"""What a configuration declares about quantisation, as one question: how is this layer stored?

Four writers have four spellings of the same: a format, and the layers that are left out of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ruleout.audit import quantised
from ruleout.audit.folder import quoted
from ruleout.audit.quantised import ONE, Scheme, Shape, up
from ruleout.audit.quantised_patterns import Patterns


class NotKnown(Exception):  # noqa: N818 - it is a reason not to check
    """A format that is not described here. The argument names it."""


class Group:
    """Layers that share a scheme. Targets are patterns; the class name `Linear` is every linear layer."""

    def __init__(self, scheme: Scheme, targets: tuple[str, ...] = ("Linear",)) -> None:
        self.scheme = scheme
        self._all = "Linear" in targets
        self._targets = Patterns(targets)

    def has(self, module: str) -> bool:
        """Whether the layer of that name is one of them."""
        return self._all or self._targets.match(module)


@dataclass(frozen=True)
class Quantisation:
    """How the layers of a checkpoint are said to be stored.

    Attributes:
        method: as declared.
        groups: the first that matches a layer is its own.
        left_out: which layers are not quantised.
        key: where the exclusions stand.
    """

    method: str
    groups: tuple[Group, ...]
    left_out: Patterns
    key: str = "ignore"

    def scheme(self, module: str) -> Scheme | None:
        """How a linear layer is stored; None where it is not quantised."""
        if self.left_out.match(module):
            return None
        return next((group.scheme for group in self.groups if group.has(module)), None)


def declared(config: Mapping[str, Any] | None) -> Quantisation | None:
    """What a `quantization_config` declares; None where there is none. Raises NotKnown."""
    if config is None:
        return None
    method = config.get("quant_method")
    method = method.lower() if isinstance(method, str) else quoted(method)
    if method == "compressed-tensors":
        return _compressed(config)
    if method.startswith("modelopt"):
        return _modelopt(config, method)
    if method == "fp8":
        return _fp8(config)
    if method in ("awq", "gptq"):
        return _packed(config, method)
    raise NotKnown(quoted(method))


def _texts(config: Mapping[str, Any], *keys: str) -> tuple[str, ...]:
    for key in keys:
        value = config.get(key)
        if isinstance(value, list):
            return tuple(text for text in value if isinstance(text, str))
    return ()


def _number(config: Mapping[str, Any], key: str, default: int) -> int:
    value = config.get(key, default)
    if type(value) is not int or not -1 <= value <= 1 << 20 or value == 0:
        raise NotKnown(f"{key} {quoted(value)}")
    return value


def _modelopt(config: Mapping[str, Any], method: str) -> Quantisation:
    algorithm = quoted(config.get("quant_algo") or ("NVFP4" if "fp4" in method else "FP8")).upper()
    schemes = {
        "NVFP4": quantised.nvfp4_modelopt(inputs=True),
        "W4A16_NVFP4": quantised.nvfp4_modelopt(inputs=False),
        "FP8": quantised.fp8_modelopt(),
    }
    if algorithm not in schemes:
        raise NotKnown(f"modelopt {quoted(algorithm)}")
    key = "exclude_modules" if "exclude_modules" in config else "ignore"
    return Quantisation(method, (Group(schemes[algorithm]),), Patterns(_texts(config, key)), key)


def _fp8(config: Mapping[str, Any]) -> Quantisation:
    block = config.get("weight_block_size")
    if block is None:
        scheme = quantised.fp8_tensor()
    elif isinstance(block, list) and len(block) == 2 and all(type(n) is int and 0 < n < 1 << 16 for n in block):
        scheme = quantised.fp8_blocks(*block, ue8m0=config.get("scale_fmt") == "ue8m0")
    else:
        raise NotKnown(f"weight_block_size {quoted(block)}")
    key = next((key for key in ("modules_to_not_convert", "ignored_layers") if key in config), "ignored_layers")
    return Quantisation("fp8", (Group(scheme),), Patterns(_texts(config, key)), key)


def _packed(config: Mapping[str, Any], method: str) -> Quantisation:
    bits, group = _number(config, "bits", 4), _number(config, "group_size", 128)
    if bits not in (2, 4, 8) or (
        method == "awq" and (group < 0 or quoted(config.get("version", "gemm")).lower() != "gemm")
    ):
        raise NotKnown(f"{method} with {bits} bits, groups of {group}, {quoted(config.get('version', 'gemm'))}")
    if config.get("dynamic"):
        raise NotKnown(f"{method} with rules for each layer")
    scheme = quantised.awq(bits, group) if method == "awq" else quantised.gptq(bits, group)
    key = "modules_to_not_convert"
    return Quantisation(method, (Group(scheme),), Patterns(_texts(config, key), inside=True), key)


def _compressed(config: Mapping[str, Any]) -> Quantisation:
    groups = config.get("config_groups")
    if not isinstance(groups, dict) or not groups:
        raise NotKnown("compressed-tensors without config_groups")
    found = tuple(_group(group, config) for group in groups.values())
    return Quantisation("compressed-tensors", found, Patterns(_texts(config, "ignore")))


def _group(group: Any, config: Mapping[str, Any]) -> Group:
    weights = group.get("weights") if isinstance(group, dict) else None
    if not isinstance(weights, dict):
        raise NotKnown("a group of compressed-tensors without weights")
    inputs = group.get("input_activations")
    kept = isinstance(inputs, dict) and inputs.get("dynamic") is not True
    form = group.get("format") or config.get("format")
    if not isinstance(form, str):
        raise NotKnown(f"compressed-tensors {quoted(form)}")
    if form.startswith("nvfp4"):
        scheme = quantised.nvfp4_packed(inputs=kept)
    elif form.startswith("mxfp4"):
        scheme = quantised.mxfp4_packed()
    elif form == "pack-quantized":
        bits = _number(weights, "num_bits", 4)
        if bits not in (4, 8):
            raise NotKnown(f"{form} with {bits} bits")
        size = _number(weights, "group_size", 128) if weights.get("strategy") == "group" else None
        scheme = quantised.packed_integers(bits, size, symmetric=weights.get("symmetric") is not False)
    elif form in ("float-quantized", "int-quantized", "naive-quantized"):
        scheme = _eight(weights, kept=kept)
    else:
        raise NotKnown(f"compressed-tensors {quoted(form)}")
    return Group(scheme, _texts(group, "targets") or ("Linear",))


def _eight(weights: Mapping[str, Any], *, kept: bool) -> Scheme:
    if weights.get("num_bits") != 8:
        raise NotKnown(f"compressed-tensors with {quoted(weights.get('num_bits'))} bits unpacked")
    floats = weights.get("type") == "float"
    strategy, block = weights.get("strategy"), weights.get("block_structure")
    if (
        strategy == "block"
        and isinstance(block, list)
        and len(block) == 2
        and all(type(n) is int and n > 0 for n in block)
    ):
        rows, columns = block

        def scales(out: int, inner: int) -> tuple[Shape, ...]:
            return ((up(out, rows), up(inner, columns)),)

    elif strategy == "channel":

        def scales(out: int, inner: int) -> tuple[Shape, ...]:
            return ((out, 1), (out,))

    elif strategy == "tensor":

        def scales(out: int, inner: int) -> tuple[Shape, ...]:
            return ONE

    elif strategy == "group":
        size = _number(weights, "group_size", 128)

        def scales(out: int, inner: int) -> tuple[Shape, ...]:
            return ((out, up(inner, size)),)

    else:
        raise NotKnown(f"compressed-tensors by {quoted(strategy)}")
    return quantised.eight_bits("FP8" if floats else "INT8", "F8_E4M3" if floats else "I8", scales, inputs=kept)
