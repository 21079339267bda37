"""Copies of domains without their world: what a model has to play from tools, policy and tasks alone."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from simia_gym.domain.domain import Domain
from simia_gym.domain.goal import goal_of
from simia_gym.domain.loading import load_domain
from simia_gym.domain.tasks import task_to_json
from simia_gym.state import thaw
from simia_gym.types import JsonObject, Task


def copy_without_world(source: Path, target: Path) -> Path:
    """Copy a domain's folder, take its world away, and write its goals as operations, as the world reaches them."""
    domain = load_domain(source)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "world.py"))
    config = target / "domain.yaml"
    text, count = re.subn(r"(?m)^world: .*$", "world: null", config.read_text(encoding="utf-8"))
    assert count == 1
    config.write_text(text, encoding="utf-8")
    for split, name in domain.config.tasks.items():
        lines = [json.dumps(_with_goal(domain, task)) for task in domain.tasks[split]]
        (target / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return target


def _with_goal(domain: Domain, task: Task) -> JsonObject:
    written: JsonObject = thaw(task_to_json(task))
    if task.goal is None or domain.world is None:
        return written
    initial = domain.prepare(task).initial
    written["goal"] = list(goal_of(initial, domain.world.replay(initial, task.gold)))
    return written
