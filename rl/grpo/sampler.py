"""What verl's trainer takes out of finished episodes: those that teach count, the others are left out of everything.

verl keeps an episode that a fault ended as a row like any other. Its mask alone keeps it out of the loss; but it would
still stand in verl's metrics and in the score of a validation. And the only episode of a group that counts teaches
nothing, yet its tokens would stand in the denominator of the loss, and in the terms of entropy and KL.

With dynamic sampling (``algorithm.filter_groups``) groups that say nothing about what is better are replaced by others
before a step learns. verl's own buffer does that, but keeps it from samplers that are not its own, and would take an
episode without a reward for one with another reward.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import transfer_queue as tq
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.replay_buffer import FILTER_GROUPS_REWARD_METRIC, ReplayBuffer, ReplayBufferAsync

from simia_gym.rl.grpo.worker_watch import WorkerWatch

logger = logging.getLogger("simia_gym")

POLL = 0.05
"""Seconds between two looks at what is finished; verl's own two seconds are longer than a small policy's whole step."""
TRIES = 3
"""Batches of which no group teaches that are replaced before the training stops."""
FAULTS = -1.0
"""Stands for the reward of a group with fewer than two valid episodes, where verl counts replaced groups by reward."""


class _Teaching:
    """Samples from verl's replay buffer, and settles what of the sample counts.

    Args:
        sampler_kwargs: ``poll_interval`` in seconds, and ``tries``. For dynamic sampling ``dynamic``, and with it
            ``groups`` of a step, ``at_once``, batches of them that are played at a time, and ``most``, batches that may
            be replaced in one step before the training stops, 0 for any number.
        kwargs: As verl gives them.
    """

    refill_fn: Any
    finished_keys: dict[str, set[str]]
    failure_keys: dict[str, set[str]]
    partitions: dict[str, dict[str, Any]]
    _dapo_classification_cache: dict[str, dict[str, float | None]]

    def __init__(self, *args: Any, sampler_kwargs: Any = None, **kwargs: Any) -> None:
        options = dict(sampler_kwargs or {})
        kwargs.setdefault("poll_interval", float(options.get("poll_interval", POLL)))
        self._tries = int(options.get("tries", TRIES))
        self._dynamic = bool(options.get("dynamic", False))
        self._most = self._patience = self._needed = 0
        if self._dynamic:
            groups = int(options["groups"])
            self._most = int(options.get("most", 0)) * groups
            self._needed, self._patience = groups, self._tries * groups
            kwargs |= {"filter_groups_metric": FILTER_GROUPS_REWARD_METRIC, "gen_batch_size": 1}
            kwargs |= {"train_batch_size": groups, "max_inflight_gen_batches": int(options.get("at_once", 1))}
        self._step, self._faulty = -1, 0
        self._played: Counter[str] = Counter()
        self._watch = WorkerWatch(self._workers)
        super().__init__(*args, sampler_kwargs=sampler_kwargs, **kwargs)  # type: ignore[call-arg]

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[KVBatchMeta, dict[str, Any]]:
        """Sample a batch in which every row that has a mask teaches.

        Args:
            global_steps: Number of the step.
            partition_id: ``train`` or ``val``.
            batch_size: How many groups.

        Returns:
            The batch, and verl's metrics of the sampling with the shares of what counts.

        Raises:
            RuntimeError: Several batches in a row had no group that teaches.
        """
        for _ in range(self._tries):
            batch, metrics = super().sample(  # type: ignore[misc]
                global_steps=global_steps, partition_id=partition_id, batch_size=batch_size
            )
            if partition_id == "val":
                return _without_faults(batch), metrics
            shares = _settle(batch)
            metrics = {**metrics, **shares}
            if shares["training/teaching_share"]:
                return batch, metrics
            logger.warning("step %s: no group of this batch has two valid episodes; another is played", global_steps)
            tq.kv_clear(keys=batch.keys, partition_id=batch.partition_id)
            self.refill_fn(batch_size)
        raise self._only_faults()

    def _workers(self) -> Sequence[Any]:
        """The processes in which verl plays; what refills the buffer is a method of its trainer, which knows them."""
        workers: Sequence[Any] = self.refill_fn.__self__.agent_loop_manager.agent_loop_workers
        return workers

    def _wait_for_next_poll(self, partition_id: str, last_debug_time: float) -> float:
        """As verl has it; ends the training where a process that plays has died.

        Raises:
            RuntimeError: One has.
        """
        self._watch.look()
        waited: float = super()._wait_for_next_poll(partition_id, last_debug_time)  # type: ignore[misc]
        return waited

    def _only_faults(self) -> RuntimeError:
        return RuntimeError(
            f"{self._tries} batches in a row had no group with two valid episodes. The faults stand in the run's "
            "folder, in episodes/: mend what they name, then go on."
        )

    def _terminal_eviction_reasons(self, global_steps: int, partition_id: str) -> Any:
        """As verl has it; what is replaced is counted anew with every step."""
        if partition_id == "train" and global_steps != self._step:
            self._step = global_steps
            self._played.clear()
        return super()._terminal_eviction_reasons(global_steps, partition_id)  # type: ignore[misc]

    def _dapo_filtered_keys(self, partition_id: str) -> tuple[set[str], Counter[float]]:
        """The groups to be replaced, as verl asks for them, and how many of them had which reward.

        Raises:
            RuntimeError: Too many had to be replaced in this step.
        """
        if partition_id == "val" or not self._dynamic:
            return set(), Counter()
        ended = self.finished_keys[partition_id] | self.failure_keys[partition_id]
        known = self._dapo_classification_cache[partition_id]
        for uid in known.keys() - ended:
            del known[uid]
        if new := ended - known.keys():
            found = self._same_rewards(partition_id, new)
            known.update(found)
            self._count(found)
            self._stop_if_hopeless(sum(reward is None for reward in known.values()))
        same = {uid: reward for uid, reward in known.items() if reward is not None}
        return set(same), Counter(same.values())

    def _same_rewards(self, partition_id: str, groups: set[str]) -> dict[str, float | None]:
        """Of each group the one reward that all of its valid episodes have; ``None`` where they differ."""
        keys = [key for key in self.partitions[partition_id] if _group(key) in groups]
        rewards: dict[str, list[float]] = {uid: [] for uid in groups}
        if keys:
            names = ["response_mask", "rm_scores"]
            data = tq.kv_batch_get(keys=keys, partition_id=partition_id, select_fields=names)
            masks, scores = data["response_mask"].unbind(), data["rm_scores"].unbind()
            for key, mask, score in zip(keys, masks, scores, strict=True):
                if bool(mask.any()):
                    rewards[_group(key)].append(float(score.sum()))
        return {uid: _same(found) for uid, found in rewards.items()}

    def _count(self, found: Mapping[str, float | None]) -> None:
        kinds = ["other" if reward is None else "faults" if reward == FAULTS else "same" for reward in found.values()]
        self._played.update(kinds)
        self._faulty = self._faulty + len(kinds) if set(kinds) == {"faults"} else 0

    def _stop_if_hopeless(self, good: int) -> None:
        if good >= self._needed:  # what still comes in is surplus
            return
        if self._faulty >= self._patience:
            raise self._only_faults()
        replaced = self._played["same"] + self._played["faults"]
        if self._most <= 0 or replaced <= self._most:
            return
        raise RuntimeError(
            f"{replaced} groups of this step had to be replaced, and {self._played['other']} had episodes of different "
            f"reward: in {self._played['same']} all had the same, and {self._played['faults']} had fewer than two "
            "valid ones. Where that is for faults, they stand in the run's folder, in episodes/; else go on with more "
            "tries (--set algorithm.filter_groups.max_num_gen_batches=N), or begin with tasks that the policy solves "
            "now and then, larger groups (--group-size), or no --dynamic-sampling."
        )


def _group(key: str) -> str:
    """The group of a row."""
    return key.rsplit("_", 2)[0]


def _same(rewards: list[float]) -> float | None:
    if len(rewards) < 2:
        return FAULTS
    return rewards[0] if min(rewards) == max(rewards) else None


class EpisodeSampler(_Teaching, ReplayBuffer):
    """For verl's trainer mode ``sync``."""


class EpisodeSamplerAsync(_Teaching, ReplayBufferAsync):
    """For verl's asynchronous trainer modes."""


def _settle(batch: KVBatchMeta) -> dict[str, float]:
    """Mark the rows that do not count; give the shares of those that are valid and that teach."""
    lengths, valid = _masks(batch)
    groups: dict[str, list[int]] = defaultdict(list)
    for row, key in enumerate(batch.keys):
        if valid[row]:
            groups[_group(key)].append(row)
    alone = [rows[0] for rows in groups.values() if len(rows) == 1]
    silent = [row for row, counts in enumerate(valid) if not counts]
    if alone:
        _silence(batch, alone, lengths)
    if silent:
        # So verl's metrics leave them out: a fault has no score, no advantage and no length.
        for row in silent:
            batch.tags[row]["is_padding"] = True
        tq.kv_batch_put(
            keys=[batch.keys[row] for row in silent],
            partition_id=batch.partition_id,
            tags=[batch.tags[row] for row in silent],
        )
    total, counted = len(valid), len(valid) - len(silent)
    return {
        "training/valid_share": counted / total,
        "training/masked_share": len(silent) / total,
        "training/teaching_share": (counted - len(alone)) / total,
    }


def _silence(batch: KVBatchMeta, rows: list[int], lengths: list[int]) -> None:
    """Take all tokens of these rows out of the loss and of its denominator."""
    zeros = [torch.zeros(lengths[row], dtype=torch.int64) for row in rows]
    nested = torch.nested.as_nested_tensor(zeros, layout=torch.jagged)
    fields = TensorDict({"response_mask": nested, "loss_mask": nested.clone()}, batch_size=[len(rows)])
    tq.kv_batch_put(keys=[batch.keys[row] for row in rows], partition_id=batch.partition_id, fields=fields)


def _without_faults(batch: KVBatchMeta) -> KVBatchMeta:
    """A validation's batch without the episodes that have no score, unless it has no others."""
    _, valid = _masks(batch)
    if all(valid) or not any(valid):
        return batch
    gone = [key for key, counts in zip(batch.keys, valid, strict=True) if not counts]
    tq.kv_clear(keys=gone, partition_id=batch.partition_id)
    kept = [row for row, counts in enumerate(valid) if counts]
    return KVBatchMeta(
        partition_id=batch.partition_id,
        keys=[batch.keys[row] for row in kept],
        tags=[batch.tags[row] for row in kept],
    )


def _masks(batch: KVBatchMeta) -> tuple[list[int], list[bool]]:
    """Of each row the length of its response, and whether the policy's tokens in it count."""
    data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["response_mask"])
    rows = data["response_mask"].unbind()
    return [int(row.numel()) for row in rows], [bool(row.any()) for row in rows]
