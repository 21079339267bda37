"""The state of an episode: JSON tables of JSON rows, changed by JSON Patch operations alone."""

from simia_gym.state.draft import Draft
from simia_gym.state.equality import identical, strict_equal
from simia_gym.state.frozen import FrozenDict, FrozenList, freeze, thaw
from simia_gym.state.pointer import make_pointer, pointer_parts
from simia_gym.state.state import State

__all__ = [
    "Draft",
    "FrozenDict",
    "FrozenList",
    "State",
    "freeze",
    "identical",
    "make_pointer",
    "pointer_parts",
    "strict_equal",
    "thaw",
]
