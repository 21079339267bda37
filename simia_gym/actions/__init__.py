"""Action grammars: how the text of a policy becomes a message, calls or an end."""

from __future__ import annotations

from simia_gym.actions.base import Grammar, Replies, get_grammar, grammar_names, register_grammar
from simia_gym.actions.thinking import strip_thinking
from simia_gym.actions.tools_grammar import ToolsGrammar
from simia_gym.envs.webshop.grammar import WebshopGrammar

register_grammar(ToolsGrammar())
register_grammar(WebshopGrammar())

__all__ = [
    "Grammar",
    "Replies",
    "ToolsGrammar",
    "WebshopGrammar",
    "get_grammar",
    "grammar_names",
    "register_grammar",
    "strip_thinking",
]
