"""What an action does on a page: it asks the site for something, changes a field, or is refused."""

from __future__ import annotations

from typing import NamedTuple

from simia_gym.envs.mind2web.browser.page import Node, Page
from simia_gym.envs.mind2web.browser.requests import Pairs, Request, follow
from simia_gym.envs.mind2web.browser.tree import squeeze, text
from simia_gym.envs.mind2web.browser.validity import complaint, option_value
from simia_gym.envs.mind2web.browser.values import Typed, Value, checked, chosen, clean, cut, is_field, is_number, words


class Refusal(NamedTuple):
    """A browser refuses the action, and nothing has changed.

    Attributes:
        reason: Why, in words for the agent.
    """

    reason: str


class Typing(NamedTuple):
    """The page stays open.

    Attributes:
        typed: What has been changed on it, this action included.
        notice: Why a field is empty though something was typed; else empty.
    """

    typed: dict[str, Value]
    notice: str = ""


Outcome = Request | Typing | Refusal
_NO_DATE = "the field takes only a date that exists, as 2026-03-09, and is empty now"


def click(page: Page, typed: Typed, number: int) -> Outcome:
    """Clicks on an element.

    Args:
        page: The open page.
        typed: What was changed on it.
        number: The number of the element.

    Returns:
        A request for a link and for a button that sends a form. For a box or radio button, what is changed then; for
        a field, a list and any other button, nothing changes.
    """
    node = page.nodes[number]
    if refused := _unusable(node):
        return refused
    if node.kind == "link":
        return _follow(page, typed, node)
    if node.kind == "submit" and node.form >= 0:
        return submit(page, typed, node)
    if node.kind == "checkbox":
        return Typing({**typed, str(number): not checked(page, number, typed)})
    if node.kind == "radio":
        others = {str(other.number): False for other in page.group(number)}
        return Typing({**typed, **others, str(number): True})
    return Typing(dict(typed))


def select(page: Page, typed: Typed, number: int, *labels: str) -> Typing | Refusal:
    """Chooses in a list; what was chosen before is no longer.

    Args:
        page: The open page.
        typed: What was changed on it.
        number: The number of the list.
        labels: The texts of the options; more than one where the list takes several.
    """
    node = page.nodes[number]
    if refused := _unusable(node):
        return refused
    if node.kind != "list":
        return Refusal("only a list has options")
    if len(labels) > 1 and not node.element.has("multiple"):
        return Refusal("the list takes one option")
    options = page.options(number)
    shown = [text(option) for option, _ in options]
    places = []
    for label in map(squeeze, labels):
        if label not in shown:
            return Refusal(f'the list has no option "{label}"')
        place = shown.index(label)
        if options[place][1]:
            return Refusal(f'the option "{label}" is disabled')
        places.append(place)
    return Typing({**typed, str(number): sorted(set(places))})


def write_in(page: Page, typed: Typed, number: int, value: str) -> Typing | Refusal:
    """Types into a field; what stood there is replaced.

    Args:
        page: The open page.
        typed: What was changed on it.
        number: The number of the field.
        value: The text. A limit of the field cuts it, and a date box stays empty unless it is a date.
    """
    node = page.nodes[number]
    if refused := _unusable(node):
        return refused
    if not is_field(node):
        return Refusal("one can type only into a field")
    if node.element.has("readonly"):
        return Refusal("the field can only be read")
    if node.kind in {"number", "date"}:
        value = value.strip()
    if node.kind == "number" and value:
        # A browser drops the plus of "+5" and the point of "5.".
        number_text = value.removeprefix("+").removesuffix(".")
        if value.startswith("+-") or not is_number(number_text):
            return Refusal("the field takes only a number")
        value = number_text
    if node.kind not in {"area", "date"}:
        value = value.replace("\r\n", " ").replace("\r", " ").replace("\n", " ")
    limit = node.element.get("maxlength")
    value = value.replace("\r\n", "\n").replace("\r", "\n")
    left = clean(node.kind, value if limit is None else cut(value, int(limit)))
    lost = node.kind == "date" and value and not left
    return Typing({**typed, str(number): left}, _NO_DATE if lost else "")


def submit(page: Page, typed: Typed, button: Node) -> Request | Refusal:
    """Sends the form of a button, as this button does it.

    Args:
        page: The open page.
        typed: What was changed on it.
        button: The button that was clicked.
    """
    form = page.nodes[button.form].element
    free = form.has("novalidate") or button.element.has("formnovalidate")
    if not free and (wrong := complaint(page, button.form, typed)):
        return Refusal(wrong)
    action = button.element.get("formaction") or form.get("action") or ""
    method = button.element.get("formmethod") or form.get("method") or "get"
    path, query = follow(action, page.path, page.query)
    pairs = _pairs(page, typed, button)
    if method.lower() == "post":
        return Request("POST", path, query, pairs)
    return Request("GET", path, pairs)


def _follow(page: Page, typed: Typed, node: Node) -> Request | Typing:
    href = node.element.get("href") or ""
    if href.startswith("#"):
        return Typing(dict(typed))
    return Request("GET", *follow(href, page.path, page.query))


def _pairs(page: Page, typed: Typed, button: Node) -> Pairs:
    found: list[tuple[str, str]] = []
    for node in page.controls[button.form]:
        name = node.element.get("name")
        if name and not node.disabled:
            found += [(_crlf(name), _crlf(value)) for value in _sent(page, typed, node, button)]
    return tuple(found)


def _sent(page: Page, typed: Typed, node: Node, button: Node) -> list[str]:
    number, kind = node.number, node.kind
    if kind in {"submit", "button"}:
        return [node.element.get("value") or ""] if number == button.number else []
    if kind == "list":
        off = [disabled for _, disabled in page.options(number)]
        return [option_value(page, number, place) for place in chosen(page, number, typed) if not off[place]]
    if kind in {"checkbox", "radio"}:
        value = node.element.get("value")
        return ["on" if value is None else value] if checked(page, number, typed) else []
    return [words(page, number, typed)]


def _unusable(node: Node) -> Refusal | None:
    if not node.kind:
        return Refusal("nothing can be done with this element")
    if node.hidden:
        return Refusal("the element is not shown")
    return Refusal("the element is disabled") if node.disabled else None


def _crlf(value: str) -> str:
    return value.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")
