"""The render mode that opens an episode's page when it ends."""

from __future__ import annotations

import importlib.util
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import gymnasium as gym
import pytest

import simia_gym  # noqa: F401 - registers the environments
from simia_gym.errors import InputError

SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


class Browser(webbrowser.BaseBrowser):
    """Notes what it is to open."""

    opened: list[str]

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
        self.opened.append(url)
        return True


@pytest.fixture(autouse=True)
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in SCREENS:
        monkeypatch.delenv(name, raising=False)


def played(env_id: str = "simia/mind2web-v0") -> str:
    env = gym.make(env_id, render_mode="human", max_turns=2)
    env.reset(seed=3, options={"task": "mind2web-test-001"})
    for _ in range(2):
        assert env.render() is None
        env.step("Answer: B.\nAction: CLICK")
    name = str(env.get_wrapper_attr("episode").task.id)
    env.close()
    return name


def test_it_says_where_the_page_lies(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    task = played()
    (page,) = tmp_path.rglob("*.html")
    assert f"the page of the episode is {page}" in capfd.readouterr().err
    html = page.read_text(encoding="utf-8")
    assert html.count("<article") == 1
    assert task in html
    assert "turn_limit" in html
    assert "iframe sandbox" in html  # the domain's own view of the state
    assert "All episodes" not in html


def test_it_opens_in_the_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser("noting")
    browser.opened = []
    webbrowser.register("noting", None, browser, preferred=True)
    monkeypatch.setenv("DISPLAY", ":0")
    played()
    played()
    assert [Path(unquote(urlsplit(url).path)) for url in browser.opened] == sorted(
        tmp_path.rglob("*.html"), key=lambda page: page.stat().st_mtime_ns
    )
    assert len(browser.opened) == 2


def test_it_needs_the_extra_view(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    without = lambda name, package=None: None if name == "jinja2" else found(name, package)  # noqa: E731
    monkeypatch.setattr("simia_gym.viewer.pages.find_spec", without)
    with pytest.raises(InputError, match=r"render_mode='human': jinja2 is not installed.*simia-gym\[view\]"):
        gym.make("simia/webshop-v0", render_mode="human")
