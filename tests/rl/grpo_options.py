"""What the tests of GRPO share: options from flat keyword arguments, and lines of an episode log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.rl.grpo.config.options import GrpoOptions
from simia_gym.rl.grpo.config.settings import GrpoSettings, LaunchSettings
from simia_gym.rl.grpo.run.episodes import EPISODES, EpisodeLine
from simia_gym.rl.verl_run.log import Tail

LINE = EpisodeLine(
    step=1, purpose="train", uid="u", group="g", sample=0, env="simia/retail-v0", prompt="compact", task="t",
    kind="cancel", reward=1.0, valid=True, success=True, fault=None, turns=3, tokens=10, length=30, prompt_tokens=5,
    ended="user_stop", seconds=1.0,
)  # fmt: skip
FAULT = {"role": "simulator", "kind": "timeout", "message": "no answer"}
MASKED = replace(LINE, reward=None, valid=False, success=False, fault=FAULT, ended="fault")


def read_episodes(run: Path) -> Iterator[EpisodeLine]:
    """The episodes that a training has played so far, file by file."""
    for path in sorted((run / EPISODES).glob("*.jsonl")):
        yield from (EpisodeLine(**json.loads(line)) for line in Tail(path).lines())


def grpo_options(env: tuple[str, ...] = ("simia/retail-v0",), **given: Any) -> GrpoOptions:
    """Sort the arguments by the settings that they are fields of."""

    def taken(model: Any) -> dict[str, Any]:
        return {name: given.pop(name) for name in [*given] if name in model.fields()}

    launch, training, world = taken(LaunchSettings), taken(GrpoSettings), taken(EnvConfig)
    return GrpoOptions(env=env, launch=LaunchSettings(**launch), training=training, world=world, **given)
