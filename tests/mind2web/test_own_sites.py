"""A ninth site from its own folder, without Python: it loads by its path, plays, and its mistakes are named."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.domain.tasks import gold_calls
from simia_gym.envs.mind2web.browser.themes import THEMES, Theme
from simia_gym.envs.mind2web.sites.checking import mistakes_on_pages
from simia_gym.envs.mind2web.sites.loading import add_site
from simia_gym.errors import InputError
from simia_gym.evaluation.slice_check import call_problems
from simia_gym.rollout.play import play
from simia_gym.state import State
from tests.mind2web import test_sites, test_sites_pages

FOLDER = Path(__file__).with_name("own")
BAKERY = FOLDER / "bakery.yaml"


def loaded(path: Path) -> Domain:
    return load_domain(domain_path("simia/mind2web-v0"), data=path)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_its_pages_and_forms_do_what_those_of_the_others_do(theme: Theme) -> None:
    site = add_site(BAKERY)
    test_sites_pages.test_every_page_is_reached_and_lies_in_the_declared_part_of_html(site, theme)
    test_sites_pages.test_what_a_page_offers_is_told_apart_by_its_words(site, theme)
    for name in ("order", "cancel"):
        test_sites_pages.test_a_form_that_is_undone_leaves_no_trace(site, name)
        test_sites_pages.test_a_form_sent_twice_or_with_what_does_not_fit_changes_nothing_more(site, name)
    test_sites.test_some_rows_of_an_account_are_nearly_alike(site)


@pytest.mark.parametrize("path", [FOLDER, BAKERY], ids=["folder", "file"])
def test_tasks_are_drawn_from_it_and_their_gold_actions_lead_to_their_goals(path: Path) -> None:
    domain = loaded(path)
    assert {key.split(":")[1] for key in domain.base.keys("catalogue")} == {"breads"}
    assert domain.state_schema is not None
    assert domain.world is not None
    kinds = set()
    for task in domain.tasks["test"]:
        state = domain.begun(task)
        assert list(domain.state_schema.problems(state)) == []
        for call in gold_calls(task):
            whole, problems, _ = call_problems(domain, state, call)
            assert problems == []
            assert whole.state is not None
            state = whole.state
        state.apply([op for op in task.goal or () if op["value"] is not None])
        kinds.add(task.kind)
    assert kinds == {"search and form", "cancel", "question"}


@pytest.mark.parametrize("grammar", ["choice", "tools"])
def test_the_expert_does_its_tasks(grammar: str) -> None:
    env = "simia/mind2web-v0"
    suite = load_suite(EnvConfig(env, data=str(FOLDER), split="test", grammar=grammar, simulator="world", generated=3))
    policy, episode = suite.load_policy("expert")(), suite.episode()
    assert len(suite.tasks) == len(suite.domain.tasks["test"]) + 3
    assert suite.task(suite.tasks[-1].id) == suite.tasks[-1]
    for task in suite.tasks:
        run_sync(play(episode, task, seed=0, policy=policy, env=env), inline=episode.inline)
        assert episode.verdict is not None
        assert episode.verdict.reward == 1, task.id


def test_it_is_an_environment() -> None:
    env = gym.make("simia/mind2web-v0", data=str(FOLDER), split="test")
    first, _ = env.reset(seed=2)
    assert "Above is the open page of Corner Bakery." in first
    env.close()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("to: breads, button", "to: bread, button", "bakery.yaml:36: pages.shelf.form.to: there is no page 'bread'"),
        (
            "  breads:\n    path",
            "  help: {path: /help, heading: Help}\n  breads:\n    path",
            "pages.help: no link and no form",
        ),
        (
            "kind: number, limits: {step: any}",
            'limits: {pattern: "a(?=b)"}',
            "browser and Python may read it differently",
        ),
    ],
)
@pytest.mark.slow
def test_a_mistake_is_refused_with_its_place(tmp_path: Path, old: str, new: str, says: str) -> None:
    given = BAKERY.read_text(encoding="utf-8")
    assert old in given
    path = tmp_path / "bakery.yaml"
    path.write_text(given.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        loaded(path)
    problems = getattr(caught.value, "problems", ()) or (caught.value,)
    assert any(says in str(one) for one in problems), [str(one) for one in problems]


def test_a_changed_file_is_another_site(tmp_path: Path) -> None:
    path = tmp_path / "bakery.yaml"
    path.write_text(BAKERY.read_text(encoding="utf-8").replace("Corner Bakery", "Corner Bread"), encoding="utf-8")
    assert add_site(path).name != add_site(BAKERY).name
    assert loaded(path).hash != loaded(BAKERY).hash
    assert list(mistakes_on_pages(add_site(path), "x")) == []
    assert isinstance(loaded(path).base, State)
