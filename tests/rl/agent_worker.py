"""verl's own agent loop worker in this process: no cluster, no engine; what would be sampled is written beforehand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.policies import PolicyOptions, load_policy
from simia_gym.policies.base import Thinking
from simia_gym.record.records import Record, read_records
from simia_gym.rl.chat.thinking import template_arguments
from simia_gym.rl.chat.tokens import ChatTokens
from simia_gym.rl.grpo.dataset import Row, write_dataset
from simia_gym.rl.grpo.in_verl.worlds import RunSettings, agent_loop_config
from simia_gym.rl.grpo.run.episodes import Purpose, training_job
from simia_gym.rollout.jobs import world_group
from simia_gym.rollout.play import play
from simia_gym.rollout.replay import replay_file
from simia_gym.types import Message

RETAIL, WEBSHOP = "simia/retail-v0", "simia/webshop-v0"


@cache
def suite_of(env: str, **settings: Any) -> Suite:
    """An environment with the short prompt."""
    return load_suite(EnvConfig(env=env, prompt="compact", **settings))


def expert_plays(suite: Suite, row: Row, step: int, expert: str = "expert") -> tuple[list[Message], list[str]]:
    """The first messages of a row's episode, and what the expert says in it."""
    plan, job = training_job(suite, row.task, seed=row.seed, purpose=row.purpose, step=step, index=row.index, sample=0)
    make = load_policy(expert, suite.domain.config.policies, PolicyOptions(), folder=suite.domain.folder)
    episode = suite.episode()
    group = world_group(plan.seed, job.group)
    run_sync(play(episode, job.task, seed=job.seed, policy=make(), env=row.env, group=group), inline=episode.inline)
    said = [event["text"] for event in episode.ledger.events if event["type"] == "action"]
    return [dict(message) for message in episode.messages[:2]], said


@cache
def tokenizer(template: str | None = None) -> Any:
    """A tokenizer that has learned its words from the expert's conversations in both environments."""
    from simia_gym.rl.small.build import conversations_of
    from simia_gym.rl.small.tokenizer import train_tokenizer

    if template is not None:
        other = deepcopy(tokenizer())
        other.chat_template = template
        return other
    conversations = [*conversations_of(RETAIL, 4), *conversations_of(WEBSHOP, 4)]
    return train_tokenizer(conversations, vocab=700, phrases=0)


def policy_folder(path: Path, template: str | None = None) -> Path:
    """A policy with random weights, of which verl's worker reads the tokenizer and the configuration."""
    from simia_gym.rl.small.model import SIZES, make_model

    tokenizer(template).save_pretrained(path)
    make_model(SIZES["tiny"], tokenizer(), max_length=32_768, seed=0).save_pretrained(path)
    return path


class ScriptedEngine:
    """Stands where verl's client of its engines would: says the expert's words, token for token.

    Attributes:
        said: What it has given, by request.
        read: The prompts of all turns.
    """

    def __init__(self, scripts: dict[str, list[str]]) -> None:
        self._scripts = scripts
        self._left: dict[str, list[str]] = {}
        self.said: dict[str, list[list[int]]] = {}
        self.read: list[list[int]] = []
        self.asked: list[dict[str, Any]] = []

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        """The next action of the episode that this request belongs to."""
        from verl.workers.rollout.replica import TokenOutput

        await asyncio.sleep(0)
        words = tokenizer()
        self.asked.append(sampling_params)
        self.read.append(list(prompt_ids))
        if request_id not in self._left:
            self._left[request_id] = list(self._scripts[words.decode(prompt_ids)])
        text = self._left[request_id].pop(0)
        ids = [*words.encode(text, add_special_tokens=False), words.eos_token_id][: sampling_params["max_tokens"]]
        self.said.setdefault(request_id, []).append(ids)
        logprobs = [-0.25 - number / 64 for number in range(len(ids))]
        return TokenOutput(token_ids=ids, log_probs=logprobs, stop_reason="completed", extra_fields={"global_steps": 4})


class Played:
    """What verl made of the episodes of some rows, and the row of each line of its batch."""

    def __init__(self, batch: Any, engine: ScriptedEngine, rows: list[Row], run: Path) -> None:
        self.batch, self.engine, self.rows, self.run = batch, engine, rows, run

    def response(self, line: int) -> list[int]:
        """The tokens after the prompt."""
        width = self.batch.batch["prompts"].shape[1]
        length = int(self.batch.batch["attention_mask"][line, width:].sum())
        return [int(item) for item in self.batch.batch["responses"][line, :length]]

    def prompt(self, line: int) -> list[int]:
        """The tokens of the prompt."""
        width = self.batch.batch["prompts"].shape[1]
        kept = self.batch.batch["attention_mask"][line, :width].bool()
        return [int(item) for item in self.batch.batch["prompts"][line][kept]]

    def mask(self, line: int) -> list[int]:
        """Which of the response's tokens are the policy's."""
        return [int(item) for item in self.batch.batch["response_mask"][line, : len(self.response(line))]]

    def own(self, line: int) -> list[int]:
        """The policy's tokens."""
        return [item for item, own in zip(self.response(line), self.mask(line), strict=True) if own]

    @property
    def records(self) -> list[Record]:
        """The records of the episodes; each is proven by being played again."""
        paths = [*(self.run / "rollouts").glob("*.jsonl")]
        proofs = [proof for path in paths for proof in replay_file(path)]
        assert all(proof.proven for proof in proofs), proofs
        found = [record for path in paths for record in read_records(path)]
        assert len(found) == len(proofs) == len(self.rows)
        return found

    def reward(self, line: int) -> float:
        """The reward that verl sees."""
        return float(self.batch.batch["rm_scores"][line].sum())


@dataclass
class Prepared:
    """A dataset and what verl's worker needs to play it; what the expert says, by the text of the prompt."""

    config: Any
    dataset: Any
    rows: list[Row]
    scripts: dict[str, list[str]]
    run: Path


def prepare(
    folder: Path,
    suites: Sequence[Suite],
    *,
    rows: int | None = None,
    group: int = 1,
    step: int = 5,
    purpose: Purpose = "train",
    max_prompt_length: int = 4096,
    max_response_length: int = 6000,
    lengthen: int = 0,
    settings: dict[str, Any] | None = None,
    thinking: Thinking = "keep",
    template: str | None = None,
    expert: str = "expert",
    overrides: Sequence[str] = (),
) -> Prepared:
    """Write a dataset of environments and verl's configuration, with further ``overrides``.

    Prompts may be ``lengthen`` tokens longer in the dataset than in verl.
    """
    from verl.utils.dataset.rl_dataset import RLHFDataset

    from simia_gym.rl.grpo.config.verl_config import compose

    run, policy, data = folder / "run", policy_folder(folder / "policy", template), folder / f"{purpose}.parquet"
    words = tokenizer(template)
    longest = max_prompt_length + lengthen
    sources = [(suite, 1.0) for suite in suites]
    write_dataset(data, sources, words, purpose=purpose, max_prompt_length=longest, rows=rows, thinking=thinking)
    loops = folder / "agent_loops.yaml"
    given = RunSettings(run=str(run), **(settings or {}))
    loops.write_text(json.dumps(agent_loop_config(given)))  # JSON is YAML
    config = compose(
        [
            "algorithm.adv_estimator=simia_grpo",
            f"data.train_files={data}",
            f"data.val_files={data}",
            f"+data.cache_dir={folder}",
            f"data.max_prompt_length={max_prompt_length}",
            f"data.max_response_length={max_response_length}",
            "data.filter_overlong_prompts=False",
            f"actor_rollout_ref.model.path={policy}",
            "+actor_rollout_ref.model.override_config.attn_implementation=eager",
            "actor_rollout_ref.rollout.name=hf_server",
            f"actor_rollout_ref.rollout.n={group}",
            "actor_rollout_ref.rollout.calculate_log_probs=True",
            "actor_rollout_ref.rollout.tensor_model_parallel_size=1",
            f"actor_rollout_ref.rollout.agent.agent_loop_config_path={loops}",
            *(f"+data.apply_chat_template_kwargs.{key}={on}" for key, on in template_arguments(thinking).items()),
            *overrides,
        ]
    )
    dataset = RLHFDataset([str(data)], words, config.data)
    read = [Row.of(dataset[number]["extra_info"]) for number in range(len(dataset))]
    scripts = {}
    chat = ChatTokens.of(words, thinking)
    for row in read:
        start, said = expert_plays(suite_of(row.env), row, step, expert)
        scripts[words.decode(chat.prompt(start))] = said
    return Prepared(config, dataset, read, scripts, run)


def play_rows(folder: Path, suites: Sequence[Suite], *, group: int = 1, step: int = 5, **settings: Any) -> Played:
    """Let verl's worker play the rows of a dataset as the expert would; the arguments are those of `prepare`."""
    import numpy as np
    from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
    from verl.protocol import DataProto
    from verl.utils.dataset.rl_dataset import collate_fn

    made = prepare(folder, suites, group=group, step=step, **settings)
    engine = ScriptedEngine(made.scripts)
    worker = AgentLoopWorker(made.config, engine)
    count = len(made.rows)
    batch = DataProto.from_single_dict(collate_fn([made.dataset[number] for number in range(count)]))
    batch.non_tensor_batch["uid"] = np.array([f"uid-{number}" for number in range(count)], dtype=object)
    batch.non_tensor_batch["global_steps"] = np.array([step] * count, dtype=object)
    batch = batch.repeat(group, interleave=True)
    sessions = [number % group for number in range(len(batch))]
    batch.non_tensor_batch["session_id"] = np.array(sessions, dtype=object)
    batch.meta_info = {"validate": False, "global_steps": step}
    played = asyncio.get_event_loop().run_until_complete(worker.generate_sequences(batch))
    return Played(played, engine, [row for row in made.rows for _ in range(group)], made.run)
