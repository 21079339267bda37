# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""Arithmetic, read and never run as code."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from decimal import Decimal, DecimalException, localcontext

from simia_gym.domain.tools import tool
from simia_gym.domain.world import World
from simia_gym.errors import ToolError
from simia_gym.state import Draft

_BINARY: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LONGEST = 500
_DIGITS = 30


class Calculator(World):
    """See the module."""

    @tool(effect="none")
    def calculator_calculate(self, db: Draft, expression: str) -> str:
        """Work out an expression of numbers.

        Args:
            expression: Numbers with + - * / // % and parentheses, such as (12.5 + 4) * 3.
        """
        failed = f"Failed to calculate {expression[:80]}."
        try:
            if len(expression) > _LONGEST:
                raise ToolError(failed, "bad_expression", f"It is longer than {_LONGEST} characters.")
            with localcontext(prec=_DIGITS):
                result = value(ast.parse(expression.strip(), mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError, DecimalException) as error:
            why = "A number is divided by zero." if "ivision" in type(error).__name__ else "It is no sum of numbers."
            raise ToolError(failed, "bad_expression", why) from None
        return f"The result of {expression.strip()} is {plain(result)}"


def value(node: ast.expr) -> Decimal:
    """The value of an expression.

    Raises:
        ValueError: It holds something else than numbers and operators.
    """
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Decimal(repr(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = value(node.operand)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](value(node.left), value(node.right))
    raise ValueError


def plain(number: Decimal) -> str:
    """A number without an exponent and without zeros that say nothing."""
    text = f"{number:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
