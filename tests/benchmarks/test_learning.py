"""The summary of the learning benchmark, from records of real evaluations."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.learning import running
from benchmarks.learning.plan import RECIPES, Stage, quick, stages
from benchmarks.learning.summary import markdown, summarise_run
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
def test_no_test_task_is_counted_twice(domain: str) -> None:
    recipe = RECIPES[domain]
    suite = load_suite(EnvConfig(env=recipe.env, split="test", generated=recipe.test_tasks, prompt=recipe.prompt))
    told = [json.dumps({**task_to_json(task), "id": ""}, sort_keys=True, default=dict) for task in suite.tasks]
    assert len(told) == len(set(told)) > 200


def _stage(folder: Path, words: str) -> Stage:
    return Stage("sft", tuple(words.split()), folder / "done")


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that were run; each makes the file that says that its stage is done, in the folder it names last."""
    found: list[str] = []

    def run(words: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
        found.append(" ".join(words[3:]))
        Path(words[-1], "done").touch()
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr("benchmarks.learning.running.subprocess.run", run)
    return found


def test_what_was_done_with_other_words_is_not_taken_for_done(tmp_path: Path, commands: list[str]) -> None:
    folder, moved = tmp_path / "runs" / "shop-0", tmp_path / "moved" / "shop-0"
    words = "train --steps {} --base-url http://here:{} --out {}"
    for port in (1, 2):
        running.run_stages([_stage(folder, words.format(5, port, folder))], folder)
    assert commands == [words.format(5, 1, folder)]
    with pytest.raises(RuntimeError, match=r"sft was finished with other arguments, `simia train --steps 5 "):
        running.run_stages([_stage(folder, words.format(6, 1, folder))], folder)
    folder.parent.rename(moved.parent)
    running.run_stages([_stage(moved, words.format(5, 3, moved))], moved)
    (moved / "words.json").unlink()  # as those from before words were written down
    running.run_stages([_stage(moved, words.format(6, 1, moved))], moved)
    assert len(commands) == 1


@pytest.mark.parametrize("more", [["--quick"], [], ["--quick", "--runs", "here", "--out", "there.json"]])
def test_a_quick_look_leaves_what_is_published_alone(
    more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    from benchmarks.learning import __main__ as learning

    monkeypatch.chdir(tmp_path)
    published = tmp_path / "published.json"
    result = {"curve": [{"step": 1, "success": 0.5}], "seconds": {}, "greedy": {}, "sampled": {}}
    old = [
        {"domain": "webshop", "seed": seed, "world": "world", "quick": quick, "result": {**result, "old": True}}
        for seed, quick in ((0, False), (0, True), (7, False))
    ]
    places: list[Path] = []
    monkeypatch.setattr(learning, "_OUT", published)
    monkeypatch.setattr(learning, "run_stages", lambda made, folder: places.append(folder))
    monkeypatch.setattr(learning, "summarise_run", lambda folder, before: result)
    monkeypatch.setattr(learning, "machine", dict)
    out, runs = published, "runs/learning"
    if more:
        out, runs = Path("there.json"), "here"
    if more == ["--quick"]:
        out, runs = Path("runs/learning-quick/learning.json"), "runs/learning-quick"
    for path in {published, out}:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"runs": old}), encoding="utf-8")
    learning.main(["--domain", "webshop", "--seed", "0", *more])
    found = json.loads(out.read_text(encoding="utf-8"))["runs"]
    assert [(run["seed"], run["quick"], "old" in run["result"]) for run in found] == [
        (0, False, bool(more)),
        (0, True, not more),
        (7, False, True),
    ]
    assert places == [(tmp_path / runs / "webshop-0").resolve()]
    assert out == published or json.loads(published.read_text(encoding="utf-8"))["runs"] == old


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
