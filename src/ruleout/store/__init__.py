"""An investigation on disk."""

from ruleout.store.store import DATABASE, Event, Store

__all__ = ["DATABASE", "Event", "Store"]
