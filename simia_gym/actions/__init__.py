"""Action grammars: they parse the text of a policy into a message, tool calls or an end action."""

from __future__ import annotations

from simia_gym.actions.base import Grammar, Replies
from simia_gym.actions.thinking import strip_thinking
from simia_gym.actions.tools_grammar import ToolsGrammar, get_grammar, native_instructions

__all__ = ["Grammar", "Replies", "ToolsGrammar", "get_grammar", "native_instructions", "strip_thinking"]
