"""The static beginning of an LLM simulator's prompt: the same bytes for every call of every episode of a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.tasks import gold_action
from simia_gym.errors import Fault
from simia_gym.llm.blocks import block, make_nonce
from simia_gym.llm.prompt import Prompt
from simia_gym.prompts import load_prompt
from simia_gym.types import Calls, Feedback, JsonObject, Say, Task


@dataclass(frozen=True)
class Prefix:
    """The beginning of a prompt.

    Attributes:
        prompt: The system message, marked as static; fork it instead of adding to it.
        nonce: Tag that delimits the prompt's data blocks.
    """

    prompt: Prompt
    nonce: str


def prompt_prefix(
    domain: Domain, context: StepContext, feedback: Feedback, strategy: Literal["ledger", "reference"]
) -> Prefix:
    """The prefix of a strategy's prompts; written once for each task.

    In ``ledger`` the model proposes changes of the state; in ``reference`` it continues after a reference trajectory.

    Raises:
        InputError: A prompt file of the domain is invalid.
    """
    return context.prepared.once(
        f"prefix {strategy} {feedback}", lambda task: _write(domain, task, context.digest, feedback, strategy)
    )


def _write(domain: Domain, task: Task, digest: str, feedback: Feedback, strategy: str) -> Prefix:
    tools = list(domain.tool_entries.values())
    blocks: dict[str, Any] = {"domain": domain.about}
    if strategy == "reference":
        blocks["task"] = {"id": task.id, "digest": digest, "split": task.split}
        blocks |= {"tools": tools, "reference": reference_messages(domain, task)}
    else:
        schema = _schema(domain)
        blocks |= {"tools": tools} if schema is None else {"tools": tools, "schema": schema}
    nonce = make_nonce(domain.hash, digest)
    errors = load_prompt(f"errors_{feedback}", domain.folder).text.strip()
    rules = load_prompt(f"simulator_{strategy}", domain.folder).fill(errors=errors, policy=domain.policy.strip())
    prompt = Prompt()
    prompt.add("system", "\n\n".join([rules.strip(), *(block(kind, nonce, value) for kind, value in blocks.items())]))
    prompt.mark_static()
    return Prefix(prompt, nonce)


def _schema(domain: Domain) -> JsonObject | None:
    """The state schema as it is written, without private tables and names of functions."""
    value = domain.state_schema_content
    if value is None:
        return None
    tables = {name: rules for name, rules in value["tables"].items() if not name.startswith("_")}
    invariants = [item for item in value.get("invariants", []) if "check" not in item]
    return {"tables": tables, "invariants": invariants}


def reference_messages(domain: Domain, task: Task) -> list[JsonObject]:
    """The reference trajectory of a task: its gold calls, with the world's answers if the domain has a world.

    Returns:
        Messages ``{"role": "user" | "assistant" | "tool", ...}``, in order.
    """
    messages: list[JsonObject] = []
    if task.instruction:
        messages.append({"role": "user", "content": task.instruction})
    state = domain.begun(task)
    for action in map(gold_action, task.gold):
        if not isinstance(action, Calls):
            said = action.text if isinstance(action, Say) else action.answer
            messages.append({"role": "assistant", "content": said})
            continue
        (call,) = action.calls
        messages.append({"role": "assistant", "call": {"name": call.name, "arguments": call.arguments}})
        if domain.world is not None and call.name in domain.world.tools:
            try:
                transition = domain.world.call(state, call)
            except Fault:
                continue  # the trajectory then has the call without an answer
            messages.append({"role": "tool", "name": call.name, "content": transition.observation})
            state = state if transition.state is None else transition.state
    return messages
