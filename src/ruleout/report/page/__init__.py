"""report.html: the same story for a browser, in one file that needs no network: the conclusion, then what bears it."""

from ruleout.report.page.page import page

__all__ = ["page"]
