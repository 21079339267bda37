"""The documented class that plays a served environment in TRL: the expert's calls, a fault, and a real step."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..docs_pages import CHECKOUT, blocks
from ..serving.native import native
from .libraries import need

need("torch", "trl", "datasets", "openenv", "jmespath")

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from simia_gym.rl import tool_calling
from simia_gym.rl.small.model import SIZES, make_model
from simia_gym.rl.small.tokenizer import train_tokenizer

WEBSHOP = "simia/webshop-v0"


@pytest.fixture(scope="module")
def shop() -> Iterator[Any]:
    """The class, at a server from the command line."""
    words = [sys.executable, "-m", "simia_gym", "serve-openenv", WEBSHOP, "--split", "train", "--idle", "600", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base = json.loads(process.stdout.readline())["base_url"]
        page = blocks(CHECKOUT / "docs" / "other-trainers.md")
        (code,) = [block.code for block in page if block.needs_openenv and "class Shop" in block.code]
        names: dict[str, Any] = {}
        exec(code.replace("http://127.0.0.1:8770", base), names)
        yield names["Shop"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_the_experts_calls_earn_the_same(shop: Any) -> None:
    expected = native(WEBSHOP, 0)
    environment = shop()
    for _ in range(2):  # TRL uses an instance again
        assert environment.reset(task=expected.task, seed=expected.seed).endswith(expected.first)
        for name, arguments in expected.calls:
            getattr(environment, name)(**arguments)
        assert environment.get_reward() == expected.outcome.reward == 1.0


def test_what_fails_has_no_reward(shop: Any) -> None:
    environment = shop()
    environment.reset(task=native(WEBSHOP, 0).task, seed=0)
    environment._env.close()
    environment._env.connect()  # another session, in which no episode was begun
    assert "no episode" in environment.search("tea")
    assert environment.get_reward() is None


def test_trl_takes_a_step(shop: Any, tmp_path: Path) -> None:
    tokenizer = train_tokenizer([[{"role": "user", "content": "a shop"}]], vocab=320, phrases=0)
    tokenizer.padding_side = "left"
    row = {"prompt": [{"role": "user", "content": ""}], "task": native(WEBSHOP, 0).task, "seed": 0}
    trainer = GRPOTrainer(
        model=make_model(SIZES["tiny"], tokenizer, max_length=8192, seed=1),
        processing_class=tool_calling(tokenizer),
        args=GRPOConfig(
            output_dir=str(tmp_path),
            use_cpu=True,
            bf16=False,
            max_steps=1,
            num_generations=2,
            per_device_train_batch_size=2,
            max_completion_length=24,
            logging_steps=1,
            report_to=[],
            save_strategy="no",
            gradient_checkpointing=False,
        ),
        train_dataset=Dataset.from_list([row]),
        environment_factory=shop,
    )
    trainer.train()
    assert trainer.state.log_history[0]["reward"] == 0.0
    assert [environment._over for environment in trainer.environments] == [True, True]
