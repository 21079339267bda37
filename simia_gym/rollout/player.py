"""From what names a policy to what makes one for each episode, in this process or in another."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from simia_gym.assembly.suite import LLM, Suite
from simia_gym.policies import Policy, PolicyOptions, load_policy


def make_player(policy: str, options: PolicyOptions, suite: Suite) -> Callable[[], Policy]:
    """Find a policy for an environment.

    Args:
        policy: A name, or ``module:Class``, as for `simia_gym.policies.load_policy`.
        options: Settings of the model that it asks, where it asks one.
        suite: The environment; its budget and cassette are the policy's, too.

    Returns:
        A factory: every call gives a new policy.

    Raises:
        InputError: There is no such policy, or it cannot be used.
    """
    own, folder = suite.domain.config.policies, suite.domain.folder
    if policy != LLM or LLM in own:
        return load_policy(policy, own, options, folder=folder)
    from simia_gym.policies.llm import LLMPolicy

    return partial(LLMPolicy, options, budget=suite.resources.budget, cassette=suite.resources.cassette)
