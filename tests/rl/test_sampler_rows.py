"""Which rows of a batch count. The queue is a stand-in of three functions here; `test_sampler` has verl's own."""

from __future__ import annotations

from typing import Any

import pytest

from .libraries import need

need("torch", "ray", "transfer_queue", "verl")
need("verl.trainer.ppo.v1.replay_buffer")

import torch
from transfer_queue import KVBatchMeta

from simia_gym.rl.grpo import sampler


class Queue:
    """Rows by key."""

    def __init__(self, masks: dict[str, list[int]]) -> None:
        self.rows: dict[str, dict[str, Any]] = {
            key: {"response_mask": torch.tensor(mask), "loss_mask": torch.tensor(mask)} for key, mask in masks.items()
        }
        self.tags: dict[str, dict[str, Any]] = {}

    def kv_batch_get(self, *, keys: list[str], partition_id: str, select_fields: list[str]) -> dict[str, Any]:
        """Fields of rows."""
        assert partition_id
        found = {name: [self.rows[key][name] for key in keys] for name in select_fields}
        return {name: torch.nested.as_nested_tensor(rows, layout=torch.jagged) for name, rows in found.items()}

    def kv_batch_put(
        self, *, keys: list[str], partition_id: str, fields: Any = None, tags: list[dict[str, Any]] | None = None
    ) -> None:
        """Change fields or tags of rows."""
        assert partition_id
        for name in [] if fields is None else fields.keys():
            for key, row in zip(keys, fields[name].unbind(), strict=True):
                self.rows[key][name] = row
        self.tags |= dict(zip(keys, tags or [], strict=False))

    def kv_clear(self, *, keys: list[str], partition_id: str) -> None:
        """Forget rows."""
        assert partition_id
        for key in keys:
            del self.rows[key]


MASKS = {
    "a_0_0": [1, 0, 1],
    "a_1_0": [1, 1],
    "a_2_0": [0],  # two that count
    "b_0_0": [0],
    "b_1_0": [1, 0, 0, 1],
    "b_2_0": [0],  # one alone
    "c_0_0": [0],
    "c_1_0": [0],
    "c_2_0": [0],  # none
    "d_0_0": [1],
    "d_1_0": [1, 0, 1],
    "d_2_0": [1],  # all
}


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    """A queue that holds those rows."""
    made = Queue(MASKS)
    monkeypatch.setattr(sampler, "tq", made)
    return made


def batch(keys: list[str], partition: str) -> KVBatchMeta:
    """Rows as verl's replay buffer gives them."""
    return KVBatchMeta(partition_id=partition, keys=keys, tags=[{"seq_len": 3} for _ in keys])


def test_faults_leave_the_metrics_and_the_lonely_leave_the_loss(queue: Queue) -> None:
    made = batch(list(MASKS), "train")
    shares = sampler._settle(made)
    assert shares == {
        "training/valid_share": 6 / 12,
        "training/masked_share": 6 / 12,
        "training/teaching_share": 5 / 12,
    }
    for key, mask in MASKS.items():
        left = [0] * len(mask) if key == "b_1_0" else mask
        assert queue.rows[key]["response_mask"].tolist() == left
        assert queue.rows[key]["loss_mask"].tolist() == left
    silent = {key for key, mask in MASKS.items() if not any(mask)}
    assert queue.tags == {key: {"seq_len": 3, "is_padding": True} for key in silent}
    assert {key for key, tag in zip(made.keys, made.tags, strict=True) if tag.get("is_padding")} == silent


def test_where_all_count_nothing_is_touched(queue: Queue) -> None:
    made = batch(["d_0_0", "d_1_0", "d_2_0"], "train")
    assert sampler._settle(made)["training/teaching_share"] == 1.0
    assert not queue.tags
    assert made.tags == [{"seq_len": 3}] * 3


def test_a_validation_has_no_faults_in_it_unless_it_has_nothing_else(queue: Queue) -> None:
    kept = sampler._without_faults(batch(["a_0_0", "b_0_0", "d_0_0"], "val"))
    assert kept.keys == ["a_0_0", "d_0_0"]
    assert "b_0_0" not in queue.rows
    alone = sampler._without_faults(batch(["c_0_0", "c_1_0"], "val"))
    assert alone.keys == ["c_0_0", "c_1_0"]
