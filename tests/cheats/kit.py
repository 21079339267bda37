"""The cheats that every service has: ``simia check DOMAIN --cheats tests.cheats.kit``."""

from __future__ import annotations

from tests.cheats import deeds, words

CHEATS = [*words.CHEATS, *deeds.CHEATS]
LEFT = words.LEFT
"""Forms that no program catches; they are left to a judge."""
