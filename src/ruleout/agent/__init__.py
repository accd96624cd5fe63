"""Runs one trial where the hardware is. `agent.py` is a file that is run, never imported."""
