"""A user's own data by its path: sites, or recordings of Mind2Web."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simia_gym.domain.data import DomainData
from simia_gym.envs.mind2web.recorded.opened import open_recordings
from simia_gym.envs.mind2web.recorded.world import BEST, ENDS, PUBLISHED, SCHEMA
from simia_gym.envs.mind2web.work.own import own_sites
from simia_gym.types import Split, Task

_MOST_TURNS = 40
_POLICY = """# Your task

You choose the next action on recorded web pages. Every message shows a part of a page, a task, the actions that were
taken before, and some elements of the page by their letters. One element of the page comes next, and it need not be
among those that have letters: then choose none of the above. Further elements follow, and those that you chose come
again beside others: choose the best.
"""


def load(path: Path) -> DomainData:
    """Load sites (`.yaml` files, or a folder of them), or recordings: the release's JSON, a folder of it, JSON Lines.

    Raises:
        InputError: The data cannot be used; the text says where, and what to do.
    """
    files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    if files and files[0].suffix == ".yaml":
        return own_sites(files)
    return _recordings(path)


def _recordings(path: Path) -> DomainData:
    found = open_recordings(path)

    def tasks(options: Mapping[str, Any]) -> Mapping[Split, Sequence[Task]]:
        """One task a step; those that nobody can solve are left out where scores are no published ones."""
        whole = options.get("compat") == PUBLISHED
        return {
            "train": [
                Task(key, "train", step.op.lower(), instruction=task.request, options={"data": found.hash, "step": key})
                for key, (task, step) in found.steps.items()
                if whole or found.may_be_solved(step, options["top_k"])
            ]
        }

    return DomainData(
        tables={"session": {}},
        tasks=tasks,
        policy=_POLICY,
        options={"compat": PUBLISHED, "top_k": BEST},
        reward="simia_gym.envs.mind2web.recorded.reward:StepReward",
        max_turns=_MOST_TURNS,
        ends=[ENDS],
        grammar="choice",
        world="simia_gym.envs.mind2web.recorded.world:RecordedWorld",
        state_schema=SCHEMA,
        hash=found.hash,
    )
