"""Masks of TRL's environments where the processes of a training have faults of their own."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from simia_gym.env import make_suite

from .libraries import need
from .trl_parts import LIBRARY, breaking

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
need("torch", "trl", "datasets")

import torch
from trl import GRPOTrainer

from simia_gym.rl import EpisodeGRPOTrainer, tool_environments
from simia_gym.rl.for_trl.environments import ToolEnvironments

DESK = "simia/custom-v0"


def played(environments: ToolEnvironments, count: int) -> list[Any]:
    rows = environments._beginnings.rows(environments._prompt, rows=1)
    made = [environments() for _ in range(count)]
    for one in made:
        one.reset(**rows[0])
    return made


@pytest.mark.parametrize(("places", "counted"), [(["", ""], 5), (["", "reset"], 3), (["reset", "reset"], 0)])
def test_every_process_gathers_whether_it_has_a_fault_or_not(
    places: list[str], counted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = make_suite(DESK, {"domain": str(LIBRARY)})
    assert plain.domain.world is not None
    environments = tool_environments(DESK, domain=str(LIBRARY), simulator=breaking(plain.domain.world, places))
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]])
    before = {"completion_mask": mask, "num_items_in_batch": torch.tensor(99)}
    monkeypatch.setattr(GRPOTrainer, "_generate_and_score_completions", lambda self, inputs: dict(before))
    gathered: list[int] = []

    def gather(value: Any) -> Any:
        gathered.append(int(value))
        return torch.stack([value, torch.tensor(100)])  # another process has counted, too

    trainer = EpisodeGRPOTrainer.__new__(EpisodeGRPOTrainer)
    trainer.environments = played(environments, 2)
    trainer.accelerator = SimpleNamespace(gather=gather)
    batch = trainer._generate_and_score_completions([])
    assert gathered == [counted]
    assert int(batch["num_items_in_batch"]) == 100 + counted
    assert int((batch["completion_mask"] * batch["tool_mask"]).sum()) == counted
