"""Reads an observation: the flattened page with numbered elements, the task, and the past actions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from simia_gym.envs.mind2web.sites.spec import FieldSpec, Site
from simia_gym.envs.mind2web.work.seen import Deed, Press, Seen, SeenField, SeenRow
from simia_gym.envs.mind2web.work.sentences import matched

LETTERS = "BCDEFGHIJKLMNOPQRSTUVWXYZ"
_PROMPT = re.compile(
    r"'''\n(?P<page>.*?)\n'''\n\nAbove is the open page of (?P<title>.*?)\. Do .*?"
    r"^Task: (?P<task>.*?)\nPrevious actions:\n(?P<past>.*?)\nWhich element comes next",
    re.DOTALL | re.MULTILINE,
)
_DEED = re.compile(r"\[(\w+)\]  (.*) -> ([A-Z]+)(?:: (.*))?")
_TOKEN = re.compile(r"<(/?)([a-z][a-z0-9]*)([^<>]*?)(/?)>|([^<]+|<)")
_NUMBER = re.compile(r" id=(\d+)(?: |$)")
_CONTROLS = frozenset({"input", "select", "textarea"})


class _Node(NamedTuple):
    """An element: what its tag says beside its name, and what it holds."""

    tag: str
    head: str
    letter: str
    inner: list[_Node | str]

    def below(self, *tags: str) -> Iterator[_Node]:
        """The elements with one of these tags, in document order."""
        for node in self.inner:
            if isinstance(node, _Node):
                if node.tag in tags:
                    yield node
                yield from node.below(*tags)

    @property
    def text(self) -> str:
        """All text in it."""
        return " ".join(" ".join(node if isinstance(node, str) else node.text for node in self.inner).split())


def read_task(observation: str) -> tuple[str, str]:
    """The title of the site, and the sentence of the task.

    Raises:
        ValueError: The text is no observation.
    """
    prompt = _prompt(observation)
    return prompt["title"], prompt["task"]


def read_observation(observation: str, site: Site) -> Seen:
    """What a reader who knows a site sees.

    Raises:
        ValueError: The text is no observation.
    """
    prompt = _prompt(observation)
    body = _tree(prompt["page"])
    heading = next((node.text for node in body.below("h1")), "")
    past = [_DEED.fullmatch(line) for line in prompt["past"].split("\n")]
    rows: list[tuple[SeenRow, ...]] = []
    presses: list[Press] = []
    words: list[str] = []
    controls: list[tuple[_Node, str]] = []
    _walk(body, rows, presses, words, controls)
    page = next((page for page in site.pages.values() if matched(page.heading, heading) is not None), None)
    fields = page.form.fields if page is not None and page.form is not None else {}
    menu = len(site.menu)
    return Seen(
        prompt["task"],
        tuple(Deed(deed[1], deed[2], deed[3], deed[4] or "") for deed in past if deed is not None),
        heading,
        tuple(words),
        tuple(presses[:menu]),
        tuple(rows),
        tuple(_fields(controls, fields)),
        tuple(presses[menu:]),
    )


def _prompt(observation: str) -> Mapping[str, str]:
    found = _PROMPT.match(observation)
    if found is None:
        raise ValueError(f"this is no page with a task: {observation[:80]!r}")
    return found.groupdict()


def _tree(text: str) -> _Node:
    root = _Node("", "", "", [])
    open_ = [root]
    for closing, tag, head, empty, words in _TOKEN.findall(text):
        if words:
            open_[-1].inner.append(words)
        elif not closing:
            number = _NUMBER.match(head)
            letter = LETTERS[int(number[1])] if number else ""
            node = _Node(tag, head[number.end() :].strip() if number else head.strip(), letter, [])
            open_[-1].inner.append(node)
            if not empty:
                open_.append(node)
        elif len(open_) > 1:
            open_.pop()
    return root


def _walk(
    node: _Node,
    rows: list[tuple[SeenRow, ...]],
    presses: list[Press],
    words: list[str],
    controls: list[tuple[_Node, str]],
) -> None:
    """Sorts what stands on a page: rows, links and buttons, paragraphs, and controls with their labels."""
    for child in node.inner:
        if isinstance(child, str):
            continue
        if child.tag in ("a", "button"):
            presses.append(Press(child.text, child.letter))
        elif child.tag in _CONTROLS:
            controls.append((child, ""))
        elif child.tag == "fieldset":
            controls.append((child, next((legend.text for legend in child.below("legend")), "")))
        elif child.tag == "p":
            control = next(child.below(*_CONTROLS), None)
            if control is None:
                words.append(child.text)
            else:
                controls.append((control, next((label.text for label in child.below("label")), "")))
        elif child.tag == "table":
            rows.append(_table(child))
        elif child.tag in ("article", "dl"):
            rows.append((_card(child),))
        elif child.tag == "section":
            rows.append(tuple(_card(card) for card in child.inner if isinstance(card, _Node)))
        else:
            _walk(child, rows, presses, words, controls)


def _presses(node: _Node) -> tuple[Press, ...]:
    return tuple(Press(one.text, one.letter) for one in node.below("a", "button"))


def _table(table: _Node) -> tuple[SeenRow, ...]:
    columns = [head.text for head in table.below("th")]
    found = []
    for row in table.below("tr", "td"):
        if row.tag == "td" and any(row in other.inner for other in table.below("tr")):
            continue
        cells = [row] if row.tag == "td" else [cell for cell in row.below("td") if any(map(_is_text, cell.inner))]
        if cells:
            found.append(SeenRow(dict(zip(columns, (cell.text for cell in cells), strict=False)), _presses(row)))
    return tuple(found)


def _is_text(node: _Node | str) -> bool:
    return isinstance(node, str) and bool(node.strip())


def _card(card: _Node) -> SeenRow:
    cells: dict[str, str] = {}
    name = ""
    parts = card.inner if card.tag == "dl" else [part for dl in card.below("dl") for part in dl.inner]
    for part in parts:
        if isinstance(part, _Node) and part.tag == "dt":
            name = part.text
            cells[name] = ""
        elif isinstance(part, _Node) and part.tag == "dd":
            cells[name] = part.text
    return SeenRow(cells, _presses(card))


def _fields(controls: list[tuple[_Node, str]], specs: Mapping[str, FieldSpec]) -> Iterator[SeenField]:
    for control, label in controls:
        for name, spec in specs.items():
            if control.tag == "fieldset":
                if label == spec.label:
                    yield _radios(control, label)
                    break
            elif (rest := _after(control.head, label, name, spec)) is not None:
                yield _field(control, rest, spec)
                break


def _after(head: str, label: str, name: str, spec: FieldSpec) -> str | None:
    """What the tag of a control says after the words that name its field; None where it is another field's."""
    kind = "" if spec.choice is not None or spec.kind == "area" else "checkbox" if spec.kind == "flag" else spec.kind
    hint = str(spec.limits.get("placeholder", ""))
    for parts in ((kind, spec.label, name, hint), (kind, name, spec.label), (kind, name, hint)):
        begin = " ".join(filter(None, parts))
        if (spec.label in parts or label == spec.label) and f"{head} ".startswith(f"{begin} "):
            return head[len(begin) :].strip()
    return None


def _field(control: _Node, rest: str, spec: FieldSpec) -> SeenField:
    if control.tag == "select":
        options = [option for option in control.inner if isinstance(option, _Node)]
        words = [Press(option.text, control.letter) for option in options]
        value = next((option.text for option in options if option.head == "selected"), "")
        blank = words[0].words if words and value == "Choose" else None
        return SeenField(spec.label, "list", "" if value == blank else value, control.letter, tuple(words))
    if spec.kind == "flag":
        return SeenField(spec.label, "flag", "yes" if rest.endswith("checked") else "", control.letter)
    value = control.text if control.tag == "textarea" else rest
    return SeenField(spec.label, "text", value, control.letter)


def _radios(group: _Node, label: str) -> SeenField:
    parts = list(group.below("input", "label"))
    options = []
    value = ""
    kind: Literal["radio"] = "radio"
    for control, words in zip(parts[::2], parts[1::2], strict=True):
        options.append(Press(words.text, control.letter))
        if control.head.endswith(" checked"):
            value = words.text
    return SeenField(label, kind, value, "", tuple(options))
