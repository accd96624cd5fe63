"""Sets of causes are told apart by a number that does not depend on how they are written down."""

from __future__ import annotations

import numpy as np

from ruleout.reasoning.hypotheses import CAUSES, FACTORS, set_key


def written(*causes: tuple[int, ...]) -> np.ndarray:
    """A set of causes in its places: literals of each cause, -1 where none."""
    places = np.full((CAUSES, FACTORS), -1, dtype=np.int64)
    for place, cause in zip(places, causes, strict=False):
        place[: len(cause)] = cause
    return places


def test_the_order_of_causes_and_of_literals_does_not_matter() -> None:
    alike = [written((3, 1), (7,)), written((7,), (1, 3)), written((1, 3), (7,))]
    assert len(set(set_key(np.stack(alike)).tolist())) == 1


def test_it_is_the_same_beside_whatever_else() -> None:
    one = written((3, 1), (7,))
    assert set_key(np.stack([one, written((900, 4))]))[0] == set_key(np.stack([one]))[0]


def test_what_belongs_to_which_cause_matters() -> None:
    sets = [written((1, 3), (7,)), written((1, 7), (3,)), written((1,), (3,), (7,)), written((1, 3, 7))]
    sets += [written((1, 3)), written((1,)), written(), written((1,), (1,))]
    assert len(set(set_key(np.stack(sets)).tolist())) == len(sets)


def test_two_of_many_hardly_ever_share_one() -> None:
    generator = np.random.default_rng(0)
    many = -np.sort(-generator.integers(0, 400, (50_000, CAUSES, FACTORS)), axis=2)
    distinct = {tuple(sorted(tuple(cause) for cause in one)) for one in many.tolist()}
    assert len(set(set_key(many).tolist())) == len(distinct)


def test_nothing_has_no_number() -> None:
    assert len(set_key(np.zeros((0, CAUSES, FACTORS), dtype=np.int64))) == 0
