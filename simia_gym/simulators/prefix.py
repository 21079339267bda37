"""The static beginning of an LLM simulator's prompt: the same bytes for every call of every episode of a task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from simia_gym.common.files import read_json
from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.errors import Fault
from simia_gym.llm.blocks import block, make_nonce
from simia_gym.llm.prompt import Prompt
from simia_gym.prompts import load_prompt
from simia_gym.types import Feedback, JsonObject, Task, ToolCall


@dataclass(frozen=True)
class Prefix:
    """The beginning of a prompt.

    Attributes:
        prompt: The system message, marked as static; fork it instead of adding to it.
        nonce: Tag that delimits the prompt's data blocks.
        digest: Hash of the message.
    """

    prompt: Prompt
    nonce: str
    digest: str


def ledger_prefix(domain: Domain, context: StepContext, feedback: Feedback) -> Prefix:
    """The prefix for the ledger strategy, in which the model proposes changes of the state.

    Args:
        domain: The domain.
        context: The step context.
        feedback: ``terse`` or ``explain`` errors.

    Raises:
        InputError: A prompt file of the domain is invalid.
    """
    return _ledger(domain, context.digest, feedback)


@lru_cache(maxsize=128)
def _ledger(domain: Domain, digest: str, feedback: Feedback) -> Prefix:
    blocks = {"domain": domain.about, "tools": list(domain.tool_entries.values())}
    schema = _schema(domain)
    if schema is not None:
        blocks["schema"] = schema
    return _made(domain, "simulator_ledger", digest, feedback, blocks)


def reference_prefix(domain: Domain, context: StepContext, feedback: Feedback) -> Prefix:
    """The prefix for the reference strategy, in which the model continues after a reference trajectory.

    Args:
        domain: The domain.
        context: The step context.
        feedback: ``terse`` or ``explain`` errors.

    Raises:
        InputError: A prompt file of the domain is invalid.
    """
    return _reference(domain, context.task.id, context.digest, feedback, _Same(context.task))


class _Same:
    """Passes a task through a cached function without changing the cache key, which has the task's hash already."""

    __slots__ = ("task",)

    def __init__(self, task: Task) -> None:
        self.task = task

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=128)
def _reference(domain: Domain, task_id: str, digest: str, feedback: Feedback, given: _Same) -> Prefix:
    blocks = {
        "domain": domain.about,
        "task": {"id": task_id, "digest": digest, "split": given.task.split},
        "tools": list(domain.tool_entries.values()),
        "reference": reference_messages(domain, given.task),
    }
    return _made(domain, "simulator_reference", digest, feedback, blocks)


def _made(domain: Domain, name: str, digest: str, feedback: Feedback, blocks: dict[str, Any]) -> Prefix:
    nonce = make_nonce(domain.hash, digest)
    errors = load_prompt(f"errors_{feedback}", domain.folder).text.strip()
    rules = load_prompt(name, domain.folder).fill(errors=errors, policy=domain.policy.strip())
    prompt = Prompt()
    prompt.add("system", "\n\n".join([rules.strip(), *(block(kind, nonce, value) for kind, value in blocks.items())]))
    prompt.mark_static()
    return Prefix(prompt, nonce, prompt.digest)


def _schema(domain: Domain) -> JsonObject | None:
    """The state schema as in its file, without private tables and names of functions."""
    if domain.state_schema is None:
        return None
    value = read_json(domain.state_schema.path, what="state schema")
    tables = {name: rules for name, rules in value["tables"].items() if not name.startswith("_")}
    invariants = [item for item in value.get("invariants", []) if "check" not in item]
    return {"tables": tables, "invariants": invariants}


def reference_messages(domain: Domain, task: Task) -> list[JsonObject]:
    """The reference trajectory of a task: its gold calls, with the world's answers if the domain has a world.

    Args:
        domain: The domain.
        task: The task.

    Returns:
        Messages ``{"role": "user" | "assistant" | "tool", ...}``, in order.
    """
    messages: list[JsonObject] = []
    if task.instruction:
        messages.append({"role": "user", "content": task.instruction})
    state = domain.prepare(task).initial
    if domain.world is not None and domain.user is None:
        draft = state.draft()
        domain.world.opening(draft, task)
        state, _ = draft.commit()
    for item in task.gold:
        call = ToolCall(item["name"], dict(item.get("arguments", {})))
        messages.append({"role": "assistant", "call": {"name": call.name, "arguments": call.arguments}})
        if domain.world is not None and call.name in domain.world.tools:
            try:
                transition = domain.world.call(state, call)
            except Fault:
                continue  # the trajectory then has the call without an answer
            messages.append({"role": "tool", "name": call.name, "content": transition.observation})
            state = state if transition.state is None else transition.state
    return messages
