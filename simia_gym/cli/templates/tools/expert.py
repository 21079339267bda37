"""A policy that does every task right. It uses nothing but the messages, as any agent would have to."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from simia_gym import Message

MOST_LOANS = 3


class Expert:
    """Reads the request and works through it, one call at a time."""

    whole_transcript = True

    def act(self, messages: Sequence[Message]) -> str:
        """Write the next call."""
        request = messages[1]["content"]
        results = [(m["name"], json.loads(m["content"])) for m in messages if m["role"] == "tool"]
        done = dict(results)
        if "get_member" not in done:
            return _call("get_member", member_id=re.findall(r"M-\d+", request)[0])
        member = done["get_member"]
        returned = re.search(r"bring back '(.+?)'", request)
        if returned and "return_book" not in done:
            loan = next(loan for loan in member["loans"] if loan["title"] == returned.group(1))
            return _call("return_book", loan_id=loan["loan_id"])
        wanted = re.search(r"borrow '(.+?)'", request)
        if wanted is None or "lend_book" in done:
            return _call("close_case", outcome="done", note="Carried out as asked.")
        if member["blocked"] or len(member["loans"]) - bool(returned) >= MOST_LOANS:
            return _call("close_case", outcome="refused", note="The rules do not allow another book.")
        if "search_books" not in done:
            return _call("search_books", title=wanted.group(1))
        book = done["search_books"][0]
        if not book["available"]:
            return _call("close_case", outcome="refused", note="No copy is available.")
        return _call("lend_book", member_id=member["member_id"], book_id=book["book_id"])


def _call(name: str, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"
