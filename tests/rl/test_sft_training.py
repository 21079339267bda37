"""`simia train sft` for real: a policy from random weights learns from an expert."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simia_gym.cli.app import run as main

from .libraries import need

need("torch", "transformers", "trl", "datasets")

from simia_gym.rl.sft.metrics import read_lines
from simia_gym.rl.sft.trainer import last_checkpoint
from simia_gym.rl.small.build import build_policy
from simia_gym.rl.small.card import read_card

SHOP = "simia/webshop-v0"
SIZES = ["--trajectories", "24", "--held-out", "4", "--batch-size", "4", "--max-length", "3000", "--lr", "3e-3"]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_policy(tmp_path_factory.mktemp("start"), SHOP, size="tiny", conversations=24, vocab=1500)


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


def test_a_folder_that_holds_a_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "something").touch()
    assert main(["train", "sft", SHOP, "--policy", "none", "--trajectories", "4", "--out", str(tmp_path)]) == 2
    assert "there is something already" in capsys.readouterr().err


@pytest.mark.slow_rl
@pytest.mark.filterwarnings("ignore")
def test_training_lowers_the_loss_and_leaves_a_policy(start: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert main(sft(start, out, "--steps", "12", "--save-data", str(tmp_path / "rows.jsonl"))) == 0
    measured = [line["eval_loss"] for line in read_lines(out) if "eval_loss" in line]
    assert measured[-1] < measured[0] - 1.0
    assert (out / "curve.png").stat().st_size > 1000
    card = read_card(out / "policy")
    assert card is not None
    assert (card.prompt, card.envs, card.trained[-1]["steps"]) == ("compact", (SHOP,), 12)
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 24
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(out / "policy")
    assert model.config.vocab_size == len(AutoTokenizer.from_pretrained(out / "policy"))


@pytest.mark.slow_rl
@pytest.mark.filterwarnings("ignore")
def test_a_killed_training_goes_on_from_its_last_checkpoint(start: Path, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    more = ["--steps", "16", "--precision", "fp32", "--set", "save_steps=2", "--set", "logging_steps=1"]
    assert main(sft(start, whole, *more)) == 0
    code = "from simia_gym.cli import main; main()"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", code, *sft(start, killed, *more)], env=environment)
    deadline = time.monotonic() + 300
    while not list((killed / "checkpoints").glob("checkpoint-[4-9]/trainer_state.json")):
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    shutil.rmtree(killed / "policy", ignore_errors=True)
    assert main(sft(start, killed, *more, "--resume")) == 0
    steps = [line["step"] for line in read_lines(killed) if "loss" in line]
    assert steps == sorted(set(steps)) == list(range(1, 17))
    losses = [{line["step"]: line["loss"] for line in read_lines(run) if "loss" in line} for run in (whole, killed)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
    assert json.loads((killed / "policy" / "simia.json").read_text())["trained"][-1]["steps"] == 16


@pytest.mark.filterwarnings("ignore")
def test_the_loss_is_that_of_trl(start: Path, tmp_path: Path) -> None:
    """Computed at the learned positions alone, without a mask over the padding, it is the same number and gradient."""
    import torch
    from trl import SFTTrainer

    from simia_gym.rl.sft.gather import from_experts
    from simia_gym.rl.sft.settings import SFTSettings
    from simia_gym.rl.sft.trainer import encode_sets, load, make_trainer

    settings = SFTSettings(
        envs=(SHOP,), policy=str(start), trajectories=3, batch_size=3, micro_batch=3, precision="fp32"
    )
    model, tokenizer = load(str(start))
    train, held_out = encode_sets(tokenizer, from_experts([SHOP], 3, prompt="compact"), 4000)
    trainer = make_trainer(model, tokenizer, train, held_out, settings, tmp_path, on_log=lambda *given: None)
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
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-5)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-5)
    measured = trainer._metrics["train"]
    for name in ("mean_token_accuracy", "entropy"):
        assert measured[name][0] == pytest.approx(measured[name][1], rel=1e-4)
