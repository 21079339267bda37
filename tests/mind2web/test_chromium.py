"""The table of pages, held against a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from simia_gym.envs.mind2web.browser.themes import THEMES, draw
from simia_gym.envs.mind2web.browser.tree import document

from .chromium import asked, browser, installed, show
from .snippets import AT, NAMES, table, tree
from .test_themes import BLOCKS

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _installed() -> None:
    installed()


def test_chromium_reads_and_asks_for_the_same(tmp_path: Path) -> None:
    """Chromium reads the tree that was written, and sends what the small browser sends, or nothing where it refuses."""
    differences = []
    with browser(tmp_path / "profile") as (chromium, site):
        for case in table():
            request = case["want"].startswith(("GET ", "POST "))
            body = tree(case["page"])
            read, seen = asked(
                chromium, site, document(case["name"], body), case.get("at", AT), case["do"], 10 if request else 0.3
            )
            if read != body:
                differences.append((case["name"], str(body), str(read)))
            same = seen == case["want"] if request else seen in {"refused", "nothing"}
            if not same:
                differences.append((case["name"], case["want"], seen))
    assert not differences


def test_chromium_calls_elements_the_same(tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as (chromium, site):
        seen = []
        for html, _ in NAMES:
            show(chromium, site, document("Names", tree(html)), AT)
            seen.append((html, chromium.called("x")))
    assert seen == NAMES


def test_chromium_reads_the_themes_as_they_were_drawn(tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as (chromium, site):
        for theme in THEMES:
            body = draw(BLOCKS, theme)
            show(chromium, site, document(theme.name, body), AT)
            assert chromium.tree() == body
