"""What the documentation says is what the code is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_table_of_modules_is_what_the_modules_say() -> None:
    result = subprocess.run([sys.executable, ROOT / "tools" / "architecture.py", "--check"], check=False)
    assert result.returncode == 0, "run tools/architecture.py"


def test_every_link_between_documents_leads_to_a_file() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_verb_that_the_readme_shows_exists() -> None:
    from ruleout.interfaces.cli.verbs import VERBS

    verbs = set(re.findall(r"\bruleout ([a-z]+)\b", (ROOT / "README.md").read_text(encoding="utf-8")))
    shown = {v for v in verbs if f"$ ruleout {v}" in (ROOT / "README.md").read_text(encoding="utf-8")}
    assert shown
    assert shown <= set(VERBS)
