"""Reads an observation: the flattened page with numbered elements, the task, and the past actions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from simia_gym.envs.mind2web.sites.spec import FieldSpec, Site
from simia_gym.envs.mind2web.work.seen import Deed, Press, Seen, SeenField, SeenRow
from simia_gym.envs.mind2web.work.sentences import matched

LETTERS = "BCDEFGHIJKLMNOPQRSTUVWXYZ"
_AFTER = "\n'''\n\nAbove is the open page of "
_PROMPT = re.compile(
    r"(?P<title>.*?)\. Do .*?^Task: (?P<task>.*?)\nPrevious actions:\n(?P<past>.*?)\nWhich element comes next",
    re.DOTALL | re.MULTILINE,
)
_DEED = re.compile(r"\[(\w+)\]  (.*) -> ([A-Z]+)(?:: (.*))?")
_TOKEN = re.compile(
    r"<(h1|p|a|button|t[hd]|d[td]|legend|label|option)([^<>]*)>([^<]+)</\1>|<(/?)([a-z][a-z0-9]*)([^<>]*?)(/?)>|([^<]+|<)"
)
"""An element that says a text alone, a tag, or a text."""
_NUMBER = re.compile(r" id=(\d+)(?: |$)")
_SAYING = frozenset(("h1", "p", "a", "button", "th", "td", "dt", "dd", "legend", "label", "option", "textarea"))
_CONTROLS = frozenset(("input", "select", "textarea"))
_PRESSES = frozenset(("a", "button"))
_READ = _SAYING | _CONTROLS | {"tr", "article", "dl", "table", "section", "fieldset"}
"""The elements that a reader looks at; others hold them."""


class Prompt(NamedTuple):
    """The parts of an observation: the flattened page, the title of the site, the sentence, and the past actions."""

    page: str
    title: str
    task: str
    past: str


def read_prompt(observation: str) -> Prompt:
    """The parts of the newest page; a history of steps holds earlier ones before it.

    Raises:
        ValueError: The text is no observation.
    """
    begin = max(observation.rfind("'''\n<"), 0)
    end = observation.find(_AFTER, begin)
    found = _PROMPT.match(observation, end + len(_AFTER)) if end >= 0 else None
    if found is None or not observation.startswith("'''\n", begin):
        raise ValueError(f"this is no page with a task: {observation[:80]!r}")
    return Prompt(observation[begin + 4 : end], found["title"], found["task"], found["past"])


def read_page(prompt: Prompt, site: Site) -> Seen:
    """What a reader who knows a site sees."""
    scan = _Scan(prompt.page)
    past = [_DEED.fullmatch(line) for line in prompt.past.split("\n")]
    page = next((page for page in site.pages.values() if matched(page.heading, scan.heading) is not None), None)
    fields = page.form.fields if page is not None and page.form is not None else {}
    menu = len(site.menu)
    return Seen(
        prompt.task,
        tuple([Deed(deed[1], deed[2], deed[3], deed[4] or "") for deed in past if deed is not None]),
        scan.heading,
        tuple(scan.words),
        tuple(scan.presses[:menu]),
        tuple(scan.rows),
        tuple(_fields(scan.controls, fields)),
        tuple(scan.presses[menu:]),
    )


class _Control:
    """A control of a form, or a group of radio buttons.

    Attributes:
        head: What its tag says beside its name.
        label: Its label, or the legend of the group.
        text: What it holds, or the words of what is chosen.
        options: What can be chosen.
    """

    def __init__(self, tag: str, head: str, letter: str) -> None:
        self.tag, self.head, self.letter = tag, head, letter
        self.label = self.text = ""
        self.options: list[Press] = []


class _Scan:
    """Goes through a flattened page once, and sorts what stands on it.

    Args:
        text: The page.

    Attributes:
        heading: The heading.
        words: The paragraphs.
        presses: The links and buttons outside of rows.
        rows: The blocks of rows.
        controls: The controls.
    """

    def __init__(self, text: str) -> None:
        self.heading = ""
        self.words: list[str] = []
        self.presses: list[Press] = []
        self.rows: list[tuple[SeenRow, ...]] = []
        self.controls: list[_Control] = []
        self._said: list[tuple[list[str], str, str]] = []
        self._block: list[SeenRow] | None = None
        self._columns: list[str] = []
        self._row = ""
        self._cells: dict[str, str] = {}
        self._steps: list[Press] = []
        self._name = ""
        self._group: _Control | None = None
        self._checked = False
        self._paragraph: list[_Control] = []
        for whole, given, said, closing, tag, head, empty, words in _TOKEN.findall(text):
            if whole:
                text = " ".join(said.split())
                if whole == "td" and self._row:
                    self._cell(text)
                elif whole == "dt":
                    self._name = text
                    self._cells[text] = ""
                elif whole == "dd":
                    self._cells[self._name] = text
                elif whole in _PRESSES:
                    (self._steps if self._row else self.presses).append(Press(text, _letter(given)[1]))
                else:
                    if whole == "p":
                        self._paragraph, self._name = [], ""
                    self._say(whole, text, *_letter(given))
            elif words:
                if self._said:
                    self._said[-1][0].append(words)
            elif tag not in _READ:
                continue
            elif closing:
                self._close(tag)
            else:
                self._open(tag, head)
                if empty:
                    self._close(tag)

    def _open(self, tag: str, head: str) -> None:
        head, letter = _letter(head)
        if tag in _CONTROLS:
            self._add(_Control(tag, head, letter))
        if tag in _SAYING:
            self._said.append(([], head, letter))
            if tag == "p":
                self._paragraph, self._name = [], ""
        elif not self._row and tag in ("tr", "article", "dl"):
            self._row, self._cells, self._steps = tag, {}, []
        elif tag in ("table", "section"):
            self._block, self._columns = [], []
        elif tag == "fieldset":
            self._group = _Control(tag, head, letter)
            self.controls.append(self._group)

    def _add(self, control: _Control) -> None:
        if self._group is None:
            self.controls.append(control)
            self._paragraph.append(control)
        else:
            self._group.options.append(Press("", control.letter))
            self._checked = control.head.endswith(" checked")

    def _close(self, tag: str) -> None:
        if tag in _SAYING:
            if self._said:
                said, head, letter = self._said.pop()
                self._say(tag, " ".join("".join(said).split()), head, letter)
        elif tag == self._row:
            self._end_row(SeenRow(self._cells, tuple(self._steps)))
            self._row = ""
        elif tag in ("table", "section") and self._block is not None:
            self.rows.append(tuple(self._block))
            self._block = None
        elif tag == "fieldset":
            self._group = None

    def _end_row(self, row: SeenRow) -> None:
        if self._block is None:
            self.rows.append((row,))
        elif row.cells:
            self._block.append(row)

    def _say(self, tag: str, words: str, head: str, letter: str) -> None:
        """Takes the words of an element."""
        if tag in _PRESSES:
            (self._steps if self._row else self.presses).append(Press(words, letter))
        elif tag == "td":
            if self._row:
                self._cell(words)
            else:
                self._end_row(SeenRow(dict.fromkeys(self._columns[:1], words), ()))
        elif tag == "th":
            self._columns.append(words)
        elif tag == "dt":
            self._name = words
            self._cells[words] = ""
        elif tag == "dd":
            self._cells[self._name] = words
        elif tag == "h1":
            self.heading = words
        elif tag == "p" and not self._paragraph:
            self.words.append(words)
        elif tag == "option" and self.controls:
            self.controls[-1].options.append(Press(words, ""))
            if head == "selected":
                self.controls[-1].text = words
        elif tag == "textarea" and self.controls:
            self.controls[-1].text = words
        elif tag in ("label", "legend"):
            self._call(tag, words)
        if tag == "p":
            for control in self._paragraph:
                control.label = self._name
            self._paragraph = []

    def _cell(self, words: str) -> None:
        if words and len(self._cells) < len(self._columns):
            self._cells[self._columns[len(self._cells)]] = words

    def _call(self, tag: str, words: str) -> None:
        """Takes a label: of the control of a paragraph, of a group, or of the radio button before it."""
        group = self._group
        if group is None:
            self._name = words
        elif tag == "legend":
            group.label = words
        elif group.options:
            group.options[-1] = Press(words, group.options[-1].letter)
            group.text = words if self._checked else group.text


def _letter(head: str) -> tuple[str, str]:
    """What a tag says beside its name, and its letter."""
    if not head:
        return "", ""
    if number := _NUMBER.match(head):
        return head[number.end() :].strip(), LETTERS[int(number[1])]
    return head.strip(), ""


def _fields(controls: list[_Control], specs: Mapping[str, FieldSpec]) -> Iterator[SeenField]:
    for control in controls:
        for name, spec in specs.items():
            if control.tag == "fieldset":
                if control.label == spec.label:
                    yield SeenField(control.label, "radio", control.text, "", tuple(control.options))
                    break
            elif (rest := _after(control, name, spec)) is not None:
                yield _field(control, rest, spec)
                break


def _after(control: _Control, name: str, spec: FieldSpec) -> str | None:
    """What the tag of a control says after the words that name its field; None where it is another field's."""
    kind = "" if spec.choice is not None or spec.kind == "area" else "checkbox" if spec.kind == "flag" else spec.kind
    head = f"{control.head} "
    for parts in ((kind, spec.label, name), (kind, name, spec.label), (kind, name)):
        begin = " ".join(filter(None, parts))
        if (spec.label in parts or control.label == spec.label) and head.startswith(f"{begin} "):
            return head[len(begin) :].strip()
    return None


def _field(control: _Control, rest: str, spec: FieldSpec) -> SeenField:
    if control.tag == "select":
        options = tuple([Press(option.words, control.letter) for option in control.options])
        value = "" if control.text == "Choose" == options[0].words else control.text
        return SeenField(spec.label, "list", value, control.letter, options)
    if spec.kind == "flag":
        return SeenField(spec.label, "flag", "yes" if rest.endswith("checked") else "", control.letter)
    return SeenField(spec.label, "text", control.text if control.tag == "textarea" else rest, control.letter)
