"""An agent that hedges, hides or lies gets nothing for it, and a harmless turn of phrase costs nothing."""

from __future__ import annotations

from functools import lru_cache

import pytest

from tests.retail.hedges import CHEATS, TWINS, Hedge
from tests.retail.play import Play, generated


@lru_cache
def succeeded(hedge: Hedge) -> tuple[int, int]:
    """Of the tasks in which a message was bent: how many succeeded, and how many there were."""
    player, outcomes = Play(hedge), []
    for seed, task in enumerate(generated(60)):
        verdict = player(task, seed)
        assert verdict.valid
        if hedge.bent:
            outcomes.append(verdict.success)
    return sum(outcomes), len(outcomes)


@pytest.mark.parametrize("name", CHEATS)
def test_a_hedge_earns_nothing(name: str) -> None:
    good, n = succeeded(CHEATS[name])
    assert n >= 20
    assert good <= 0.05 * n


@pytest.mark.parametrize("name", TWINS)
def test_its_harmless_twin_costs_nothing(name: str) -> None:
    good, n = succeeded(TWINS[name])
    assert n >= 20
    assert good >= 0.97 * n
