"""The format ``verl``: Parquet for the SFT trainer of verl, whose data set renders each message alone.

A conversation stands in it as the policies of this package have it: the tools in the system message, and calls in the
agent's text. A column ``tools``, or calls as objects, would get nulls from Arrow, which chat templates render or fail
on; and templates that know no calls leave them out without a word.
"""

from __future__ import annotations

from typing import Any

from simia_gym.conversations.conversation import Conversation
from simia_gym.conversations.hermes import Hermes, in_text
from simia_gym.rl.formats.parquet_format import ParquetFormat
from simia_gym.types import JsonObject


class VerlRows(ParquetFormat, Hermes):
    """Rows with ``messages`` of ``role`` and ``content`` alone; answers of tools have their role."""

    name = "verl"

    def columns(self, pyarrow: Any) -> JsonObject:
        """The messages."""
        text = pyarrow.string()
        return {"messages": pyarrow.list_(pyarrow.struct({"role": text, "content": text}))}

    def stored(self, row: JsonObject) -> JsonObject:
        """The row itself."""
        return row

    def encode(self, conversation: Conversation) -> JsonObject:
        """The row of a conversation."""
        return {"messages": in_text(conversation, "tool", self.name), **self.facts(conversation)}
