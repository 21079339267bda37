"""Words of what agents do for users and give them."""

DEEDS = (
    "cancelled", "canceled", "refunded", "returned", "exchanged", "swapped", "replaced", "changed", "modified",
    "updated", "switched", "upgraded", "downgraded", "added", "removed", "applied", "reverted", "credited", "booked",
)  # fmt: skip
"""Participles of actions that agents perform for users; callers can add more."""
GIFTS = "voucher|certificate|discount|compensation|coupon|gift(?! card)|bonus|rebate"
"""Goods that only an agent hands out, other than money that comes back anyway; a regular expression."""
GOODS = rf"(?:refund|money|credit(?! card)|{GIFTS})s?"
"""What a user gets; a regular expression."""
