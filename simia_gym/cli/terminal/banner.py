"""The line before a run: the environment and who plays what."""

from __future__ import annotations

from simia_gym.assembly.suite import Suite


def banner(suite: Suite, name: str, *, policy: str, seed: int) -> str:
    """Who plays what, in one line.

    Args:
        suite: The environment.
        name: What people call it.
        policy: The policy, as the record names it.
        seed: The run's seed.
    """
    user = suite.config.user or suite.domain.user
    parts = [name, f"policy {policy}", f"simulator {suite.simulator_name}"]
    parts += [f"user {user}"] if user else []
    parts += [f"judge {suite.config.judge}"] if suite.config.judge else []
    parts += [f"{role}'s model {model}" for role, model in suite.model_names.items()]
    parts += [f"prompt {suite.config.prompt}", f"seed {seed}"]
    return " · ".join(parts)
