"""What worlds with tau2-bench's tools share: the option ``compat``, and the errors of that benchmark's code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import ValidationError

from simia_gym.domain.tools import ToolSpec, tool
from simia_gym.domain.world import World, error_text, error_transition, why_invalid, why_unknown
from simia_gym.envs._tau2.calculator import evaluate
from simia_gym.envs._tau2.calls import calling_problem
from simia_gym.errors import ToolError
from simia_gym.state import Draft, State
from simia_gym.types import Feedback, ToolCall, Transition
from simia_gym.views.render import Renderer

WHY_EXPRESSION = "An expression holds numbers, + - * /, parentheses and spaces only, such as '(19.99 + 5) * 2'."

_ANSWERED = (TypeError, AttributeError, ValueError, LookupError, ArithmeticError, SyntaxError)
_LINK = re.compile(r"(errors\.pydantic\.dev/)[\d.]+/")
_LINKED_VERSION = "2.12"


class Tau2World(World):
    """A world whose tools behave soundly, or as the public benchmark's code does.

    Args:
        options: ``compat``: ``None`` for sound behaviour, or whose code the tools follow, such as ``"tau2"``.

    Attributes:
        toolkit: The name of the class that holds the tools in the benchmark, which its errors show.
        releases: The values of ``compat``.
        tau2: Whether the tools behave as the benchmark's code does.

    Raises:
        ValueError: An option has an unknown value.
    """

    toolkit: ClassVar[str]
    releases: ClassVar[tuple[str, ...]] = ("tau2",)

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(options)
        compat = self.options.get("compat")
        if compat not in (None, *self.releases):
            raise ValueError(f"compat is {compat!r}; it can be None or {' or '.join(map(repr, self.releases))}")
        self.tau2 = compat is not None
        if self.tau2:  # no override, which would be one more function on the way of every sound action
            self.refuse = self._refuse_as_python  # type: ignore[method-assign]

    def _refuse_as_python(self, state: State, call: ToolCall, feedback: Feedback = "terse") -> Transition | None:
        """Check name and arguments as a Python call checks them."""
        spec = self.tools.get(call.name)
        parameters = None if spec is None else [*spec.parameters["properties"]]
        problem = calling_problem(self.toolkit, call.name, parameters, call.arguments)
        if problem is None:
            return None
        why = why_unknown(self.tools) if spec is None else why_invalid(spec)
        return error_transition(error_text(problem[0], why, feedback), problem[1])

    def as_tool_error(self, error: Exception, spec: ToolSpec) -> ToolError | None:
        """With ``compat="tau2"`` Python's own errors are answers too, because the tool checks no argument itself.

        Errors of pydantic name version 2.12, whichever runs here.
        """
        if self.tau2 and isinstance(error, _ANSWERED):
            text = str(error)
            if isinstance(error, ValidationError):
                text = _LINK.sub(rf"\g<1>{_LINKED_VERSION}/", text)
            error = ToolError(text, "tool_error")
        known = super().as_tool_error(error, spec)
        if self.tau2 and known is not None:
            known.why = known.why or why_invalid(spec)
        return known

    @tool(effect="none")
    def calculate(self, db: Draft, expression: str) -> str:  # noqa: D417 (the draft is no argument of the tool)
        """Work out an arithmetic expression; the result is rounded to two decimals.

        Args:
            expression: Numbers, the operators + - * /, parentheses and spaces, such as '(19.99 + 5) * 2'.
        """
        try:
            return evaluate(expression)
        except (ValueError, SyntaxError, TypeError, ArithmeticError) as error:
            if self.tau2:
                raise
            raise ToolError(_plain_words(error), "bad_expression", WHY_EXPRESSION) from error

    @tool(effect="none", terminal=True, render={"text": "Transfer successful"})
    def transfer_to_human_agents(self, db: Draft, summary: str) -> str:  # noqa: D417
        """Hand the customer over to a human agent. This ends your part of the conversation.

        Use it only if the customer's request lies outside what the policy and your tools allow you to do.

        Args:
            summary: What the customer wants and what has been done so far, for the colleague who takes over.
        """
        return "Transfer successful"


def renderer_of(world: type[Tau2World]) -> Renderer:
    """The rendering rule of reading tools that show more than a row: the tool itself, whatever its arguments are."""
    benchmark = world({"compat": "tau2"})

    def show(state: State, call: ToolCall) -> str:
        answer = benchmark.call(state, call)
        if answer.outcome != "ok":
            raise LookupError(answer.observation)
        return answer.observation

    return show


def _plain_words(error: Exception) -> str:
    """What is wrong with an expression, in words that do not depend on the Python that runs."""
    if isinstance(error, ZeroDivisionError):
        return "division by zero"
    if isinstance(error, ArithmeticError):
        return "Number too large"
    if isinstance(error, SyntaxError | TypeError):
        return "Invalid expression"
    return str(error)
