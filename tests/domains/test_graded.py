"""The ladder of graded policies: an expert that makes mistakes of one way, at a rate."""

from __future__ import annotations

from pathlib import Path

import pytest

from simia_gym.errors import InputError
from simia_gym.policies.spoiled import WAYS
from simia_gym.record.records import Record

from ..rollout.conftest import Roll
from .table import World

PAGE = Path(__file__).parents[2] / "docs" / "compare.md"
NO_WAY = "no-such-way"


def ways_of(world: World) -> list[str]:
    """The ways that a domain takes, as the refusal of another one names them."""
    with pytest.raises(InputError, match=f"'expert' has no mistakes of the way {NO_WAY!r}") as caught:
        world.suite(simulator="world").load_policy(f"expert:0.2:{NO_WAY}")
    return caught.value.fix.partition("It takes: ")[2].rstrip(".").split(", ")


@pytest.mark.sampled
def test_each_way_earns_less_than_the_expert_and_none_at_the_rate_zero(registered: World, tmp_path: Path) -> None:
    suite = registered.suite(simulator="world", split="test")
    thirds = [tuple(range(len(suite.tasks)))[begin::3] for begin in (0, 1, 2)]

    def played(spec: str, chosen: tuple[int, ...]) -> list[Record]:
        roll = Roll(suite, tmp_path / "r.jsonl")
        roll(suite.load_policy(spec), chosen=chosen)
        found = sorted(roll.records, key=lambda record: record.task)
        roll.path.unlink()
        return found

    def lines(spec: str) -> list[bytes]:
        return [record.to_line() for record in played(spec, thirds[0][:2])]

    def earned(spec: str, chosen: tuple[int, ...]) -> float:
        found = [record.reward for record in played(spec, chosen)]
        assert None not in found
        return sum(filter(None, found))

    ways = ways_of(registered)
    assert {"wrong-argument", "stops-early"} < set(ways) <= set(WAYS)
    best, plain = [earned("expert", third) for third in thirds], lines("expert")
    for way in ways:  # who never refuses is seen only where a refusal is due, which may be in the last third alone
        assert any(earned(f"expert:1:{way}", third) < most for third, most in zip(thirds, best, strict=True)), way
        assert lines(f"expert:0:{way}") == plain
    assert lines("expert:0") == plain
    for way in (ways[0], ways[-1]):
        assert lines(f"expert:0.5:{way}") == lines(f"expert:0.5:{way}")
    for way in sorted(WAYS.keys() - set(ways)):
        with pytest.raises(InputError, match=f"the way {way!r} means nothing for 'expert' here"):
            suite.load_policy(f"expert:0.5:{way}")


def test_the_page_says_which_ways_a_domain_takes(registered: World) -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    taken = {way: next(row for row in rows if row.startswith(f"| `{way}` | {text}")) for way, text in WAYS.items()}
    name = registered.folder.name
    assert [way for way, row in taken.items() if f" {name}" in row.split("|")[3]] == [
        way for way in WAYS if way in ways_of(registered)
    ]
