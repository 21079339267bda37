from __future__ import annotations

from typing import Any

import pytest

from simia_gym.envs.mind2web.recorded.page import Page, prompt
from simia_gym.envs.mind2web.recorded.ranks import by_ranks, by_words
from simia_gym.errors import InputError
from tests.mind2web import recorded_sample as sample


def page(inner: Any) -> Any:
    return Page(f'<html backend_node_id="1"><body backend_node_id="2">{inner}</body></html>', where="here")


def row(number: Any, inner: Any = "", **attributes: Any) -> Any:
    marks = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<p backend_node_id="{number}"{marks}><text backend_node_id="t">row {number}</text>{inner}</p>'


def test_siblings_are_kept_three_on_each_side() -> None:
    text, choices = page("".join(map(row, range(10, 30)))).pruned(["20"])
    kept = "".join(f"<p id=0> row {n} </p>" if n == 20 else f"<p> row {n} </p>" for n in range(17, 24))
    assert text == f"<html><body>{kept}</body></html>"
    assert choices == ["<p id=0> row 20 </p>"]


def test_choices_stand_in_the_order_of_the_page_with_ten_words() -> None:
    tree = page(row(10) + row(11, "".join(row(n) for n in range(30, 40))) + row(12))
    assert tree.ordered(["12", "99", "10", "11"]) == ["10", "11", "12"]
    _, choices = tree.pruned(["12", "99", "11"])
    assert choices == ["<p id=0> row 11 <p> row 30 </p><p> row 31", "<p id=1> row 12 </p>"]


@pytest.mark.parametrize(("deep", "wide", "kept"), [(6, 1, 6), (9, 1, 6), (1, 50, 50), (1, 60, 50)])
def test_descendants_are_kept_up_to_a_depth_and_a_number(deep: Any, wide: Any, kept: Any) -> None:
    inner = ""
    for number in range(deep):
        inner = "".join(row(1000 + number * 100 + n, inner) for n in range(wide))
    text, _ = page(row(10, inner)).pruned(["10"])
    assert text.count("row 1") - 1 == kept


@pytest.mark.parametrize(
    ("wrapper", "stays"), [("", False), (' class="box"', True), ('<i backend_node_id="9"/>', False)]
)
def test_bare_wrappers_give_way(wrapper: Any, stays: Any) -> None:
    inner = wrapper + row(10) if wrapper.startswith("<") else row(10)
    marks = "" if wrapper.startswith("<") else wrapper
    text, _ = page(f'<div backend_node_id="5"{marks}>{inner}</div>').pruned(["10"])
    assert ("<div" in text) is stays


def test_attributes_become_words() -> None:
    tree = page(
        '<input backend_node_id="7" type="text" name="Text" role="none" aria_label="one two three four five six"'
        ' title="http://x" class="averyveryverylongword short" style="no" /><b backend_node_id="8">'
        '<text backend_node_id="t">a &amp; &lt;b&gt;</text></b>'
    )
    assert tree.pruned(["7", "8"])[1] == ["<input id=0 text one two three four five short />", "<b id=1> a & <b> </b>"]


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ("<a>", "no XML"),
        ("", "no XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "declaration"),
        ("<a>" * 400 + "</a>" * 400, "nested 400 deep"),
    ],
)
def test_odd_pages_are_named(html: Any, said: Any) -> None:
    with pytest.raises(InputError, match=f"here: cleaned_html .*{said}"):
        Page(html, where="here")


def test_the_prompt_shows_the_last_five_actions() -> None:
    done = [f"[button]  B{n} -> CLICK" for n in range(7)]
    text = prompt("<p />", ["<a id=0>", "<b id=1>"], request="Do it", done=done)
    assert text.startswith("'''\n<p />\n'''\n")
    assert "Task: Do it\nPrevious actions:\n" + "\n".join(done[2:]) + "\n" in text
    assert text.endswith("\nA. None of the above\nB. <a id=0>\nC. <b id=1>")
    assert "Previous actions:\nNone\n" in prompt("", [], request="x", done=[])


def test_the_word_ranker_follows_the_page_and_not_the_lists() -> None:
    task = sample.tasks()[0]
    action = task["actions"][1]
    tree = Page(action["cleaned_html"], where="here")
    names = [c["backend_node_id"] for c in action["pos_candidates"] + action["neg_candidates"]]
    best = by_words("press Button 14", tree.texts(names))
    assert best[0] == "14"
    assert best == by_words("press Button 14", tree.texts(names[::-1]))


def test_ranks_of_other_data_are_named() -> None:
    ranks = {"a_b": {"1": 1, "2": 0}}
    assert by_ranks(ranks, "a_b", ["1", "2"]) == ["2", "1"]
    with pytest.raises(InputError, match="candidate 3 of step a_b"):
        by_ranks(ranks, "a_b", ["1", "3"])
    with pytest.raises(InputError, match="lack step c_d"):
        by_ranks(ranks, "c_d", [])
