"""Policies: for use, and as yardsticks that every reward must tell apart."""

from __future__ import annotations

from simia_gym.policies.base import Policy, PolicyOptions, PolicyStart
from simia_gym.policies.claimer import ClaimerPolicy
from simia_gym.policies.load import load_policy, policy_names
from simia_gym.policies.null import NullPolicy
from simia_gym.policies.random_policy import RandomPolicy
from simia_gym.policies.refuser import RefuserPolicy
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
