"""Worlds: a domain's tools as Python methods over the state; and the simulator that runs them.

A subclass declares its tools with `simia_gym.domain.tools.tool`. A call runs on a draft, which copies only the rows
that are edited. The changes become JSON Patch operations, which are checked against the tool's declared write set. A
call that fails changes nothing.
"""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from copy import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeVar, cast

from simia_gym.common.event_loop import run_sync
from simia_gym.common.json_encoding import as_text, encode
from simia_gym.contracts import StepContext
from simia_gym.domain.limits import TOO_LARGE, Limits
from simia_gym.domain.tool_models import ToolModels
from simia_gym.domain.tools import ToolSpec, declared_tools
from simia_gym.errors import Fault, InputError, ToolError
from simia_gym.llm.types import ChatModel
from simia_gym.state import Draft, State, pointer_parts
from simia_gym.types import Feedback, Task, ToolCall, Transition
from simia_gym.views.render import Renderer, compile_render

T = TypeVar("T")


def _bytes_as_text(value: object) -> str:
    if isinstance(value, bytes):
        return as_text(value)
    raise TypeError(f"a {type(value).__name__} is not a JSON value")


_write_result = json.JSONEncoder(default=_bytes_as_text).encode


class World:
    """Base class of worlds.

    Args:
        options: The domain's options, such as ``{"compat": "tau2"}``; the defaults are in ``domain.yaml``.

    Attributes:
        tools: The tools by name.
        waiting: Names of the tools that are coroutine functions, such as a command that runs in a sandbox.
        io: Whether a tool, `opening` or `end` is a coroutine function.
        optional_roles: Roles of models without which its tools work, too, by a rule of their own.
        opening_masks: Regular expressions of what cannot be repeated in what `opening` writes; see `ToolSpec.masks`.
        renderers: Tool name to the function that writes its observation. A loaded domain sets them.
        limits: Tool name to the greatest sizes of its calls and answers.
    """

    tools: ClassVar[Mapping[str, ToolSpec]] = {}
    waiting: ClassVar[frozenset[str]] = frozenset()
    io: ClassVar[bool] = False
    optional_roles: ClassVar[frozenset[str]] = frozenset()
    opening_masks: ClassVar[tuple[str, ...]] = ()
    limits: Mapping[str, Limits] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Collect the tools once per class."""
        super().__init_subclass__(**kwargs)
        cls.tools = declared_tools(cls)
        cls.limits = {name: Limits().but(spec.limits) for name, spec in cls.tools.items()}
        cls.waiting = frozenset(name for name in cls.tools if inspect.iscoroutinefunction(getattr(cls, name)))
        cls.io = bool(cls.waiting) or any(map(inspect.iscoroutinefunction, (cls.opening, cls.end)))

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self.options: Mapping[str, Any] = dict(options or {})
        self.renderers: dict[str, Renderer | None] = {}
        self.models: ToolModels | None = None

    def limit(self, limits: Limits) -> None:
        """Set a domain's limits; those that a tool sets for itself stay."""
        self.limits = {name: limits.but(spec.limits) for name, spec in self.tools.items()}

    def ready(self) -> None:
        """Check, before any episode, that the tools can run on this machine; override it if they may not.

        Raises:
            InputError: They cannot; it says what to do.
        """

    async def ask(self, role: str, text: str, *, system: str = "") -> str:
        """Ask the language model of a role that ``domain.yaml`` declares under ``roles``; for tools.

        Args:
            role: The role.
            text: The user message.
            system: The system message, if there is one.

        Returns:
            The reply. It is recorded, so that a replay needs no model.

        Raises:
            Fault: ``no_model``: no model plays the role, or this is not an episode; or the request failed.
        """
        if self.models is None or role not in self.models.models:
            raise Fault("no_model", f"no model plays the {role}", role="world")
        return await self.models.ask(role, text, system)

    def playing(self, models: Mapping[str, ChatModel], context: StepContext) -> World:
        """A world for one episode, whose tools ask these models; this one if there are none."""
        if not models:
            return self
        own = copy(self)
        own.models = ToolModels(models, context)
        return own

    def opening(self, db: Draft, task: Task) -> str | Awaitable[str]:
        """Return the first observation of a domain without a user; it may be a coroutine function.

        It may change the state through ``db``.
        """
        return task.instruction or ""

    def info(self, state: State) -> Mapping[str, Any]:
        """Return public structured facts of the state, such as a page's clickable elements."""
        return {}

    def end(self, context: StepContext) -> Awaitable[None] | None:
        """Free what the world holds for an episode outside of its state, such as a sandbox.

        It may be a coroutine function. It is called once for every episode that has begun: after the verdict or the
        fault, or when the episode is given up by another reset or by closing the environment. An exception is logged.
        """
        return None

    def refuse(self, state: State, call: ToolCall, feedback: Feedback = "terse") -> Transition | None:
        """Answer a call of an unknown tool or with invalid arguments; ``None`` if the call is valid.

        Override this if the world refuses more, such as the tools of an app that is not open in this state. A model
        that simulates a tool is not asked about a call that is refused.
        """
        return refuse_call(self.tools, call, feedback)

    def route(self, state: State, call: ToolCall) -> Literal["world", "llm"] | None:
        """Decide who answers a call in a hybrid; ``None``, the default, for the route of its tool.

        Override this if it depends on the arguments or the state, such as the command of a shell. A route that the
        user of the environment has set for the tool comes first.
        """
        return None

    def call(self, state: State, call: ToolCall, feedback: Feedback = "terse") -> Transition:
        """Run one call, from synchronous code, which waits for it; simulators await `answer`.

        Args:
            state: The state before the call.
            call: The call; its arguments are not validated yet.
            feedback: ``explain`` adds the reason to errors; ``terse`` writes them as the real system does.

        Returns:
            The transition, with the new state in ``Transition.state``.

        Raises:
            Fault: The tool has a bug: it raised an unexpected exception or wrote outside its write set.
        """
        return run_sync(self.answer(state, call, feedback), inline=not self.io)

    async def answer(self, state: State, call: ToolCall, feedback: Feedback = "terse") -> Transition:
        """Run one call; like `call`, but other episodes go on while a tool waits."""
        refusal = self.refuse(state, call, feedback)
        if refusal is None and 4 * len(repr(call.arguments)) > self.limits[call.name].arguments:
            refusal = refuse_size(call, self.limits[call.name])  # a character has at most four bytes
        if refusal is None and self.tools[call.name].errors:
            refusal = declared_error(self.tools[call.name], state, call, feedback)
        return self._with_page(refusal, state, call, feedback) if refusal else await self.execute(state, call, feedback)

    async def execute(self, state: State, call: ToolCall, feedback: Feedback = "terse") -> Transition:
        """Run one call that `refuse` has accepted and that meets no declared error; otherwise like `answer`.

        To change answers, override this method and not `call`: the hybrid simulator validates arguments itself and
        awaits this method.
        """
        spec = self.tools[call.name]
        draft = Draft(state)
        try:
            result = getattr(self, call.name)(draft, **call.arguments)
            if call.name in self.waiting:
                result = await result
        except Fault:
            raise
        except (Exception, SystemExit) as error:
            known = self.as_tool_error(error, spec) if isinstance(error, Exception) else None
            if known is not None:
                if problem := spec.wrong_error(known.code):
                    raise Fault("bug", f"tool {call.name} failed: {problem}", role="world") from error
                answer = error_transition(error_text(known.message, known.why, feedback), known.code)
                return self._with_page(answer, state, call, feedback)
            place = traceback.extract_tb(error.__traceback__)[-1]
            message = f"tool {call.name} raised {type(error).__name__}: {error} ({place.name}, line {place.lineno})"
            raise Fault("bug", message, role="world") from error
        after, ops = draft.commit()
        for op in ops:
            if not spec.may_write(pointer_parts(op["path"])):
                raise Fault("bug", f"tool {call.name} wrote {op['path']}, outside its write set", role="world")
        end = "terminal_tool" if spec.terminal else None
        if result is None and spec.render is not None:
            result = own_code(f"render of {call.name}", cast(Renderer, self.renderer(call.name)), after, call)
        if isinstance(result, bytes):
            result = as_text(result)
        if isinstance(result, str):
            observation = result
        else:
            try:
                observation = _write_result(result)
            except (TypeError, ValueError, RecursionError) as error:
                message = f"writing what tool {call.name} returned raised {type(error).__name__}: {error}"
                raise Fault("bug", message, role="world") from error
        limits = self.limits[call.name]
        if (ops or len(observation) > limits.observation) and (large := limits.too_large(ops, observation)):
            answer = error_transition(f"Error: the answer is too large: {large}", TOO_LARGE)
            return self._with_page(answer, state, call, feedback)
        return Transition(observation, ops, end=end, info=own_code("info", self.info, after), state=after)

    def renderer(self, tool: str) -> Renderer | None:
        """The function that writes a tool's observation, if it declares `render`."""
        if tool not in self.renderers:
            self.renderers[tool] = compile_render(self.tools[tool].render, f"tool {tool}")
        return self.renderers[tool]

    def _with_page(self, error: Transition, state: State, call: ToolCall, feedback: Feedback) -> Transition:
        return with_page(error, self.tools, self.renderer, state, call, feedback, self.info)

    def as_tool_error(self, error: Exception, spec: ToolSpec) -> ToolError | None:
        """The answer to a call whose tool raised an exception; ``None`` if that is a bug of the world.

        Override this if the world shows the policy exceptions of other types.
        """
        return error if isinstance(error, ToolError) else None

    def replay(self, state: State, calls: Iterable[Mapping[str, Any]]) -> State:
        """Run calls ``{"name", "arguments"}`` in order, skipping those that fail, and return the final state."""
        for item in calls:
            after = self.call(state, ToolCall(item["name"], dict(item.get("arguments", {})))).state
            state = state if after is None else after
        return state


class WorldSimulator:
    """Answers calls by running the domain's own code.

    Args:
        world: The domain's world.
        feedback: ``terse``, or ``explain`` for errors with the reason and a fix.
        models: The models that its tools may ask, by role.
    """

    name = "world"

    def __init__(
        self, world: World, feedback: Feedback = "terse", models: Mapping[str, ChatModel] = MappingProxyType({})
    ) -> None:
        self.world, self.feedback, self.models = world, feedback, models
        self.io = world.io

    def begin(self, context: StepContext) -> None:
        """Hand the models to the tools; all other data of the episode is in the state."""
        self.world = self.world.playing(self.models, context)

    async def open(self, context: StepContext) -> Transition:
        """Return the world's first observation."""
        return await world_opening(self.world, context.state, context.task)

    def call(self, call: ToolCall, context: StepContext) -> Coroutine[Any, Any, Transition]:
        """Run the tool."""
        return self.world.answer(context.state, call, self.feedback)


async def world_opening(world: World, state: State, task: Task) -> Transition:
    """Return a world's first observation; the world may change the state.

    Raises:
        Fault: The world's code raised an exception.
    """
    draft = Draft(state)
    try:
        text = world.opening(draft, task)
        text = text if isinstance(text, str) else await text
    except (Fault, InputError):
        raise
    except (Exception, SystemExit) as error:
        raise Fault("bug", f"opening raised {type(error).__name__}: {error}", role="world") from error
    after, ops = draft.commit()
    return Transition(text, ops, speaker="env", info=own_code("info", world.info, after), state=after)


def own_code(name: str, function: Callable[..., T], *args: Any) -> T:
    """Call a function of the domain's own code, such as ``info``.

    Raises:
        Fault: The function raised an exception that is neither a `Fault` nor an `InputError`.
    """
    try:
        return function(*args)
    except (Fault, InputError):
        raise
    except (Exception, SystemExit) as error:
        raise Fault("bug", f"{name} raised {type(error).__name__}: {error}", role="world") from error


def error_transition(text: str, code: str, info: Mapping[str, Any] | None = None) -> Transition:
    """The transition of a call that failed; it changes nothing."""
    return Transition(text, (), outcome="error", error_code=code, info=info or {})


def error_text(message: str, why: str, feedback: Feedback) -> str:
    """The observation of an error; with ``explain``, it includes the reason, which may be empty."""
    if feedback == "terse" or not why:
        return f"Error: {message}"
    stop = "" if message.endswith((".", "!", "?")) else "."
    return f"Error: {message}{stop} Why: {why}"


def with_page(
    error: Transition,
    tools: Mapping[str, ToolSpec],
    renderer: Callable[[str], Renderer | None],
    state: State,
    call: ToolCall,
    feedback: Feedback,
    info: Callable[[State], Mapping[str, Any]],
) -> Transition:
    """Show the page that stays open after an error, if the tool declares `render_errors`.

    With ``explain``, the page follows the explanation. An unknown tool's error shows the page that all tools show.

    Raises:
        Fault: The rule cannot show the state.
    """
    specs = [tools[call.name]] if call.name in tools else [*tools.values()]
    if not specs or not all(spec.render_errors and spec.render == specs[0].render for spec in specs):
        return error
    page = own_code(f"render of {specs[0].name}", cast(Renderer, renderer(specs[0].name)), state, call)
    text = page if feedback == "terse" else f"{error.observation}\n\n{page}"
    return replace(error, observation=text, info=own_code("info", info, state))


def refuse_call(tools: Mapping[str, ToolSpec], call: ToolCall, feedback: Feedback = "terse") -> Transition | None:
    """Answer a call of an unknown tool or with invalid arguments, without a simulator; ``None`` if it is valid.

    With ``explain``, the answer also lists the tools, or the arguments that the tool expects.
    """
    spec = tools.get(call.name)
    if spec is None:
        why = why_unknown(tools)
        return error_transition(error_text(f"Tool '{call.name}' not found.", why, feedback), "unknown_tool")
    if spec.validator.is_valid(call.arguments):
        return None
    message = f"Invalid arguments for {call.name}: {spec.problem(call.arguments)}"
    return error_transition(error_text(message, why_invalid(spec), feedback), "invalid_arguments")


def refuse_size(call: ToolCall, limits: Limits) -> Transition | None:
    """Answer a call whose arguments are too large; ``None`` for any other."""
    if (size := len(encode(call.arguments))) <= limits.arguments:
        return None
    text = f"Error: The arguments of {call.name} have {size} bytes; {limits.arguments} are the most."
    return error_transition(text, "invalid_arguments")


def declared_error(spec: ToolSpec, state: State, call: ToolCall, feedback: Feedback = "terse") -> Transition | None:
    """Answer a valid call by the first error with a text whose condition holds in this state; ``None`` if none does.

    Raises:
        Fault: A condition raised an exception, or the error's text shows what the state lacks.
    """
    for error in spec.errors:
        name = f"error {error.code} of {spec.name}"
        if error.by_code and error.condition and own_code(name, error.condition, state, call.arguments):
            text = own_code(name, error.message, state, call)
            return error_transition(error_text(text, "", feedback), error.code)
    return None


def why_unknown(tools: Mapping[str, ToolSpec]) -> str:
    """Explain that a tool does not exist."""
    return f"The tools are: {', '.join(tools)}."


def why_invalid(spec: ToolSpec) -> str:
    """Explain what arguments a tool takes."""
    return f"The call is {spec.signature}, with these arguments and no others."
