"""What the fields, lists and boxes of a page hold: as the page came, and as they were changed since.

What was changed is a plain mapping, ``Typed``: the number of an element, written as a text, leads to a text (fields),
to a list of the places of options (lists), or to true or false (boxes). It holds only what was acted on.
"""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Mapping

from simia_gym.envs.mind2web.browser.page import Node, Page
from simia_gym.envs.mind2web.browser.tree import raw_text

Value = str | bool | list[int]
Typed = Mapping[str, Value]

_NUMBER = re.compile(r"-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_DATE = re.compile(r"(\d{4,})-(\d\d)-(\d\d)", re.ASCII)
_LAST_DAY = (275_760, 9, 13)
_SPACE = " \t\n\f\r"


def words(page: Page, number: int, typed: Typed) -> str:
    """The text that a field holds."""
    value = typed.get(str(number))
    if isinstance(value, str):
        return value
    node = page.nodes[number]
    if node.kind == "area":
        return _lines(raw_text(node.element))
    return clean(node.kind, node.element.get("value") or "")


def chosen(page: Page, number: int, typed: Typed) -> list[int]:
    """The places of the options that are chosen in a list."""
    value = typed.get(str(number))
    if isinstance(value, list):
        return value
    options = page.options(number)
    marked = [place for place, (option, _) in enumerate(options) if option.has("selected")]
    if page.nodes[number].element.has("multiple"):
        return marked
    if marked:
        return marked[-1:]
    return next(([place] for place, (_, disabled) in enumerate(options) if not disabled), [])


def checked(page: Page, number: int, typed: Typed) -> bool:
    """Whether a box or radio button is checked."""
    value = typed.get(str(number))
    if isinstance(value, bool):
        return value
    node = page.nodes[number]
    if not node.element.has("checked"):
        return False
    if node.kind == "checkbox":
        return True
    # Of several radio buttons that come checked, the last one stays so.
    return [other.number for other in page.group(number) if other.element.has("checked")][-1] == number


def clean(kind: str, value: str) -> str:
    """What a field of this kind makes of a text: one line, and empty where it is no number or date."""
    if kind == "hidden":
        return value
    if kind == "area":
        return _lines(value)
    value = value.replace("\r", "").replace("\n", "")
    if kind == "email":
        return value.strip(_SPACE)
    if (kind == "number" and not is_number(value)) or (kind == "date" and not is_date(value)):
        return ""
    return value


def is_number(value: str) -> bool:
    """Whether a number box takes the text."""
    return _NUMBER.fullmatch(value) is not None and math.isfinite(float(value))


def is_date(value: str) -> bool:
    """Whether a date box takes the text: a day that exists, as ``2025-03-09``."""
    found = _DATE.fullmatch(value)
    if found is None:
        return False
    year, month, day = (int(part) for part in found.groups())
    if (year, month, day) > _LAST_DAY:
        return False
    # The calendar repeats after 400 years.
    return year > 0 and 1 <= month <= 12 and 1 <= day <= monthrange(2000 + year % 400, month)[1]


def length(value: str) -> int:
    """The length as limits count it: a character beyond the first plane counts twice."""
    return len(value.encode("utf-16-le")) // 2


def cut(value: str, limit: int) -> str:
    """The longest beginning within a limit."""
    while length(value) > limit:
        value = value[: max(limit, 0)] if len(value) > limit else value[:-1]
    return value


def is_field(node: Node) -> bool:
    """Whether one types into it."""
    return node.kind in {"area", "text", "search", "tel", "email", "password", "number", "date"}


def _lines(value: str) -> str:
    return value.replace("\r\n", "\n").replace("\r", "\n")
