"""The static beginning of an LLM simulator's prompt: the same bytes for every call of every episode.

In ``ledger`` it is the same for all tasks, so that they share it in a server's prefix cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.tasks import gold_action
from simia_gym.domain.tools import DeclaredError, ToolSpec
from simia_gym.errors import Fault
from simia_gym.llm.blocks import block, make_nonce
from simia_gym.llm.prompt import Prompt
from simia_gym.prompts import load_prompt
from simia_gym.simulators.worked import worked_calls
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
    """The prefix of a strategy's prompts; written once for each domain, with ``reference`` once for each task.

    In ``ledger`` the model proposes changes of the state; in ``reference`` it continues after a reference trajectory.

    Raises:
        InputError: A prompt file of the domain is invalid.
    """
    name = f"prefix {strategy} {feedback}"
    if strategy == "reference":
        return context.prepared.once(name, lambda task: _reference(domain, task, context.digest, feedback))
    return domain.once(name, lambda: _ledger(domain, feedback))


def _ledger(domain: Domain, feedback: Feedback) -> Prefix:
    schema = _schema(domain)
    blocks = {"domain": domain.about, "tools": [_entry(spec) for spec in domain.specs.values()]}
    further = {"schema": schema, "examples": worked_calls(domain)}
    blocks |= {kind: value for kind, value in further.items() if value}
    return _write(domain, blocks, feedback, "ledger", domain.hash)


def _reference(domain: Domain, task: Task, digest: str, feedback: Feedback) -> Prefix:
    blocks = {
        "domain": domain.about,
        "task": {"id": task.id, "digest": digest, "split": task.split},
        "tools": list(domain.tool_entries.values()),
        "reference": reference_messages(domain, task),
    }
    return _write(domain, blocks, feedback, "reference", domain.hash, digest)


def _write(domain: Domain, blocks: JsonObject, feedback: Feedback, strategy: str, *secret: str) -> Prefix:
    nonce = make_nonce(*secret)
    errors = load_prompt(f"errors_{feedback}", domain.folder).text.strip()
    rules = load_prompt(f"simulator_{strategy}", domain.folder).fill(errors=errors, policy=domain.policy.strip())
    prompt = Prompt()
    prompt.add("system", "\n\n".join([rules.strip(), *(block(kind, nonce, value) for kind, value in blocks.items())]))
    prompt.mark_static()
    return Prefix(prompt, nonce)


def _entry(spec: ToolSpec) -> JsonObject:
    """A tool's entry, with what a model needs to answer a call; code sees to all else.

    The arguments have been checked. Of a tool whose rule answers its calls, a model words the errors alone.
    """
    marks: JsonObject = {"effect": spec.effect, "writes": list(spec.writes)}
    further = {
        "render": spec.render is not None,
        "terminal": spec.terminal,
        "errors": [_told(error) for error in spec.errors if not error.by_code],
        "always_changes": spec.always_changes,
        "answers": spec.answers if spec.answers != "text" and spec.render is None else None,
    }
    ruled = spec.render is not None and spec.effect != "write"
    kept = {name: part for name, part in spec.parameters.items() if name in ("properties", "$defs")}
    function = {"name": spec.name, "description": spec.description, **({} if ruled else {"parameters": kept})}
    return {"function": function, "x-simia": {**marks, **{name: value for name, value in further.items() if value}}}


def _told(error: DeclaredError) -> JsonObject:
    return {"code": error.code, **({} if error.text is None else {"text": error.text})}


def _schema(domain: Domain) -> JsonObject | None:
    """The state schema as it is written, without private tables and names of functions."""
    value = domain.state_schema_content
    if value is None:
        return None
    tables = {name: rules for name, rules in value["tables"].items() if not name.startswith("_")}
    invariants = [item for item in value.get("invariants", []) if "check" not in item]
    return {"tables": tables, "invariants": invariants}


def reference_messages(domain: Domain, task: Task) -> list[JsonObject]:
    """The reference trajectory of a task: its own, or its gold calls with the answers of the world, if there is one.

    Returns:
        Messages ``{"role": "user" | "assistant" | "tool", ...}``, in order.
    """
    if task.reference:
        return list(task.reference)
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
