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
from simia_gym.record.records import Record
from simia_gym.rl.cluster.pool import RayPool
from simia_gym.rollout.jobs import Plan
from simia_gym.rollout.pools import Elsewhere
from simia_gym.rollout.store import create_store

CPUS, GROUP = 2, 150
"""Processors of each node, and episodes of each task: enough for a node to come and go meanwhile."""


class Watch:
    """Adds a node once episodes are played, and takes it away again once its workers play, too."""

    def __init__(self, nodes: Any) -> None:
        self._nodes = nodes
        self._second: Any = None
        self.most = 0
        self.died_at: int | None = None

    def __call__(self, pool: RayPool) -> None:
        ready = len(pool.workers)
        self.most = max(self.most, ready)
        if self._second is None and ready == CPUS:
            self._second = self._nodes.add_node(num_cpus=CPUS, wait=False)
        elif self.died_at is None and ready == 2 * CPUS:
            self._nodes.remove_node(self._second, allow_graceful=False)
            self.died_at = pool.summary.all.episodes


def main(record: Path) -> dict[str, Any]:
    """Play; the policy and the domain lie in the current folder."""
    import ray
    from ray.cluster_utils import Cluster

    suite = load_suite(EnvConfig(CUSTOM, domain="desk", split="all"))
    source = policy_hash("mine.py:Slow", suite.domain.config.policies, folder=suite.domain.folder)
    plan = Plan(suite.config, suite.domain.hash, "mine.py:Slow", policy_hash=source, group=GROUP)
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": CPUS, "include_dashboard": False})
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    try:
        watch = Watch(nodes)
        made: list[RayPool] = []

        def done(one: Record) -> None:
            watch(made[0])

        elsewhere = Elsewhere(policy="mine.py:Slow", options=PolicyOptions())
        pool = RayPool(suite, plan, elsewhere, concurrency=8, on_done=done)
        made.append(pool)
        with create_store(record) as store:
            asyncio.run(pool.run(store))
    finally:
        ray.shutdown()
        nodes.shutdown()
    return {"most": watch.most, "died_at": watch.died_at, "lost": pool.lost, "total": pool.total, "group": GROUP}


if __name__ == "__main__":
    # Paths of sockets must be short; pytest's own folders are not. What others have begun here stays as it is.
    os.environ["RAY_TMPDIR"] = tempfile.mkdtemp(prefix="ray", dir=os.environ.get("RAY_TMPDIR", "/tmp"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(json.dumps(main(Path(sys.argv[1]))))
