"""Policies: language models, baselines, and agents of the user's own."""

from __future__ import annotations

from simia_gym.policies.base import Policy, PolicyOptions, PolicyStart
from simia_gym.policies.idle import ClaimerPolicy, NullPolicy, RefuserPolicy
from simia_gym.policies.load import load_policy, policy_names
from simia_gym.policies.random_policy import RandomPolicy
from simia_gym.policies.source import policy_hash

__all__ = [
    "ClaimerPolicy",
    "NullPolicy",
    "Policy",
    "PolicyOptions",
    "PolicyStart",
    "RandomPolicy",
    "RefuserPolicy",
    "load_policy",
    "policy_hash",
    "policy_names",
]
