"""transformers: `transformers serve`, and scripts. It says ready before it loads the model, which each request may do.

The configuration it prints (`Model config X {`, one field a line) carries the running version of transformers, not the
one that wrote the checkpoint: `to_dict` sets it.
"""

from __future__ import annotations

from ruleout.model import Stage
from ruleout.reading.book import Book
from ruleout.reading.formats.base import Format, Says, Taken, environment, resolved

_FIELDS = ("model_type", "transformers_version", "torch_dtype", "dtype", "quant_method", "architectures")


def _field(book: Book, groups: Taken, text: str, line: int) -> None:
    """A field of a printed configuration; those of a nested one are indented deeper."""
    name, value = groups["field"], groups["value"]
    if name == "transformers_version":
        book.ran_on("transformers", value)
        book.version.setdefault("transformers", value)
    elif name in ("torch_dtype", "dtype"):
        if value != "auto":
            book.ran_on("dtype", value)
    else:
        book.ran_on("quantization" if name == "quant_method" else name, value)


def _batched(book: Book, groups: Taken, text: str, line: int) -> None:
    """What an exception passes through is on, in releases too that do not say so with each request."""
    book.resolve("continuous_batching", "True", line)


TRANSFORMERS = Format(
    "transformers",
    tells=(
        r"^\[transformers\] (?:Loading |\[Request)",
        r"^Model config \w+ \{",
        r"Loading [^ ]+@[\w.]+$|Loaded model [^ ]+@",
        r"Materializing param=",
        r"transformers (?:serve|chat)\b|Error in generation loop",
        r"site-packages/transformers/",
    ),
    stages=(
        (Stage.MODEL_CONFIG, r"^loading configuration file "),
        (
            Stage.WEIGHT_LOAD,
            r"^loading weights file |^(?:\[transformers\] )?Loading /|Loading (?:weights|checkpoint shards): +0%",
        ),
        (Stage.READY, r"Application startup complete"),
        (Stage.PREFILL, r"\[Request received\]|^Loaded model "),
        (Stage.DECODE, r"\"POST /v1/[\w/]+ HTTP/[\d.]+\" 200"),
        (Stage.SHUTDOWN, r"^INFO: +Shutting down"),
    ),
    says=(
        Says(
            r"^  ?(?: )?\"(?P<field>model_type|transformers_version|torch_dtype|dtype"
            r"|quant_method)\": \"(?P<value>[^\"]+)\"",
            _field,
        ),
        Says(r"File \".*/generation/continuous_batching/\w+\.py\"", _batched),
        environment(r"^(?:\[transformers\] )?Loading (?P<model>/[^@\s]+|[\w.\-]+/[\w.\-]+)(?:@[\w.]+)?$"),
        resolved(r"Will use dtype=torch\.(?P<dtype>\w+) as defined in"),
        resolved(r"\[Request received\] Model: .*, CB: (?P<continuous_batching>\w+)", by_engine=False),
    ),
)
