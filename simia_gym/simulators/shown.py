"""Whether everything that a call names was shown to the model that answers it, so that it cannot say ``not_found``."""

from __future__ import annotations

import re

from simia_gym.common.json_encoding import texts_in
from simia_gym.domain.tools import ToolSpec
from simia_gym.types import ToolCall
from simia_gym.views.slices import Slice

NOT_FOUND = "not_found"
_NAME = re.compile(r"(?=\S*[\d_@])\S+")
"""What looks like the name of a row: one word that is more than letters."""


def contradicts_shown(code: str | None, call: ToolCall, spec: ToolSpec, shown: Slice) -> str:
    """Why an error contradicts the rows that the model was shown; empty if it may be right.

    Only what is certain counts: one row that was shown holds every name of the call. A tool that writes may miss
    something else, such as a part of the row, unless the call names nothing but the row itself.
    """
    if code != NOT_FOUND or shown.missing:
        return ""
    names = [text for text in texts_in(call.arguments) if _NAME.fullmatch(text)]
    if not names or len(set(names)) < len(names) or (spec.effect == "write" and len(names) > 1):
        return ""
    for table, rows in shown.tables.items():
        for key, row in rows.items():
            held = {key} if spec.effect == "write" else {key, *texts_in(row, keys=True)}
            if all(name in held for name in names):
                return f"error_code is {NOT_FOUND!r}, but the row {key!r} of {table!r} was shown to you: it is there"
    return ""
