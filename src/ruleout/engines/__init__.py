"""The serving engines, as seen from outside: how levels get onto a command, and how one talks to what it starts.

An adapter knows one engine; `factors` holds the rules that are the same for all; `environments` makes an engine's own
virtual environment where ruleout brings the engine itself. The adapters are imported when one is asked for: most
commands only want to know where the cache folder is.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ruleout.engines.base import Answer, Engine, Launch, Request
    from ruleout.engines.recognising import Recognised, recognise
    from ruleout.engines.registry import ENGINES, engine_named

__all__ = ["ENGINES", "Answer", "Engine", "Launch", "Recognised", "Request", "engine_named", "recognise"]

_ROOMS = {"base": ("Answer", "Engine", "Launch", "Request"), "recognising": ("Recognised", "recognise")}


def __getattr__(name: str) -> object:
    """What this package offers, from the module that has it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = next((room for room, names in _ROOMS.items() if name in names), "registry")
    return getattr(import_module(f"{__name__}.{room}"), name)
