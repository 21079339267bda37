"""Turn the name of a policy into a factory that makes one policy per episode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from simia_gym.assembly.suite import LLM, Suite
from simia_gym.policies import Policy, PolicyOptions, load_policy


def make_player(policy: str, options: PolicyOptions, suite: Suite) -> Callable[[], Policy]:
    """Find a policy for an environment.

    Args:
        policy: A name, or ``module:Class``, as for `simia_gym.policies.load_policy`.
        options: Settings of the policy's model, if it uses one.
        suite: The environment; the policy shares its budget and cassette.

    Returns:
        A factory; each call makes a new policy.

    Raises:
        InputError: The policy does not exist, or cannot be used.
    """
    own, folder = suite.domain.config.policies, suite.domain.folder
    if policy != LLM or LLM in own:
        return load_policy(policy, own, options, folder=folder)
    from simia_gym.policies.llm import LLMPolicy

    return partial(LLMPolicy, options, budget=suite.resources.budget, cassette=suite.resources.cassette)
