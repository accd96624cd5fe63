"""A bug report for the people who can mend it, in the form that they ask for."""

from __future__ import annotations

from ruleout.model.inert import shortened
from ruleout.model.issue import IssueMaterial
from ruleout.report import words
from ruleout.report.issue.markdown import code, one_line
from ruleout.report.issue.templates import TEMPLATES

LONGEST_TITLE = 120
LONGEST = 65_536
"""Characters that GitHub takes for an issue."""

__all__ = ["LONGEST", "TEMPLATES", "body", "title", "written"]


def title(project: str, material: IssueMaterial) -> str:
    """The title: what fails, where, and in what."""
    failure = material.failure
    what = shortened(words.failure(failure), LONGEST_TITLE)
    where = ", ".join(filter(None, (failure.exposure.stage.inside.strip(), one_line(material.engine))))
    return f"{TEMPLATES[project].title}{what}{f' ({where})' if where else ''}"


def body(project: str, material: IssueMaterial) -> str:
    """The report as Markdown, under the headings of that project's template."""
    sections = TEMPLATES[project].sections
    return "\n\n".join(f"### {heading}\n\n{made(material)}" for heading, made in sections.items()) + "\n"


def written(heading: str, text: str) -> str:
    """A report as a file: the title stands first, to be copied by itself."""
    return f"Title: {code(heading)}\n\n{text}"
