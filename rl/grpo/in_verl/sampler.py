"""Samples training batches from verl's replay buffer and masks the episodes that must not count.

verl treats an episode with a fault as a row like any other. Its empty mask keeps it out of the loss, but not out of
verl's metrics and of the validation score. And a group with one valid episode has no advantage, yet the episode's
tokens would count in the denominator of the loss and in the terms of entropy and KL.

With dynamic sampling (``algorithm.filter_groups``), groups whose valid episodes all have the same reward are replaced
before the update. verl's own buffer can do that, but not for custom samplers, and it would take a missing reward for a
different reward.
"""

from __future__ import annotations

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transfer_queue as tq
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.replay_buffer import FILTER_GROUPS_REWARD_METRIC, ReplayBuffer, ReplayBufferAsync

from simia_gym.rl.grpo.in_verl.workers import WorkerWatch

logger = logging.getLogger("simia_gym")

POLL = 0.05
"""Seconds between two polls for finished episodes; a step of a small policy is shorter than verl's default of 2 s."""
TRIES = 3
"""Batches in a row without a group of two valid episodes before the training stops."""
FAULTS = -1.0
"""Reward under which verl counts the replaced groups that have fewer than two valid episodes."""


class EpisodeSampler(ReplayBuffer):
    """Samples from verl's replay buffer and masks rows without a gradient; for verl's trainer mode ``sync``.

    Args:
        sampler_kwargs: ``poll_interval`` in seconds, and ``tries``. For dynamic sampling ``dynamic``, and with it
            ``groups`` of a step, ``at_once``, batches that are played at a time, and ``most``, batches that may be
            replaced in one step before the training stops, 0 for any number.
        kwargs: verl's arguments.
    """

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
        super().__init__(*args, sampler_kwargs=sampler_kwargs, **kwargs)

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[KVBatchMeta, dict[str, Any]]:
        """Sample a batch in which every row with a mask belongs to a group of at least two valid episodes.

        verl's metrics of the sampling get the shares of valid, masked and teaching rows.

        Raises:
            RuntimeError: Several batches in a row had no group with two valid episodes.
        """
        for _ in range(self._tries):
            batch, metrics = super().sample(global_steps=global_steps, partition_id=partition_id, batch_size=batch_size)
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
        """Verl's agent loop workers; ``refill_fn`` is a method of verl's trainer, which holds them."""
        workers: Sequence[Any] = self.refill_fn.__self__.agent_loop_manager.agent_loop_workers
        return workers

    def _wait_for_next_poll(self, partition_id: str, last_debug_time: float) -> float:
        """Wait as verl does, and stop the training if an agent loop worker has died.

        Raises:
            RuntimeError: A worker has died.
        """
        self._watch.look()
        waited: float = super()._wait_for_next_poll(partition_id, last_debug_time)
        return waited

    def _only_faults(self) -> RuntimeError:
        return RuntimeError(
            f"{self._tries} batches in a row had no group with two valid episodes. Look up the faults in episodes/ of "
            "the run's folder, fix their cause, then resume."
        )

    def _terminal_eviction_reasons(self, global_steps: int, partition_id: str) -> Any:
        """Verl's method; the counts of replaced groups are reset with every step."""
        if partition_id == "train" and global_steps != self._step:
            self._step = global_steps
            self._played.clear()
        return super()._terminal_eviction_reasons(global_steps, partition_id)

    def _dapo_filtered_keys(self, partition_id: str) -> tuple[set[str], Counter[float]]:
        """The groups to replace, and the number of them for each reward.

        Raises:
            RuntimeError: Too many groups had to be replaced in this step.
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
        """For each group the reward of all its valid episodes; ``None`` if they differ."""
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
        if good >= self._needed:  # further groups are surplus
            return
        if self._faulty >= self._patience:
            raise self._only_faults()
        replaced = self._played["same"] + self._played["faults"]
        if self._most <= 0 or replaced <= self._most:
            return
        raise RuntimeError(
            f"{replaced} groups of this step had to be replaced, and {self._played['other']} had episodes of different "
            f"reward: in {self._played['same']} all had the same reward, and {self._played['faults']} had fewer than "
            "two valid ones. If faults are the reason, look them up in episodes/ of the run's folder. Else resume with "
            "more tries (--set algorithm.filter_groups.max_num_gen_batches=N), or start with tasks that the policy "
            "sometimes solves, with larger groups (--group-size), or without --dynamic-sampling."
        )


def _group(key: str) -> str:
    """The group's id in the key of a row."""
    return key.rsplit("_", 2)[0]


def _same(rewards: list[float]) -> float | None:
    if len(rewards) < 2:
        return FAULTS
    return rewards[0] if min(rewards) == max(rewards) else None


class EpisodeSamplerAsync(EpisodeSampler, ReplayBufferAsync):
    """For verl's asynchronous trainer modes, in which episodes wait for the step that trains on them.

    ``sampler_kwargs`` has ``batches``, too: the file to which the groups of each step are written, those that were
    replaced included.
    """

    def _clear_groups(self, partition_id: str, uids: set[str]) -> None:
        self._note(partition_id, uids)
        super()._clear_groups(partition_id, uids)

    def _materialize_batch(self, partition_id: str, selected_prompt_uids: list[str], partition_snapshot: Any) -> Any:
        self._note(partition_id, selected_prompt_uids)
        return super()._materialize_batch(partition_id, selected_prompt_uids, partition_snapshot)

    def _note(self, partition_id: str, uids: Iterable[str]) -> None:
        if partition_id == "train" and (groups := sorted(uids)):
            with Path(self.sampler_kwargs["batches"]).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": self._step, "groups": groups}) + "\n")


def episode_sampler(*, trainer_mode: str, **given: Any) -> EpisodeSampler:
    """Make the sampler for a trainer mode of verl, given verl's arguments."""
    made = EpisodeSampler if trainer_mode == "sync" else EpisodeSamplerAsync
    return made(trainer_mode=trainer_mode, **given)


def _settle(batch: KVBatchMeta) -> dict[str, float]:
    """Mask the rows that must not count; return the shares of valid, masked and teaching rows."""
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
        # verl's metrics leave padding out: an episode with a fault has no score, advantage or length.
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
    """Mask all tokens of these rows, in the loss and in its denominator."""
    zeros = [torch.zeros(lengths[row], dtype=torch.int64) for row in rows]
    nested = torch.nested.as_nested_tensor(zeros, layout=torch.jagged)
    fields = TensorDict({"response_mask": nested, "loss_mask": nested.clone()}, batch_size=[len(rows)])
    tq.kv_batch_put(keys=[batch.keys[row] for row in rows], partition_id=batch.partition_id, fields=fields)


def _without_faults(batch: KVBatchMeta) -> KVBatchMeta:
    """A validation batch without the episodes with faults, unless it has no others."""
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
    """For each row the length of its response, and whether any token is unmasked."""
    data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["response_mask"])
    rows = data["response_mask"].unbind()
    return [int(row.numel()) for row in rows], [bool(row.any()) for row in rows]
