"""Policies: language models, baselines, and agents of the user's own."""

from __future__ import annotations

from simia_gym.policies.base import Policy, PolicyOptions, PolicyStart
from simia_gym.policies.built_in import ClaimerPolicy, NullPolicy, RandomPolicy, RefuserPolicy
from simia_gym.policies.load import load_policy, policy_hash, policy_names

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
