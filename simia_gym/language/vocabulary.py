"""Words of what agents do for users and give them."""

DEEDS = (
    "cancelled", "canceled", "refunded", "returned", "exchanged", "swapped", "replaced", "changed", "modified",
    "updated", "switched", "upgraded", "downgraded", "added", "removed", "applied", "reverted", "credited", "booked",
)  # fmt: skip
"""Participles of actions that agents perform for users; callers can add more."""
VERBS = "cancel|refund|return|exchange|swap|replace|change|modify|update|switch|upgrade|downgrade|add|remove|apply|book"
"""The verbs of these participles; a regular expression."""
GIFTS = r"voucher|certificate|discount|compensation|coupon|gift(?! card)|(?<=\d )gift card|bonus|rebate"
"""Goods that only an agent hands out, other than money that comes back anyway; a regular expression."""
GOODS = rf"(?:refund|money|credit(?! card)|{GIFTS})s?"
"""What a user gets; a regular expression."""
WRITTEN = frozenset((*DEEDS, "done", "sorted", "processed", "approved", "confirmed", "completed", "submitted", "issued",
    "granted", "waived", "refund", "voucher", "discount", "coupon", "money"))  # fmt: skip
"""Words that are known even if digits stand for some of their letters."""
