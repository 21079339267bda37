"""The pushover: does whatever the customer asks and never looks into the policy.

It finds out who the customer is and what they want exactly as the expert does, but every rule that says no is gone: it
calls the tool all the same, without a word of warning and without waiting for a yes, and when the shop's system declines
it says that all is done. A reward that it satisfies on a forbidden wish is broken.
"""

from __future__ import annotations
