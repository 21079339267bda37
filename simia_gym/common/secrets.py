"""Removes secrets from texts before they are written; error messages of servers and libraries may contain API keys."""

from __future__ import annotations

import os
import re

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)
_LEAST = 8


def without_secrets(text: str) -> str:
    """Replace the values of secret environment variables (KEY, TOKEN, SECRET, PASSW in their name) by ``[secret]``.

    Args:
        text: The text to be written or shown.
    """
    for name, value in os.environ.items():
        if len(value) >= _LEAST and _SECRET_NAME.search(name):
            text = text.replace(value, "[secret]")
    return text
