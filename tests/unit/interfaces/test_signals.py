"""A Ctrl-C, a SIGTERM and a closed terminal are heard as one; who cleans up is not cut off by the next."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from ruleout.interfaces.cli import signals
from ruleout.interfaces.cli.signals import HEARD, hear, hear_no_more


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in HEARD}
    for number in HEARD:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("patiently", [True, False])
@pytest.mark.parametrize("number", HEARD)
def test_each_of_them_interrupts(number: signal.Signals, patiently: bool) -> None:
    hear(patiently=patiently)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_of_many_in_a_moment_the_first_is_heard_and_after_a_while_again(monkeypatch: pytest.MonkeyPatch) -> None:
    hear(patiently=True)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    for number in HEARD:
        signal.raise_signal(number)
    monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + signals.PATIENCE_S)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize("patiently", [True, False])
def test_what_whoever_started_us_had_ignored_stays_ignored(patiently: bool) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    hear(patiently=patiently)
    signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_at_the_end_none_is_heard() -> None:
    hear(patiently=False)
    hear_no_more()
    for number in HEARD:
        signal.raise_signal(number)
