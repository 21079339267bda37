"""What fails without each patch of verl, for the installed version: one short training on CPU without each of them.

Each training has one step of six groups, with a reference model; a model plays the user, and a fifth of its
answers fail, so that every patch is needed. `docs/training.md` lists the patches.

    python -m benchmarks.verl_patches [--out FILE]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from simia_gym.oracle import OracleOptions, serve_in_thread
from simia_gym.rl.verl_plugin.patches import PATCHES, WITHOUT

ENV = "simia/retail-v0"
LIBRARIES = ("verl", "torch", "transformers", "trl", "ray")
WORDS = ["--steps", "1", "--groups", "6", "--group-size", "2", "--val-every", "0", "--max-turns", "2"]
WORDS += ["--turn-tokens", "4", "--user", "llm", "--model", "oracle", "--role", "user.retries=0"]
WORDS += ["--set", "actor_rollout_ref.actor.ppo_mini_batch_size=1"]
WORDS += ["--set", "actor_rollout_ref.actor.use_kl_loss=true"]


def train(without: str, run: Path, base_url: str) -> dict[str, Any]:
    """Train for one step without a patch, and tell how it ended."""
    words = [sys.executable, "-m", "simia_gym", "train", "grpo", ENV, *WORDS, "--base-url", base_url, "--out", str(run)]
    began = time.monotonic()
    done = subprocess.run(
        words, env={**os.environ, WITHOUT: without}, capture_output=True, text=True, check=False, cwd=run.parent
    )
    lines = [line for line in done.stderr.splitlines() if "the training ended early" in line]
    found: dict[str, Any] = {
        "exit_code": done.returncode,
        "error": re.sub(r" \(/.*?\)", "", lines[0].partition("ended early: ")[2].partition(" (see ")[0])
        if lines
        else None,
        "seconds": round(time.monotonic() - began, 1),
    }
    if (run / "metrics.jsonl").is_file() and (text := (run / "metrics.jsonl").read_text(encoding="utf-8")):
        line = json.loads(text.splitlines()[-1])
        found["step_seconds"] = round(line["seconds"], 2)
        found["actor"] = {name: line["verl"].get(f"actor/{name}") for name in ("pg_loss", "grad_norm", "entropy")}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the results there")
    asked = parser.parse_args()
    results: dict[str, Any] = {name: importlib.metadata.version(name) for name in LIBRARIES}
    results |= {"python": platform.python_version(), "machine": f"{platform.machine()}, {os.cpu_count()} cores"}
    with tempfile.TemporaryDirectory(prefix="simia-") as scratch:
        options = OracleOptions(fault_rate=0.2, faults=("server_error",), seed=1)
        for name in ("", *PATCHES):
            with serve_in_thread(options) as oracle:  # a new one, so that the same requests fail
                found = train(name, Path(scratch) / (name or "whole"), oracle.base_url)
            results[f"without {name or 'none'}"] = found
            print(f"without {name or 'none'}: {found}", flush=True)
    if asked.out is not None:
        asked.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
