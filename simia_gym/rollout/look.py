"""Opens an episode that has ended as a page, the one of `simia view`."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from simia_gym.assembly.suite import Suite
from simia_gym.common.formatting import slug
from simia_gym.common.notebook import as_html
from simia_gym.common.output import tell
from simia_gym.episode import Episode
from simia_gym.record.records import Record
from simia_gym.rollout.jobs import Plan, make_job, plain_config
from simia_gym.rollout.pool import make_record
from simia_gym.viewer.notebook import html_of_record
from simia_gym.viewer.pages import episode_page, write_page
from simia_gym.viewer.panels import panels_of_domain

_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""Variables of which one is set where a browser can show a page, on systems that do not always have a screen."""


def look_at(suite: Suite, episode: Episode) -> Path:
    """Write the page of an episode that has ended to a new temporary folder, and open it in a browser.

    Without a display or a browser, say where it lies.

    Returns:
        The page.
    """
    record = _record_of(suite, episode)
    page = Path(tempfile.mkdtemp(prefix="simia-")) / f"{slug(record.task)}.html"
    write_page(page, episode_page(record, panels_of_domain(suite.domain)))
    if not _opened(page):
        tell(f"there is no browser to open it in; the page of the episode is {page}")
    return page


def html_of_episode(suite: Suite, episode: Episode) -> str:
    """An episode in a notebook, whether it has ended or not."""
    if episode.task is None:
        return as_html([Text(f"{suite.config.env}: reset() begins an episode")])
    return html_of_record(_record_of(suite, episode), panels_of_domain(suite.domain))


def _record_of(suite: Suite, episode: Episode) -> Record:
    """The record of an episode; one that goes on has no verdict."""
    assert episode.task is not None
    plan = Plan(
        config=plain_config(suite), domain_hash=suite.domain.hash, policy="", seed=episode.seed, group=1, episodes=None
    )
    job = replace(make_job(plan, episode.task, 0), seed=episode.seed)
    if episode.verdict is not None:
        return make_record(plan, job, episode)
    task, ledger = episode.task, episode.ledger
    return Record(
        line=0, key="", run={}, config=plan.config_json, domain_hash=plan.domain_hash, task=task.id, kind=task.kind,
        split=task.split, seed=episode.seed, group=episode.group, member=0, policy="", reward=None, valid=False,
        success=False, score=None, turns=episode.turn, ended=episode.ended or "", verdict={}, fault=None,
        events=[*ledger.events], head="", blobs=ledger.blobs,
    )  # fmt: skip


def _opened(page: Path) -> bool:
    if sys.platform not in ("win32", "darwin") and not any(map(os.environ.get, _SCREENS)):
        return False
    try:
        return webbrowser.open(page.as_uri())
    except webbrowser.Error:
        return False
