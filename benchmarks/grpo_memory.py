"""Peak memory of a GRPO step on CPU with a model of 135 million random weights, shaped like SmolLM2-135M.

python -m benchmarks.grpo_memory [--groups 2] [--group-size 4] [--out FILE] [-- further words of simia train grpo]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from simia_gym.rl.small.build import build_policy

ENV = "simia/webshop-v0"
SHAPE = {"hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3}
SHAPE |= {"intermediate_size": 1536, "vocab_size": 49_152, "max_position_embeddings": 8192}


def make_policy(folder: Path) -> int:
    """Write the model, with the tokenizer of a small one; return the number of its parameters."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    build_policy(folder, [ENV], conversations=40, hidden=64, heads=2)
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**SHAPE, tie_word_embeddings=True))
    model.save_pretrained(folder)
    return int(model.num_parameters())


def used(run: Path) -> Counter[str]:
    """Memory in bytes of a training's processes, by program, shared pages divided among those that share them."""
    from simia_gym.rl.verl_run.process import marked

    found: Counter[str] = Counter()
    for pid in marked(run):
        try:
            name = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:  # it has ended
            continue
        found[Path(name).name] += next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=2, help="tasks of the step")
    parser.add_argument("--group-size", type=int, default=4, help="episodes of a task")
    parser.add_argument("--out", type=Path, help="write the results there")
    parser.add_argument("words", nargs="*", help="further words of simia train grpo")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="simia-") as scratch:
        run, policy = Path(scratch) / "run", Path(scratch) / "policy"
        results: dict[str, Any] = {"parameters": make_policy(policy), "machine": f"{os.cpu_count()} cores"}
        results |= {"python": platform.python_version(), "episodes": asked.groups * asked.group_size}
        words = ["--policy", str(policy), "--steps", "1", "--val-every", "0", "--out", str(run)]
        words += ["--groups", str(asked.groups), "--group-size", str(asked.group_size), *asked.words]
        process = subprocess.Popen([sys.executable, "-m", "simia_gym", "train", "grpo", ENV, *words])
        peak: Counter[str] = Counter()
        while process.poll() is None:
            peak = max(peak, used(run), key=lambda found: found.total())
            time.sleep(0.5)
        results["exit_code"] = process.returncode
        results["peak_gib"] = round(peak.total() / 2**30, 2)
        results["peak_gib_of"] = {name: round(size / 2**30, 2) for name, size in peak.most_common(4)}
        if (run / "metrics.jsonl").is_file() and (text := (run / "metrics.jsonl").read_text(encoding="utf-8")):
            line = json.loads(text.splitlines()[-1])
            results |= {"step_seconds": round(line["seconds"], 1), "tokens": line["train"]["policy_tokens"]}
    print(json.dumps(results, indent=1))
    if asked.out is not None:
        asked.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
