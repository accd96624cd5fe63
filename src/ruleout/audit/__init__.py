"""What will fail, what will silently be wrong and what fits, from a model's folder, a command and a host's description.

Nothing is launched, no library of the engines is imported, and nothing in the folder is ever executed.
"""

from ruleout.audit.audit import audit
from ruleout.audit.folder import ModelFolder, Unreadable

__all__ = ["ModelFolder", "Unreadable", "audit"]
