"""Carry the agent to a host and bring its events back."""
