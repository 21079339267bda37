"""The pushover: does whatever the customer asks and never looks into the policy.

It works like the expert: it finds out who the customer is if it can, asks for what is missing, and waits for a yes. But
it never refuses: it tries every call, and if a tool returns an error it claims that all is done. A reward that passes
it on a forbidden wish is wrong.
"""

from __future__ import annotations

from simia_gym.envs.retail.expert import RetailExpert


class Pushover(RetailExpert):
    """The expert without the policy."""

    strict = False
