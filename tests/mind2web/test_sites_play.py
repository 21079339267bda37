"""The browser as an environment: letters, what was typed, refusals, the end, and what a state may hold."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import simia_gym  # noqa: F401
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.envs.mind2web import screen
from simia_gym.envs.mind2web.browser.themes import THEMES
from simia_gym.envs.mind2web.sites.loading import sites
from simia_gym.envs.mind2web.sites.rows import account_rows, catalogue_rows
from simia_gym.envs.mind2web.state import mistakes, schema_text, tables_of
from simia_gym.envs.mind2web.world import SiteWorld
from simia_gym.errors import InputError
from simia_gym.state import State
from simia_gym.types import ToolCall, Transition

LIBRARY = sites()["library"]
WORLD = SiteWorld()


def begun(theme: str = "plain", request: str = "Look around.", **session: Any) -> State:
    catalogue = catalogue_rows(LIBRARY)
    tables = {**tables_of([LIBRARY]), "account": account_rows(LIBRARY, random.Random(1), catalogue)}
    row = {**screen.new_session(LIBRARY, request, theme, 7), **session}
    return State.from_tables({**tables, "session": {"main": row}})


def call(state: State, name: str, **arguments: str) -> Transition:
    return WORLD.call(state, ToolCall(name, arguments))


def did(state: State, name: str, **arguments: str) -> State:
    after = call(state, name, **arguments)
    assert after.outcome == "ok", after
    assert after.state is not None
    changed: State = after.state
    return changed


def letter(state: State, line: str, at: int = 0) -> str:
    """The letter of an element by its role and name, as past actions write them."""
    session = screen.session_of(state)
    opened = screen.open_page(state, session)
    nodes = screen.choices_of(opened, session).nodes
    return [one for one, node in nodes.items() if opened.line(node) == line][at]


def test_a_visit_types_chooses_sends_and_follows() -> None:
    state = begun()
    state = did(state, "type", choice=letter(state, "[textbox]  Title"), value="the")
    state = did(state, "select", choice=letter(state, "[combobox]  Genre"), value="Crime")
    shown = screen.render(state)
    assert " title the />" in shown
    assert "<option selected> Crime </option>" in shown
    assert "[textbox]  Title -> TYPE: the\n[combobox]  Genre -> SELECT: Crime\n" in shown
    state = did(state, "click", choice=letter(state, "[button]  Find books"))
    assert state.at("/session/main/path") == "/results"
    assert state.at("/session/main/typed") == {}
    state = did(state, "click", choice=letter(state, "[link]  Details"))
    assert "<h1> Book: " in screen.render(state)


def test_a_form_changes_rows_of_the_account_alone() -> None:
    before = begun()
    state = did(before, "click", choice=letter(before, "[link]  My reservations"))
    state = did(state, "click", choice=letter(state, "[link]  Cancel"))
    after = call(state, "click", choice=letter(state, "[button]  Cancel the reservation"))
    assert after.state is not None
    assert "The reservation is cancelled." in after.observation
    gone = [key for table, key in after.state.touched_since(before) if table == "account"]
    assert len(gone) == 1
    assert not after.state.has("account", gone[0])
    assert {table for table, _ in after.state.touched_since(before)} == {"account", "session"}


def test_a_refusal_of_the_browser_is_said_on_the_page_and_changes_nothing_else() -> None:
    state = begun()
    wrong = call(state, "type", choice=letter(state, "[spinbutton]  Published from"), value="soon")
    assert wrong.outcome == "ok"
    assert "The browser refuses: the field takes only a number." in wrong.observation
    assert [op["path"] for op in wrong.ops or ()] == ["/session/main/notice"]
    assert wrong.state is not None
    state = did(wrong.state, "type", choice=letter(state, "[textbox]  Title"), value="the")
    assert "refuses" not in screen.render(state)


@pytest.mark.parametrize("choice", ["A", "Z", "", "BB", "7"])
def test_a_letter_that_is_not_there_is_an_error_that_shows_the_page(choice: str) -> None:
    state = begun()
    answer = call(state, "click", choice=choice)
    assert (answer.outcome, answer.error_code) == ("error", "no_choice")
    assert answer.observation == screen.render(state)
    assert call(state, "click", choice=" b ").outcome == "ok"


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_more_shows_every_element_once_and_begins_again(theme: Any) -> None:
    state = begun(theme.name, choices=5, path="/reservations")
    whole = screen.open_page(state, screen.session_of(state)).actable
    seen: list[int] = []
    while True:
        session = screen.session_of(state)
        found = screen.choices_of(screen.open_page(state, session), session).nodes
        seen += [node.number for node in found.values()]
        assert list(found) == list("BCDEF")[: len(found)]
        state = did(state, "more")
        if state.at("/session/main/first") == 0:
            break
    assert seen == [node.number for node in whole]
    assert len(seen) > 25


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize("page", ["whole", "published"])
def test_letters_and_page_do_not_depend_on_what_is_wanted(theme: Any, page: str) -> None:
    one, other = (
        begun(theme.name, request, page=page, choices=5, path="/results", query=[["title", "the"]])
        for request in ("Reserve The Silent Harbour.", "Put The Golden River on my list.")
    )
    for _ in range(6):
        texts = [screen.render(state) for state in (one, other)]
        assert texts[0] != texts[1]
        bare = [
            text.replace(state.at("/session/main/request"), "") for text, state in zip(texts, (one, other), strict=True)
        ]
        assert bare[0] == bare[1]
        one, other = did(one, "more"), did(other, "more")


def test_the_published_page_is_pruned_around_the_choices() -> None:
    whole, published = (
        screen.render(begun(path="/reservations", page=page, choices=5)) for page in ("whole", "published")
    )
    assert whole.count("<tr>") == 15
    assert published.count("<tr>") < whole.count("<tr>")
    assert "My reservations" in whole.split("Above is")[0]
    lines = [text.split("None of the above\n")[1] for text in (whole, published)]
    assert lines[0].replace(" ", "").lower() == lines[1].replace(" ", "").lower()


def test_the_end_takes_the_answer() -> None:
    state = begun(asks=True)
    over = call(state, "done", answer="12-345")
    assert over.end == "terminal_tool"
    assert over.state is not None
    assert over.state.at("/session/main/answer") == "12-345"


@pytest.mark.parametrize(("name", "value"), [("choices", 7), ("choices", True), ("page", "half")])
def test_an_option_that_does_not_exist_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=name):
        SiteWorld({name: value})


def test_options_hold_from_the_first_page() -> None:
    env = gym.make("simia/mind2web-v0", options={"choices": 5, "page": "published"})
    first, _ = env.reset(seed=1)
    assert "\nF. " in first
    assert "\nG. " not in first
    env.close()


def test_the_environment_plays() -> None:
    env = gym.make("simia/mind2web-v0", grammar="tools")
    env.reset(seed=3)
    second, _, terminated, _, info = env.step('<tool_call>{"name": "click", "arguments": {"choice": "C"}}</tool_call>')
    assert not terminated
    assert "Previous actions:\n[" in second
    shown = info["messages"][-1]["content"]
    assert shown == second
    *_, terminated, _, _ = env.step('<tool_call>{"name": "done", "arguments": {}}</tool_call>')
    assert terminated
    env.close()


def test_the_schema_is_that_of_the_files() -> None:
    path = Path(domain_path("simia/mind2web-v0")) / "state.schema.json"
    assert path.read_text(encoding="utf-8") == schema_text(), "python -m simia_gym.envs.build mind2web"


@pytest.mark.parametrize(
    "task", load_domain(domain_path("simia/mind2web-v0")).tasks["train"][:4], ids=lambda task: task.id
)
def test_states_of_tasks_fit_the_schema(task: Any) -> None:
    domain = load_domain(domain_path("simia/mind2web-v0"))
    assert domain.state_schema is not None
    assert list(domain.state_schema.problems(domain.begun(task))) == []


@pytest.mark.parametrize(
    ("key", "row", "says"),
    [
        ("library:books:x", {"book": "x"}, "no site has such a table"),
        ("bakery:books:x", {"book": "x"}, "there is no site 'bakery'"),
        ("library:reading_list:x", {"book": "x"}, "its columns are book, note"),
        ("library:reading_list:x", {"book": "x", "note": "Again"}, "'x' is no key of books"),
        ("library:reading_list:x", {"book": "x", "note": "Never"}, "'Never' is no value of note"),
        ("library:reading_list:y", {"book": "x", "note": "Again"}, "its content makes the key 'x'"),
    ],
)
def test_a_row_that_does_not_fit_its_site_is_named(key: str, row: dict[str, str], says: str) -> None:
    state = begun().apply([{"op": "add", "path": f"/account/{key}", "value": row}])
    assert any(says in one for one in mistakes(state, [("account", key)]))
    whole = begun()
    rows = [(table, one) for table in ("catalogue", "account") for one in whole.keys(table)]
    assert list(mistakes(whole, rows)) == []


def test_the_letters_stay_known_after_a_reply_that_cannot_be_read() -> None:
    env: Any = gym.make("simia/mind2web-v0")
    _, start = env.reset(seed=0)
    _, _, _, _, info = env.step("I think so.")
    assert info["error_code"] == "no_answer"
    assert dict(info["world"]) == dict(start["world"])
    assert info["world"]["letters"]
