"""Hypothesis builds values of the model: any that the types allow, small enough to read."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ruleout.model import (
    Assumption,
    AssumptionSource,
    AssumptionStatus,
    Budget,
    Carrier,
    Case,
    Component,
    Configuration,
    Confirmation,
    Cost,
    Elsewhere,
    Evidence,
    Exposure,
    Factor,
    Failure,
    FailureClass,
    Goal,
    Hypothesis,
    HypothesisStatus,
    Masked,
    Mechanism,
    Mode,
    NextStep,
    NotRuledOut,
    Outcome,
    OutcomeKind,
    Pivot,
    Probe,
    Ready,
    Recorded,
    Reference,
    RuledOut,
    ServedModel,
    Stage,
    Target,
    Trial,
    Verdict,
    VerdictStatus,
    Workaround,
)

# JSON holds no lone surrogates, so neither does any text of ours.
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
words = st.text("abcdefgh_-.0123", min_size=1, max_size=5)
number = st.floats(min_value=0, max_value=1e6, allow_nan=False)
probability = st.floats(min_value=0, max_value=1)
whole = st.integers(min_value=0, max_value=10**6)


def several(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A tuple of at most two: enough to see order and emptiness."""
    return st.lists(of, max_size=2).map(tuple)


def mapping(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A small mapping from words."""
    return st.dictionaries(words, of, max_size=2)


configurations = mapping(text).map(Configuration)
evidence = st.builds(Evidence, text, whole, text)
failures = st.builds(
    Failure,
    st.sampled_from(FailureClass),
    st.builds(Exposure, st.sampled_from(Stage), whole),
    text,
    text,
    text,
    st.booleans(),
    text,
    several(evidence),
    several(evidence),
)
outcomes = st.builds(
    Outcome,
    st.sampled_from(OutcomeKind),
    st.sampled_from(Stage),
    text,
    st.none() | failures,
    mapping(text),
    mapping(text),
)
trials = st.builds(Trial, whole, configurations, text, st.none() | outcomes, number, text)
factors = st.builds(
    Factor,
    words,
    st.sampled_from(Mechanism),
    text,
    several(text),
    text,
    mapping(st.none() | text),
    st.booleans(),
    st.booleans(),
)
recorded = st.builds(
    Recorded, text, whole, text, st.none() | words, several(text), several(number), several(st.none() | number)
)
references = st.builds(
    Reference,
    path=words,
    model=st.builds(ServedModel, words, st.none() | words, st.none() | words),
    answers=several(recorded),
    engine=words,
    versions=mapping(text),
    command=several(text),
)
probes = st.builds(
    Probe,
    kind=words,
    prompt=text,
    max_tokens=whole,
    repeat=whole,
    prompt_length=whole,
    requests=whole,
    concurrency=whole,
    streaming=st.booleans(),
    shared_prefix=st.none() | st.booleans(),
    logprobs=st.booleans(),
    method=words,
    path=text,
    body=st.none() | text,
    reference=st.none() | references,
    tolerance=number,
    optional=st.booleans(),
    timeout=number,
)
cases = st.builds(
    Case,
    name=words,
    engine=words,
    command=several(text),
    factors=several(factors),
    env=mapping(text),
    cwd=st.none() | text,
    host=st.just("local") | mapping(text),
    mode=st.sampled_from(Mode),
    ready=st.builds(Ready, number, st.none() | text, st.none() | text),
    stages=mapping(text),
    probes=several(probes),
    target=st.none() | st.builds(Target, st.sampled_from(FailureClass), st.none() | st.sampled_from(Stage)),
    good=several(configurations),
    never=several(configurations),
    keep=configurations,
    cost=st.builds(Cost, st.none() | number, mapping(mapping(number)), st.booleans()),
    budget=st.builds(Budget, st.none() | whole, st.none() | number, st.none() | whole),
    workers=whole,
    goal=st.sampled_from(Goal),
    timeout=number,
)
verdicts = st.builds(
    Verdict,
    status=st.sampled_from(VerdictStatus),
    probability=probability,
    causes=several(several(st.builds(Carrier, words, several(words)))),
    confirmed_by=st.builds(Confirmation, several(whole), several(whole), several(whole), st.none() | whole),
    workarounds=several(st.builds(Workaround, configurations, whole)),
    failure=st.none() | failures,
    manifest_rate=probability,
    elsewhere=st.builds(Elsewhere, probability, st.sampled_from(Component), text, several(evidence)),
    trials=several(trials),
    hypotheses=several(st.builds(Hypothesis, text, probability, st.sampled_from(HypothesisStatus), several(whole))),
    ruled_out=several(st.builds(RuledOut, words, several(whole))),
    not_ruled_out=several(st.builds(NotRuledOut, words, several(words), several(words))),
    never_varied=several(text),
    masked=several(st.builds(Masked, configurations, text, whole)),
    assumptions=several(
        st.builds(Assumption, text, st.sampled_from(AssumptionSource), text, st.sampled_from(AssumptionStatus))
    ),
    pivots=several(st.builds(Pivot, whole, text, text, text)),
    next=several(st.builds(NextStep, configurations, text, number)),
    why=text,
)
