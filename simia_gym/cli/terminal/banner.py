"""The line printed before a run: the environment, and the policy, simulator, user and models."""

from __future__ import annotations

from simia_gym.assembly.suite import Suite


def banner(suite: Suite, name: str, *, policy: str, seed: int) -> str:
    """One line that names the environment, policy, simulator, user, judge, models and seed of a run.

    Args:
        suite: The environment.
        name: The environment's display name.
        policy: The policy's name, as in the record.
        seed: The run's random seed.
    """
    user = suite.config.user or suite.domain.user
    parts = [name, f"policy {policy}", f"simulator {suite.simulator_name}"]
    parts += [f"user {user}"] if user else []
    parts += [f"judge {suite.config.judge}"] if suite.config.judge else []
    parts += [f"{role}'s model {model}" for role, model in suite.model_names.items()]
    parts += [f"prompt {suite.config.prompt}", f"seed {seed}"]
    return " · ".join(parts)
