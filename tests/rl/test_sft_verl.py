"""Supervised training in several processes: verl's trainer gets the same tokens and masks, and finds the same loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.app import run as main

from .libraries import need

need("torch", "transformers", "trl", "datasets", "verl", "torchdata", "verl.trainer.sft_trainer")

from transformers import AutoTokenizer, LlamaConfig
from verl.trainer.sft_trainer import create_sft_dataset
from verl.utils.dataset.dataset_utils import SFTTensorCollator

from simia_gym.errors import InputError
from simia_gym.rl.grpo.config.verl_config import compose
from simia_gym.rl.sft.encode import IGNORED, EncodedSet, encode_all
from simia_gym.rl.sft.gather import from_experts
from simia_gym.rl.sft.metrics import read_lines
from simia_gym.rl.sft.settings import SFTSettings
from simia_gym.rl.sft.with_verl import MAIN, VerlRun
from simia_gym.rl.small.build import build_policy

SHOP = "simia/webshop-v0"


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_policy(tmp_path_factory.mktemp("start"), SHOP, size="tiny", conversations=24, vocab=1500)


def test_verl_reads_the_tokens_and_masks_of_our_trainer(start: Path, tmp_path: Path) -> None:
    talks = from_experts([SHOP], 6, prompt="compact").train
    train = encode_all(AutoTokenizer.from_pretrained(start), [talk.messages for talk in talks], max_length=3_000)
    extra = {"data.max_token_len_per_gpu": 50_000}
    settings = SFTSettings((SHOP,), str(start), trajectories=6, batch_size=2, epochs=3, extra=extra, precision="fp32")
    run = VerlRun(settings, tmp_path, 2, LlamaConfig(), train, EncodedSet([]))
    config = compose(run.overrides(), MAIN)
    assert (config.trainer.total_training_steps, config.trainer.total_epochs) == (9, 3)
    assert (config.data.train_batch_size, config.data.max_token_len_per_gpu) == (2, 50_000)
    assert (config.data.val_files, config.trainer.test_freq) == (None, -1)
    assert (config.engine.strategy, config.engine.mixed_precision.param_dtype) == ("fsdp2", "fp32")
    assert config.optim.lr == settings.lr
    read = create_sft_dataset(config.data.train_files, config.data, None, None)
    rows: list[Any] = [read[place] for place in range(len(read))]
    assert [row["input_ids"].tolist() for row in rows] == [row.input_ids for row in train.rows]
    masks = SFTTensorCollator(config.data.pad_mode)(rows)["loss_mask"].unbind()
    assert [mask.tolist() for mask in masks] == [[int(one != IGNORED) for one in row.labels] for row in train.rows]
    with pytest.raises(InputError, match="6 trajectories fill no batch of 8"):
        VerlRun(SFTSettings((SHOP,), "p", batch_size=8), tmp_path, 2, LlamaConfig(), train, EncodedSet([]))


@pytest.mark.slow_rl
@pytest.mark.filterwarnings("ignore")
def test_two_processes_of_verl_find_the_loss_of_our_trainer(start: Path, tmp_path: Path) -> None:
    losses: list[list[float]] = []
    for processes, more in (("2", []), ("1", ["--set", "logging_steps=1"])):
        out = tmp_path / processes
        words = ["train", "sft", SHOP, "--policy", str(start), "--trajectories", "8", "--held-out", "8", "--steps", "3"]
        words += ["--batch-size", "8", "--max-length", "3000", "--precision", "fp32", "--prompt", "compact"]
        assert main([*words, "--processes", processes, "--out", str(out), *more]) == 0
        lines = read_lines(out)
        losses.append([line["loss"] for line in lines if "loss" in line])
        losses[-1].append([line["eval_loss"] for line in lines if "eval_loss" in line][-1])
        assert (out / "policy" / "model.safetensors").is_file()
    assert len(losses[0]) == 4
    assert losses[0][-1] < losses[0][0] - 0.1
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
