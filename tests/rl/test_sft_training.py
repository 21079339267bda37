"""`simia train sft`: what it refuses, and for real: a policy from random weights learns from an expert."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.app import run as main
from simia_gym.errors import InputError
from simia_gym.policies.base import Thinking

from ..work import wait_until
from .libraries import need
from .tiny import FORGETFUL, make_tokenizer, save_policy

need("torch", "transformers", "trl", "datasets")

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GraniteConfig, GraniteForCausalLM, LlamaConfig
from trl import SFTTrainer

import simia_gym.rl.sft.run as run
from simia_gym.rl.sft.encode import Encoded, EncodedSet, encode, encode_all
from simia_gym.rl.sft.gather import from_experts
from simia_gym.rl.sft.metrics import forget_after, read_lines, write_line
from simia_gym.rl.sft.settings import SFTSettings
from simia_gym.rl.sft.trainer import (
    activation_bytes,
    computed_at_once,
    last_checkpoint,
    last_evaluation,
    load,
    make_trainer,
    number_of_processes,
)
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
        ({}, ["--policy", "p", "--size", "tiny"], "--size: only a new model has a size"),
        ({}, ["--set", "max_steps=4", "--policy", "p"], "Use --steps"),
        ({}, ["--out", "."], "the folder is not empty"),
        ({}, ["--out", "/"], "the folder is not empty"),
    ],
)
def test_what_cannot_be_is_refused_before_a_model_is_made(
    made: dict[str, Any], words: list[str], said: str, settings: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    small("a-start", SHOP, **made)
    assert main(["train", "sft", SHOP, "--out", "a", *words]) == 2
    assert said in capsys.readouterr().err
    assert not settings
    assert [path.name for path in Path().iterdir()] == ["a-start"]


def test_an_empty_folder_that_one_stands_in_will_do(
    settings: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    small(tmp_path / "here-start", SHOP)
    assert main(["train", "sft", SHOP, "--out", "."]) == 0
    assert settings[0].policy == str(tmp_path / "here-start")


@pytest.mark.parametrize(
    ("cards", "world", "words", "said"),
    [
        (0, "4", [], "one of 4 processes"),
        (2, "1", ["--processes", "3"], "3 processes need as many graphics cards, and there are 2"),
        (2, "1", ["--batch-size", "15"], "batches of 15 cannot be divided among 2 processes"),
    ],
)
def test_processes_that_cannot_be_are_refused(
    cards: int,
    world: str,
    words: list[str],
    said: str,
    settings: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    need("verl")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cards)
    monkeypatch.setenv("WORLD_SIZE", world)
    assert main(["train", "sft", SHOP, "--policy", "p", *words]) == 2
    assert said in capsys.readouterr().err
    assert not settings


def test_there_is_one_process_for_each_card(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = SFTSettings(envs=(SHOP,), policy="p", trajectories=4)
    for cards, given, processes in ((0, None, 1), (1, None, 1), (4, None, 4), (4, 1, 1), (0, 2, 2)):
        monkeypatch.setattr(torch.cuda, "device_count", lambda cards=cards: cards)
        assert number_of_processes(replace(asked, processes=given)) == processes


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_policy(tmp_path_factory.mktemp("start"), SHOP, size="tiny", conversations=24, vocab=1500)


SIZES = ["--trajectories", "24", "--held-out", "4", "--batch-size", "4", "--max-length", "3000", "--lr", "3e-3"]
STEPS = ("--steps", "16", "--precision", "fp32", "--set", "save_steps=2", "--set", "logging_steps=1")


def sft(start: Path, out: Path, *more: str) -> list[str]:
    return ["train", "sft", SHOP, "--policy", str(start), "--prompt", "compact", *SIZES, "--out", str(out), *more]


def test_a_checkpoint_that_was_not_finished_is_thrown_away(tmp_path: Path) -> None:
    whole, torn = (tmp_path / "checkpoints" / f"checkpoint-{step}" for step in (4, 8))
    for folder in (whole, torn):
        folder.mkdir(parents=True)
    (whole / "trainer_state.json").write_text('{"global_step": 4}')
    (torn / "trainer_state.json").write_text('{"global_')
    assert last_checkpoint(tmp_path) == whole
    assert not torn.exists()


@pytest.fixture(scope="module")
def whole(start: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; the trajectories are in ``rows.jsonl``."""
    out = tmp_path_factory.mktemp("whole")
    assert main(sft(start, out / "run", *STEPS, "--save-data", str(out / "rows.jsonl"))) == 0
    return out


@pytest.mark.slow_rl
@pytest.mark.filterwarnings("ignore")
def test_training_lowers_the_loss_and_leaves_a_policy(whole: Path) -> None:
    out = whole / "run"
    measured = [line["eval_loss"] for line in read_lines(out) if "eval_loss" in line]
    assert measured[-1] < measured[0] - 1.0
    assert (out / "curve.png").stat().st_size > 1000
    card = read_card(out / "policy")
    assert card is not None
    assert (card.prompt, card.envs, card.trained[-1]["steps"]) == ("compact", (SHOP,), 16)
    assert len((whole / "rows.jsonl").read_text().splitlines()) == 24
    model = AutoModelForCausalLM.from_pretrained(out / "policy")
    assert model.config.vocab_size == len(AutoTokenizer.from_pretrained(out / "policy"))


@pytest.mark.slow_rl
@pytest.mark.filterwarnings("ignore")
def test_a_killed_training_goes_on_from_its_last_checkpoint(start: Path, whole: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    code = "from simia_gym.cli import main; main()"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", code, *sft(start, killed, *STEPS)], env=environment)
    saved = (killed / "checkpoints").glob
    wait_until(lambda: process.poll() is not None or list(saved("checkpoint-[4-9]/trainer_state.json")), 300)
    assert process.poll() is None, "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    shutil.rmtree(killed / "policy", ignore_errors=True)
    assert main(sft(start, killed, *STEPS, "--resume")) == 0
    steps = [line["step"] for line in read_lines(killed) if "loss" in line]
    assert steps == sorted(set(steps)) == list(range(1, 17))
    losses = [
        {line["step"]: line["loss"] for line in read_lines(at) if "loss" in line} for at in (whole / "run", killed)
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
    assert json.loads((killed / "policy" / "simia.json").read_text())["trained"][-1]["steps"] == 16


def make(
    start: Path,
    folder: Path,
    *,
    kind: str = "qwen3",
    number: int = 3,
    held_out: int = 0,
    at_once: int = 3,
    **extra: Any,
) -> Any:
    """A trainer on a few trajectories of the shop; of kind ``granite`` its model divides what it says by 8."""
    settings = SFTSettings(
        envs=(SHOP,),
        policy=str(start),
        trajectories=number,
        steps=2,
        batch_size=3,
        micro_batch=at_once,
        max_length=2000,
        precision="fp32",
        extra=extra,
    )
    model, tokenizer = load(str(start))
    if kind == "granite":
        shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
        shape |= {"num_key_value_heads": 2, "vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
        model = GraniteForCausalLM(GraniteConfig(logits_scaling=8.0, initializer_range=0.5, **shape))
    gathered = from_experts([SHOP], number, held_out=held_out, prompt="compact")
    train, looked_at = (
        encode_all(tokenizer, [item.messages for item in items], max_length=2000)
        for items in (gathered.train, gathered.held_out)
    )
    return make_trainer(model, tokenizer, train, looked_at, settings, folder, on_log=lambda *given: None)


@pytest.mark.parametrize(("thinking", "said"), [("never", "removed from 2 trajectories"), (None, "")])
@pytest.mark.filterwarnings("ignore")
def test_a_training_says_what_thinking_it_removes_and_its_policy_remembers(
    thinking: Thinking | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = str(save_policy(tmp_path / "start", template=FORGETFUL))
    talk = [{"role": role, "content": "<think>Lost?</think>It is lost."} for role in ("system", "user", "assistant")]
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps({'messages': talk})}\n" * 2)
    words = ["train", "sft", "--data", str(tmp_path / "rows.jsonl"), "--held-out", "0", "--steps", "1"]
    asked = ["--thinking", thinking] if thinking else []
    assert main([*words, *asked, "--policy", start, "--out", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    assert said in shown
    assert ("removed" in shown) is (thinking == "never")
    card = read_card(tmp_path / "run" / "policy")
    assert card is not None
    assert card.thinking == (thinking or "keep")
    other = "keep" if thinking else "never"
    words += ["--policy", str(tmp_path / "run" / "policy"), "--thinking", other, "--out", str(tmp_path / "next")]
    assert main(words) == 2
    assert f"trained with thinking '{card.thinking}', and '{other}' is asked for" in capsys.readouterr().err


def test_a_turn_that_does_not_end_the_thinking_that_its_template_opens_is_refused() -> None:
    words = make_tokenizer(FORGETFUL.replace("if enable_thinking is false else ''", "if 0 else '<think>\\n'"))
    talk = [{"role": role, "content": "<think>\nLost?\n</think>\n\nIt is."} for role in ("user", "assistant")]
    row = encode(words, talk)
    assert words.decode(row.input_ids).endswith("assistant\n<think>\nLost?\n</think>\n\nIt is.<|im_end|>")
    with pytest.raises(InputError, match=r"message 1: it has no </think>"):
        encode(words, [talk[0], {"role": "assistant", "content": "It is."}])


@pytest.mark.parametrize("kind", ["qwen3", "granite"])
@pytest.mark.filterwarnings("ignore")
def test_the_loss_is_that_of_trl_and_of_the_model(kind: str, start: Path, tmp_path: Path) -> None:
    """Computed at the learned positions alone, without a mask over the padding, it is the same number and gradient."""
    trainer = make(start, tmp_path, kind=kind)
    batch = next(iter(trainer.get_train_dataloader()))
    assert len({int(row.sum()) for row in batch["attention_mask"]}) == 3, "there is padding"
    trainer.model.train()
    found = []
    for compute in (trainer.compute_loss, lambda *given: SFTTrainer.compute_loss(trainer, *given)):
        trainer.model.zero_grad()
        loss = compute(trainer.model, dict(batch))
        loss.backward()
        gradient = torch.cat([item.grad.flatten() for item in trainer.model.parameters()])
        found.append((loss.item(), gradient))
    with torch.no_grad():
        logits = trainer.model(batch["input_ids"], attention_mask=batch["attention_mask"]).logits[:, :-1]
    own = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"][:, 1:].flatten(), ignore_index=-100)
    assert found[0][0] == pytest.approx(own.item(), rel=1e-4)
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-5)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-5)
    measured = trainer._metrics["train"]
    for name in ("mean_token_accuracy", "entropy"):
        assert measured[name][0] == pytest.approx(measured[name][1], rel=1e-4)


def test_no_library_draws_its_progress_bar(start: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from transformers.utils import logging

    logging.enable_progress_bar()
    load(str(start))
    assert capfd.readouterr().err == ""


@pytest.mark.filterwarnings("ignore")
def test_what_a_pass_keeps_does_not_grow_with_the_batch_nor_with_what_is_learned(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With limits that a tiny model reaches: a conversation of it keeps 16 MB, and its logits for 100 tokens 20 MB."""
    monkeypatch.setattr("simia_gym.rl.sft.trainer.ACTIVATIONS", 2**24, raising=False)
    monkeypatch.setattr("simia_gym.rl.sft.policy_tokens._LOGITS", 2**20)
    tokenizer, kept = AutoTokenizer.from_pretrained(start), []
    for number, learned in ((4, 100), (16, 100), (4, 190)):
        shape: dict[str, Any] = {"num_hidden_layers": 1, "hidden_size": 16, "num_attention_heads": 2}
        shape["intermediate_size"] = 4_000
        model = AutoModelForCausalLM.from_config(LlamaConfig(vocab_size=49_152, **shape))
        rows = [Encoded([5] * 201, [5] * (learned + 1) + [-100] * (200 - learned)) for _ in range(number)]
        settings = SFTSettings(("simia/webshop-v0",), "p", trajectories=1, batch_size=number, precision="fp32")
        trainer = make_trainer(
            model, tokenizer, EncodedSet(rows), EncodedSet([]), settings, tmp_path / "run", on_log=lambda *given: None
        )
        batch = next(iter(trainer.get_train_dataloader()))
        sizes: list[int] = []

        def pack(tensor: torch.Tensor, sizes: list[int] = sizes) -> torch.Tensor:
            sizes.append(tensor.untyped_storage().nbytes())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            trainer.compute_loss(trainer.model, batch)
        kept.append(sum(sizes))
    assert kept[1] == kept[0]
    assert kept[2] < 1.01 * kept[0]


def test_how_much_is_computed_at_once_follows_the_model() -> None:
    smol = LlamaConfig(hidden_size=576, num_hidden_layers=30, intermediate_size=1_536)
    assert 1e6 < activation_bytes(smol) < 4e6
    found = [computed_at_once(batch, room, on_cpu=True) for batch, room in ((16, 0.3), (16, 5), (48, 99), (17, 99))]
    assert found == [1, 4, 16, 1]
    assert computed_at_once(48, 0.3, on_cpu=False) == 48


@pytest.mark.parametrize("extra", [{"packing": True}, {"padding_free": True}])
@pytest.mark.filterwarnings("ignore")
def test_conversations_may_share_a_row(extra: dict[str, Any], start: Path, tmp_path: Path) -> None:
    trainer = make(start, tmp_path, number=8, held_out=2, logging_steps=1, **extra)
    trainer.train()
    losses = [line["loss"] for line in trainer.state.log_history if "loss" in line]
    assert len(losses) == 2
    assert all(1.0 < loss < 10.0 for loss in losses)


@pytest.mark.filterwarnings("ignore")
def test_what_is_held_out_is_looked_at_once_after_the_last_step(start: Path, tmp_path: Path) -> None:
    for every in (1, 10):
        trainer = make(start, tmp_path / str(every), held_out=2, eval_steps=every)
        trainer.train()
        measured = last_evaluation(trainer)
        looks = [line["step"] for line in trainer.state.log_history if "eval_loss" in line]
        assert looks == ([0, 1, 2] if every == 1 else [0, 2])
        assert {"eval_loss", "eval_mean_token_accuracy"} <= set(measured)


def test_the_seconds_of_a_run_go_on_from_its_checkpoint(tmp_path: Path) -> None:
    lines = [{"step": step, "seconds": 10.0 * step, "loss": 1.0} for step in range(5)]
    for line in lines:
        write_line(tmp_path, line)
    assert forget_after(tmp_path, 3) == 30.0
    assert read_lines(tmp_path) == lines[:4]
    assert forget_after(tmp_path, -1) == 0.0
    assert read_lines(tmp_path) == []


@pytest.mark.filterwarnings("ignore")
def test_how_many_are_computed_at_once_changes_nothing(start: Path, tmp_path: Path) -> None:
    found = []
    for at_once in (1, 3):
        trainer = make(start, tmp_path / str(at_once), number=6, at_once=at_once, logging_steps=1)
        trainer.train()
        lines = [line for line in trainer.state.log_history if "grad_norm" in line]
        found.append([(line["loss"], line["grad_norm"]) for line in lines])
    assert len(found[0]) == 2
    for mine, theirs in zip(*found, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-3)
