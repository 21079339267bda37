"""The calculator: right, bounded, and never running code."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia_gym.envs._tau2.calculator import CHARACTERS, MAX_LENGTH, evaluate
from simia_gym.envs.retail.world import RetailWorld
from simia_gym.state import State

from ..tau2.tools import Tools
from ..work import processor_limit

EMPTY = State.from_tables({"products": {}, "users": {}, "orders": {}})
TOOLS, COMPATIBLE = (Tools(RetailWorld({"compat": compat}), EMPTY) for compat in (None, "tau2"))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 2", "4.0"),
        (" (19.99 + 5) * 2", "49.98"),
        ("-3 - -4", "1.0"),
        ("7 // 2 + 2 ** 3", "11.0"),
        ("1/3", "0.33"),
        ("10 ** 20", "1e+20"),
    ],
)
def test_values(expression: str, value: str) -> None:
    assert evaluate(expression) == value


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("2 + x", "Invalid characters in expression"),
        ("__import__('os')", "Invalid characters in expression"),
        ("2 +", "Invalid expression"),
        ("", "Invalid expression"),
        ("()", "Invalid expression"),
        ("2(3)", "Invalid expression"),
        ("(0-8) ** 0.5", "Invalid expression"),
        ("1 / (2 - 2)", "division by zero"),
        ("9 ** 9 ** 9 ** 9", "Number too large"),
        ("1" * (MAX_LENGTH + 1), f"Expression longer than {MAX_LENGTH} characters"),
    ],
)
def test_errors_in_words_of_our_own(expression: str, message: str) -> None:
    TOOLS.fails("calculate", message, expression=expression)
    assert TOOLS.call("calculate", expression=expression).error_code == "bad_expression"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("2 + x", "Invalid characters in expression"),
        ("2 +", "invalid syntax (<string>, line 1)"),
        ("2(3)", "'int' object is not callable"),
        ("1 / (2 - 2)", "division by zero"),
        ("()", "float() argument must be a string or a real number, not 'tuple'"),
        (12, "'int' object is not iterable"),
        (["1", "+", "1"], "eval() arg 1 must be a string, bytes or code object"),
        ([1], "'in <string>' requires string as left operand, not int"),
        (["x"], "Invalid characters in expression"),
    ],
)
def test_errors_in_pythons_words(expression: object, message: str) -> None:
    COMPATIBLE.fails("calculate", message, expression=expression)


@given(st.text(alphabet=CHARACTERS, max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_text_is_answered(expression: str) -> None:
    with processor_limit():
        transition = TOOLS.call("calculate", expression=expression)
    if transition.outcome == "ok":
        float(transition.observation)


@pytest.mark.parametrize("expression", ["(" * 900 + "1" + ")" * 900, "-" * 1_900 + "1", "99**99**9", "9" * 1_999])
def test_large_expressions_cost_little(expression: str) -> None:
    with processor_limit():
        transition = TOOLS.call("calculate", expression=expression)
    assert transition.observation
