"""The data of a run that is resumed otherwise than it was begun: more steps, and a validation that there was not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .libraries import need

need("torch", "verl", "pyarrow", "transformers", "torchdata")

import pyarrow.parquet as pq
from torch.utils.data import SequentialSampler
from torchdata.stateful_dataloader import StatefulDataLoader

from simia_gym.rl.grpo.dataset import Row
from simia_gym.rl.grpo.options import make_plan
from simia_gym.rl.grpo.prepare import load_worlds, write_data
from simia_gym.rl.grpo.profile import load_profile
from simia_gym.rl.grpo.run_folder import RunFolder

from .agent_worker import WEBSHOP, policy_folder
from .grpo_options import grpo_options


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(policy_folder(tmp_path_factory.mktemp("data") / "policy"))


def rows(folder: RunFolder, purpose: str) -> list[Row]:
    return [Row.of(row["extra_info"]) for row in pq.read_table(folder.path / f"{purpose}.parquet").to_pylist()]


def write(folder: RunFolder, policy: str, **options: Any) -> int:
    given = {"env": (WEBSHOP,), "prompt": "compact", "steps": 2, "groups": 2, "validation_tasks": 3, **options}
    asked = grpo_options(**given)
    plan = make_plan(asked, load_profile("cpu"))
    return write_data(folder, plan, load_worlds(asked, plan), policy)


def test_a_validation_that_is_begun_late_has_the_tasks_of_validation(policy: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    write(folder, policy, validation_every=0)
    assert len(rows(folder, "val")) == 1  # verl reads the file, and looks at none of it
    write(folder, policy, validation_every=1)
    found = rows(folder, "val")
    assert [row.task.split for row in found] == ["test"] * 3
    written = (tmp_path / "val.parquet").stat().st_mtime_ns
    write(folder, policy, validation_every=0)
    write(folder, policy, validation_every=2)
    assert rows(folder, "val") == found
    assert (tmp_path / "val.parquet").stat().st_mtime_ns == written


def test_more_steps_have_more_rows_and_the_first_are_the_same(policy: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert write(folder, policy, steps=2) == 4
    before = rows(folder, "train")
    assert write(folder, policy, steps=5) == 10
    after = rows(folder, "train")
    assert after[:4] == before
    assert len({row.task.id for row in after}) == 10
    assert write(folder, policy, steps=3) == 10  # fewer steps: what is there is enough
    assert rows(folder, "train") == after


def loader(count: int) -> Any:
    """The loader of verl's trainer over so many rows."""
    data = list(range(count))
    return StatefulDataLoader(
        data, batch_size=2, num_workers=0, drop_last=True, collate_fn=list, sampler=SequentialSampler(data)
    )


@pytest.mark.parametrize("done", [1, 2])
def test_the_order_of_the_tasks_goes_on_in_the_longer_file(done: int) -> None:
    short, long = loader(4), loader(10)
    batches: Iterator[list[int]] = iter(short)
    for _ in range(done):
        next(batches)
    long.load_state_dict(short.state_dict())
    assert [item for batch in long for item in batch] == list(range(2 * done, 10))
