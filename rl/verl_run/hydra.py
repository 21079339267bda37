"""Options of verl's trainers in the syntax of Hydra."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

QUIET_HYDRA = ("hydra.run.dir=.", "hydra.output_subdir=null", "hydra/job_logging=stdout")


def flat(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a nested mapping, under dotted names."""
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def quoted(value: Any) -> str:
    """Write a value in Hydra's syntax.

    Strings are put in double quotes, in which Hydra escapes nothing but a quote.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(quoted(item) for item in value)}]"
    if isinstance(value, Mapping):
        return json.dumps(dict(value))
    text = str(value).replace('\\"', '\\\\"').replace('"', '\\"')
    return f'"{text}"'
