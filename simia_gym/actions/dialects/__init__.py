"""How other model families write tool calls: names the dialect of a reply, and reads the calls of one dialect."""

from __future__ import annotations

from simia_gym.actions.dialects.names import NAMES, Dialect, dialect_of
from simia_gym.actions.dialects.reader import DialectReader, invents

__all__ = ["NAMES", "Dialect", "DialectReader", "dialect_of", "invents"]
