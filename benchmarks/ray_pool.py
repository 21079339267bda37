"""Overhead of Ray: the Ray pool against the local pool, with the same episodes on one machine.

    python -m benchmarks.ray_pool [--out FILE] [--runs N]

There are two kinds of episodes: in a code world, which only compute, and with models as policy and simulator behind a
mock server with a fixed latency, which mostly wait; the latter also in groups of eight, whose answers are shared over
the cluster. Each run plays the same plan once with the local pool and once with Ray and one worker, so both play in one
process; the order alternates. A third column has as many workers as cores. The start of the cluster is measured
separately. The start of workers is included in the time of few episodes (`few_s`), but in no ratio. Ratios are of wall
time, Ray over local: median over runs, with minimum and maximum.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.model_calls import server
from benchmarks.model_calls.workload import config as workload
from benchmarks.model_calls.workload import endpoint, policy_options, prepare
from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.policies import PolicyOptions, policy_hash
from simia_gym.rollout.jobs import Plan
from simia_gym.rollout.pool import Pool
from simia_gym.rollout.pools import Elsewhere, load_pool
from simia_gym.rollout.store import create_store
from simia_gym.version import __version__

LATENCY = 0.1
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Kind:
    """A kind of episodes.

    Attributes:
        config: The environment.
        resources: Endpoints of its models.
        policy: Name of the policy.
        options: Options of the policy's model.
        sizes: A small and a large number of episodes. The difference of their times excludes the start of workers.
        concurrency: Maximum number of concurrent episodes.
        group: Episodes of one task, which share the simulator's answers in all workers.
    """

    config: EnvConfig
    sizes: tuple[int, int]
    concurrency: int
    group: int = 1
    resources: Resources = field(default_factory=Resources)
    policy: str = "expert"
    options: PolicyOptions = field(default_factory=PolicyOptions)


def play(kind: Kind, episodes: int, workers: int | None, seed: int) -> float:
    """Play a plan once.

    Args:
        kind: The kind of episodes.
        episodes: Number of episodes.
        workers: Number of Ray workers; ``None`` for the local pool.
        seed: The plan's seed.

    Returns:
        Wall time in seconds.
    """
    suite = load_suite(kind.config, kind.resources)
    domain = suite.domain
    source = policy_hash(kind.policy, domain.config.policies, folder=domain.folder)
    plan = Plan(suite.config, domain.hash, kind.policy, seed, kind.group, episodes, source)
    if workers is None:
        make = suite.load_policy(kind.policy, kind.options)
        pool = Pool(suite, plan, make, concurrency=kind.concurrency)
    else:
        elsewhere = Elsewhere(policy=kind.policy, options=kind.options, workers=workers)
        pool = load_pool("ray")(suite, plan, elsewhere, concurrency=kind.concurrency)
    with tempfile.TemporaryDirectory() as folder, create_store(Path(folder) / "r.jsonl") as store:
        began = time.perf_counter()
        asyncio.run(pool.run(store))
        seconds = time.perf_counter() - began
    if pool.summary.all.valid != episodes:
        raise RuntimeError(f"{pool.summary.all.invalid} episodes are invalid: {pool.summary.messages}")
    return seconds


def measure(name: str, kind: Kind, runs: int) -> dict[str, Any]:
    """Compare the pools on one kind of episode.

    Args:
        name: Name for the progress line.
        kind: The kind of episodes.
        runs: Number of repetitions.
    """
    few, many = kind.sizes
    columns: dict[str, int | None] = {"local": None, "ray_1_worker": 1, f"ray_{CORES}_workers": CORES}
    seconds: dict[str, dict[str, list[float]]] = {column: {"few": [], "many": []} for column in columns}
    for run in range(runs):
        order = list(columns.items())
        for column, workers in order if run % 2 == 0 else reversed(order):
            for size, episodes in (("few", few), ("many", many)):
                seconds[column][size].append(play(kind, episodes, workers, run))
        print(f"{name}: run {run + 1} of {runs}", file=sys.stderr, flush=True)
    result: dict[str, Any] = {"episodes": [few, many], "concurrency": kind.concurrency, "runs": runs}
    base = [most - least for least, most in zip(*seconds["local"].values(), strict=True)]
    for column, of_sizes in seconds.items():
        between = [most - least for least, most in zip(*of_sizes.values(), strict=True)]
        rates = [(many - few) / taken for taken in between]
        result[column] = {"episodes_per_second": spread(rates), "few_s": spread(of_sizes["few"])}
        if column != "local":
            ratios = [taken / local for taken, local in zip(between, base, strict=True)]
            result[column]["time_over_local"] = spread(ratios)
    return result


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """Run the mock server of `benchmarks.model_calls` in its own process; yields its port."""
    answers = folder / "answers.json"
    prepare(answers)
    words = [sys.executable, server.__file__, f"--answers={answers}", f"--latency={LATENCY}", "--sigma=0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(json.loads(process.stdout.readline())["port"])
    finally:
        process.kill()
        process.wait()


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, minimum and maximum."""
    return {
        "median": round(statistics.median(values), 3),
        "least": round(min(values), 3),
        "most": round(max(values), 3),
        "n": len(values),
    }


def _ready() -> None:
    """An empty task, to check that the cluster executes tasks."""


def main() -> None:
    """Measure all kinds and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "ray_pool.json")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="factor for the numbers of episodes, to try it out")
    asked = parser.parse_args()
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    began = time.perf_counter()
    ray.init(address="local", num_cpus=CORES, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.get(ray.remote(_ready).remote())
    startup = time.perf_counter() - began

    def sized(few: int, many: int) -> tuple[int, int]:
        return max(1, int(asked.scale * few)), max(2, int(asked.scale * many))

    os.environ["OPENAI_API_KEY"] = "none"  # the driver passes it to the workers
    try:
        with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as port:
            world = Kind(EnvConfig("simia/retail-v0", generated=100_000), sized(300, 3300), 8)
            resources, options = endpoint(port), policy_options(port)
            model = Kind(
                workload(),
                sized(64, 448),
                64,
                resources=replace(resources, api_key=None),
                policy="llm",
                options=replace(options, api_key=None),
            )
            results = {
                "world": measure("world", world, asked.runs),
                "model_calls": measure("model calls", model, asked.runs),
                "model_calls_in_groups": measure("model calls in groups", replace(model, group=8), asked.runs),
            }
    finally:
        ray.shutdown()
    value = {
        "simia_gym": __version__,
        "ray": ray.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": CORES,
        "cluster_startup_s": round(startup, 2),
        "model_latency_s": LATENCY,
        "results": results,
    }
    asked.out.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(value, indent=2))


if __name__ == "__main__":
    main()
