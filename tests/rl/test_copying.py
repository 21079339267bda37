"""Heads that copy from the start: random tokens that stood anywhere before are continued as they stood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.app import run as main

from .libraries import need

need("torch", "transformers")

import torch
from transformers import AutoModelForCausalLM

from simia_gym.rl.small.card import read_card
from simia_gym.rl.small.model import SIZES, make_model

VOCAB = 4000


class Vocabulary:
    """What a model is told of its tokenizer."""

    eos_token_id, pad_token_id = 2, 0

    def __len__(self) -> int:
        return VOCAB

    def decode(self, ids: list[int]) -> str:
        """Two tokens a word: in the midst of a text, and at the beginning of a title."""
        return f"w{ids[0] // 2}" if ids[0] % 2 else f" W{ids[0] // 2}"


def model(size: str, *, copying: bool, seed: int = 0) -> Any:
    return make_model(SIZES[size], Vocabulary(), max_length=2048, seed=seed, copying=copying).eval()


def copied(policy: Any, *, page: int, seed: int, other_form: bool = False) -> float:
    """The share of words that are continued rightly, where a stretch of a page of random words comes again."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.stack([2 * torch.randperm(VOCAB // 2, generator=generator)[:page] for _ in range(4)])
    again = rows[:, page // 4 : page // 4 + 20] + other_form
    with torch.no_grad():
        found = policy(torch.cat([rows, again], dim=1)).logits[:, page:-1].argmax(-1)
    return float((found // 2 == again[:, 1:] // 2).float().mean())


@pytest.mark.parametrize(("page", "seed"), [(40, 0), (200, 1), (1000, 2)])
def test_what_was_never_seen_is_copied_without_any_training(page: int, seed: int) -> None:
    made = model("small", copying=True, seed=seed)
    assert copied(made, page=page, seed=seed) > 0.6
    assert copied(made, page=page, seed=seed, other_form=True) > 0.6
    assert copied(model("small", copying=False, seed=seed), page=page, seed=seed) < 0.05


@pytest.mark.parametrize(("size", "least"), [("tiny", 0.15), ("base", 0.5)])
def test_other_shapes_copy_too_as_far_as_a_head_can_tell_tokens_apart(size: str, least: float) -> None:
    assert copied(model(size, copying=True), page=100, seed=0) > least


def test_a_model_too_wide_for_it_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-policy", str(tmp_path), "--env", "simia/webshop-v0", "--size", "large", "--copying"]) == 2
    assert "made for small models" in capsys.readouterr().err


def test_the_command_writes_them_when_asked(tmp_path: Path) -> None:
    words = ["--env", "simia/webshop-v0", "--size", "tiny", "--vocab", "1500"]
    assert main(["new-policy", str(tmp_path), *words, "--copying"]) == 0
    card = read_card(tmp_path)
    assert card is not None
    assert card.made["copying"]
    assert AutoModelForCausalLM.from_pretrained(tmp_path).model.embed_tokens.weight[:, 0].std() == 0
