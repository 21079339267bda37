"""What one rollout with a real model in one role shows: replies read, repaired and faulted, silent zeros, cost."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from simia_gym.record.records import read_records

DOMAINS = ("retail", "airline", "webshop", "officebench", "os", "mind2web")
TALKING = ("retail", "airline")
"""Domains with a customer."""
CELLS = [
    *(("policy", domain) for domain in DOMAINS),
    *(("simulator", domain) for domain in DOMAINS),
    *(("user", domain) for domain in TALKING),
    *(("judge", domain) for domain in DOMAINS if domain != "webshop"),
]
"""Roles and domains; WebShop's grade has no criterion for a judge."""
TOKENS = {"policy": 96, "simulator": 400, "user": 96, "judge": 160}
"""Longest reply: without a limit a small model goes on until its context is full."""
_PLAYS = {
    "policy": ["--policy", "llm", "--max-turns", "8"],
    "simulator": ["--simulator", "llm"],
    "user": ["--user", "llm", "--simulator", "world"],
    "judge": ["--judge", "llm-all", "--simulator", "world", "--role", "judge.repairs=1"],
}


def words_of(
    role: str, domain: str, *, model: str, url: str, episodes: int, out: Path, seed: int = 0, at_once: int = 4
) -> list[str]:
    """The command line of one cell; whoever is not the model is the expert, the world and the script."""
    words = ["rollout", f"simia/{domain}-v0", "--episodes", str(episodes), "--seed", str(seed)]
    words += ["--out", str(out), "--json"]
    words += [*_PLAYS[role], "--role", f"{role}.max_tokens={TOKENS[role]}", "--concurrency", str(at_once)]
    if role == "policy":
        return [*words, "--policy-model", model, "--policy-base-url", url]
    return [*words, "--model", model, "--base-url", url]


def measure(
    role: str, domain: str, *, model: str, url: str, episodes: int, folder: Path, limit: float, at_once: int = 4
) -> dict[str, Any]:
    """Play one cell, for at most ``limit`` seconds, and count what its records hold.

    What an earlier pass has left in ``folder`` counts; the next one has the next seed.
    """
    passes = sorted(path for path in folder.glob(f"{role}-{domain}-*.jsonl") if path.suffixes == [".jsonl"])
    there = count(role, passes)["episodes"]
    out = folder / f"{role}-{domain}-{len(passes)}.jsonl"
    left, seed = episodes - there, len(passes)
    words = words_of(role, domain, model=model, url=url, episodes=left, out=out, seed=seed, at_once=at_once)
    began, ended = time.monotonic(), "finished"
    try:
        done = subprocess.run(
            [sys.executable, "-m", "simia_gym", *words], capture_output=True, text=True, timeout=limit, check=False
        )
        if done.returncode not in (0, 1):
            ended = f"refused: {done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else done.returncode}"
    except subprocess.TimeoutExpired:
        ended = f"stopped after {limit:.0f} s"
    found = count(role, [*passes, out] if out.is_file() else passes)
    about = {"role": role, "domain": domain, "asked": episodes, "ended": ended, "added": found["episodes"] - there}
    return {**about, **found, "seconds": round(time.monotonic() - began, 1)}


def count(role: str, paths: list[Path]) -> dict[str, Any]:
    """Count the replies, faults and zeros of records.

    A silent zero is a valid episode without a reward, though the agent is the expert and makes no mistake. A policy's
    tokens stand in no record.
    """
    kinds, read, faults = Counter[str](), Counter[str](), Counter[str]()
    tokens = [0, 0]
    rewards: list[float] = []
    episodes = 0
    for record in (one for path in paths for one in read_records(path, torn="skip")):
        episodes += 1
        for event in record.events:
            kind = event["type"]
            if kind in ("model", "unread") and event.get("role", role) == role:
                kinds["unread" if kind == "unread" else "put_right" if event.get("read") else "at_once"] += 1
                read.update(event.get("read", ()))
                usage = event["usage"]
                tokens[0] += usage["prompt"]
                tokens[1] += usage["completion"]
            elif kind == "action" and role == "policy":
                kinds["at_once"] += 1
            elif kind in ("rejected", "invalid"):
                kinds[kind] += 1
        if record.fault is not None:
            faults[f"{record.fault['role']}:{record.fault['kind']}"] += 1
        elif record.reward is not None:
            rewards.append(record.reward)
    if role == "policy":
        kinds["at_once"] -= kinds["invalid"]  # what the environment refused
    return {
        "episodes": episodes,
        "replies": dict(kinds),
        "put_right": dict(read),
        "faults": dict(faults),
        "valid": len(rewards),
        "rewards": rewards,
        "silent_zeros": 0 if role == "policy" else sum(reward == 0 for reward in rewards),
        "tokens": tokens,
    }


def table(cells: list[dict[str, Any]]) -> str:
    """The table of the results, in Markdown."""
    lines = [
        "| role | domain | episodes | read at once | put right | unread | against the rules | faults | valid "
        "| silent zeros | tokens | s |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in cells:
        if not cell["episodes"]:
            continue
        replies = cell["replies"]
        row = [cell["role"], cell["domain"], cell["episodes"]]
        row += [replies.get(name, 0) for name in ("at_once", "put_right", "unread")]
        row.append(replies.get("rejected", 0) + replies.get("invalid", 0))
        row.append(", ".join(f"{number} `{name}`" for name, number in sorted(cell["faults"].items())) or "none")
        valid = f"{cell['valid']}, mean reward {sum(cell['rewards']) / cell['valid']:.2f}" if cell["valid"] else "0"
        zeros = "" if cell["role"] == "policy" else cell["silent_zeros"]
        tokens = "" if cell["role"] == "policy" else f"{cell['tokens'][0]:,} + {cell['tokens'][1]:,}"
        row += [valid, zeros, tokens, round(cell["seconds"])]
        lines.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(lines)


def load(path: Path) -> dict[str, Any]:
    """Stored results; none at first."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {"cells": []}
