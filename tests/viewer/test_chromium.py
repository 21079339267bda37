"""Pages of records in a real browser."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simia_gym import read_records
from simia_gym.cli.app import run

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


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_phone_needs_no_scrolling_to_the_side(chromium: Chromium, record: Path, dark: bool) -> None:
    out = record.with_name("phone.html")
    assert run(["view", str(record), "--out", str(out)]) == 0
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    chromium.send("Emulation.setDeviceMetricsOverride", **size)
    chromium.send("Emulation.setEmulatedMedia", features=scheme)
    try:
        for at in ("", "#e0", "#e3"):
            opened(chromium, f"{out.as_uri()}{at}")
            assert value(chromium, "document.documentElement.scrollWidth") <= 390
        ground = value(chromium, "getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") is not dark
    finally:
        chromium.send("Emulation.clearDeviceMetricsOverride")
        chromium.send("Emulation.setEmulatedMedia", features=[])
