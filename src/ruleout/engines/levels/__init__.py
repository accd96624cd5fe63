"""The levels that an engine's settings have, from release to release, as the engine itself lists them.

One YAML file an engine. Each setting has its flag, the component that it decides on, and its levels by the release
whose list they are; a release without a list of its own has that of the one before it. `formerly` is its flag in
releases up to `renamed_after`; a `bare` flag has no value; `also` are other spellings.

What `ruleout.engines.catalogue` makes of it: a setting matters only where all its `needs` hold (gpu, cpu, ranks, moe,
mla, sparse, quantized, fp4, fp8); `try` gives the levels worth a trial, by what holds, the first that fits (`{}`: none,
unless the command gives the flag); `switched_off_by` is the flag against what is on by default; what is `trial_only`
changes something that no log calls by that name. `default` is what the engine does without the flag, where that is a
level of its own; a name in capitals is a variable's.
"""

from ruleout.engines.levels.reading import levels_of

__all__ = ["levels_of"]
