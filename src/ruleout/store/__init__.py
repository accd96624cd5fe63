"""An investigation on disk."""

from ruleout.store.store import DATABASE, Event, Store, holder

__all__ = ["DATABASE", "Event", "Store", "holder"]
