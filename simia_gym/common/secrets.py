"""Keeps secrets out of everything that is written: texts of faults come from anywhere, keys of requests included."""

from __future__ import annotations

import os
import re

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)
_LEAST = 8


def without_secrets(text: str) -> str:
    """Take the values of key-like environment variables out of a text.

    Args:
        text: What is going to be written or shown.

    Returns:
        The text with ``[secret]`` in their place.
    """
    for name, value in os.environ.items():
        if len(value) >= _LEAST and _SECRET_NAME.search(name):
            text = text.replace(value, "[secret]")
    return text
