"""Models and tokenizers that are made on the spot, small enough for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

VOCAB = 320
MARKS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
)
FORGETFUL = """\
{%- set last = namespace(at=-1) %}
{%- for message in messages if message.role == 'user' %}{% set last.at = messages.index(message) %}{% endfor %}
{%- for message in messages %}
    {%- set said = message.content.split('</think>')[-1].lstrip() %}
    {%- set thought = message.reasoning_content or message.content.split('<think>')[-1].split('</think>')[0] %}
    {%- if message.role == 'tool' %}
        {{- '<|im_start|>user\n<tool_response>\n' + message.content + '\n</tool_response><|im_end|>\n' }}
    {%- elif message.role == 'assistant' and loop.index0 > last.at and thought %}
        {{- '<|im_start|>assistant\n<think>\n' + thought + '\n</think>\n\n' + said + '<|im_end|>\n' }}
    {%- elif message.role == 'assistant' %}
        {{- '<|im_start|>assistant\n' + said + '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' + ('<think>\n\n</think>\n\n' if enable_thinking is false else '') }}
{%- endif %}"""
"""A chat template that drops thinking before the last question, and has a switch for it, as Qwen3's."""
OFF = "<think>\n\n</think>\n\n"
"""What it puts before a turn if thinking is turned off."""
LLAMA_MARKS = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
SIZES: dict[str, dict[str, Any]] = {
    "qwen3": {"num_key_value_heads": 2, "head_dim": 16, "tie_word_embeddings": True},
    "qwen2": {"num_key_value_heads": 2},
    "llama": {"num_key_value_heads": 4},
    "gpt_neox": {},
    "mistral": {"num_key_value_heads": 2, "sliding_window": 24},
    "bloom": {},
}
"""The kinds of models, by transformers' names: with and without grouped heads, with a window, with ALiBi."""


def make_tokenizer(template: str, *, marks: tuple[str, ...] = MARKS, end: str = "<|im_end|>") -> Any:
    """A byte-level tokenizer with a chat template."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    words = ["system user assistant tool", "You are an agent. Guess the digit.", "too low too high", "synthetic"] * 20
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator(words, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False))
    raw.add_special_tokens([AddedToken(mark, special=True) for mark in marks if "tool" not in mark])
    raw.add_tokens([AddedToken(mark, special=False) for mark in marks if "tool" in mark])
    return PreTrainedTokenizerFast(
        tokenizer_object=raw, bos_token=marks[0], eos_token=end, pad_token=marks[0], chat_template=template
    )


def make_model(kind: str = "qwen3", *, vocab: int = VOCAB, seed: int = 0, length: int = 512, scale: float = 2.0) -> Any:
    """A causal language model with random weights, scaled so that its probabilities are not all alike."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    shape: dict[str, Any] = {"num_hidden_layers": 2, "hidden_size": 48, "num_attention_heads": 4}
    shape |= {"intermediate_size": 96, "max_position_embeddings": length}
    if kind == "bloom":
        shape = {"n_layer": 2, "hidden_size": 48, "n_head": 4}
    config = AutoConfig.for_model(kind, vocab_size=vocab, bos_token_id=None, eos_token_id=None, **shape, **SIZES[kind])
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(scale)
    return model


def logprobs_of(model: Any, prompt: list[int], said: list[int], temperature: float = 1.0) -> list[float]:
    """What a trainer computes for what a policy said: one pass over the whole sequence."""
    import torch

    with torch.no_grad():
        logits = model(torch.tensor([prompt + said])).logits[0, len(prompt) - 1 : -1].float()
    values = torch.log_softmax(logits / temperature, dim=-1)
    found: list[float] = values.gather(1, torch.tensor(said)[:, None])[:, 0].tolist()
    return found


def save_policy(folder: Path, *, seed: int = 0, length: int = 2048, template: str | None = None) -> Path:
    """A model with its tokenizer, as a folder."""
    from simia_gym.rl.chat.template import chat_template

    tokenizer = make_tokenizer(template or chat_template())
    model = make_model(vocab=len(tokenizer), seed=seed, length=length)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder
