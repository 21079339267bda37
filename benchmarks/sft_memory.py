"""Peak memory of supervised training, by the size of the model and by the tokens that are trained on.

Each row is a training in a process of its own: a model with random weights and conversations of random tokens, of which
three in ten are learned. The peak is the process's largest resident memory. Within a pair of rows, only the number of
conversations differs, so that growth with it would show.

    python -m benchmarks.sft_memory [--runs 3] [--models small 135m] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

SHAPES: dict[str, dict[str, int]] = {
    "small": {"layers": 3, "hidden": 192, "heads": 6, "kv_heads": 3, "inner": 512, "vocabulary": 5_500},
    "35m": {"layers": 6, "hidden": 384, "heads": 6, "kv_heads": 3, "inner": 1_024, "vocabulary": 49_152},
    "135m": {"layers": 30, "hidden": 576, "heads": 9, "kv_heads": 3, "inner": 1_536, "vocabulary": 49_152},
}
"""The last has the shape of SmolLM2-135M."""
LOADS: dict[str, tuple[tuple[int, int, int], ...]] = {
    "small": ((16, 1_000, 32), (16, 1_000, 128), (16, 2_000, 32)),
    "35m": ((8, 500, 16), (8, 500, 48), (8, 1_000, 16)),
    "135m": ((4, 500, 8), (4, 500, 24), (4, 1_000, 8)),
}
"""Conversations in a batch, tokens of the longest (the shortest has half of them), number of conversations."""


def train(name: str, precision: str, batch: int, longest: int, conversations: int) -> dict[str, float]:
    """Train in this process; return its peak memory in GB, and its CPU time."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from simia_gym.rl.sft.encode import IGNORED, Encoded, EncodedSet
    from simia_gym.rl.sft.settings import SFTSettings
    from simia_gym.rl.sft.trainer import make_trainer
    from simia_gym.rl.small.tokenizer import train_tokenizer

    shape, chance = SHAPES[name], random.Random(0)
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            num_hidden_layers=shape["layers"],
            hidden_size=shape["hidden"],
            num_attention_heads=shape["heads"],
            num_key_value_heads=shape["kv_heads"],
            intermediate_size=shape["inner"],
            vocab_size=shape["vocabulary"],
            max_position_embeddings=8_192,
            tie_word_embeddings=True,
        )
    )
    rows = []
    for _ in range(conversations):
        ids = [chance.randrange(10, shape["vocabulary"]) for _ in range(chance.randint(longest // 2, longest))]
        rows.append(Encoded(ids, [token if place % 10 < 3 else IGNORED for place, token in enumerate(ids)]))
    tokenizer = train_tokenizer([[{"role": "user", "content": "a short text"}]], vocab=320, phrases=0)
    settings = SFTSettings(
        envs=("simia/webshop-v0",),
        policy="none",
        trajectories=conversations,
        batch_size=batch,
        max_length=longest,
        precision=precision,  # type: ignore[arg-type]
        extra={"save_strategy": "no"},
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(
            model, tokenizer, EncodedSet(rows), EncodedSet([]), settings, Path(folder), on_log=lambda *given: None
        )
        began, before = time.monotonic(), time.process_time()
        trainer.train()
    return {
        "parameters": float(sum(parameter.numel() for parameter in model.parameters())),
        "tokens": float(sum(len(row.input_ids) for row in rows)),
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        "cpu_seconds": time.process_time() - before,
        "seconds": time.monotonic() - began,
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print a line for each load, and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=3, help="processes for each load")
    parser.add_argument("--models", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.one:
        name, *load = asked.one
        print(json.dumps(train(name, asked.precision, *map(int, load))))
        return
    import torch
    import transformers

    results: list[dict[str, Any]] = []
    for name in asked.models:
        for load in LOADS[name]:
            words = [sys.executable, "-m", "benchmarks.sft_memory", "--precision", asked.precision, "--one", name]
            runs = []
            for _ in range(asked.runs):
                done = subprocess.run([*words, *map(str, load)], stdout=subprocess.PIPE, text=True, check=True)
                runs.append(json.loads(done.stdout.splitlines()[-1]))
            peaks = [run["peak_gb"] for run in runs]
            cpu = median(run["cpu_seconds"] for run in runs)
            results.append(
                {
                    "model": name,
                    "parameters": int(runs[0]["parameters"]),
                    **dict(zip(("batch", "longest", "conversations"), load, strict=True)),
                    "tokens": int(runs[0]["tokens"]),
                    "peak_gb": [round(peak, 2) for peak in peaks],
                    "cpu_seconds": [round(run["cpu_seconds"], 1) for run in runs],
                }
            )
            print(
                f"{name:>6}: {load[2]:4} conversations of up to {load[1]:,} tokens, batches of {load[0]:2}: "
                f"peak {median(peaks):.2f} GB ({min(peaks):.2f} to {max(peaks):.2f}, n={asked.runs}), "
                f"{1000 * cpu / runs[0]['tokens']:.2f} ms of CPU a token",
                flush=True,
            )
    if asked.out is not None:
        machine = f"{platform.machine()}, torch {torch.__version__}, transformers {transformers.__version__}"
        found = {"benchmark": "sft_memory", "precision": asked.precision, "machine": machine, "rows": results}
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
