"""Writes verl's dataset: one row for each episode group, with everything that its episodes need.

Training uses tasks of the train split and validation those of the dev split; they never share a task. A row's prompt is
the initial prompt of the episode. Its length is measured with the policy's tokenizer, and a prompt that is too long is
refused: verl would truncate its beginning, which holds the rules.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite
from simia_gym.common.json_encoding import encode
from simia_gym.domain.tasks import task_from_json, task_to_json
from simia_gym.errors import InputError
from simia_gym.policies.base import Thinking
from simia_gym.rl.chat.thinking import DEFAULT
from simia_gym.rl.chat.tokens import ChatTokens
from simia_gym.rl.grpo.in_verl.worlds import AGENT
from simia_gym.rl.grpo.initial_prompts import InitialPrompts
from simia_gym.rl.grpo.run.episodes import Purpose
from simia_gym.rl.labels import labels
from simia_gym.types import JsonObject, Message, Task

_CHUNK = 2_000
Weighted = Sequence[tuple[Suite, float]]
"""Environments with their weights."""


@dataclass(frozen=True)
class DatasetFacts:
    """Number of rows, in all and by environment, of distinct tasks, and the longest prompt in tokens."""

    rows: int
    by_env: dict[str, int]
    tasks: int
    longest: int


@dataclass(frozen=True)
class Row:
    """A row's data for the agent loop.

    Attributes:
        index: Index of the row, from 0.
        env: The environment's name from `simia_gym.rl.labels.labels`.
        task: The task.
        seed: Random seed of the dataset.
        config: The JSON text of the `EnvConfig`.
        purpose: ``train`` or ``val``.
    """

    index: int
    env: str
    task: Task
    seed: int
    config: str
    purpose: Purpose

    @property
    def prompt(self) -> str:
        """Kind of the system message: ``full`` or ``compact``."""
        return str(json.loads(self.config).get("prompt", "full"))

    @property
    def split(self) -> str:
        """The split whose tasks the row is from."""
        return str(json.loads(self.config).get("split", "train"))

    @classmethod
    def of(cls, extra: JsonObject) -> Row:
        """Decode ``extra_info``.

        Raises:
            InputError: The row was not written by `write_dataset`.
        """
        try:
            index, env, purpose = int(extra["index"]), str(extra["env"]), extra["purpose"]
            task = task_from_json(json.loads(extra["task"]), f"row {index} of the dataset")
            if purpose not in ("train", "val"):
                raise ValueError(purpose)
            return cls(index, env, task, int(extra["seed"]), str(extra["config"]), purpose)
        except (KeyError, TypeError, ValueError) as error:
            fix = "Write the dataset with simia_gym.rl.grpo.dataset.write_dataset."
            raise InputError(f"a row was not written by this package: {error!r}", where="extra_info", fix=fix) from None


def write_dataset(
    path: Path,
    sources: Weighted,
    tokenizer: Any,
    *,
    purpose: Purpose,
    max_prompt_length: int,
    seed: int = 0,
    rows: int | None = None,
    thinking: Thinking = DEFAULT,
) -> DatasetFacts:
    """Write a dataset.

    For training, environments alternate in proportion to their weights, each with its tasks in shuffled order, which
    are repeated if there are fewer than rows. For validation every task occurs once, and weights are ignored.

    Args:
        path: The parquet file.
        sources: The environments with their weights.
        tokenizer: The policy's tokenizer.
        purpose: ``train`` or ``val``.
        max_prompt_length: Maximum tokens of a prompt.
        seed: Random seed of the order.
        rows: Number of rows; by default as many as there are tasks.
        thinking: ``never`` or ``keep``; see `simia_gym.rl.chat.thinking`.

    Raises:
        InputError: A prompt is too long, a weight is not positive, or there is no task.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    for suite, weight in sources:
        if not weight > 0:
            fix = "Give a number above 0, or leave the environment out."
            raise InputError(f"the weight is {weight}", where=suite.config.env, fix=fix)
    if not sources or (rows is not None and rows < 1):
        raise InputError("there is nothing to play", where=str(path), fix="Name an environment and at least one row.")
    prompts = [InitialPrompts(suite, ChatTokens.of(tokenizer, thinking)) for suite, _ in sources]
    names = labels([suite.config for suite, _ in sources])
    configs = [encode(played_config(suite).to_json()).decode() for suite, _ in sources]
    chosen = list(_evenly(sources, rows)) if purpose == "val" else list(_mixed(sources, rows, seed))
    path.parent.mkdir(parents=True, exist_ok=True)
    longest: tuple[int, Suite, Task] | None = None
    partial = path.with_name(f".{path.name}.partial")
    with pq.ParquetWriter(partial, _schema(pa)) as file:
        for first in range(0, len(chosen), _CHUNK):
            written = []
            for index, (source, position) in enumerate(chosen[first : first + _CHUNK], first):
                suite = sources[source][0]
                task, messages, length = prompts[source].of(position)
                if longest is None or length > longest[0]:
                    longest = (length, suite, task)
                extra = {"index": index, "env": names[source], "task": encode(task_to_json(task)).decode()}
                extra |= {"seed": seed, "config": configs[source], "purpose": purpose}
                written.append(_row(task, messages, extra))
            file.write_table(pa.Table.from_pylist(written, schema=_schema(pa)))
    assert longest is not None
    if longest[0] > max_prompt_length:
        partial.unlink()
        raise _too_long(*longest, max_prompt_length)
    partial.replace(path)
    by_env = Counter(names[source] for source, _ in chosen)
    return DatasetFacts(len(chosen), by_env, len(set(chosen)), longest[0])


def played_config(suite: Suite) -> EnvConfig:
    """The settings for another process: with absolute paths, the resolved simulator, and the models of all roles."""
    config = suite.config
    paths = {name: getattr(config, name) for name in ("data", "domain", "replay_from")}
    found: dict[str, Any] = {name: str(Path(value).resolve()) for name, value in paths.items() if value is not None}
    roles = {role: {**config.roles.get(role, {}), "model": name} for role, name in suite.model_names.items() if name}
    simulator = suite.simulator_name if config.simulator == "auto" else config.simulator
    return replace(config, simulator=simulator, roles={**config.roles, **roles}, **found)


def _row(task: Task, messages: Sequence[Message], extra: JsonObject) -> JsonObject:
    return {
        "prompt": [{"role": item["role"], "content": item["content"]} for item in messages],
        "data_source": extra["env"],
        "agent_name": AGENT,
        "ability": task.kind,
        "reward_model": {"style": AGENT, "ground_truth": ""},
        "extra_info": extra,
    }


def _schema(pa: Any) -> Any:
    """The columns of every dataset."""
    text, number = pa.string(), pa.int64()
    extra = {"index": number, "env": text, "task": text, "seed": number, "config": text, "purpose": text}
    return pa.schema(
        [
            ("prompt", pa.list_(pa.struct([("role", text), ("content", text)]))),
            ("data_source", text),
            ("agent_name", text),
            ("ability", text),
            ("reward_model", pa.struct([("style", text), ("ground_truth", text)])),
            ("extra_info", pa.struct(list(extra.items()))),
        ]
    )


def _too_long(length: int, suite: Suite, task: Task, limit: int) -> InputError:
    fix = f"Give --max-prompt-length {length} or more"
    if suite.config.prompt == "full" and suite.domain.prompts["compact"] != suite.domain.prompts["full"]:
        fix += ", or --prompt compact"
    what = f"the prompt of task {task.id} has {length} tokens, and at most {limit} are allowed (prompts are never cut)"
    return InputError(what, where=str(suite.config.domain or suite.config.env), fix=f"{fix}.")


def _evenly(sources: Weighted, rows: int | None) -> Iterator[tuple[int, int]]:
    """Every task once as indices of environment and task, alternating between the environments; weights are ignored."""
    sizes = [len(suite.tasks) for suite, _ in sources]
    left = sum(sizes) if rows is None else min(rows, sum(sizes))
    for position in range(max(sizes)):
        for source, size in enumerate(sizes):
            if position < size and left:
                left -= 1
                yield source, position


def _mixed(sources: Weighted, rows: int | None, seed: int) -> Iterator[tuple[int, int]]:
    """Shuffled tasks as indices of environment and task: the environment furthest behind its weight's share is next."""
    total = sum(weight for _, weight in sources)
    orders = [_shuffled(len(suite.tasks), f"{seed}/{suite.config.env}/{n}") for n, (suite, _) in enumerate(sources)]
    given = [0] * len(sources)
    for number in range(sum(len(suite.tasks) for suite, _ in sources) if rows is None else rows):
        behind = [(number + 1) * weight / total - have for (_, weight), have in zip(sources, given, strict=True)]
        source = max(range(len(sources)), key=lambda one: (behind[one], -one))
        given[source] += 1
        yield source, next(orders[source])


def _shuffled(size: int, seed: str) -> Iterator[int]:
    """All indices, repeatedly, each time in another order."""
    chance = random.Random(seed)
    while True:
        yield from chance.sample(range(size), size)
