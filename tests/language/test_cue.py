"""Cues: whatever word a cue looks for first, it matches wherever one of its patterns does."""

from __future__ import annotations

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from simia_gym.language import Cue

PIECES = ["user", "id", "a", "s", "no", " ", "-", "_", "?", "'"]
PATTERN_PIECES = [
    *("user", "id", "a", "s", "no", " ", "-", "_", r"\?", r"\b", r"\w", r"\W", ".", "^", "$", "|"),
    *(" ?", "s?", "(?:a|id)", "(?:a |id )?", "(?:no|user){1,2}", "[ _]", "[^a|]", "(?!a)", "(?<! )", "(?P<one>no)"),
    *(r"\b(?:user|no)\b", "(?:(?:a|id) |-)", "(?:(?:a|id) )", " +", "(?:user id|no)+", r"\d*", "(s)", "(?:s|)"),
]


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PATTERN_PIECES), max_size=7), st.lists(st.sampled_from(PIECES), max_size=8))
@example([r"\b(?:user|no)\b", " ?", "id"], ["user", "_", "id"])
@example([r"\b(?:user|no)\b", "[ _]", "id"], ["user", "_", "id"])
@example(["user", "(?:(?:a|id) )"], ["user", "id", " "])
@example([" ", "(?:a |id )?", "user"], [" ", "a", " ", "user"])
def test_a_cue_matches_wherever_its_pattern_does(parts: list[str], words: list[str]) -> None:
    pattern, text = "".join(parts), "".join(words)
    try:
        found = re.search(pattern, text)
    except re.error:  # such as a group whose name comes twice
        return
    cue = Cue((pattern, "user"))
    places = [one.start() for one in (found, re.search("user", text)) if one is not None]
    assert cue.occurs(text) is bool(places)
    assert cue.find(text) == min(places, default=None)
