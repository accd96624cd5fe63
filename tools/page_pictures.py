"""Photographs report.html for the docs, so that no picture there shows what no page looks like.

    python tools/page_pictures.py NAME=REPORT.html[#PLACE][@WIDTHxHEIGHT][@dark] …

Each becomes docs/img/NAME.png: the page in Chromium, from PLACE on where one is given. Needs `.[dev]` from pip and
Chromium (`apt-get install chromium`).
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, ViewportSize, sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "img"
ASKED = re.compile(
    r"(?P<name>[\w-]+)=(?P<page>[^#@]+)(?P<place>#\w+)?(?:@(?P<width>\d+)x(?P<height>\d+))?(?P<dark>@dark)?"
)


def photograph(browser: Browser, asked: re.Match[str]) -> Path:
    """The picture that was asked for."""
    page, image = Path(asked["page"]).resolve(), IMAGES / f"{asked['name']}.png"
    if not page.is_file():
        sys.exit(f"{page}: no such page\n  Write it with `ruleout report CASE`.")
    size = ViewportSize(width=int(asked["width"] or 1000), height=int(asked["height"] or 1000))
    shown = browser.new_page(viewport=size, color_scheme="dark" if asked["dark"] else "light")
    shown.goto(page.as_uri() + (asked["place"] or ""))
    shown.screenshot(path=image)
    return image


def main(arguments: list[str]) -> None:
    """Photographs each page."""
    wanted = [ASKED.fullmatch(argument) for argument in arguments]
    if not arguments or None in wanted:
        sys.exit("usage: page_pictures.py NAME=REPORT.html[#PLACE][@WIDTHxHEIGHT][@dark] …\n  NAME: of the picture.")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("no Chromium here\n  On Debian: apt-get install chromium.")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for asked in filter(None, wanted):
            sys.stdout.write(f"{photograph(browser, asked)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
