"""What is right to say of a planted fault: the module, the operation or the parameter, the phase, the step, the rank.

The module is the innermost one whose inputs were finite and whose output was not. The operation is the first that made
non-finite values which reach that output; where memory that nobody wrote is read, its allocation or the first
operation that reads it. Where a parameter or buffer was bad before anything ran, the parameter is the truth instead.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

MATMUL = ("mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "_grouped_mm", "grouped_mm", "grouped_mm_fallback")
EMPTY = ("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted")
KEPT = (
    *EMPTY,
    "_to_copy",
    "slice",
    "clone",
    "mul",
    "expand",
    "index_select",
    "bmm",
    "matmul",
    "_scaled_dot_product_*",
)
"""For memory that outlives a call: its allocation, or the first operation that reads it."""


@dataclass(frozen=True)
class Truth:
    """What is right to say of a case.

    Attributes:
        module: its path from the root.
        operations: names without namespace, overload and the underscore of in-place variants; `*` ends a prefix.
        parameter: of that module, when it was bad before anything ran; the operation then says nothing.
        step: of the request: 0 is the prefill, 1 the first decode step.
        expert: of that module, which a few tokens must reach.
    """

    module: str
    operations: tuple[str, ...] = ()
    parameter: str | None = None
    phase: str = "prefill"
    step: int = 0
    rank: int = 0
    expert: int | None = None

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)
