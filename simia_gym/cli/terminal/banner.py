"""The line before a run: the environment and who plays what."""

from __future__ import annotations

from simia_gym.assembly.suite import Suite


def banner(suite: Suite, *, policy: str, prompt: str, seed: int) -> str:
    """Who plays what, in one line.

    Args:
        suite: The environment.
        policy: The policy, as the record names it.
        prompt: Which system message.
        seed: The run's seed.
    """
    user = suite.config.user or suite.domain.user
    parts = [shown_name(suite), f"policy {policy}", f"simulator {suite.simulator_name}"]
    parts += [f"user {user}"] if user else []
    parts += [f"judge {suite.config.judge}"] if suite.config.judge else []
    parts += [f"{role}'s model {name}" for role, name in suite.model_names.items()]
    parts += [f"prompt {prompt}", f"seed {seed}"]
    return " · ".join(parts)


def shown_name(suite: Suite) -> str:
    """The environment's id, or the name of a custom domain."""
    return suite.domain.name if suite.config.domain is not None else suite.config.env
