"""A recorded page: a plain tree, pruned around candidates, and the prompt of one query."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from xml.etree import ElementTree as Tree

from simia_gym.errors import InputError

_ID = "backend_node_id"
_DEPTH, _DESCENDANTS, _SIBLINGS = 5, 50, 3
_DEEPEST = 300
_SHOWN = (
    *("role", "aria_role", "type", "alt", "aria_description", "aria_label", "label", "title", "name", "text_value"),
    *("value", "placeholder", "input_checked", "input_value", "option_selected", "class"),
)
_EMPTY_WORDS = ("hidden", "none", "presentation", "null", "undefined")
_LONG_WORD, _WORDS_A_VALUE, _WORDS_AN_ELEMENT, _WORDS_A_CHOICE = 15, 5, 20, 10
_HISTORY = 5


class Page:
    """The tree of one `cleaned_html`."""

    def __init__(self, html: str, *, where: str):
        """Reads the page.

        Raises:
            InputError: It is no XML as released, or declares entities, or is nested too deeply.
        """
        if "<!" in html:
            raise InputError(f"{where}: cleaned_html holds a declaration or comment; take the file as it was released")
        try:
            self._root = Tree.fromstring(html)
        except (Tree.ParseError, ValueError) as error:
            raise InputError(f"{where}: cleaned_html is no XML: {error}; take the file as it was released") from None
        self._above: dict[Tree.Element, Tree.Element] = {}
        self._nodes: dict[str, Tree.Element] = {}
        level, depth = [self._root], 0
        while level:
            depth += 1
            self._above |= {child: node for node in level for child in node}
            level = [child for node in level for child in node]
        if depth > _DEEPEST:
            raise InputError(f"{where}: cleaned_html is nested {depth} deep; at most {_DEEPEST} are read")
        for node in self._root.iter():
            if node.tag != "text" and _ID in node.attrib:
                self._nodes.setdefault(node.attrib[_ID], node)

    def ordered(self, candidates: Collection[str]) -> list[str]:
        """The candidates that are in the page, in its order."""
        wanted = set(candidates)
        return [name for name in self._nodes if name in wanted]

    def texts(self, candidates: Collection[str]) -> dict[str, str]:
        """The words of each candidate that is in the page, in its order: shown attributes and all text below."""
        return {
            name: " ".join([_meta(self._nodes[name]), *" ".join(self._nodes[name].itertext()).split()]).strip()
            for name in self.ordered(candidates)
        }

    def pruned(self, candidates: Sequence[str]) -> tuple[str, list[str]]:
        """The page around candidates, and the first ten words of each candidate that is in it, in its order.

        A candidate keeps what is above it, up to 50 elements below it, and three siblings on each side. An element
        that is no candidate, without attributes, text, and a second child, gives way to its child.
        """
        chosen = self.ordered(candidates)
        kept: set[Tree.Element] = set()
        for name in chosen:
            kept |= self._around(self._nodes[name])
        numbers = {name: number for number, name in enumerate(chosen)}
        choices: dict[str, str] = {}
        page = _flat(self._written(self._root, kept, numbers, choices))
        return page, [" ".join(choices[name].split()[:_WORDS_A_CHOICE]) for name in chosen]

    def _around(self, node: Tree.Element) -> set[Tree.Element]:
        kept = {node, *[n for n in _below(node, _DEPTH) if n.tag != "text"][:_DESCENDANTS]}
        above = self._above.get(node)
        if above is not None:
            siblings = [child for child in above if child.tag != "text"]
            place = siblings.index(node)
            kept.update(siblings[max(0, place - _SIBLINGS) : place + _SIBLINGS + 1])
        while above is not None:
            kept.add(above)
            above = self._above.get(above)
        return kept

    def _written(
        self, node: Tree.Element, kept: set[Tree.Element], numbers: dict[str, int], choices: dict[str, str]
    ) -> str:
        """The element and what is kept below it; nothing for one that is pruned."""
        if node.tag == "text":
            return f" {node.text or ''} "
        if node not in kept:
            return ""
        name = node.attrib.get(_ID, "")
        inner = [self._written(child, kept, numbers, choices) for child in node]
        bare = name not in numbers and not node.attrib.keys() - {_ID}
        if bare and node in self._above and all(c.tag != "text" for c in node) and sum(map(bool, inner)) <= 1:
            return "".join(inner)
        head = " ".join(filter(None, [node.tag, f"id={numbers[name]}" if name in numbers else "", _meta(node)]))
        text = "".join(inner)
        whole = f"<{head}>{text}</{node.tag}>" if text else f"<{head} />"
        if name in numbers:
            choices[name] = _flat(whole)
        return whole


def prompt(page: str, choices: Sequence[str], *, request: str, done: Sequence[str]) -> str:
    """One query: the pruned page, the task, the last five recorded actions, and the lettered choices."""
    lines = [
        f"'''\n{page}\n'''\n",
        "Above is a part of a web page. Do the next action of this task on it.",
        f"Task: {request}",
        "Previous actions:",
        *(done[-_HISTORY:] or ["None"]),
        "Which element comes next, and what is done with it?\n",
        "A. None of the above",
        *(f"{letter}. {choice}" for letter, choice in zip("BCDEF", choices, strict=False)),
    ]
    return "\n".join(lines)


def _below(node: Tree.Element, depth: int) -> Iterator[Tree.Element]:
    """Descendants in the order of the page; the children of `node` are at depth 0."""
    for child in node:
        yield child
        if depth > 0:
            yield from _below(child, depth - 1)


def _meta(node: Tree.Element) -> str:
    """The words of the shown attributes: of each value five short ones, no value twice, twenty in all."""
    values: dict[str, None] = {}
    for name in _SHOWN:
        value = node.attrib.get(name, "").lower()
        if value not in _EMPTY_WORDS and not value.startswith("http"):
            values[" ".join([word for word in value.split() if len(word) < _LONG_WORD][:_WORDS_A_VALUE])] = None
    return " ".join(" ".join(values).split()[:_WORDS_AN_ELEMENT])


def _flat(text: str) -> str:
    return " ".join(text.split())
