"""The environment of a run, from what its log said of it and from its settings."""

from __future__ import annotations

from dataclasses import fields

from ruleout.model.diagnosis import Environment
from ruleout.reading.book import Book

_FROM_SETTINGS = {
    "model": ("model_path", "model"),
    "quantization": ("quantization",),
    "dtype": ("dtype",),
    "tp": ("tp_size", "tensor_parallel_size", "tp"),
    "dp": ("dp_size", "data_parallel_size", "dp"),
    "pp": ("pp_size", "pipeline_parallel_size", "pp"),
    "ep": ("ep_size", "ep"),
}
_NUMBERS = ("gpus", "tp", "dp", "pp", "ep")


def environment_of(book: Book, *, excerpt: bool = False) -> Environment:
    """The facts that the contract asks for; what the log does not say stays None.

    Logs name architectures that are not theirs ("SM120 only"); in an excerpt, the one named is what it is about.
    """
    if excerpt and (named := book.environment.get("sm_named")):
        book.ran_on("sm", named)
    values: dict[str, str] = {}
    for name, settings in _FROM_SETTINGS.items():
        for setting in settings:
            entry = book.settings.get(setting)
            value = entry and (entry.resolved or entry.requested)
            if value and value not in ("None", "auto"):
                values.setdefault(name, value)
    known = {field.name for field in fields(Environment)}
    values = {**{name: value for name, value in book.environment.items() if name in known}, **values}
    numbers = {name: _number(values.pop(name, None)) for name in _NUMBERS}
    return Environment(**values, **numbers)  # type: ignore[arg-type]


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 7 else None
