"""Stops a TRL training whose batches have no gradient.

An episode with a fault has no reward and no gradient. Without this check a trainer whose inference engine or endpoint
is gone would go on and learn nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from simia_gym.rl.chat.play import Played

T = TypeVar("T")

TRIES = 3
"""Batches in a row without a group of two valid episodes, after which the training stops."""


class BatchCheck:
    """Checks the batches of one training."""

    def __init__(self) -> None:
        self._silent = 0
        self._faults: Counter[str] = Counter()

    def check(self, groups: Sequence[str], played: Sequence[Played], trainer: Any) -> None:
        """Check a batch; the episodes of all processes are gathered, since a group may be spread over them.

        Raises:
            RuntimeError: The policy could not be sampled in any episode; or several batches in a row had no group with
                two valid episodes.
        """
        messages = [one.fault.message if one.fault else "" for one in played]
        facts = everywhere(list(zip(groups, map(_fault, played), messages, strict=True)))
        faults = [fault for _, fault, _ in facts if fault is not None]
        if facts and len(faults) == len(facts) and all(fault.startswith("policy:") for fault in faults):
            raise RuntimeError(f"the policy failed in every episode of a batch ({_counts(faults)}): {facts[0][2]}")
        if not trainer.model.training:
            return
        valid = Counter(group for group, fault, _ in facts if fault is None)
        if any(count > 1 for count in valid.values()):
            self._silent = 0
            self._faults.clear()
            return
        self._silent += 1
        self._faults.update(faults)
        if self._silent == TRIES:
            what = f"{TRIES} batches in a row had no group with two valid episodes"
            raise RuntimeError(f"{what}. Their faults: {_counts(self._faults.elements())}.")


def everywhere(items: list[T]) -> list[T]:
    """The items of all processes of a training."""
    try:
        from accelerate.utils import gather_object
    except ModuleNotFoundError:  # training with several processes needs accelerate
        return items
    found: list[T] = gather_object(items)
    return found


def _fault(played: Played) -> str | None:
    """Role and kind of an episode's fault; ``None`` if it is valid."""
    if played.valid:
        return None
    return "episode:invalid" if played.fault is None else f"{played.fault.role}:{played.fault.kind}"


def _counts(faults: Iterable[str]) -> str:
    return ", ".join(f"{fault} {count:,}" for fault, count in Counter(faults).most_common())
