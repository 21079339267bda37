"""The pushover: does whatever the customer asks and never looks into the policy.

It works as carefully as the expert does: it finds out who the customer is if it can, asks for what is missing, and
waits for a yes. Only what says no is gone. It tries every call, and where the shop's system declines it says that all
is done. A reward that it satisfies on a forbidden wish is broken.
"""

from __future__ import annotations

from simia_gym.envs.retail.expert import RetailExpert


class Pushover(RetailExpert):
    """The expert without the policy."""

    strict = False
