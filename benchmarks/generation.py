"""How fast the generator plays episodes, against `model.generate` on left-padded batches in the same run.

The load is that of real episodes: the scripted expert's WebShop transcripts, tokenized for that domain. In each turn a
small model with random weights samples as many tokens as the expert's message has, and the shop's answer follows. The
baseline plays the same episodes turn by turn: all in one batch, with prompts padded on the left and recomputed in every
turn, and each turn as long as the longest of the batch.

    python benchmarks/generation.py [--env simia/webshop-v0] [--episodes 128] [--concurrency 64] [--size small]
                                    [--threads 1] [--out FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.policies import load_policy
from simia_gym.rollout.play import play
from simia_gym.types import Message

_LENGTH = 4096


@dataclass(frozen=True)
class Script:
    """One episode's load.

    Attributes:
        prompt: Tokens of the prompt.
        turns: For each turn, the number of tokens to sample, and the environment's tokens that follow.
    """

    prompt: list[int]
    turns: list[tuple[int, list[int]]]


def transcripts(env: str, count: int) -> list[list[Message]]:
    suite = load_suite(EnvConfig(env=env, split="train", generated=count))
    make = load_policy("expert", suite.domain.config.policies, folder=suite.domain.folder)

    async def run() -> list[list[Message]]:
        talks = []
        for number in range(count):
            episode = suite.episode()
            await play(episode, suite.tasks[number], seed=number, policy=make(), env=env)
            talks.append([dict(message) for message in episode.messages])
        return talks

    return asyncio.run(run())


def script(tokenizer: Any, talk: Sequence[Message]) -> Script:
    from simia_gym.rl.chat.tokens import Conversation

    at = next(place for place, message in enumerate(talk) if message["role"] == "assistant")
    conversation = Conversation(tokenizer, talk[:at])
    prompt, turns = list(conversation.ids), []
    while at < len(talk):
        calls = [json.dumps(call["function"]) for call in talk[at].get("tool_calls") or []]
        said = tokenizer.encode(str(talk[at]["content"] or "") + "".join(calls), add_special_tokens=False)
        conversation.said([*said, tokenizer.eos_token_id])
        at += 1
        new = []
        while at < len(talk) and talk[at]["role"] != "assistant":
            new.append(talk[at])
            at += 1
        before = len(conversation.ids)
        if new:
            conversation.heard(new)
        turns.append((len(said) + 1, conversation.ids[before:]))
    return Script(prompt, turns)


def with_generator(model: Any, scripts: Sequence[Script], concurrency: int, threads: int) -> dict[str, float]:
    from simia_gym.rl.generation.generator import Generator
    from simia_gym.rl.generation.sampling import Sampling

    with Generator(model, end_ids=[], max_length=_LENGTH, slots=concurrency, threads=threads) as generator:

        async def episode(number: int, one: Script, gate: asyncio.Semaphore) -> None:
            async with gate:
                ids = one.prompt
                for count, heard in one.turns:
                    turn = await generator.generate(str(number), ids, Sampling(max_tokens=count, seed=number))
                    ids = ids + turn.token_ids + heard
                generator.forget(str(number))

        async def run() -> None:
            gate = asyncio.Semaphore(concurrency)
            await asyncio.gather(*(episode(number, one, gate) for number, one in enumerate(scripts)))

        began, worked = time.perf_counter(), time.process_time()
        asyncio.run(run())
        done = generator.statistics
        return {
            **measured(scripts, time.perf_counter() - began, time.process_time() - worked),
            "steps": done.steps,
            "tokens_computed": done.prefilled + done.sampled,
        }


def with_generate(model: Any, scripts: Sequence[Script], concurrency: int) -> dict[str, float]:
    import torch

    computed = 0
    began, worked = time.perf_counter(), time.process_time()
    for first in range(0, len(scripts), concurrency):
        batch = scripts[first : first + concurrency]
        talks = [list(one.prompt) for one in batch]
        for turn in range(max(len(one.turns) for one in batch)):
            rows = [row for row, one in enumerate(batch) if turn < len(one.turns)]
            wide = max(len(talks[row]) for row in rows)
            ids = torch.zeros(len(rows), wide, dtype=torch.long)
            mask = torch.zeros_like(ids)
            for place, row in enumerate(rows):
                ids[place, wide - len(talks[row]) :] = torch.tensor(talks[row])
                mask[place, wide - len(talks[row]) :] = 1
            most = max(batch[row].turns[turn][0] for row in rows)
            computed += len(rows) * (wide + most)
            settings = {"max_new_tokens": most, "min_new_tokens": most, "do_sample": True, "top_k": 0}
            with torch.inference_mode():
                whole = model.generate(input_ids=ids, attention_mask=mask, pad_token_id=0, **settings)
            for place, row in enumerate(rows):
                count, heard = batch[row].turns[turn]
                talks[row] += whole[place, wide : wide + count].tolist() + heard
    seconds = (time.perf_counter() - began, time.process_time() - worked)
    return {**measured(scripts, *seconds), "tokens_computed": computed}


def measured(scripts: Sequence[Script], seconds: float, cpu_seconds: float) -> dict[str, float]:
    said = sum(count for one in scripts for count, _ in one.turns)
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "episodes_per_minute": round(len(scripts) / seconds * 60, 1),
        "episodes_per_cpu_minute": round(len(scripts) / cpu_seconds * 60, 1),
        "sampled_tokens": said,
        "sampled_tokens_per_second": round(said / seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--env", default="simia/webshop-v0")
    parser.add_argument("--episodes", type=int, default=128)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--size", default="small", help="shape of the model, as in `simia new-policy`")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    import torch
    import transformers

    from simia_gym.rl.small.model import SIZES, make_model
    from simia_gym.rl.small.tokenizer import train_tokenizer

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(asked.threads)
    talks = transcripts(asked.env, asked.episodes)
    tokenizer = train_tokenizer(talks)
    model = make_model(SIZES[asked.size], tokenizer, max_length=_LENGTH, seed=0).eval()
    model.generation_config.eos_token_id = None
    scripts = [script(tokenizer, talk) for talk in talks]
    with_generator(model, scripts[:4], asked.concurrency, asked.threads)
    ours = with_generator(model, scripts, asked.concurrency, asked.threads)
    plain = with_generate(model, scripts, asked.concurrency)
    lengths = [len(one.prompt) + sum(count + len(heard) for count, heard in one.turns) for one in scripts]
    result = {
        "benchmark": "generation",
        "env": asked.env,
        "episodes": asked.episodes,
        "concurrency": asked.concurrency,
        "threads": asked.threads,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "prompt_tokens": round(sum(len(one.prompt) for one in scripts) / len(scripts), 1),
        "episode_tokens": round(sum(lengths) / len(lengths), 1),
        "turns": round(sum(len(one.turns) for one in scripts) / len(scripts), 1),
        "generator": ours,
        "model_generate": plain,
        "times_faster": round(plain["seconds"] / ours["seconds"], 1),
        "times_faster_cpu": round(plain["cpu_seconds"] / ours["cpu_seconds"], 1),
        "machine": f"{platform.machine()}, torch {torch.__version__}, transformers {transformers.__version__}",
    }
    text = json.dumps(result, indent=1)
    print(text)
    if asked.out is not None:
        asked.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
