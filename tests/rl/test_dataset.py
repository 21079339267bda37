"""The dataset that verl reads, and that of a run that is resumed otherwise than it was begun."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from .libraries import need

need("torch", "verl", "pyarrow", "transformers", "torchdata", "tokenizers")

import pyarrow.parquet as pq

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.domain.tasks import task_to_json
from simia_gym.errors import InputError
from simia_gym.rl.chat.tokens import ChatTokens
from simia_gym.rl.grpo.config.options import make_plan
from simia_gym.rl.grpo.config.profile import load_profile
from simia_gym.rl.grpo.dataset import DatasetFacts, Row, Weighted, played_config, write_dataset
from simia_gym.rl.grpo.prepare import load_worlds, training_rows, write_data
from simia_gym.rl.grpo.run.run_folder import RunFolder
from simia_gym.rl.labels import labels

from .agent_worker import RETAIL, WEBSHOP, policy_folder, suite_of, tokenizer
from .grpo_options import grpo_options
from .trl_parts import LIBRARY


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(policy_folder(tmp_path_factory.mktemp("data") / "policy"))


def rows(folder: RunFolder, purpose: str) -> list[Row]:
    return [Row.of(row["extra_info"]) for row in pq.read_table(folder.path / f"{purpose}.parquet").to_pylist()]


def write(folder: RunFolder, policy: str, **options: Any) -> int:
    given = {"env": (WEBSHOP,), "prompt": "compact", "steps": 2, "groups": 2, "validation_tasks": 3, **options}
    asked = grpo_options(**given)
    plan = make_plan(asked, load_profile("cpu"))
    return write_data(folder, plan, *load_worlds(asked, plan), policy)


def test_a_validation_that_is_begun_late_has_the_tasks_of_validation(policy: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    write(folder, policy, validation_every=0)
    assert len(rows(folder, "val")) == 1  # verl reads the file, and looks at none of it
    write(folder, policy, validation_every=1)
    found = rows(folder, "val")
    assert [(row.split, row.task.split) for row in found] == [("dev", "dev")] * 3
    written = (tmp_path / "val.parquet").stat().st_mtime_ns
    write(folder, policy, validation_every=0)
    write(folder, policy, validation_every=2)
    assert rows(folder, "val") == found
    assert (tmp_path / "val.parquet").stat().st_mtime_ns == written


@pytest.mark.parametrize(
    ("options", "trained"), [({}, 3), ({"validation_every": 0}, 3), ({"validation_split": "test"}, 4)]
)
def test_without_a_generator_no_task_of_dev_is_trained_on(
    options: dict[str, Any], trained: int, policy: str, tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path)
    given = {"validation_every": 1, "max_prompt_length": 4000, **options}
    write(folder, policy, env=(str(LIBRARY),), steps=10, **given)
    learned, looked_at = ({row.task.id for row in rows(folder, purpose)} for purpose in ("train", "val"))
    assert len(learned) == trained
    assert not options.get("validation_every", 1) or not learned & looked_at


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


def test_a_long_training_plays_every_task_that_it_has_rows_for(policy: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert write(folder, policy, steps=43, groups=100, generated=4300) == 4300
    assert len({row.task.id for row in rows(folder, "train")}) == 4300
    assert training_rows(make_plan(grpo_options(steps=5, groups=3, dynamic_sampling=True), load_profile("cpu"))) > 15


def write_rows(path: Path, sources: Weighted, **more: Any) -> DatasetFacts:
    """Write a dataset for training, or another one."""
    return write_dataset(path, sources, tokenizer(), **{"purpose": "train", "max_prompt_length": 4096, **more})


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows as plain values."""
    return list(pq.read_table(path).to_pylist())


def test_a_row_holds_everything_that_an_episode_needs(tmp_path: Path) -> None:
    suite = suite_of(RETAIL, generated=20)
    facts = write_rows(tmp_path / "train.parquet", [(suite, 1.0)], seed=7)
    rows = rows_of(tmp_path / "train.parquet")
    assert facts.rows == len(rows) == facts.tasks == len(suite.tasks) == 60
    known = {task.id: task for task in suite.tasks}
    for number, raw in enumerate(rows):
        row = Row.of(raw["extra_info"])
        assert (row.index, row.env, row.seed, row.purpose, row.prompt) == (number, RETAIL, 7, "train", "compact")
        assert task_to_json(row.task) == task_to_json(known.pop(row.task.id))
        assert EnvConfig.from_json(json.loads(row.config)) == played_config(suite)
        assert (raw["data_source"], raw["agent_name"], raw["ability"]) == (RETAIL, "simia", row.task.kind)
        assert raw["prompt"][0] == {"role": "system", "content": suite.domain.prompts["compact"]}
    assert not known


def test_the_longest_prompt_is_measured_to_the_token(tmp_path: Path) -> None:
    sources = [(suite_of(RETAIL), 1.0), (suite_of(WEBSHOP), 1.0)]
    path = tmp_path / "train.parquet"
    facts = write_rows(path, sources, max_prompt_length=9999, rows=30)
    chat = ChatTokens.of(tokenizer())
    assert facts.longest == max(len(chat.prompt(row["prompt"])) for row in rows_of(path))
    exactly = write_rows(path, sources, max_prompt_length=facts.longest, rows=30)
    assert exactly == facts


def test_a_prompt_that_is_too_long_is_refused_and_what_stood_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    long, short = load_suite(EnvConfig(env=RETAIL)), suite_of(RETAIL)
    facts = write_rows(path, [(short, 1.0)], rows=3)
    before = path.read_bytes()
    for suite, most in ((long, facts.longest), (short, facts.longest - 1)):
        with pytest.raises(
            InputError, match=f"{RETAIL}: the prompt of task retail-train-.*--max-prompt-length"
        ) as caught:
            write_rows(path, [(suite, 1.0)], max_prompt_length=most, rows=3)
        assert ("--prompt compact" in str(caught.value)) == (suite is long)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["train.parquet"]


def test_environments_are_mixed_by_their_weights_evenly_and_always_alike(tmp_path: Path) -> None:
    sources = [(suite_of(RETAIL), 3.0), (suite_of(WEBSHOP), 1.0)]
    paths = [tmp_path / name for name in ("one.parquet", "two.parquet", "three.parquet")]
    for path, seed in zip(paths, (0, 0, 1), strict=True):
        facts = write_rows(path, sources, seed=seed, rows=200)
        assert facts.by_env == {RETAIL: 150, WEBSHOP: 50}
    one, two, three = [rows_of(path) for path in paths]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert one == two
    tasks = [[row["extra_info"]["task"] for row in rows] for rows in (one, three)]
    assert tasks[0] != tasks[1]
    for first in range(0, 200, 8):  # every batch has its share
        assert Counter(row["data_source"] for row in one[first : first + 8]) == {RETAIL: 6, WEBSHOP: 2}
    # 150 rows of 40 tasks: each comes three or four times, and before one comes again all others have come.
    retail = [json.loads(row["extra_info"]["task"])["id"] for row in one if row["data_source"] == RETAIL]
    assert set(Counter(retail).values()) == {3, 4}
    assert len(set(retail[:40])) == 40
    assert retail[:40] != retail[40:80]


def test_two_domains_of_ones_own_are_told_apart(tmp_path: Path) -> None:
    folders = [tmp_path / "mine" / "shop", tmp_path / "theirs" / "shop", tmp_path / "desk"]
    for folder in folders:
        shutil.copytree(LIBRARY, folder)
    suites = [load_suite(EnvConfig("simia/custom-v0", domain=str(folder), prompt="compact")) for folder in folders]
    path = tmp_path / "train.parquet"
    sources = [(suite, 1.0) for suite in [*suites, suite_of(WEBSHOP)]]
    facts = write_rows(path, sources, rows=4)
    assert facts.by_env == {"shop": 1, "shop-2": 1, "desk": 1, WEBSHOP: 1}
    for raw in rows_of(path):
        row = Row.of(raw["extra_info"])
        assert raw["data_source"] == row.env
        if row.env != WEBSHOP:
            config = EnvConfig.from_json(json.loads(row.config))
            assert config.domain == str(folders[["shop", "shop-2", "desk"].index(row.env)])
    assert labels([suites[0].config]) == ["simia/custom-v0"]  # nothing to tell apart


def test_validation_is_on_the_test_split_and_each_task_stands_there_once(tmp_path: Path) -> None:
    path = tmp_path / "val.parquet"
    suites = [load_suite(replace(suite_of(env).config, split="test", generated=10)) for env in (RETAIL, WEBSHOP)]
    train = {task.id for env in (RETAIL, WEBSHOP) for task in suite_of(env, generated=10).tasks}
    whole = write_rows(path, [(suite, 1.0) for suite in suites], purpose="val")
    rows = [Row.of(row["extra_info"]) for row in rows_of(path)]
    assert whole.rows == whole.tasks == len(rows) == sum(len(suite.tasks) for suite in suites)
    assert {row.task.split for row in rows} == {"test"}
    assert {row.purpose for row in rows} == {"val"}
    assert not train & {row.task.id for row in rows}
    few = write_rows(path, [(suite, 1.0) for suite in suites], purpose="val", rows=6)
    assert few.by_env == {RETAIL: 3, WEBSHOP: 3}


def test_other_processes_get_who_plays_and_no_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SIMIA_SIMULATOR_MODEL", "oracle")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-written")
    config = EnvConfig(env=RETAIL, prompt="compact", simulator="auto", user="llm", judge="llm", model="small")
    suite = load_suite(config, Resources(base_url="http://127.0.0.1:9/v1", api_key="sk-neither-this"))
    path = tmp_path / "train.parquet"
    write_rows(path, [(suite, 1.0)], rows=2)  # asks nobody
    row = rows_of(path)[0]
    played = EnvConfig.from_json(json.loads(row["extra_info"]["config"]))
    assert played.simulator == "llm"
    assert {role: dict(given) for role, given in played.roles.items()} == {
        role: {"model": name} for role, name in suite.model_names.items()
    }
    assert b"sk-n" not in path.read_bytes()
    assert "sk-n" not in json.dumps(rows_of(path))
