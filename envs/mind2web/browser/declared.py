"""The declared part of HTML, in which the small browser and a real one do the same; what lies outside is named."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from simia_gym.envs.mind2web.browser.page import BUTTONS, CONTROLS, TEXTS
from simia_gym.envs.mind2web.browser.requests import decode, encode
from simia_gym.envs.mind2web.browser.tree import Element, text, walk
from simia_gym.envs.mind2web.browser.values import is_date, is_number


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


_INLINE = _words("span strong em small br a label input button select textarea")
_BLOCKS = _words("header nav main section article footer div p h1 h2 h3 h4 ul ol dl table form fieldset hr")
_ANY = _INLINE | _BLOCKS
_HOLDS: dict[str, frozenset[str]] = {
    **dict.fromkeys(_words("body header nav main section article footer div form li td th dd"), _ANY),
    "fieldset": _ANY | {"legend"},
    **dict.fromkeys(_words("p h1 h2 h3 h4 span strong em small a label button legend dt caption"), _INLINE),
    **dict.fromkeys(_words("ul ol"), _words("li")),
    "dl": _words("dt dd"),
    "table": _words("caption thead tbody"),
    **dict.fromkeys(_words("thead tbody"), _words("tr")),
    "tr": _words("th td"),
    "select": _words("option optgroup"),
    "optgroup": _words("option"),
    **dict.fromkeys(_words("option textarea input br hr"), _words("")),
}
"""What an element may hold, so that a browser reads the same tree."""

_TEXTLESS = _words("ul ol dl table thead tbody tr select optgroup input br hr")
_WITHIN: dict[str, frozenset[str]] = {
    "form": _words("form"),
    "a": _words("a button"),
    "label": _words("a button label"),
    **{tag: _words("a button") for tag in ("button", "input", "select", "textarea")},
}
"""Around which elements an element must not stand, however far."""

_EVERY = _words("id class hidden aria-label")
_CONTROL = _words("name disabled form")
_SENDING = _CONTROL | {"value", "type", "formaction", "formmethod", "formnovalidate"}
_FIELD = _CONTROL | {"type", "value", "required", "readonly"}
_WRITTEN = _FIELD | {"placeholder", "minlength", "maxlength"}
_TAKES: dict[str, frozenset[str]] = {
    "a": _words("href"),
    "form": _words("action method novalidate"),
    "fieldset": _words("disabled"),
    "label": _words("for"),
    "button": _SENDING,
    "select": _CONTROL | {"multiple", "required"},
    "optgroup": _words("label disabled"),
    "option": _words("value selected disabled"),
    "textarea": _WRITTEN - {"type", "value"},
}
_INPUTS: dict[str, frozenset[str]] = {
    **dict.fromkeys(TEXTS, _WRITTEN | {"pattern"}),
    "number": _FIELD | {"placeholder", "min", "max", "step"},
    "date": _FIELD | {"min", "max"},
    **dict.fromkeys(("checkbox", "radio"), _CONTROL | {"type", "value", "required", "checked"}),
    "hidden": _CONTROL | {"type", "value"},
    **dict.fromkeys(BUTTONS, _SENDING),
}
_BARE = _words("hidden disabled required readonly checked selected multiple novalidate formnovalidate")
_COUNTS = _words("minlength maxlength")
_ADDRESSES = _words("href action formaction")
_METHODS = _words("method formmethod")

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_PATH = re.compile(r"/|(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~-]+)+/?")
_MARK = re.compile(r"[A-Za-z0-9_-]*")
# No quantifier follows another one, and no sign is doubled in brackets: browser and Python differ about both.
_PATTERN = re.compile(
    r"(?:(?:[A-Za-z0-9 _,:;@#%&=<>'\"~!-]|\\d|\\[.*+?^$|(){}\[\]/]|\.|\(\?:|\((?!\?)|\)|\||"
    r"\[\^?(?:(?!([.,@+])\1)(?:[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9 _.,@+]|\\d|\\-))+\])(?:[*+?]|\{\d+(?:,\d*)?\})?)*"
)


def outside(body: Element) -> list[str]:
    """What of a page lies outside of the declared part of HTML, each with its place; empty for a page within it.

    Args:
        body: The tree of the page.
    """
    if body.tag != "body":
        return [f"{body.tag}: the root of a page is body"]
    ids: dict[str, str] = {}
    found: list[str] = []
    for node in walk(body):
        name = node.get("id")
        if name is None:
            continue
        if name in ids:
            found.append(f"{_called(node)}: another element has this id")
        if not name or re.search(r"\s", name):
            found.append(f"{_called(node)}: an id is a word")
        ids.setdefault(name, "control" if node.tag in CONTROLS else node.tag)
    found += _look(body, "", frozenset(), ids)
    return found


def _look(node: Element, above: str, around: frozenset[str], ids: Mapping[str, str]) -> Iterator[str]:
    place = f"{above} > {_called(node)}" if above else _called(node)
    if node.tag not in _HOLDS:
        yield f"{place}: there is no such element"
        return
    for nested in sorted(_WITHIN.get(node.tag, frozenset()) & around):
        yield f"{place}: it must not stand within {nested}"
    yield from (f"{place}: {wrong}" for wrong in _attributes(node, ids))
    yield from (f"{place}: {wrong}" for wrong in _needs(node))
    for child in node.children:
        if isinstance(child, str):
            if node.tag in _TEXTLESS:
                yield f"{place}: it holds no text"
            if _CONTROLS.search(child):
                yield f"{place}: its text has a control character"
        elif child.tag in _HOLDS and child.tag not in _HOLDS[node.tag]:
            yield f"{place}: it holds no {child.tag}"
        else:
            yield from _look(child, place, around | {node.tag}, ids)


def _needs(node: Element) -> Iterator[str]:
    if node.tag == "a" and node.has("href") and not text(node):
        yield "a link has a text"
    if node.tag == "optgroup" and not node.get("label"):
        yield "a group of options has a label"
    if node.tag == "input" and node.get("type") in BUTTONS and not node.get("value"):
        yield "an input that is a button has a value"


def _attributes(node: Element, ids: Mapping[str, str]) -> Iterator[str]:
    kind = node.get("type") or "text"
    if node.tag == "input" and kind not in _INPUTS:
        yield f"type={kind} is outside"
        return
    if node.tag == "button" and node.has("type") and kind not in BUTTONS:
        yield f"type={kind} is outside"
    takes = _EVERY | (_INPUTS[kind] if node.tag == "input" else _TAKES.get(node.tag, frozenset()))
    seen: set[str] = set()
    for name, value in node.attributes:
        if name in seen:
            yield f"{name} is there twice"
        seen.add(name)
        if name not in takes:
            yield f"it takes no {name}" + (f" with type={kind}" if node.tag == "input" else "")
        elif (wrong := _value(name, value, kind, ids)) is not None:
            yield f"{name}: {wrong}"
    least, most = node.get("minlength"), node.get("maxlength")
    if least and most and least.isdecimal() and most.isdecimal() and int(least) > int(most):
        yield "minlength is above maxlength"


def _value(name: str, value: str, kind: str, ids: Mapping[str, str]) -> str | None:
    if _CONTROLS.search(value):
        return "a control character"
    if name in _BARE:
        return "it is written without a value" if value else None
    if name in _COUNTS:
        return None if re.fullmatch(r"[0-9]+", value) else "it is a number of characters"
    if name in _ADDRESSES:
        return _address(value)
    if name in _METHODS:
        return None if value.lower() in {"get", "post"} else "it is get or post"
    if name == "form":
        return None if ids.get(value) == "form" else "it is the id of a form"
    if name == "for":
        return None if ids.get(value) == "control" else "it is the id of a field"
    if name == "pattern":
        return None if _PATTERN.fullmatch(value) and _compiles(value) else "browser and Python may read it differently"
    if name == "name" and value == "_charset_":
        return "a browser fills in this name itself"
    return _bound(name, value, kind) if name in {"min", "max", "step"} else None


def _bound(name: str, value: str, kind: str) -> str | None:
    if name == "step":
        return None if value == "any" or (is_number(value) and float(value) > 0) else "it is a positive number or any"
    if kind == "date":
        return None if is_date(value) else "it is a date"
    return None if is_number(value) else "it is a number"


def _address(value: str) -> str | None:
    rest, _, mark = value.partition("#")
    path, asked, query = rest.partition("?")
    if path and not (path.startswith("/") and _PATH.fullmatch(path)):
        return "it is empty or begins with /, ? or #, and its path has only letters, digits and _ ~ - ."
    if not _MARK.fullmatch(mark):
        return "the mark has only letters, digits and _ -"
    if asked and encode(decode(query)) != query:
        return "its query is not written as a form writes it"
    return None


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _called(node: Element) -> str:
    name = node.get("id")
    if name:
        return f"{node.tag}#{name}"
    name = node.get("name")
    return f"{node.tag}[{name}]" if name else node.tag
