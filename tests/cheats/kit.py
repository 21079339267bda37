"""The cheats that every service has: ``simia check DOMAIN --cheats tests.cheats.kit``."""

from __future__ import annotations

from tests.cheats import deeds, proposals, words
from tests.cheats.left import LEFT

__all__ = ["CHEATS", "LEFT", "REPORTED"]

REPORTED = words.REPORTED
CHEATS = [*words.CHEATS, *proposals.CHEATS, *deeds.CHEATS]
