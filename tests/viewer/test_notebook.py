"""What results show of themselves in a notebook."""

from __future__ import annotations

import asyncio
import importlib.util
from html.parser import HTMLParser
from pathlib import Path

import gymnasium as gym
import pytest
from rich.console import Console

import simia_gym
from simia_gym import EnvConfig, SimiaEnv, compare, load_suite, read_records
from simia_gym.evaluation.report import make_report
from simia_gym.evaluation.trials import read_series
from simia_gym.types import CriterionResult, Verdict

HOSTILE = "<script>alert(1)</script></pre><img src=x onerror=alert(1)>"


class Frame(HTMLParser):
    """Reads what a notebook is given: one frame, the page in it, and the texts of that page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.named: dict[str, str | None] = {}
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "iframe" or dict(attrs).get("http-equiv"):
            self.named |= dict(attrs)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def page_of(html: str) -> Frame:
    """The page in the frame, which no script can run in."""
    frame = Frame(html)
    assert (frame.tags, frame.named["sandbox"]) == (["iframe"], None)
    assert frame.text == ""
    page = Frame(frame.named["srcdoc"] or "")
    assert not {"script", "img", "link", "object"} & set(page.tags)
    assert "default-src 'none'" in (page.named["content"] or "")
    return page


def begun(env_id: str) -> SimiaEnv:
    env = gym.make(env_id, max_turns=2)
    assert isinstance(env.unwrapped, SimiaEnv)
    return env.unwrapped


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra ``view`` is not installed."""
    found = importlib.util.find_spec
    without = lambda name, package=None: None if name == "jinja2" else found(name, package)  # noqa: E731
    monkeypatch.setattr("simia_gym.viewer.pages.find_spec", without)


@pytest.mark.parametrize("env_id", simia_gym.env_ids())
def test_an_environment_shows_its_episode(env_id: str) -> None:
    env = begun(env_id)
    assert "reset() begins an episode" in env._repr_html_()
    observation, _ = env.reset(seed=1)
    env.step(HOSTILE)
    page = page_of(env._repr_html_())
    assert observation.strip() in page.text
    assert HOSTILE in page.text
    assert "what only the user knows" not in page.text
    assert "Verdict" not in page.text
    env.step(HOSTILE)
    page = page_of(env._repr_html_())
    assert "Verdict" in page.text
    assert "what only the user knows" in page.text
    env.close()


@pytest.mark.parametrize("env_id", simia_gym.env_ids())
def test_a_played_episode_and_a_record_show_themselves(env_id: str, tmp_path: Path) -> None:
    suite = load_suite(EnvConfig(env_id, split="test"))
    played = asyncio.run(simia_gym.play_episode(suite, suite.tasks[0], "expert"))
    simia_gym.evaluate(env_id, "expert", out=tmp_path / "r.jsonl", split="test", limit=1)
    (record,) = read_records(tmp_path / "r.jsonl")
    for shown in (played, record):
        page = page_of(shown._repr_html_())
        assert suite.tasks[0].id in page.text
        assert "Verdict" in page.text
    said = page_of(played._repr_html_()).text
    for message in played.messages:
        assert message["content"] in said
        for call in message.get("tool_calls", ()):
            assert call["function"]["name"] in said
    called = page_of(record._repr_html_()).text
    assert all(event["call"]["name"] in called for event in record.events if event.get("call"))


def test_an_episode_that_could_not_begin_shows_its_fault(tmp_path: Path) -> None:
    code = (
        "class Broken:\n    def __init__(self): raise RuntimeError('no model here')\n    def act(self, m): return ''\n"
    )
    (tmp_path / "broken_policy.py").write_text(code, encoding="utf-8")
    record = tmp_path / "r.jsonl"
    simia_gym.evaluate("simia/webshop-v0", f"{tmp_path / 'broken_policy.py'}:Broken", out=record, limit=1)
    (found,) = read_records(record)
    assert "no model here" in page_of(found._repr_html_()).text


@pytest.mark.usefixtures("bare")
def test_without_the_extra_it_is_a_plain_transcript(tmp_path: Path) -> None:
    env = begun("simia/retail-v0")
    env.reset(seed=1)
    env.step(HOSTILE)
    running = env._repr_html_()
    env.step(HOSTILE)
    suite = load_suite(EnvConfig("simia/retail-v0", split="test"))
    played = asyncio.run(simia_gym.play_episode(suite, suite.tasks[0], "expert"))
    simia_gym.evaluate("simia/retail-v0", "expert", out=tmp_path / "r.jsonl", split="test", limit=1)
    (record,) = read_records(tmp_path / "r.jsonl")
    for html in (running, env._repr_html_(), played._repr_html_(), record._repr_html_()):
        shown = Frame(html)
        assert set(shown.tags) <= {"pre", "span"}
        assert "[user]" in shown.text
    assert HOSTILE in Frame(running).text
    assert "reward" not in Frame(running).text
    assert "reward 1" in Frame(played._repr_html_()).text


def test_a_verdict_shows_itself_and_escapes_its_texts() -> None:
    item = CriterionResult("goal", "goal", 1.0, True, 0.0, False, HOSTILE, ())
    html = Verdict(0.0, True, False, 0.0, "rubric:strict", (item,))._repr_html_()
    assert "reward 0" in html
    assert "goal" in html
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_reports_and_comparisons_show_themselves(record: Path) -> None:
    series, _ = read_series([record])
    for shown in (make_report(series), compare(record, record)):
        html = shown._repr_html_()
        assert html.startswith("<pre")
        assert "8" in html


def test_in_jupyter_results_are_the_same_and_nothing_else_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kernel is not installed here: rich takes this shell for one by its name."""
    for name in "ab":
        simia_gym.evaluate("simia/webshop-v0", "expert", out=tmp_path / f"{name}.jsonl", limit=3)
    (scored, _) = read_series([tmp_path / "a.jsonl"])
    results = make_report(scored), compare(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    shown = [(str(one), one._repr_html_()) for one in results]
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setattr("builtins.get_ipython", lambda: shell, raising=False)
    monkeypatch.setattr("rich.jupyter.display", lambda *what: pytest.fail("rich shows it by itself"))
    assert Console().is_jupyter
    assert [(str(one), one._repr_html_()) for one in results] == shown
    assert all(text for pair in shown for text in pair)
