"""Write a tiny model of the Qwen3 kind, its weights random, and a tokenizer for it; nothing is fetched from anywhere.

Runs in the environment of the server, not in that of the project, as a script:

    python tiny_model.py FOLDER TEXT_FILE...

The tokenizer learns its words from the files, so that long prompts of such text become few tokens. The model has no
idea of anything; it only leans towards the tokens with which JSON goes on and ends, because a reply of even chances
among a thousand tokens would hardly ever close a string before it is cut. And no reply ends where it begins: one in ten
would be empty, which clients rightly take for a fault. Where it says true or false, it says false, or every second
user would leave before it has said why it came.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

WORDS = 1_500
POSITIONS = 32_768
WIDTH = 64
LEAN, MORE = 5.0, 6.5
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content or '' }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_tokenizer(folder: Path, texts: list[str]) -> Any:
    """A byte-level tokenizer that can encode any text, with a ChatML template."""
    tokenizers, transformers = importlib.import_module("tokenizers"), importlib.import_module("transformers")
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    words = tokenizers.Tokenizer(tokenizers.models.BPE())
    words.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=WORDS, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    words.train_from_iterator(texts, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=CHATML,
        model_max_length=POSITIONS,
    )
    tokenizer.save_pretrained(folder)
    return tokenizer


def write_model(folder: Path, tokenizer: Any) -> None:
    """Random weights; the first number of every embedding is the same, and the head reads the lean from it."""
    torch, transformers = importlib.import_module("torch"), importlib.import_module("transformers")
    torch.manual_seed(0)
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=POSITIONS,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    model = transformers.Qwen3ForCausalLM(config)
    model.generation_config.eos_token_id = [tokenizer.eos_token_id]
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    with torch.no_grad():
        model.model.embed_tokens.weight[:, 0] = 1.0
        model.lm_head.weight.normal_(std=0.1)
        begin = tokenizer("<|im_start|>assistant\n").input_ids[-1]
        model.model.embed_tokens.weight[:, 1] = 0.0
        model.model.embed_tokens.weight[begin, 1] = 1.0
        for token in range(len(tokenizer)):
            text = tokenizer.decode([token])
            ends = text.strip() in ("]", "null") or token == tokenizer.eos_token_id
            leans = set(text) <= set('"{}[]:,') or text.strip() in ("false", "f")
            lean = MORE if ends else LEAN if leans else 0.0
            # The norm before the head makes the first number about the root of the width.
            model.lm_head.weight[token, 0] = lean / WIDTH**0.5
        model.lm_head.weight[tokenizer.eos_token_id, 1] = -4 * MORE / WIDTH**0.5
    model.save_pretrained(folder)


def main() -> None:
    """Write both into the folder that the command line names."""
    folder, files = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = write_tokenizer(folder, [Path(file).read_text(encoding="utf-8") for file in files])
    write_model(folder, tokenizer)


if __name__ == "__main__":
    main()
