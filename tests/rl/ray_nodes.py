"""A cluster of two nodes, both of this machine: the second comes while episodes are played, and dies under its workers.

    python -m tests.rl.ray_nodes RECORD

Prints what was seen, as JSON. It runs in a process of its own, because a process has one cluster.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.domain.registration import CUSTOM
from simia_gym.policies import PolicyOptions, policy_hash
from simia_gym.rl.cluster.pool import RayPool
from simia_gym.rollout.jobs import Plan
from simia_gym.rollout.pools import Elsewhere
from simia_gym.rollout.store import create_store

CPUS, GROUP = 2, 10
"""Processors of each node, and episodes of each task."""
HELD = Path("held.txt")
"""While there is such a file, no episode of the policy goes on."""


async def come_and_go(pool: RayPool, nodes: Any) -> int:
    """Add a node once workers are ready, and take it away when its workers have episodes; give the number of those."""
    while len(pool.workers) < CPUS:
        await asyncio.sleep(0.05)
    second = nodes.add_node(num_cpus=CPUS, wait=False)
    while not all(counts := [pool._assignments.count(f"{number}.0") for number in range(CPUS, 2 * CPUS)]):
        await asyncio.sleep(0.05)
    nodes.remove_node(second, allow_graceful=False)
    HELD.unlink()
    return sum(counts)


async def play(pool: RayPool, nodes: Any, record: Path) -> int:
    """Play all episodes while a node comes and goes."""
    with create_store(record) as store:
        taken, _ = await asyncio.gather(come_and_go(pool, nodes), pool.run(store))
    return taken


def main(record: Path) -> dict[str, Any]:
    """Play; the policy and the domain lie in the current folder."""
    import ray
    from ray.cluster_utils import Cluster

    HELD.touch()
    suite = load_suite(EnvConfig(CUSTOM, domain="desk", split="all"))
    source = policy_hash("mine.py:Held", suite.domain.config.policies, folder=suite.domain.folder)
    plan = Plan(suite.config, suite.domain.hash, "mine.py:Held", policy_hash=source, group=GROUP)
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": CPUS, "include_dashboard": False})
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    try:
        pool = RayPool(suite, plan, Elsewhere(policy="mine.py:Held", options=PolicyOptions()), concurrency=8)
        taken = asyncio.run(play(pool, nodes, record))
    finally:
        ray.shutdown()
        nodes.shutdown()
    return {"taken": taken, "lost": pool.lost, "total": pool.total, "group": GROUP}


if __name__ == "__main__":
    # Paths of sockets must be short; pytest's own folders are not. What others have begun here stays as it is.
    os.environ["RAY_TMPDIR"] = tempfile.mkdtemp(prefix="ray", dir=os.environ.get("RAY_TMPDIR", "/tmp"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(json.dumps(main(Path(sys.argv[1]))))
