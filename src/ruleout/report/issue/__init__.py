"""A bug report for the people who can mend it, in the form that they ask for."""

from __future__ import annotations

from ruleout.model.issue import IssueMaterial
from ruleout.report import words
from ruleout.report.issue.markdown import code, one_line
from ruleout.report.issue.templates import TEMPLATES

LONGEST_TITLE = 120
LONGEST = 65_536
"""Characters that GitHub takes for an issue."""

__all__ = ["LONGEST", "TEMPLATES", "body", "title", "written"]


def title(project: str, material: IssueMaterial) -> str:
    """The title: what fails, and where."""
    failure = material.verdict.failure
    template = TEMPLATES[project]
    if failure is None:
        return f"{template.title}{one_line(material.case.name)}: not reproduced"
    what = one_line(words.failure(failure))
    short = what if len(what) <= LONGEST_TITLE else what[: LONGEST_TITLE - 1] + "…"
    version = next((one.facts.get(material.case.engine, "") for one in material.verdict.installations), "")
    where = ", ".join(
        filter(None, (failure.exposure.stage.inside.strip(), one_line(f"{material.case.engine} {version}")))
    )
    return f"{template.title}{short}{where and f' ({where})'}"


def body(project: str, material: IssueMaterial) -> str:
    """The report as Markdown, under the headings of that project's template."""
    sections = TEMPLATES[project].sections
    return "\n\n".join(f"### {heading}\n\n{made(material)}" for heading, made in sections.items()) + "\n"


def written(heading: str, text: str) -> str:
    """A report as a file: the title stands first, to be copied by itself."""
    return f"Title: {code(heading)}\n\n{text}"
