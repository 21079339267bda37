"""From tasks to the dataset that verl reads: one row a task, everything that an episode needs in it.

Training takes the tasks of the train split and validation those of the test split, fixed ones and generated ones; the
two never share a task. A row's prompt is what the policy will read first. It is measured here with the policy's own
tokenizer, and one that is too long is refused: verl would cut its beginning off, which is where the rules stand.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite
from simia_gym.common.json_encoding import encode
from simia_gym.domain.tasks import task_from_json, task_to_json
from simia_gym.errors import InputError
from simia_gym.rl.chat.tokens import ChatTokens
from simia_gym.rl.grpo.episodes import Purpose
from simia_gym.rl.grpo.initial_prompts import InitialPrompts
from simia_gym.rl.grpo.order import evenly, mixed
from simia_gym.rl.grpo.worlds import AGENT
from simia_gym.rl.labels import labels
from simia_gym.types import JsonObject, Message, Task

_CHUNK = 2_000


@dataclass(frozen=True)
class DatasetFacts:
    """What a dataset holds.

    Attributes:
        rows: How many rows.
        by_env: How many of each environment.
        tasks: How many distinct tasks.
        longest: Tokens of the longest prompt.
    """

    rows: int
    by_env: dict[str, int]
    tasks: int
    longest: int


@dataclass(frozen=True)
class Row:
    """What the agent loop reads of a row.

    Attributes:
        index: The row's number, from 0.
        env: The environment, as `simia_gym.rl.labels.labels` names it.
        task: The task.
        seed: The seed that the dataset was made with.
        config: The JSON text of the `EnvConfig`.
        purpose: What the row is played for.
    """

    index: int
    env: str
    task: Task
    seed: int
    config: str
    purpose: Purpose

    @property
    def prompt(self) -> str:
        """How much the system message says: ``full`` or ``compact``."""
        return str(json.loads(self.config).get("prompt", "full"))

    @classmethod
    def of(cls, extra: JsonObject) -> Row:
        """Read ``extra_info``.

        Raises:
            InputError: It is none of ours.
        """
        try:
            index, env, purpose = int(extra["index"]), str(extra["env"]), extra["purpose"]
            task = task_from_json(json.loads(extra["task"]), f"row {index} of the dataset")
            if purpose not in ("train", "val"):
                raise ValueError(purpose)
            return cls(index, env, task, int(extra["seed"]), str(extra["config"]), purpose)
        except (KeyError, TypeError, ValueError) as error:
            fix = "Write the dataset with simia_gym.rl.grpo.dataset.write_dataset."
            raise InputError(f"a row is none of ours: {error!r}", where="extra_info", fix=fix) from None


def write_dataset(
    path: Path,
    sources: Sequence[tuple[Suite, float]],
    tokenizer: Any,
    *,
    purpose: Purpose,
    max_prompt_length: int,
    seed: int = 0,
    rows: int | None = None,
) -> DatasetFacts:
    """Write a dataset.

    For training, rows are drawn in the proportion of the weights, evenly over the whole file, each environment's tasks
    in an order of their own; where one has fewer tasks than its share they come again. For validation every task stands
    there once, and the weights do not matter.

    Args:
        path: The parquet file.
        sources: The environments with their weights; their tasks are those of their settings.
        tokenizer: The policy's.
        purpose: ``train`` or ``val``.
        max_prompt_length: Most tokens of a prompt.
        seed: Seed of the order.
        rows: How many rows; by default as many as there are tasks.

    Returns:
        What stands in it.

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
    openings = [InitialPrompts(suite, ChatTokens.of(tokenizer)) for suite, _ in sources]
    names = labels([suite.config for suite, _ in sources])
    configs = [encode(played_config(suite).to_json()).decode() for suite, _ in sources]
    chosen = list(evenly(sources, rows)) if purpose == "val" else list(mixed(sources, rows, seed))
    path.parent.mkdir(parents=True, exist_ok=True)
    longest: tuple[int, Suite, Task] | None = None
    partial = path.with_name(f".{path.name}.partial")
    with pq.ParquetWriter(partial, _schema(pa)) as file:
        for first in range(0, len(chosen), _CHUNK):
            written = []
            for index, (source, position) in enumerate(chosen[first : first + _CHUNK], first):
                suite = sources[source][0]
                task, messages, length = openings[source].of(position)
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
    by_env: dict[str, int] = {}
    for source, _ in chosen:
        by_env[names[source]] = by_env.get(names[source], 0) + 1
    return DatasetFacts(len(chosen), by_env, len(set(chosen)), longest[0])


def played_config(suite: Suite) -> EnvConfig:
    """The settings as another process needs them: paths from the root, who plays is said, models have their names."""
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
    """The columns; the same for every file, whatever is in it."""
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
