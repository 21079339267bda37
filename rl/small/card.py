"""The card of a policy, ``simia.json`` in its folder: how it was created and trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import orjson

from simia_gym.errors import InputError

CARD = "simia.json"


@dataclass(frozen=True)
class Card:
    """How a policy was created and trained.

    Attributes:
        envs: The environments that its tokenizer or the policy itself was trained on.
        prompt: The system message it was trained with, ``full`` or ``compact``; ``None`` before any training.
        made: How it was created: shape, seed, data of the tokenizer.
        trained: One entry for each training, in order.
        turn_tokens: Maximum tokens of a turn in its last training; ``None`` if unknown.
        thinking: ``never`` or ``keep`` in its training; ``None`` if unknown.
    """

    envs: tuple[str, ...] = ()
    prompt: str | None = None
    made: Mapping[str, Any] = field(default_factory=dict)
    trained: tuple[Mapping[str, Any], ...] = ()
    turn_tokens: int | None = None
    thinking: str | None = None


def read_card(folder: Path | str) -> Card | None:
    """Read the card of a policy; ``None`` if the folder has none, or is the name of a model elsewhere.

    Raises:
        InputError: The card cannot be read.
    """
    path = Path(folder) / CARD
    if not path.is_file():
        return None
    try:
        data = orjson.loads(path.read_bytes())
        known = {item.name for item in fields(Card)}
        given = {name: value for name, value in data.items() if name in known}
        given.update({name: tuple(given[name]) for name in ("envs", "trained") if name in given})
        return Card(**given)
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise InputError(f"cannot be read ({error})", where=str(path), fix="Restore or delete it.") from error


def write_card(folder: Path | str, card: Card) -> None:
    """Write the card of a policy."""
    optional = ("turn_tokens", "thinking")
    told = {name: value for name, value in asdict(card).items() if name not in optional or value is not None}
    text = orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    (Path(folder) / CARD).write_bytes(text)
