"""`python -m ruleout`."""

from ruleout.interfaces.cli import main

main()
