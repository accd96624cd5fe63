"""An investigation on disk."""

from ruleout.store.store import DAMAGED, DATABASE, Event, Store, holder

__all__ = ["DAMAGED", "DATABASE", "Event", "Store", "holder"]
