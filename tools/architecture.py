"""Writes the table of modules in docs/architecture.md from the modules' own docstrings; `--check` only compares.

The page cannot drift from the code: a test runs the check.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
SOURCE = ROOT / "src" / "ruleout"
MARK = "## Every module in a line\n"
PACKAGES = (
    "model",
    "reading",
    "diagnosis",
    "engines",
    "agent",
    "runners",
    "reasoning",
    "store",
    "investigation",
    "report",
    "lab",
    "interfaces",
)


def first_paragraph(path: Path) -> str:
    """The insight of a module: the first paragraph of its docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def page() -> str:
    """The whole page, its head as it is."""
    head = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    parts = [head + MARK]
    for package in PACKAGES:
        folder = SOURCE / package
        parts.append(f"### {package}\n\n{first_paragraph(folder / '__init__.py')}\n")
        rows = [
            f"| `{path.relative_to(SOURCE)}` | {first_paragraph(path)} |"
            for path in sorted(folder.rglob("*.py"))
            if path.name != "__init__.py"
        ]
        parts.append("\n".join(["| module | insight |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def main() -> int:
    """Write the page, or with --check say whether it is current."""
    text = page()
    if "--check" in sys.argv:
        return 0 if PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
