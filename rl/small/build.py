"""Creates an untrained policy for environments: a tokenizer and a model with random weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from simia_gym.errors import InputError
from simia_gym.rl.chat.trajectories import Trajectory, expert_play, training_suite
from simia_gym.rl.extras import hide_progress_bars, require
from simia_gym.rl.small.card import Card, write_card
from simia_gym.rl.small.model import SIZES, can_copy, make_model
from simia_gym.rl.small.tokenizer import DEFAULT_VOCAB, train_tokenizer
from simia_gym.types import Message

CONVERSATIONS = 600
"""Default number of conversations to train a tokenizer on, over all environments."""
MAX_LENGTH = 8192


def build_policy(
    folder: Path | str,
    envs: str | Sequence[str],
    *,
    size: str = "tiny",
    vocab: int = DEFAULT_VOCAB,
    layers: int | None = None,
    hidden: int | None = None,
    heads: int | None = None,
    seed: int = 0,
    conversations: int = CONVERSATIONS,
    expert: str = "expert",
    copying: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> Path:
    """Create a policy: a tokenizer trained on the text of environments, and a small model with random weights.

    Only tasks of the train split are used.

    Args:
        folder: Where to write it, in the Hugging Face format; must not contain a model yet.
        envs: The environments' ids, or folders of domains.
        size: Name of the shape: ``tiny``, ``small``, ``base`` or ``large``.
        vocab: Maximum size of the vocabulary.
        layers: Number of layers; by default that of ``size``.
        hidden: Width of the residual stream; by default that of ``size``.
        heads: Number of attention heads; by default that of ``size``.
        seed: Seed of the weights and of the conversations.
        conversations: Number of conversations to train the tokenizer on.
        expert: Name of the environments' policy that plays them.
        copying: Initialise attention heads that copy; see `simia_gym.rl.small.copying`.
        say: Called with a line about each step.

    Returns:
        The folder.

    Raises:
        InputError: The folder contains a model, or a setting is invalid.
    """
    require("trl", "torch", "transformers")
    hide_progress_bars()
    path, names = Path(folder), [envs] if isinstance(envs, str) else list(dict.fromkeys(envs))
    if (path / "config.json").exists():
        raise InputError("there is a model already", where=str(path), fix="Name another folder, or delete it.")
    if size not in SIZES:
        raise InputError(f"there is no size {size!r}", where="size", fix=f"Use {', '.join(SIZES)}.")
    if not names:
        raise InputError("no environment is named", where="env", fix="Such as simia/webshop-v0.")
    if conversations < 1:
        raise InputError(f"conversations is {conversations}", where="conversations", fix="Use 1 or more.")
    shape = SIZES[size].altered(layers=layers, hidden=hidden, heads=heads)
    if copying and not can_copy(shape):
        fix = "Use two layers or more, and a width of four to eight heads; or leave --copying out."
        raise InputError("heads that copy are made for small models", where="copying", fix=fix)
    talks: list[list[Message]] = []
    for env in names:
        talks += conversations_of(env, -(-conversations // len(names)), seed=seed, expert=expert)
    say(f"{len(talks)} conversations of {', '.join(names)}")
    tokenizer = train_tokenizer(talks, vocab=vocab, max_length=MAX_LENGTH)
    say(f"tokenizer: {len(tokenizer)} tokens")
    model = make_model(shape, tokenizer, max_length=MAX_LENGTH, seed=seed, copying=copying)
    path.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    made = {"size": size, **asdict(shape), "vocab": len(tokenizer), "seed": seed, "conversations": len(talks)}
    made |= {"copying": copying, "expert": expert}
    write_card(path, Card(envs=tuple(names), made=made))
    parameters = sum(item.numel() for item in model.parameters())
    say(f"model: {parameters / 1e6:.2f} million parameters, {path}")
    return path


def conversations_of(env: str, number: int, *, seed: int = 0, expert: str = "expert") -> list[list[Message]]:
    """Conversations of an environment's expert on train tasks, half of them with the compact system message.

    There are fewer than ``number`` if there is no generator and there are fewer fixed tasks.

    Raises:
        InputError: The environment has no such policy.
    """
    talks: list[list[Message]] = []
    half = number // 2 + number % 2
    for prompt in ("full", "compact"):
        suite = training_suite(env, generated=half, prompt=prompt)
        played = expert_play(suite, range(len(suite.tasks))[-half:], seed=seed, least=0.0, policy=expert)
        talks += [done.messages for done in played if isinstance(done, Trajectory)]
    return talks
