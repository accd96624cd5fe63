"""Signs that were replaced on the way of a command are named with their place and with what to write."""

from __future__ import annotations

import pytest

from ruleout.investigation.bare import bare_case
from ruleout.investigation.pasted import refuse
from ruleout.model import UsageError


@pytest.mark.parametrize(
    ("words", "what", "remedy"),
    [
        (["vllm", "\u2013dtype"], "word 2 of the command, \u2013dtype, begins with U+2013", "Write --dtype"),
        (["\u2014tp", "8"], "U+2014", "Write --tp"),
        (["-\u2010tp=8"], "U+2010", "Write --tp=8"),
        (["\u2212m", "x"], "U+2212", "Write -m"),
        (["\u2018{\u201cmode\u201d:", "0}\u2019"], "typographic quote (U+2018)", "Write '"),
        (["{\u201cmode\u201d: 0}"], "typographic quote (U+201C)", 'or "'),
        (["--x=\u201ca\u201d"], "typographic quote (U+201C)", 'or "'),
        (["m\u00a0--tp", "8"], "no shell splits at (U+00A0)", "ordinary blank"),
        (["\u200b--tp"], "U+200B", "ordinary blank"),
        (["m\r"], "carriage return", "dos2unix"),
        ([" --dtype"], "begins with a blank", "end of a line"),
        ([" "], "begins with a blank", "end of a line"),
    ],
)  # fmt: skip
def test_a_sign_that_was_replaced_is_named_with_what_to_write(words: list[str], what: str, remedy: str) -> None:
    with pytest.raises(UsageError) as error:
        refuse(words)
    assert what in error.value.what
    assert remedy in error.value.remedy


@pytest.mark.parametrize(
    "word",
    [
        "/models/caf\u00e9\u2014x",
        "it\u2019s",
        "say \u201cyes\u201d",
        "-",
        "--",
        "",
        "\u2013",
        "{{ a }}",
        "\u2014 a dash",
    ],
)
def test_what_people_write_in_other_places_stays(word: str) -> None:
    refuse(["vllm", "serve", word])


def test_a_script_is_looked_into() -> None:
    with pytest.raises(UsageError, match=r"begins with U\+2013"):
        bare_case(["bash", "-c", "vllm serve m \u2013tp 8"])
