"""Why a browser does not send a form: the first field whose value it refuses."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

from simia_gym.envs.mind2web.browser.names import name_of
from simia_gym.envs.mind2web.browser.page import TEXTS, Node, Page
from simia_gym.envs.mind2web.browser.tree import text
from simia_gym.envs.mind2web.browser.values import Typed, checked, chosen, is_date, is_field, is_number, length, words

_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_EMAIL = re.compile(rf"[a-zA-Z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_LABEL}(?:\.{_LABEL})*")

_CALLED = {"list": "list", "radio": "choice", "checkbox": "box"}


def complaint(page: Page, form: int, typed: Typed) -> str | None:
    """What a browser complains about before it would send a form, or None.

    Args:
        page: The page.
        form: The number of the form.
        typed: What was changed on the page.
    """
    for node in page.controls.get(form, ()):
        if not node.disabled and (wrong := _wrong(page, node, typed)):
            return f"{_called(page, node)}: {wrong}"
    return None


def _wrong(page: Page, node: Node, typed: Typed) -> str | None:
    element, kind = node.element, node.kind
    if kind == "list":
        return "choose one of the list" if element.has("required") and _unchosen(page, node, typed) else None
    if kind == "checkbox":
        needed = element.has("required") and not checked(page, node.number, typed)
        return "this box must be checked" if needed else None
    if kind == "radio":
        group = page.group(node.number)
        if any(other.element.has("required") for other in group) and not any(
            checked(page, other.number, typed) for other in group
        ):
            return "choose one of these"
        return None
    if not is_field(node) or element.has("readonly"):
        return None
    value = words(page, node.number, typed)
    if not value:
        return "fill in this field" if element.has("required") else None
    return _text_wrong(node, value, str(node.number) in typed)


def _text_wrong(node: Node, value: str, changed: bool) -> str | None:
    element, kind = node.element, node.kind
    if kind == "email" and not _EMAIL.fullmatch(value):
        return f'"{value}" is no e-mail address'
    pattern = element.get("pattern") if kind in TEXTS else None
    if pattern is not None and not compiled(pattern).fullmatch(value):
        return f'"{value}" does not have the form that is asked for'
    least = element.get("minlength")
    if least is not None and changed and length(value) < int(least):
        return f"use at least {least} characters"
    if kind in {"number", "date"}:
        return _bounds_wrong(node, value)
    return None


def _bounds_wrong(node: Node, value: str) -> str | None:
    valid = is_number if node.kind == "number" else is_date
    low, high = (bound if bound and valid(bound) else None for bound in map(node.element.get, ("min", "max")))
    if low is not None and _order(node.kind, value) < _order(node.kind, low):
        return f"the value must be {low} or more"
    if high is not None and _order(node.kind, value) > _order(node.kind, high):
        return f"the value must be {high} or less"
    if node.kind == "number":
        step, start = node.element.get("step") or "1", low or _default(node) or "0"
        if step != "any" and not _in_steps(abs(Decimal(value) - Decimal(start)), Decimal(step)):
            return f"the value must be {start} or steps of {step} from it"
    return None


def _in_steps(distance: Decimal, step: Decimal) -> bool:
    """Whether a distance is a number of steps, with the tolerance of a browser that counts in binary fractions."""
    if distance / step > 2**53:
        return True
    left = abs(distance - step * (distance / step).to_integral_value())
    return left <= step / 2**24


def _default(node: Node) -> str | None:
    value = node.element.get("value")
    return value if value and is_number(value) else None


def _order(kind: str, value: str) -> Decimal:
    return Decimal(value) if kind == "number" else Decimal(value.replace("-", ""))


def _unchosen(page: Page, node: Node, typed: Typed) -> bool:
    places = chosen(page, node.number, typed)
    if not places:
        return True
    first = node.element.children[0] if node.element.children else None
    option, _ = page.options(node.number)[0]
    blank = not node.element.has("multiple") and first is option and option_value(page, node.number, 0) == ""
    return blank and places[0] == 0


def option_value(page: Page, number: int, place: int) -> str:
    """What an option sends: its value, else its text."""
    option, _ = page.options(number)[place]
    value = option.get("value")
    return text(option) if value is None else value


@lru_cache(maxsize=512)
def compiled(pattern: str) -> re.Pattern[str]:
    """The expression of a ``pattern``, in the part that a browser and Python read alike."""
    return re.compile(pattern, re.ASCII)


def _called(page: Page, node: Node) -> str:
    """What a visitor calls a field: by its name on the page, radio buttons by the legend around them."""
    kind = _CALLED.get(node.kind, "field")
    legends = (one for one in page.nodes.values() if one.element.tag == "legend" and one.parent == node.parent)
    legend = next(legends, None) if node.kind == "radio" else None
    name = name_of(page, node) if legend is None else text(legend.element)
    return f"the {kind} {name or node.element.get('name') or ''}".strip()
