"""The small browser: what it can act on, what actions change, and what it asks a site for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simia_gym.envs.mind2web.browser.acting import Outcome, Refusal, Typing, click, select, write_in
from simia_gym.envs.mind2web.browser.declared import outside
from simia_gym.envs.mind2web.browser.names import names, role
from simia_gym.envs.mind2web.browser.requests import Request
from simia_gym.envs.mind2web.browser.tree import Element, document, element, text, walk, write
from simia_gym.envs.mind2web.browser.values import Value

from .snippets import AT, NAMES, page, table, tree


def play(html: str, steps: list[list[str]], at: str = AT) -> Outcome:
    """What the last action gives; every action before it must change the page only."""
    shown = page(html, at)
    outcome: Outcome = Typing({})
    for kind, name, *values in steps:
        assert isinstance(outcome, Typing), outcome
        # What was typed is plain data.
        typed: dict[str, Value] = json.loads(json.dumps(outcome.typed))
        number = shown.find(name)
        if kind == "click":
            outcome = click(shown, typed, number)
        elif kind == "type":
            outcome = write_in(shown, typed, number, *values)
        else:
            outcome = select(shown, typed, number, *values)
    return outcome


@pytest.mark.parametrize("case", table(), ids=lambda case: case["name"].replace(" ", "-"))
def test_table_of_pages(case: dict[str, Any]) -> None:
    outcome = play(case["page"], case["do"], case.get("at", AT))
    want: str = case["want"]
    if want == "stays":
        assert isinstance(outcome, Typing)
    elif want.startswith("refused "):
        assert isinstance(outcome, Refusal)
        assert want.removeprefix("refused ") in outcome.reason
    else:
        assert isinstance(outcome, Request), outcome
        assert str(outcome) == want


def test_table_is_large_and_names_each_page_once() -> None:
    assert len({case["name"] for case in table()}) == len(table()) >= 60


@pytest.mark.parametrize("case", table(), ids=lambda case: case["name"].replace(" ", "-"))
def test_html_is_read_as_the_tree_that_was_written(case: dict[str, Any]) -> None:
    body = tree(case["page"])
    assert Element("body", (), tree(write(body).removeprefix("<body>").removesuffix("</body>")).children) == body


def test_what_can_be_acted_on() -> None:
    shown = page(
        '<h1>Title</h1><a href="/x">link</a><a>no link</a><a href="/y" hidden>hidden</a>'
        "<div hidden><button>in</button></div>"
        '<form><input name="t"><input type="hidden" name="h"><input name="d" disabled><textarea name="a"></textarea>'
        '<select name="s"><option>one</option></select><input type="radio" name="r"><input type="checkbox" name="c">'
        "<fieldset disabled><legend><button>first</button></legend><button>off</button></fieldset></form>"
    )
    found = [(node.kind, text(node.element)) for node in shown.actable()]
    assert found == [
        ("link", "link"),
        ("text", ""),
        ("area", ""),
        ("list", "one"),
        ("radio", ""),
        ("checkbox", ""),
        ("submit", "first"),
    ]


def test_actions_leave_what_was_typed_before() -> None:
    shown = page('<form><input name="t" id="t"><input type="checkbox" id="c"></form>')
    before: dict[str, Value] = {}
    first = write_in(shown, before, shown.find("t"), "a")
    assert isinstance(first, Typing)
    second = click(shown, first.typed, shown.find("c"))
    assert isinstance(second, Typing)
    assert (before, list(first.typed.values()), list(second.typed.values())) == ({}, ["a"], ["a", True])


@pytest.mark.parametrize(
    ("html", "step", "reason"),
    [
        ('<p id="x">words</p>', ["click", "x"], "nothing can be done"),
        ('<a id="x">no link</a>', ["click", "x"], "nothing can be done"),
        ('<button id="x">b</button>', ["type", "x", "a"], "only into a field"),
        ('<input id="x">', ["select", "x", "a"], "only a list"),
        ('<select id="x"><option>a</option><option>b</option></select>', ["select", "x", "a", "b"], "takes one option"),
    ],
)
def test_actions_on_the_wrong_element_are_refused(html: str, step: list[str], reason: str) -> None:
    outcome = play(html, [step])
    assert isinstance(outcome, Refusal)
    assert reason in outcome.reason


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ('<label for="d">Day</label><input id="d" name="x" required>', "the field Day: fill in this field"),
        ('<input name="x" aria-label="Day" required>', "the field Day: fill in this field"),
        (
            '<fieldset><legend>Size</legend><input type="radio" name="x" aria-label="S" required></fieldset>',
            "the choice Size: choose one of these",
        ),
        (
            '<label for="d">Sure</label><input type="checkbox" id="d" required>',
            "the box Sure: this box must be checked",
        ),
    ],
)
def test_a_complaint_calls_a_field_as_the_page_does(fields: str, said: str) -> None:
    assert play(f'<form>{fields}<button id="g">Go</button></form>', [["click", "g"]]) == Refusal(said)


@pytest.mark.parametrize(
    ("value", "noticed"), [("3 March 2025", True), ("2025-02-29", True), ("2025-03-03", False), ("", False)]
)
def test_what_is_no_date_leaves_the_box_empty_and_says_so(value: str, noticed: bool) -> None:
    outcome = play('<input type="date" id="d">', [["type", "d", value]])
    assert isinstance(outcome, Typing)
    assert bool(outcome.notice) == noticed
    assert list(outcome.typed.values()) == ["" if noticed else value]


def test_complaint_names_the_first_wrong_field() -> None:
    fields = '<input name="a" value="x"><input name="b" required><input name="c" required>'
    assert play(f'<form>{fields}<button id="g">Go</button></form>', [["click", "g"]]) == Refusal(
        "the field b: fill in this field"
    )


def test_elements_are_built_from_plain_values() -> None:
    built = element("input", {"name": "a", "required": True, "disabled": False, "value": None, "min": ""})
    assert built == Element("input", (("name", "a"), ("required", ""), ("min", "")))
    assert element("p", None, "a", None, "", element("br")).children == ("a", Element("br"))
    assert [node.tag for node in walk(element("p", None, built, element("b")))] == ["p", "input", "b"]


def test_document_escapes_title_text_and_attributes() -> None:
    body = element("body", None, element("p", {"id": 'a"<&'}, "<b> & c"))
    assert document("A & <B>", body) == (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>A &amp; &lt;B&gt;</title></head>'
        '<body><p id="a&quot;&lt;&amp;">&lt;b&gt; &amp; c</p></body></html>'
    )


@pytest.mark.parametrize("case", table(), ids=lambda case: case["name"].replace(" ", "-"))
def test_table_is_within_the_declared_part(case: dict[str, Any]) -> None:
    assert outside(tree(case["page"])) == []


@pytest.mark.parametrize(
    ("html", "wrong"),
    [
        ("<div><script></script></div>", "body > div > script: there is no such element"),
        ('<p onclick="x()">a</p>', "body > p: it takes no onclick"),
        ('<input type="range">', "body > input: type=range is outside"),
        ('<button type="reset">a</button>', "body > button: type=reset is outside"),
        ('<input type="date" name="d" step="7">', "body > input[d]: it takes no step with type=date"),
        ('<input type="number" min="one">', "body > input: min: it is a number"),
        ('<input type="number" step="0">', "body > input: step: it is a positive number or any"),
        ('<input type="date" max="2025-02-30">', "body > input: max: it is a date"),
        ('<input maxlength="-1">', "body > input: maxlength: it is a number of characters"),
        ('<input minlength="3" maxlength="2">', "body > input: minlength is above maxlength"),
        ('<input required="yes">', "body > input: required: it is written without a value"),
        ('<input pattern="\\w+">', "body > input: pattern: browser and Python may read it differently"),
        ('<input pattern="(a">', "body > input: pattern: browser and Python may read it differently"),
        ('<input pattern="a{1,2}{2}">', "body > input: pattern: browser and Python may read it differently"),
        ('<input pattern="(?i)a">', "body > input: pattern: browser and Python may read it differently"),
        ('<input pattern="[a,,]">', "body > input: pattern: browser and Python may read it differently"),
        ('<input name="_charset_">', "body > input[_charset_]: name: a browser fills in this name itself"),
        ('<input type="submit" name="a">', "body > input[a]: an input that is a button has a value"),
        ('<form method="dialog"></form>', "body > form: method: it is get or post"),
        ('<form target="x"></form>', "body > form: it takes no target"),
        (
            "<div><form><div><form></form></div></form></div>",
            "body > div > form > div > form: it must not stand within form",
        ),
        ('<a href="/x">a<button>b</button></a>', "body > a > button: it must not stand within a"),
        ('<a href="/x"></a>', "body > a: a link has a text"),
        ("<p><div>a</div></p>", "body > p: it holds no div"),
        ("<table><tr></tr></table>", "body > table: it holds no tr"),
        ("<ul> <li>a</li></ul>", "body > ul: it holds no text"),
        ("<select><optgroup></optgroup></select>", "body > select > optgroup: a group of options has a label"),
        ('<p id="a">b</p><p id="a">c</p>', "p#a: another element has this id"),
        ('<p id="a b">c</p>', "p#a b: an id is a word"),
        ('<p id="f">a</p><input form="f">', "body > input: form: it is the id of a form"),
        ('<p id="f">a</p><label for="f">b</label>', "body > label: for: it is the id of a field"),
        ("<p>a&#12;b</p>", "body > p: its text has a control character"),
        ('<a href="https://example.org/">a</a>', "body > a: href: it is empty or begins"),
        ('<a href="//example.org/x">a</a>', "body > a: href: it is empty or begins"),
        ('<a href="x">a</a>', "body > a: href: it is empty or begins"),
        ('<a href="/a/../b">a</a>', "body > a: href: it is empty or begins"),
        ('<a href="/a b">a</a>', "body > a: href: it is empty or begins"),
        ('<a href="/x?a=b c">a</a>', "body > a: href: its query is not written as a form writes it"),
        ('<a href="/x?a">a</a>', "body > a: href: its query is not written as a form writes it"),
        ('<a href="#a b">a</a>', "body > a: href: the mark has only"),
    ],
)
def test_what_lies_outside_is_named(html: str, wrong: str) -> None:
    (found,) = outside(tree(html))
    assert found.startswith(wrong)


def test_attributes_that_are_there_twice_and_another_root_are_named() -> None:
    twice = element("body", None, Element("p", (("id", "a"), ("id", "b"))))
    assert outside(twice) == ["body > p#a: id is there twice"]
    assert outside(element("div")) == ["div: the root of a page is body"]


@pytest.mark.parametrize(("html", "called"), NAMES)
def test_roles_and_names(html: str, called: str) -> None:
    shown = page(html)
    number = shown.find("x")
    assert f"{role(shown.nodes[number])} {names(shown)[number]}" == called
