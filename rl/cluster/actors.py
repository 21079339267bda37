"""Actors that the workers of a run share; they live on the node of the process that created them, and end with it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar

import ray

from simia_gym.errors import Fault

T = TypeVar("T")

_CONCURRENT_CALLS = 10_000
"""Calls that may wait at an actor at once."""
_NAMESPACE = "simia"
"""Ray's namespace of named actors."""


def shared_actor(kind: type, *arguments: Any, name: str | None = None) -> Any:
    """Create an asyncio actor on this node; with a name, find the one of that name if there is one."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    node = ray.get_runtime_context().get_node_id()
    options: dict[str, Any] = {"num_cpus": 0, "max_concurrency": _CONCURRENT_CALLS}
    options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(node, soft=True)
    if name is not None:
        options |= {"name": name, "namespace": _NAMESPACE, "get_if_exists": True}
    return ray.remote(kind).options(**options).remote(*arguments)


async def reply(call: Awaitable[T], kind: str) -> T:
    """Await a call of an actor.

    Raises:
        Fault: The actor is lost; the fault has this kind.
    """
    try:
        return await call
    except ray.exceptions.RayError as error:
        message = f"an actor that all workers share is lost: {type(error).__name__}"
        raise Fault(kind, message, role="simulator") from error
