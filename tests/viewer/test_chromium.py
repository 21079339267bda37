"""Pages of records in a real browser."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simia_gym import read_records
from simia_gym.cli.app import run
from simia_gym.viewer.pages import MOST_ROWS
from simia_gym.viewer.rows import overview_of
from simia_gym.viewer.serving import PageServer

from ..mind2web.chromium import Chromium, installed
from .conftest import HTML, hostile_policy, play

pytestmark = pytest.mark.slow
COMPLAINTS = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    installed()
    browser = Chromium(tmp_path_factory.mktemp("profile"))
    try:
        for domain in ("Log", "Runtime", "Network"):
            browser.send(f"{domain}.enable")
        yield browser
    finally:
        browser.close()


def value(browser: Chromium, expression: str) -> Any:
    found = browser.send(
        "Runtime.evaluate", expression=f"Promise.resolve({expression}).then(JSON.stringify)", awaitPromise=True
    )
    return json.loads(found["result"].get("value", "null"))


def settled(browser: Chromium) -> None:
    """Two frames later, and after what was being loaded."""
    value(
        browser, "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))"
    )


def press(browser: Chromium, *keys: str) -> None:
    for key in keys:
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        code = {"windowsVirtualKeyCode": {"Enter": 13, "Escape": 27, "Tab": 9}.get(key, ord(key[0].upper()))}
        browser.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **code)
        browser.send("Input.dispatchKeyEvent", type="keyUp", key=key, **code)
        settled(browser)


def opened(browser: Chromium, address: str) -> None:
    browser.heard.clear()
    browser.open("about:blank")
    browser.heard.clear()
    browser.open(address)
    settled(browser)


def assert_calm(browser: Chromium, address: str) -> None:
    """Nothing was loaded but the page itself, and the console is empty."""
    asked = [one["params"]["request"]["url"] for one in browser.heard if one["method"] == "Network.requestWillBeSent"]
    assert [one for one in asked if one.partition("#")[0] != address and one != "about:srcdoc"] == []
    assert [one for one in browser.heard if one["method"] in COMPLAINTS] == []


def test_no_text_of_a_record_runs_or_loads_anything(chromium: Chromium, tmp_path: Path) -> None:
    sys.path.insert(0, str(tmp_path))
    try:
        policy = hostile_policy(tmp_path)
        record = play(tmp_path / "hostile.jsonl", "--policy", policy, "--episodes", "24", "--concurrency", "1")
    finally:
        sys.path.remove(str(tmp_path))
    said = "".join(event["text"] for one in read_records(record) for event in one.events if event["type"] == "action")
    assert all(text in said or json.dumps(text)[1:-1] in said for text in HTML)
    out = tmp_path / "hostile.html"
    assert run(["view", str(record), "--out", str(out)]) == 0
    address = out.as_uri()
    opened(chromium, address)
    for number in range(24):
        value(
            chromium,
            f"(location.hash = '#e{number}', document.querySelectorAll('details').forEach(one => one.open = true))",
        )
        settled(chromium)
    assert value(chromium, "document.title") == "hostile.jsonl"
    assert value(chromium, "document.querySelectorAll('script, link, img, base, object, embed').length") == 1
    shown = value(chromium, "[...document.querySelectorAll('.step pre.text')].map(one => one.textContent).join('')")
    assert HTML[0] in shown
    assert_calm(chromium, address)


def test_an_episode_in_a_notebook_runs_and_loads_nothing(chromium: Chromium, tmp_path: Path) -> None:
    sys.path.insert(0, str(tmp_path))
    try:
        words = ["--policy", hostile_policy(tmp_path), "--episodes", "6", "--concurrency", "1"]
        record = play(tmp_path / "hostile.jsonl", *words)
    finally:
        sys.path.remove(str(tmp_path))
    out = tmp_path / "notebook.html"
    shown = "".join(one._repr_html_() for one in read_records(record))
    out.write_text(f"<!DOCTYPE html><meta charset=utf-8><title>notebook</title>{shown}", encoding="utf-8")
    opened(chromium, out.as_uri())
    assert value(chromium, "[document.title, frames.length]") == ["notebook", 6]
    assert_calm(chromium, out.as_uri())


def test_the_whole_page_can_be_used_by_keys(chromium: Chromium, record: Path) -> None:
    out = record.with_name("keys.html")
    assert run(["view", str(record), "--out", str(out)]) == 0
    address = out.as_uri()
    opened(chromium, address)
    tasks = [one.task for one in read_records(record)]
    press(chromium, "j", "j", "Enter")
    assert value(chromium, "document.querySelector('article:not([hidden]) h2').textContent").startswith(tasks[1])
    assert value(chromium, "document.querySelector('#list').hidden")
    press(chromium, "n")
    assert value(chromium, "location.hash") == "#e2"
    press(chromium, "j", "j")
    assert value(chromium, "document.activeElement.closest('#e2') !== null")
    press(chromium, "o")
    assert not value(chromium, "[...document.querySelectorAll('#e2 details')].some(one => !one.open)")
    press(chromium, "Escape")
    assert not value(chromium, "document.querySelector('#list').hidden")
    assert value(chromium, "document.activeElement.textContent").startswith(tasks[2])
    press(chromium, "/", *tasks[3][-3:])
    shown = "[...document.querySelectorAll('#rows tbody tr:not([hidden])')].map(one => one.cells[1].textContent)"
    assert value(chromium, shown) == [task for task in tasks if task.endswith(tasks[3][-3:])]
    assert_calm(chromium, address)


@pytest.fixture(scope="module")
def many(record: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """A record of 10,000 episodes, copies of a few, as `--serve` shows it."""
    path = tmp_path_factory.mktemp("many") / "many.jsonl"
    few = sorted(record.read_bytes().splitlines(keepends=True), key=len)[:4]
    with path.open("wb") as file:
        for _ in range(10_000 // len(few)):
            file.writelines(few)
    shutil.copy(record.with_suffix(".blobs"), path.with_suffix(".blobs"))
    with PageServer(overview_of([path]), "many", lambda record: None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def follow(browser: Chromium, key: str) -> None:
    """Press a key that leads to another page."""
    browser._events.clear()
    code = {"windowsVirtualKeyCode": 13, "text": "\r"} if key == "Enter" else {"text": key}
    browser.send("Input.dispatchKeyEvent", type="keyDown", key=key, **code)
    browser.send("Input.dispatchKeyEvent", type="keyUp", key=key)
    browser.loaded()
    settled(browser)


def test_ten_thousand_rows_are_used_by_keys(chromium: Chromium, many: PageServer) -> None:
    opened(chromium, many.address)
    every = "[...document.querySelectorAll('#rows tbody tr')]"
    shown = "[...document.querySelectorAll('#rows tbody tr:not([hidden])')]"
    counted = "document.querySelector('#count').textContent"
    assert value(chromium, f"{every}.length") == 10_000
    assert value(chromium, counted) == f"{MOST_ROWS} of 10000 shown"
    names = value(chromium, "[...document.querySelectorAll('#rows th')].map(one => one.textContent)")
    turns = names.index("turns")
    value(chromium, f"document.querySelectorAll('#rows th button')[{turns}].click()")
    found = value(chromium, f"{shown}.map(one => Number(one.cells[{turns}].textContent))")
    assert found == sorted(value(chromium, f"{every}.map(one => Number(one.cells[{turns}].textContent))"))[:MOST_ROWS]
    value(chromium, "(document.querySelector('#more').click(), 0)")
    assert value(chromium, f"{shown}.length") == 2 * MOST_ROWS
    task = value(chromium, f"{shown}[0].cells[1].textContent")
    press(chromium, "/", *task[-3:])
    press(chromium, "Escape")
    count = value(chromium, counted)
    assert count.startswith(f"{MOST_ROWS} of ")
    assert count != f"{MOST_ROWS} of 10000 shown"
    press(chromium, "j", "j", "j")
    link = value(chromium, "document.activeElement.id")
    follow(chromium, "Enter")
    assert value(chromium, "location.pathname") == f"/episode/{link[1:]}"
    assert value(chromium, "document.querySelector('article h2').textContent").startswith(task)
    follow(chromium, "u")
    assert value(chromium, "document.activeElement.id") == link
    assert value(chromium, counted) == count
    asked = [one["params"]["request"]["url"] for one in chromium.heard if one["method"] == "Network.requestWillBeSent"]
    assert all(one.startswith(many.address) for one in asked)
    assert [one for one in chromium.heard if one["method"] in COMPLAINTS] == []


@pytest.fixture(scope="module")
def other(record: Path) -> Path:
    """The same tasks, played by an expert that makes no mistakes."""
    return play(record.with_name("other.jsonl"), "--policy", "expert", "--episodes", "8")


def test_a_comparison_is_used_by_keys(chromium: Chromium, record: Path, other: Path) -> None:
    out = record.with_name("comparison.html")
    assert run(["compare", str(other), str(record), "--html", str(out)]) == 0
    opened(chromium, out.as_uri())
    value(chromium, "(document.querySelector('select[name=rewards]').value = 'flipped', 0)")
    value(chromium, "document.querySelector('#filter').dispatchEvent(new Event('input'))")
    press(chromium, "j", "Enter")
    pair = "document.querySelector('article.pair:not([hidden])')"
    assert value(chromium, f"{pair}.querySelectorAll('.diverges').length") >= 1
    first = value(chromium, f"{pair}.id")
    value(chromium, f"{pair}.querySelector('p a').click()")
    settled(chromium)
    assert value(chromium, "location.hash") == f"#{first}d"
    press(chromium, "n")
    assert value(chromium, f"{pair}.id") == f"p{int(first[1:]) + 1}"
    press(chromium, "p", "u")
    assert not value(chromium, "document.querySelector('#list').hidden")
    assert value(chromium, "document.activeElement.getAttribute('href')") == f"#{first}"
    assert_calm(chromium, out.as_uri())


def test_evidence_leads_to_its_event(chromium: Chromium, record: Path) -> None:
    out = record.with_name("evidence.html")
    assert run(["view", str(record), "--out", str(out)]) == 0
    number, piece = next(
        (number, piece)
        for number, one in enumerate(read_records(record))
        for item in one.verdict["criteria"]
        for piece in item["evidence"]
    )
    opened(chromium, f"{out.as_uri()}#e{number}")
    value(chromium, f"document.querySelector('#e{number} .verdict blockquote a').click()")
    settled(chromium)
    assert value(chromium, "location.hash") == f"#e{number}.{piece['event']}"
    assert value(chromium, "document.activeElement.id") == f"e{number}.{piece['event']}"


@pytest.mark.parametrize("column", ["reward", "turns", "task"])
def test_columns_sort_both_ways(chromium: Chromium, record: Path, column: str) -> None:
    out = record.with_name("sort.html")
    assert run(["view", str(record), "--out", str(out)]) == 0
    opened(chromium, out.as_uri())
    wanted: list[Any] = [getattr(one, column) for one in read_records(record)]
    names = value(chromium, "[...document.querySelectorAll('#rows th')].map(one => one.textContent)")
    read = f"[...document.querySelectorAll('#rows tbody tr')].map(one => one.cells[{names.index(column)}].textContent)"
    for reverse in (False, True):
        value(chromium, f"document.querySelectorAll('#rows th button')[{names.index(column)}].click()")
        found = [float(one) if column != "task" else one for one in value(chromium, read)]
        assert found == sorted(wanted, reverse=reverse)


@pytest.mark.parametrize(
    ("words", "dark"),
    [
        (lambda one, two: ["view", str(one), "--out"], False),
        (lambda one, two: ["evaluate", str(one), str(two), "--html"], True),
        (lambda one, two: ["compare", str(two), str(one), "--html"], True),
    ],
    ids=["list", "scores", "comparison"],
)
def test_a_phone_needs_no_scrolling_to_the_side(
    chromium: Chromium, record: Path, other: Path, words: Callable[[Path, Path], list[str]], dark: bool
) -> None:
    out = record.with_name("phone.html")
    assert run([*words(record, other), str(out)]) in (0, 1)
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    chromium.send("Emulation.setDeviceMetricsOverride", **size)
    chromium.send("Emulation.setEmulatedMedia", features=scheme)
    try:
        for at in ("", "#e0", "#e3", "#p0"):
            opened(chromium, f"{out.as_uri()}{at}")
            assert value(chromium, "document.documentElement.scrollWidth") <= 390
        ground = value(chromium, "getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") is not dark
    finally:
        chromium.send("Emulation.clearDeviceMetricsOverride")
        chromium.send("Emulation.setEmulatedMedia", features=[])
