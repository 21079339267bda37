"""Compares recorded rollouts of the real benchmark, the left side, with the domain's world, which runs them again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from simia_gym.common.formatting import one_line
from simia_gym.domain.domain import Domain
from simia_gym.domain.recorded import RecordedRollout
from simia_gym.evaluation.comparing.compare import Walked, joined
from simia_gym.evaluation.comparing.comparison import Comparison, Divergence, Kind, Pair, Played
from simia_gym.evaluation.comparing.episodes import from_difference, same_text
from simia_gym.evaluation.comparing.rollouts import RECORDED, recorded_rollouts

_LONGEST = 100
_NO_CODE = "not applicable: recorded rollouts have no error codes"


def compare_recorded(
    env: str, domain: Domain, rollouts: Path, *, data: Path | None = None, seed: int = 0
) -> Comparison:
    """Run recorded rollouts of the real benchmark again and compare every answer and every reward.

    The recorded calls and messages are forced on the world, which goes on from its own state. Changes of the state are
    not compared, because rollouts do not hold them.

    Args:
        env: The environment's id.
        domain: The domain, with the benchmark's data.
        rollouts: The file.
        data: Where the domain's data came from.
        seed: Random seed of the bootstrap.

    Raises:
        InputError: The domain has no such rollouts, or the file cannot be read.
    """
    found = joined(
        _walked(recorded_rollouts(domain, rollouts, data=data)),
        seed=seed,
        env=env,
        domain_hash=domain.hash,
        labels=(f"{RECORDED} {rollouts.name}", "world"),
        sources=((str(rollouts),), ()),
        compared={"simulator": (RECORDED, "world")},
        mode="drift",
    )
    figures = dict(found.figures)
    figures["error_code"] = replace(figures["changes"], note=_NO_CODE)
    return replace(found, figures=figures)


def _walked(rollouts: Iterator[RecordedRollout]) -> Iterator[Walked]:
    members = Counter[str]()
    for one in rollouts:
        yield _pair(one, members[one.id])
        members[one.id] += 1


def _pair(one: RecordedRollout, member: int) -> Walked:
    calls, outcome = list[tuple[str, bool]](), 0
    first: Divergence | None = None
    for number, each in enumerate(one.calls, start=1):
        same, alike = same_text(each.expected, each.got), each.expected_error == each.got_error
        calls.append((each.call.name, same))
        outcome += alike
        if first is None and not (same and alike):
            kind: Kind = "observation" if alike else "outcome"
            first = _divergence(number, each.call.name, kind, each.expected, each.got)
    left, right = (_played(one, reward) for reward in (one.expected, one.reward))
    if first is None and left.valid and right.valid and left.reward != right.reward:
        first = _divergence(one.turns, "", "reward", str(left.reward), str(right.reward))
    pair = Pair(
        policy=RECORDED,
        task=one.id,
        kind="",
        member=member,
        left=left,
        right=right,
        calls=len(calls),
        observation=sum(same for _, same in calls),
        outcome=outcome,
        error_code=0,
        stateful=0,
        changes=0,
        missed=0,
        spurious=0,
        wrong=0,
        replies=0,
        same_replies=0,
        final_state=None,
        divergence=first,
    )
    return pair, calls


def _played(one: RecordedRollout, reward: float | None) -> Played:
    return Played(one.line, reward is not None, reward, reward == 1.0, one.turns, tokens=None, cost=None, repaired=0)


def _divergence(turn: int, who: str, kind: Kind, left: str, right: str) -> Divergence:
    one, other = (one_line(text, _LONGEST) for text in from_difference(left, right))
    return Divergence(turn, who, kind, one, other, -1, -1)
