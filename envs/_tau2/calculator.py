"""Arithmetic for agents: parsed, never run as code, and bounded in time and memory."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

CHARACTERS = "0123456789+-*/(). "
MAX_LENGTH = 2_000
MAX_BITS = 20_000

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


def evaluate(expression: str) -> str:
    """Work out an expression of numbers, ``+ - * /``, parentheses and spaces.

    ``//`` and ``**`` are understood too, as these characters allow them.

    Args:
        expression: Such as ``(12.5 + 3) * 2``.

    Returns:
        The value rounded to two decimals, always with a decimal point: ``31.0``.

    Raises:
        ValueError: A character that has no place in an expression, or the expression is too long.
        SyntaxError: It is no expression.
        TypeError: An operand or the result is no real number, or the expression is no text.
        ArithmeticError: Division by zero, or the number is too large.
    """
    if not all(char in CHARACTERS for char in expression):
        raise ValueError("Invalid characters in expression")
    if not isinstance(expression, str):
        raise TypeError("eval() arg 1 must be a string, bytes or code object")
    if len(expression) > MAX_LENGTH:
        raise ValueError(f"Expression longer than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(expression.lstrip(" "), "<string>", "eval")
        value = _value(tree.body)
    except (RecursionError, MemoryError) as error:
        raise ValueError("Expression nested too deeply") from error
    return str(round(float(value), 2))


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.UnaryOp():
            operand = _value(node.operand)
            return -operand if isinstance(node.op, ast.USub) else +operand
        case ast.BinOp():
            left, right = _value(node.left), _value(node.right)
            _bound(node.op, left, right)
            return _BINARY[type(node.op)](left, right)
        case ast.Tuple():
            return ()
        case ast.Call():
            raise TypeError(f"{type(_value(node.func)).__name__!r} object is not callable")
    raise SyntaxError("invalid syntax")


def _bound(op: ast.operator, left: Any, right: Any) -> None:
    """Refuse whole numbers that could not become a float anyway, as Python does, before they cost time."""
    if not (isinstance(left, int) and isinstance(right, int)):
        return
    size = left.bit_length()
    if isinstance(op, ast.Pow):
        size *= max(right, 0)
    elif isinstance(op, ast.Mult):
        size += right.bit_length()
    if size > MAX_BITS and (left, right) != (1, right):
        raise OverflowError("int too large to convert to float")
