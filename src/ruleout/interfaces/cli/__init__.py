"""The command line: one file per verb. The only place that ends the process, and the only one that prints."""

from ruleout.interfaces.cli.main import main

__all__ = ["main"]
