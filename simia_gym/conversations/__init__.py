"""Conversations of agents in the formats that other tools read and write.

    from simia_gym.conversations import Conversation, read_conversations, write_conversations

A `Conversation` is the same whatever it was read from. What of a file cannot be read is an `Unreadable` with its line.
"""

from simia_gym.conversations.conversation import Conversation, Unreadable
from simia_gym.conversations.format import Format, RowFormat
from simia_gym.conversations.openai_chat import decode_chat
from simia_gym.conversations.prompt import with_tools
from simia_gym.conversations.recorded import conversation_of
from simia_gym.conversations.table import detect_format, formats, read_conversations, write_conversations

__all__ = [
    "Conversation",
    "Format",
    "RowFormat",
    "Unreadable",
    "conversation_of",
    "decode_chat",
    "detect_format",
    "formats",
    "read_conversations",
    "with_tools",
    "write_conversations",
]
