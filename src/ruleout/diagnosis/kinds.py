"""Which kind a warning is: the words of its sentence. All else differs from run to run, or from release to release.

Numbers, versions, paths and addresses do; so do identifiers, whether of a model, a kernel, a tensor or a variable: one
program line prints them all. What is left are plain words, and two runs of one kind agree in every one of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from ruleout.model import Diagnosis
from ruleout.reading.signature import normalise

LENGTH = 300
"""Characters of a warning that tell its kind."""
FEW = 3
"""Plain words that a sentence has at least; shorter texts are compared with their identifiers."""
_BAR = re.compile(r"^.*(?:it/s|s/it|\?s)[^\]]*\]\s*")
"""A progress bar, on whose line the warning was printed."""
_IDENTIFIER = re.compile(
    r"(['\"`])[^'\"`]{1,120}\1"  # in quotes
    r"|\S*[\w)\]][_./=@<>|:#\\]+[\w(\[]\S*"  # joined parts: a.b, a_b, a/b, a=b, a:b
    r"|[^\s,;()]*\d[^\s,;()]*"  # with a digit
    r"|\b\w*[a-z]\w*[A-Z]\w*"  # CamelCase
    r"|\b_*[A-Z]{2,}\w*\b"  # NAMES
    r"|<[^<>\s]{0,60}>"
)
_WORD = re.compile(r"[^\W\d_]+")
_FOLDERS = {"checkpoint", "hub", "local", "main", "model", "models", "weights"}
"""What people call the folder of a model: words that a warning uses for other things."""


def names_of(run: Diagnosis) -> frozenset[str]:
    """The words of a run's model, in small letters: a warning that names it is the same kind for another one."""
    ran = run.environment
    told = " ".join(text.rpartition("/")[2] for text in (ran.model, ran.model_type) if text)
    return frozenset(word for word in _WORD.findall(told.lower()) if len(word) > 3) - _FOLDERS


def sentence(text: str, names: Iterable[str] = ()) -> str:
    """The plain words of a warning, or all of it without numbers where it has too few."""
    text = _BAR.sub("", text.strip())
    told = _IDENTIFIER.sub(" ", text)
    without = frozenset(names)
    words = [word.lower() for word in _WORD.findall(told) if word.lower() not in without]
    return " ".join(words)[:LENGTH] if len(words) >= FEW else normalise(text[:LENGTH])


def kind(text: str, names: Iterable[str] = ()) -> str:
    """The kind of a warning, as twelve hexadecimal digits. `names` are words that do not count (`names_of`)."""
    return hashlib.sha256(sentence(text, names).encode()).hexdigest()[:12]
