"""Reward functions for TRL: the rewards of episodes, and metrics of a batch.

If a model call fails, the episode has no reward. For TRL ``None`` means that a reward function does not apply; if none
applies, the completion is left out of its group's mean and deviation, and its advantage is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.for_trl.batch_check import everywhere
from simia_gym.rl.for_trl.environments import ToolEnvironment

LogMetric = Callable[[str, float], None]

_seen: set[str] = set()
"""Kinds of faults that occurred. Batches without them log 0, or the trainer's mean would leave those batches out."""


def episode_reward(
    *,
    reward: Sequence[float | None] | None = None,
    valid: Sequence[bool] | None = None,
    success: Sequence[bool] | None = None,
    turns: Sequence[int] | None = None,
    fault: Sequence[str | None] | None = None,
    log_metric: LogMetric | None = None,
    **_: Any,
) -> list[float | None]:
    """The rewards of episodes that `episodes_rollout` played; for ``reward_funcs``.

    Logs ``episodes/valid``, ``episodes/success`` and ``episodes/turns`` (the last two over valid episodes), and
    ``episodes/faults/KIND`` from the first fault of the kind on, each as a share or mean of the batch.

    Returns:
        One reward for each episode, ``None`` where a fault left none.

    Raises:
        InputError: No rollout has played these episodes.
    """
    if reward is None or valid is None or success is None or turns is None or fault is None:
        fix = "Give the trainer rollout_func=episodes_rollout(...)."
        raise InputError("the completions come from no episode", where="reward_funcs", fix=fix)
    _log(log_metric, valid, success, turns, fault)
    return [value if good else None for value, good in zip(reward, valid, strict=True)]


def episode_metrics(
    *, environments: Sequence[Any] | None = None, log_metric: LogMetric | None = None, **_: Any
) -> list[float | None]:
    """Log the metrics of episodes that were played as environments; for ``reward_funcs`` with an environment factory.

    The reward comes from the environment. This function adds 0 to it, or nothing if there is none.

    Returns:
        0.0 for each valid episode, else ``None``.

    Raises:
        InputError: There are no environments of ours.
    """
    if environments is None or not all(isinstance(one, ToolEnvironment) for one in environments):
        fix = "Give the trainer environment_factory=tool_environments(...)."
        raise InputError("the completions come from no environment", where="reward_funcs", fix=fix)
    valid = [one.get_reward() is not None for one in environments]
    episodes = [one.episode for one in environments]
    success = [one.verdict is not None and one.verdict.success for one in episodes]
    fault = [None if one.verdict is None or one.verdict.fault is None else one.verdict.fault.kind for one in episodes]
    _log(log_metric, valid, success, [one.turn for one in episodes], fault)
    return [0.0 if good else None for good in valid]


def _log(
    log: LogMetric | None,
    valid: Sequence[bool],
    success: Sequence[bool],
    turns: Sequence[int],
    fault: Sequence[str | None],
) -> None:
    """Log one value for each episode, so that the trainer's mean over processes is a mean over episodes."""
    if log is None:
        return
    for good, won, many in zip(valid, success, turns, strict=True):
        log("episodes/valid", float(good))
        if good:
            log("episodes/success", float(won))
            log("episodes/turns", float(many))
    # Every process has to log the same names for the trainer's mean.
    _seen.update(everywhere([kind for kind in fault if kind is not None]))
    for kind in sorted(_seen):
        log(f"episodes/faults/{kind}", list(fault).count(kind) / len(valid))
