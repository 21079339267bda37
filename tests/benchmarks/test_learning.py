"""The summary of the learning benchmark, from records of real evaluations."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.learning.plan import RECIPES, quick, stages
from benchmarks.learning.summary import markdown, rose_and_fell, summarise_run
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.domain.tasks import task_to_json

_SIMIA = [sys.executable, "-c", "from simia_gym.cli import main; main()"]


@pytest.mark.parametrize("domain", sorted(RECIPES))
def test_no_stage_trains_on_tasks_for_testing(domain: str, tmp_path: Path) -> None:
    made = stages(quick(RECIPES[domain]), 0, tmp_path)
    names = [stage.name for stage in made]
    assert names[:4] == ["new-policy", "openings", "sft", "grpo"]
    for stage in made:
        assert ("--split" in stage.words) == stage.name.startswith("evaluate")  # else those for training
    assert len({stage.done for stage in made}) == len(made)


@pytest.mark.parametrize("domain", sorted(RECIPES))
@pytest.mark.slow
def test_no_test_task_is_counted_twice(domain: str) -> None:
    recipe = RECIPES[domain]
    suite = load_suite(EnvConfig(env=recipe.env, split="test", generated=recipe.test_tasks, prompt=recipe.prompt))
    told = [json.dumps({**task_to_json(task), "id": ""}, sort_keys=True, default=dict) for task in suite.tasks]
    assert len(told) == len(set(told)) > 200


@pytest.mark.slow
def test_the_gain_is_that_of_the_later_policy(tmp_path: Path) -> None:
    for name, policy in (("sft", "random"), ("grpo", "expert")):
        words = ["evaluate", "simia/webshop-v0", "--policy", policy, "--simulator", "world"]
        words += ["--out", f"{name}-greedy.jsonl", "--report", f"{name}-greedy.json"]
        subprocess.run([*_SIMIA, *words], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "times.json").write_text(json.dumps({"sft": 60.0}), encoding="utf-8")
    (tmp_path / "sft").mkdir()
    (tmp_path / "sft" / "settings.json").write_text(json.dumps({"policy": "/here", "lr": 0.1}), encoding="utf-8")
    found = summarise_run(tmp_path, before=tmp_path)
    assert found["settings"] == {"sft": {"lr": 0.1}}
    scores = found["greedy"]
    assert scores["grpo"]["success"]["value"] == 1.0
    assert scores["gain"]["value"] == pytest.approx(1.0 - scores["sft"]["success"]["value"])
    row = markdown({"runs": [{"domain": "webshop", "seed": 0, "world": "world", "result": found}]}).splitlines()[2]
    assert row.startswith("| webshop | 0 | world | greedy | 20 |")
    assert "100.0 (" in row
    row = rose_and_fell({"runs": [{"domain": "webshop", "seed": 0, "world": "world", "result": found}]}).splitlines()[2]
    assert f"{scores['sft']['reward']['value']:.3f} to 1.000 | 6, 0 of 6 |" in row
    swapped = {"greedy": {"sft": scores["grpo"], "grpo": scores["sft"]}, "sampled": {}}
    fell = rose_and_fell({"runs": [{"domain": "webshop", "seed": 0, "world": "world", "result": swapped}]})
    assert "| 0, 6 of 6 | `" in fell
    assert "` 100 to " in fell


def test_the_curve_has_the_entropy_of_a_step_if_verl_computed_it(tmp_path: Path) -> None:
    (tmp_path / "grpo").mkdir()
    lines = [{"step": 1, "train": {"reward": 0.5}, "verl": {"actor/entropy_loss": 1.25}}]
    lines += [{"step": 2, "train": {"reward": 0.5}, "verl": {}}]
    (tmp_path / "grpo" / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert [line["entropy"] for line in summarise_run(tmp_path, before=tmp_path)["curve"]] == [1.25, None]
