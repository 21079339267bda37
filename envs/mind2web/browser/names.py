"""What an element is called: its role and its name, as a browser tells them to a screen reader."""

from __future__ import annotations

from simia_gym.envs.mind2web.browser.page import CONTROLS, Node, Page
from simia_gym.envs.mind2web.browser.tree import Element, squeeze, walk

_ROLES = {
    "submit": "button",
    "list": "combobox",
    "search": "searchbox",
    "number": "spinbutton",
    "area": "textbox",
    **dict.fromkeys(("text", "tel", "email", "password", "date"), "textbox"),
}


def role(node: Node) -> str:
    """The role of an element that can be acted on: link, button, textbox, combobox, radio and so on."""
    if node.kind == "list" and node.element.has("multiple"):
        return "listbox"
    return _ROLES.get(node.kind, node.kind)


def names(page: Page) -> dict[int, str]:
    """The names of all elements that can be acted on, by their numbers.

    A name is the ``aria-label``; else the labels of a field, or the text of a link or button; else the placeholder.
    """
    labels = _labels(page)
    return {node.number: _name(node, labels.get(node.number, "")) for node in page.actable()}


def name_of(page: Page, node: Node) -> str:
    """The name of one element, as in `names`."""
    return _name(node, _labels(page).get(node.number, "") if node.element.tag in CONTROLS else "")


def _name(node: Node, labels: str) -> str:
    element = node.element
    spoken = squeeze(element.get("aria-label") or "")
    if spoken or labels:
        return spoken or labels
    if element.tag in {"a", "button"}:
        return squeeze(_shown(element))
    if node.kind in {"submit", "button"}:
        return squeeze(element.get("value") or "")
    return squeeze(element.get("placeholder") or "")


def _labels(page: Page) -> dict[int, str]:
    found: dict[int, str] = {}
    for node in page.nodes.values():
        if node.element.tag != "label":
            continue
        number = _labelled(page, node)
        words = squeeze(_shown(node.element))
        if number is not None and words:
            found[number] = f"{found[number]} {words}" if number in found else words
    return found


def _labelled(page: Page, label: Node) -> int | None:
    name = label.element.get("for")
    if name is not None:
        return page.find(name)
    for number, _ in enumerate(walk(label.element), start=label.number):
        node = page.nodes.get(number)
        if node is not None and node.element.tag in CONTROLS and node.kind != "hidden":
            return number
    return None


def _shown(node: Element) -> str:
    """The text that is shown, without that of fields and lists."""
    return "".join(
        child if isinstance(child, str) else " " if child.tag in CONTROLS or child.tag == "br" else _shown(child)
        for child in node.children
        if isinstance(child, str) or not child.has("hidden")
    )
