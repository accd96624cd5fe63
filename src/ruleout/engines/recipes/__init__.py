"""What an engine's environment is made of: one YAML file a release, down to the last pin.

`install` lists what pip is given, a group at a time; `fixups` are files written and lines switched off afterwards, each
with why that is needed; `proof` lists commands that have to work before the environment counts as made. Groups with
`--no-deps` are the whole closure that was measured, so that nothing is resolved anew when a package is released.
"""

from ruleout.engines.recipes.reading import recipe, recipes
from ruleout.engines.recipes.recipe import FixUp, Proof, Recipe

__all__ = ["FixUp", "Proof", "Recipe", "recipe", "recipes"]
