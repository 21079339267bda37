"""What verl's trainer takes out of finished episodes, over verl's own queue; and a worker's death is noticed."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from .libraries import need

need("torch", "ray", "pyarrow", "transfer_queue", "verl", "verl.trainer.ppo.v1.trainer_base")

import numpy as np
import ray
import torch
import transfer_queue as tq
from omegaconf import OmegaConf, open_dict
from tensordict import TensorDict
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopWorkerTQ
from verl.trainer.ppo.v1.trainer_base import PPOTrainer
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import collate_fn

import simia_gym.rl.grpo.in_verl.advantage  # noqa: F401
from simia_gym.rl.grpo.in_verl.sampler import episode_sampler
from simia_gym.rl.grpo.in_verl.workers import TakingTurns, WorkerWatch
from simia_gym.rl.grpo.run.episodes import BATCHES

from .agent_worker import WEBSHOP, Prepared, ScriptedEngine, prepare, suite_of, tokenizer
from .ray_cluster import Cluster

pytestmark = pytest.mark.slow_rl

STEP, GROUP = 5, 4
WIN, LOSE, FAULT = "win", "lose", "fault"


class Fated(ScriptedEngine):
    """Plays each episode of a row to an end that is set beforehand."""

    def __init__(self, scripts: dict[str, list[str]], fates: dict[str, list[str]]) -> None:
        super().__init__(scripts)
        self._fates = {prompt: list(fate) for prompt, fate in fates.items()}
        self._of: dict[str, str] = {}

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        """As the script says, or nonsense, or not at all."""
        if request_id not in self._of:
            self._of[request_id] = self._fates[tokenizer().decode(prompt_ids)].pop(0)
        if self._of[request_id] == FAULT and request_id in self._left:
            raise ConnectionError("the engine is gone")
        if self._of[request_id] == LOSE:
            self._left[request_id] = ["click[Nothing]"]
        return await super().generate(request_id, prompt_ids=prompt_ids, sampling_params=sampling_params)


@pytest.fixture(scope="module", autouse=True)
def queue(cluster: Cluster) -> Iterator[None]:
    """verl's queue of episodes; the processors that it holds are given back to the other tests' workers."""
    tq.init(OmegaConf.create({"backend": {"SimpleStorage": {"num_data_storage_units": 1}}}))
    yield
    tq.close()


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """verl takes the current event loop; afterwards the queue is emptied."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield loop
    loop.close()
    asyncio.set_event_loop(None)
    for partition in ("train", "val"):
        left = (tq.kv_list(partition_id=partition) or {}).get(partition, {})
        if left:
            tq.kv_clear(keys=list(left), partition_id=partition)


class Run:
    """verl's worker and our sampler, with the queue between them."""

    def __init__(
        self,
        made: Prepared,
        fates: list[list[str]],
        *,
        tries: int = 3,
        groups: int | None = None,
        most: int = 0,
        mode: str = "sync",
    ) -> None:
        self.made, self.refilled, self._next = made, 0, 0
        self._fates, self._groups = fates, groups
        self.agent_loop_manager = SimpleNamespace(agent_loop_workers=[])  # as verl's trainer has it
        options: dict[str, Any] = {"poll_interval": 0.01, "tries": tries, "batches": str(made.run / BATCHES)}
        if groups is not None:
            options |= {"dynamic": True, "groups": groups, "at_once": 1, "most": most}
        self.sampler = episode_sampler(
            trainer_mode=mode,
            trainer_config=OmegaConf.create({}),
            max_off_policy_threshold=8,
            max_off_policy_strategy="drop",
            sampler_kwargs=OmegaConf.create(options),
            refill_fn=self._refill,
        )

    def play(self, count: int | None = None, *, validate: bool = False) -> list[str]:
        """Play the next rows, by default all of them, into the queue; give the ids of their groups."""
        made, partition = self.made, "val" if validate else "train"
        fates = dict(zip(made.scripts, self._fates, strict=True))
        worker = AgentLoopWorkerTQ.__ray_metadata__.modified_class(made.config, Fated(made.scripts, fates))
        count = len(made.rows) if count is None else count
        numbers = [(self._next + number) % len(made.rows) for number in range(count)]
        self._next += count
        batch = collate_fn([made.dataset[number] for number in numbers])
        uids = [f"{partition}{self.refilled}-{number}" for number in numbers]
        batch["uid"] = np.array(uids, dtype=object)
        rows = tu.get_tensordict(batch)
        tu.assign_non_tensor_data(rows, "global_steps", STEP)
        if validate:
            tu.assign_non_tensor_data(rows, "validate", True)
        tags = [{"is_prompt": True, "status": "pending", "global_steps": STEP}] * count
        tq.kv_batch_put(keys=uids, partition_id=partition, tags=tags)

        async def whole() -> None:
            await worker.generate_sequences(rows)
            await asyncio.gather(*worker.background_tasks)

        asyncio.get_event_loop().run_until_complete(whole())
        return uids

    def _refill(self, prompts: int) -> None:
        self.refilled += 1
        if self._groups is None:
            assert prompts == len(self.made.rows)
            self.play()
        else:
            assert 0 < prompts <= self._groups, "more at once than a step has groups"
            self.play(prompts)

    def sample(self, partition: str = "train") -> tuple[Any, dict[str, Any]]:
        """What the trainer gets."""
        size = len(self.made.rows) if self._groups is None else self._groups
        return self.sampler.sample(global_steps=STEP, partition_id=partition, batch_size=size)


FATES = [
    [WIN, LOSE, FAULT, WIN],
    [FAULT, WIN, FAULT, FAULT],
    [FAULT] * 4,
    [LOSE] * 4,
]


def test_only_what_teaches_is_in_loss_metrics_and_denominator(tmp_path: Path, loop: asyncio.AbstractEventLoop) -> None:
    made = prepare(tmp_path, [suite_of(WEBSHOP)], rows=4, group=GROUP, step=STEP)
    run = Run(made, FATES)
    uids = run.play()
    batch, metrics = run.sample()
    assert run.refilled == 0
    assert metrics["training/valid_share"] == (3 + 1 + 0 + 4) / 16
    assert metrics["training/masked_share"] == 8 / 16
    assert metrics["training/teaching_share"] == (3 + 4) / 16
    assert len(batch) == 16
    fields = ["uid", "response_mask", "loss_mask", "rm_scores", "rollout_log_probs", "responses"]
    data = tq.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=fields)
    rows = list(
        zip(
            list(data["uid"]),
            data["response_mask"].unbind(),
            data["loss_mask"].unbind(),
            [float(row.sum()) for row in data["rm_scores"].unbind()],
            batch.tags,
            strict=True,
        )
    )
    counted = {uid: sum(bool(mask.any()) for name, mask, *_ in rows if name == uid) for uid in uids}
    assert list(counted.values()) == [3, 0, 0, 4]
    assert all(bool((mask == loss).all()) for _, mask, loss, *_ in rows)
    assert [math.isnan(reward) for *_, reward, _ in rows].count(True) == 8
    assert all(bool(tag.get("is_padding")) == math.isnan(reward) for *_, reward, tag in rows)
    assert sorted(reward for uid, *_, reward, _ in rows if uid == uids[0] and not math.isnan(reward)) == [0, 1, 1]

    # verl's own steps on it.
    with open_dict(made.config):
        made.config.algorithm.rollout_correction = None
        made.config.algorithm.norm_adv_by_std_in_grpo = False
    trainer = SimpleNamespace(
        config=made.config,
        _rollout_moe_lb_metrics_accumulator=None,
        _get_n_gpus_for_throughput=lambda: 1,
        use_critic=False,
    )
    batch = PPOTrainer._compute_advantage(trainer, batch, {})
    advantages = tq.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=["advantages"])["advantages"]
    found: dict[str, list[float]] = {uid: [] for uid in uids}
    for (uid, mask, *_), row in zip(rows, advantages.unbind(), strict=True):
        assert not bool(row[~mask.bool()].any())
        if mask.any():
            found[uid].append(round(float(row[mask.bool()][0]), 4))
    assert sorted(found[uids[0]]) == [-0.6667, 0.3333, 0.3333]
    assert found[uids[3]] == [0.0] * 4
    batch.extra_info["temperature"] = 1.0
    metrics = {}
    timing = {"step": 1.0, "gen": 1.0}
    PPOTrainer._compute_metrics(trainer, batch, metrics, timing, global_steps=STEP, epoch=0)
    assert metrics["critic/score/mean"] == pytest.approx(3 / 8)  # two of the first group, one of the second
    assert metrics["critic/score/min"] == 0.0
    assert metrics["num_turns/mean"] > 2
    assert not math.isnan(metrics["critic/advantages/mean"])


def test_a_batch_that_teaches_nothing_is_played_again_and_in_the_end_the_run_stops(
    tmp_path: Path, loop: asyncio.AbstractEventLoop
) -> None:
    made = prepare(tmp_path, [suite_of(WEBSHOP)], rows=2, group=2, step=STEP)
    run = Run(made, [[FAULT, FAULT], [WIN, FAULT]])
    run.play()
    run._fates = [[WIN, LOSE], [FAULT, FAULT]]
    batch, metrics = run.sample()
    assert run.refilled == 1
    assert metrics["training/teaching_share"] == 0.5
    assert {key.rsplit("_", 2)[0] for key in batch.keys} == {"train1-0", "train1-1"}
    tq.kv_clear(keys=batch.keys, partition_id="train")
    run = Run(made, [[FAULT, FAULT], [FAULT, WIN]], tries=2)
    run.play()
    with pytest.raises(RuntimeError, match="2 batches in a row"):
        run.sample()


def test_groups_that_teach_nothing_are_replaced_before_a_step_learns(
    tmp_path: Path, loop: asyncio.AbstractEventLoop
) -> None:
    fates = [[WIN] * 3, [WIN, FAULT, LOSE], [LOSE, FAULT, LOSE], [FAULT, WIN, FAULT], [WIN, LOSE, LOSE], [LOSE] * 3]
    made = prepare(tmp_path, [suite_of(WEBSHOP)], rows=len(fates), group=3, step=STEP)
    run = Run(made, fates, groups=2)
    run.play(2)
    batch, metrics = run.sample()
    # Of six groups two have valid episodes that differ: the second and the fifth.
    assert {key.rsplit("_", 2)[0].partition("-")[2] for key in batch.keys} == {"1", "4"}
    assert len(batch) == 6
    assert metrics["training/masked_share"] == 1 / 6
    assert metrics["training/teaching_share"] == 5 / 6
    assert metrics["training/filter_groups/evicted_samples"] >= 3
    left = tq.kv_list(partition_id="train")["train"]
    assert set(left) == set(batch.keys), "what was replaced stays in the queue"


def test_a_step_for_which_no_group_teaches_stops_the_run(tmp_path: Path, loop: asyncio.AbstractEventLoop) -> None:
    made = prepare(tmp_path, [suite_of(WEBSHOP)], rows=4, group=2, step=STEP)
    run = Run(made, [[WIN, WIN], [LOSE, LOSE], [WIN, FAULT], [LOSE, LOSE]], groups=2, most=2)
    run.play(2)
    with pytest.raises(RuntimeError, match=r"groups of this step had to be replaced, and 0 had .* --dynamic-sampling"):
        run.sample()


def test_a_dead_endpoint_is_found_as_soon_as_without_dynamic_sampling(
    tmp_path: Path, loop: asyncio.AbstractEventLoop
) -> None:
    made = prepare(tmp_path, [suite_of(WEBSHOP)], rows=2, group=2, step=STEP)
    run = Run(made, [[FAULT, FAULT], [WIN, FAULT]], groups=2, tries=2, most=20)
    run.play(2)
    with pytest.raises(RuntimeError, match="2 batches in a row had no group with two valid episodes"):
        run.sample()
    assert run.refilled <= 3


def test_what_comes_in_after_a_whole_batch_ends_no_run(tmp_path: Path, loop: asyncio.AbstractEventLoop) -> None:
    made = prepare(tmp_path, [suite_of(WEBSHOP)], rows=4, group=2, step=STEP)
    run = Run(made, [[WIN, LOSE], [LOSE, LOSE], [WIN, WIN], [LOSE, LOSE]], groups=1, most=1)
    run.play()
    batch, _ = run.sample()
    assert len(batch) == 2


def test_an_asynchronous_sampler_writes_down_the_groups_of_each_step(
    tmp_path: Path, loop: asyncio.AbstractEventLoop
) -> None:
    made = prepare(tmp_path, [suite_of(WEBSHOP)], rows=3, group=2, step=STEP)
    run = Run(made, [[WIN, WIN], [WIN, LOSE], [LOSE, WIN]], groups=1, mode="colocate_async")
    same, *_ = run.play()
    batches = [{key.rpartition("_")[0].rpartition("_")[0] for key in run.sample()[0].keys} for _ in range(2)]
    lines = [json.loads(line) for line in (made.run / BATCHES).read_text(encoding="utf-8").splitlines()]
    assert [line["step"] for line in lines] == [STEP] * len(lines)
    noted = [set(line["groups"]) for line in lines]
    assert same in noted[0]
    assert [groups for groups in noted if groups in batches] == batches
    left = {key for key, tag in tq.kv_list(partition_id="train")["train"].items() if tag.get("is_prompt")}
    assert not left & set().union(*noted)


def test_every_worker_has_its_turn() -> None:
    given: list[tuple[int, int]] = []

    def worker(number: int) -> Any:
        def remote(rows: Any) -> Any:
            given.append((number, len(rows)))
            return ray.put(None)

        return SimpleNamespace(generate_sequences=SimpleNamespace(remote=remote))

    manager = object.__new__(TakingTurns)
    manager.agent_loop_workers = [worker(number) for number in range(3)]
    for size in (1, 1, 2, 6, 1):
        manager.generate_sequences(TensorDict({"row": torch.zeros(size, 1)}, batch_size=[size]))
    assert given == [(0, 1), (1, 1), (2, 1), (0, 1), (1, 2), (2, 2), (0, 2), (1, 1)]


def test_faults_are_no_zeros_in_validation(tmp_path: Path, loop: asyncio.AbstractEventLoop) -> None:
    made = prepare(tmp_path, [suite_of(WEBSHOP)], rows=4, group=1, step=STEP, purpose="val")
    run = Run(made, [[WIN], [FAULT], [LOSE], [WIN]])
    uids = run.play(validate=True)
    batch, _ = run.sample("val")
    data = tq.kv_batch_get(keys=batch.keys, partition_id="val", select_fields=["uid", "rm_scores"])
    scores = dict(zip(list(data["uid"]), [float(row.sum()) for row in data["rm_scores"].unbind()], strict=True))
    assert scores == {uids[0]: 1.0, uids[2]: 0.0, uids[3]: 1.0}
    left = tq.kv_list(partition_id="val")["val"]
    assert set(left) == set(batch.keys), "what was left out stays in the queue"


@ray.remote(num_cpus=0)
class Player:
    """Stands for a worker of verl: asynchronous, and busy with what it was handed."""

    async def pid(self) -> int:
        return os.getpid()


@pytest.fixture
def players(cluster: Cluster) -> list[Any]:
    made = [Player.remote() for _ in range(2)]  # type: ignore[attr-defined]
    ray.get([player.pid.remote() for player in made])
    return made


def look(watch: WorkerWatch, times: int) -> None:
    """Look again and again for a while."""
    for _ in range(times):
        watch.look()
        time.sleep(0.02)


def test_who_lives_is_left_in_peace_and_a_worker_that_was_killed_is_told(players: list[Any]) -> None:
    watch = WorkerWatch(lambda: players, every=0.0)
    look(watch, 50)
    os.kill(ray.get(players[1].pid.remote()), signal.SIGKILL)
    with pytest.raises(RuntimeError, match="an agent loop worker has died"):
        look(watch, 1500)
