"""Whether a tool only reads, from its declaration where it has one, else from its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from simia_gym.actions.signatures import function_of
from simia_gym.types import JsonObject

_READS = re.compile(
    r"(?:^|[._-])(?:calculate|check|count|describe|fetch|find|get|list|look_?up|preview|query|read|search|show|status"
    r"|view|whoami)(?:$|[._-])",
    re.IGNORECASE,
)


def readers(tools: Iterable[JsonObject]) -> frozenset[str]:
    """Names of the tools that change nothing.

    A tool of ours declares it as ``x-simia.effect``; of other tools the name has to say it, such as ``get_order``. What
    neither says counts as a change, so that nothing is called a contradiction that a change may explain.
    """
    return frozenset(str(function_of(tool)["name"]) for tool in tools if _only_reads(tool))


def _only_reads(tool: JsonObject) -> bool:
    declared: Mapping[str, Any] = tool.get("x-simia") or {}
    if "effect" in declared:
        return bool(declared["effect"] == "read")
    name = str(function_of(tool)["name"])
    return _READS.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)) is not None
