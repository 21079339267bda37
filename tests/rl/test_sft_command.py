"""What `simia train sft` refuses before anything is trained, and says while experts play."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.app import run as main

from .libraries import need

need("torch", "transformers", "trl", "datasets")

import torch

import simia_gym.rl.sft.run as run
from simia_gym.rl.small.build import build_policy
from simia_gym.rl.small.card import Card, read_card, write_card

SHOP = "simia/webshop-v0"


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """The settings of every training that would have begun."""
    monkeypatch.chdir(tmp_path)
    begun: list[Any] = []

    def train(given: Any, out: Path, **more: Any) -> run.Finished:
        begun.append(given)
        return run.Finished(out, 1, 0.0, {})

    monkeypatch.setattr(run, "train_sft", train)
    return begun


def small(folder: str | Path, *envs: str, **more: Any) -> None:
    """A folder that looks like a new policy."""
    path = Path(folder)
    path.mkdir(parents=True)
    (path / "config.json").touch()
    write_card(path, Card(envs=envs, made={"size": "small", "seed": 0, "copying": False, **more}))


def test_a_start_that_is_what_would_be_made_is_taken(settings: list[Any]) -> None:
    small("runs/sft-webshop-start", SHOP)
    assert main(["train", "sft", SHOP]) == 0
    assert settings[0].policy == "runs/sft-webshop-start"
    assert (settings[0].trajectories, settings[0].held_out) == (None, None)


@pytest.mark.parametrize(
    ("made", "words", "said"),
    [
        ({"size": "tiny"}, [], "made with size='tiny'"),
        ({}, ["--size", "base"], "made with size='small'"),
        ({}, ["--seed", "3"], "made with seed=0"),
        ({"copying": True}, [], "made with copying=True"),
        ({}, ["--expert", "thinker"], "made with expert='expert'"),
    ],
)
def test_a_start_that_was_made_otherwise_is_refused(
    made: dict[str, Any], words: list[str], said: str, settings: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    small("a-start", SHOP, **made)
    assert main(["train", "sft", SHOP, "--out", "a", *words]) == 2
    assert said in capsys.readouterr().err
    assert not settings


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--policy", "p", "--size", "tiny"], "--size: only a new model has a size"),
        (["--set", "max_steps=4", "--policy", "p"], "Use --steps"),
        (["--out", "."], "the folder is not empty"),
        (["--out", ".."], "the folder is not empty"),
        (["--out", "/"], "the folder is not empty"),
    ],
)
def test_what_cannot_be_is_refused_before_a_model_is_made(
    words: list[str], said: str, settings: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("something").touch()
    assert main(["train", "sft", SHOP, *words]) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["something"]


def test_an_empty_folder_that_one_stands_in_will_do(
    settings: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    small(tmp_path / "here-start", SHOP)
    assert main(["train", "sft", SHOP, "--out", "."]) == 0
    assert settings[0].policy == str(tmp_path / "here-start")


@pytest.mark.parametrize(("cards", "processes", "said"), [(2, "1", "2 graphics cards"), (0, "4", "one of 4 processes")])
def test_more_than_one_card_or_process_is_refused(
    cards: int,
    processes: str,
    said: str,
    settings: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cards)
    monkeypatch.setenv("WORLD_SIZE", processes)
    assert main(["train", "sft", SHOP, "--policy", "p"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "Set CUDA_VISIBLE_DEVICES=0" in err
    assert not settings


def test_a_new_start_is_made_as_it_is_compared(tmp_path: Path) -> None:
    folder = build_policy(tmp_path / "start", SHOP, size="tiny", conversations=8, vocab=800, seed=2)
    card = read_card(folder)
    assert card is not None
    assert card.envs == (SHOP,)
    assert {"size": "tiny", "seed": 2, "copying": False, "expert": "expert"}.items() <= card.made.items()
