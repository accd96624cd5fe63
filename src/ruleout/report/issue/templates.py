"""The headings of each project's own template for bug reports, in its order: what is under none of them is not read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ruleout.model.issue import IssueMaterial
from ruleout.report.issue import parts

Section = Callable[[IssueMaterial], str]


@dataclass(frozen=True, slots=True)
class Template:
    """A project's template.

    Attributes:
        address: where it stands.
        title: what a title begins with.
        sections: its headings in order, each with what goes there.
    """

    address: str
    title: str
    sections: Mapping[str, Section]


def _joined(*made: Section) -> Section:
    return lambda material: "\n\n".join(text for text in (one(material) for one in made) if text)


def _environment(script: str) -> Section:
    return lambda material: parts.environment(material, script)


def _yours(*what: str) -> Section:
    """Boxes that a person has to tick: nothing here has looked for other issues, or tried the newest release."""
    return lambda material: "\n".join(f"- [ ] {one}" for one in what)


_SEARCHED = "I have looked for this among the existing issues (the report was written by a tool, which has not)."
_LATEST = "I have tried it on the newest release (the versions that were tried are under the environment)."
_STORY = _joined(parts.summary, parts.first_error, parts.ruled_out, parts.known)

TEMPLATES: Mapping[str, Template] = {
    "sglang": Template(
        "https://github.com/sgl-project/sglang/blob/main/.github/ISSUE_TEMPLATE/1-bug-report.yml",
        "[Bug] ",
        {
            "Checklist": _yours(_SEARCHED, _LATEST),
            "Describe the bug": _STORY,
            "Reproduction": _joined(parts.reproduction, parts.neighbour),
            "Environment": _environment("python -m sglang.check_env"),
        },
    ),
    "vllm": Template(
        "https://github.com/vllm-project/vllm/blob/main/.github/ISSUE_TEMPLATE/400-bug-report.yml",
        "[Bug]: ",
        {
            "Your current environment": _environment("python -m vllm.collect_env"),
            "🐛 Describe the bug": _joined(
                parts.summary, parts.reproduction, parts.neighbour, parts.first_error, parts.ruled_out, parts.known
            ),
            "Before submitting a new issue...": _yours(_SEARCHED),
        },
    ),
    "transformers": Template(
        "https://github.com/huggingface/transformers/blob/main/.github/ISSUE_TEMPLATE/bug-report.yml",
        "",
        {
            "System Info": _environment("transformers env"),
            "Who can help?": lambda material: "<!-- Left to you: fewer than three people who maintain this part. -->",
            "Information": _yours("a script of the examples", "a script or command of my own"),
            "Tasks": _yours("a task that the examples cover", "a task of my own: serving"),
            "Reproduction": _joined(
                parts.summary,
                parts.reproduction,
                parts.neighbour,
                parts.first_error,
                parts.ruled_out,
                parts.known,
            ),
            "Expected behavior": parts.expected,
        },
    ),
    "flashinfer": Template(
        "https://github.com/flashinfer-ai/flashinfer/blob/main/.github/ISSUE_TEMPLATE/bug_report.yml",
        "",
        {
            "Before submitting": _yours(_SEARCHED),
            "Environment": _environment("python -m flashinfer.collect_env"),
            "Bug description": _joined(parts.summary, parts.expected),
            "Minimal reproduction": _joined(parts.reproduction, parts.neighbour),
            "Additional context": _joined(parts.first_error, parts.ruled_out, parts.known),
        },
    ),
}
"""By name, as read in 2026."""
