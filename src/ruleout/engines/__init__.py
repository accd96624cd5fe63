"""The serving engines, as seen from outside: how levels get onto a command, and how one talks to what it starts.

An adapter knows one engine; `factors` holds the rules that are the same for all; `environments` makes an engine's own
virtual environment where ruleout brings the engine itself.
"""

from ruleout.engines.base import Answer, Engine, Launch, Request
from ruleout.engines.recognising import Recognised, recognise
from ruleout.engines.registry import ENGINES, engine_named

__all__ = ["ENGINES", "Answer", "Engine", "Launch", "Recognised", "Request", "engine_named", "recognise"]
