"""Loads a model and its tokenizer from a folder or the hub, and hashes their files."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.extras import hide_progress_bars, require

_PARTS = ("*.json", "*.safetensors", "*.bin", "*.jinja", "*.model", "*.txt")
_BLOCK = 1 << 22
_GIVE = "Give a model's folder, or its name on the hub."
_DEFAULT_LENGTH = 32_768
_MOST_MEMORY = 0.25
"""Share of the machine's memory, or of the GPU's free memory, that keys and values may use."""


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to sample, with the tokens that end a turn and its context length in tokens."""

    model: Any
    end_ids: tuple[int, ...]
    length: int


def find_model(name: str, *, where: str = "model") -> Path:
    """The folder of a model: a folder, or a name on the hub, whose files are downloaded if necessary.

    Raises:
        InputError: There is no such model, or the extra is not installed.
    """
    require("trl", "torch", "transformers")
    hide_progress_bars()
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise InputError(f"{name} has no config.json", where=where, fix="Give a folder in the Hugging Face format.")
        return folder
    if folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise InputError(
            f"there is no folder {name}", where=where, fix="Give a model's folder, or its name on the hub."
        )
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(_PARTS)))
    except Exception as error:
        what = f"{name} is neither a folder nor a model that can be had from the hub ({type(error).__name__})"
        raise InputError(what, where=where, fix=_GIVE) from error


def content_hash(folder: Path) -> str:
    """Hash the files that make up a model: settings, weights, tokenizer; 16 hex digits."""
    digest = hashlib.blake2b(digest_size=8)
    parts = {path for pattern in _PARTS for path in folder.glob(pattern) if path.is_file()}
    for path in sorted(parts):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a model.

    Raises:
        InputError: The folder has no readable tokenizer.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(str(folder))
    except (OSError, ValueError, KeyError) as error:
        what = f"its tokenizer cannot be read: {error}"
        raise InputError(what, where=str(folder), fix="Save the tokenizer beside the model.") from error


def load_model(folder: Path, tokenizer: Any, *, device: str | None = None, dtype: str | None = None) -> Loaded:
    """Load a model for sampling.

    Args:
        folder: The model's folder.
        tokenizer: Its tokenizer.
        device: The device; by default a GPU if there is one.
        dtype: Precision, such as ``bfloat16``; by default that of the weights on a GPU and ``float32`` on a CPU.

    Raises:
        InputError: The folder has no causal language model that transformers can load.
    """
    import torch
    from transformers import AutoModelForCausalLM

    place = device or ("cuda" if torch.cuda.is_available() else "cpu")
    precision = dtype or ("auto" if place.startswith("cuda") else "float32")
    try:
        model = AutoModelForCausalLM.from_pretrained(str(folder), dtype=precision)
    except (OSError, ValueError, KeyError) as error:
        what = f"it cannot be loaded as a causal language model: {error}"
        raise InputError(what, where=str(folder), fix="Give a model that transformers can load.") from error
    return Loaded(model.to(place).eval(), end_ids(model, tokenizer), longest(model))


def end_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """The tokens that end a turn: the tokenizer's, those of the generation settings, and the chat template's."""
    from simia_gym.rl.chat.tokens import ChatTokens

    listed = getattr(model.generation_config, "eos_token_id", None)
    found = [tokenizer.eos_token_id, *(listed if isinstance(listed, list) else [listed])]
    if getattr(tokenizer, "chat_template", None):
        found.append(ChatTokens.of(tokenizer).end_id)
    return tuple(sorted({int(item) for item in found if item is not None}))


def longest(model: Any) -> int:
    """A model's context length in tokens."""
    config = model.config.get_text_config()
    found = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    return int(found or _DEFAULT_LENGTH)


def fitting_slots(model: Any, wanted: int, length: int) -> int:
    """Number of slots whose keys and values fit into memory, at least 1 and at most ``wanted``."""
    import torch

    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    each = int(2 * config.num_hidden_layers * heads * size * model.dtype.itemsize * length)
    if model.device.type == "cuda":
        memory = int(torch.cuda.mem_get_info(model.device)[0]) * 2
    else:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(wanted, int(memory * _MOST_MEMORY) // each))
