"""The levels that an engine's settings have, from release to release, as the engine itself lists them.

One YAML file an engine. Each setting has its flag, the component that it decides on, and its levels by the release
whose list they are; a release without a list of its own has that of the one before it. `formerly` is its flag in
releases up to `renamed_after`; a `bare` flag has no value.
"""

from ruleout.engines.levels.reading import levels_of

__all__ = ["levels_of"]
