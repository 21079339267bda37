"""File trees as rows of a state: an entry is a row, its time stands apart, and times follow a clock that repeats."""

from __future__ import annotations

from simia_gym.trees.clock import Clock, Moment, time_text, time_value
from simia_gym.trees.rows import entry_of, path_text, row_of, size_of, text_path

__all__ = ["Clock", "Moment", "entry_of", "path_text", "row_of", "size_of", "text_path", "time_text", "time_value"]
