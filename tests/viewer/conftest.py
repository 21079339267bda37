"""Records to look at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from simia_gym.cli.app import run

from ..attacks.book import BOOK

HTML = (
    "<script>document.title='pwned'</script>",
    "</script><script>document.title='pwned'</script>",
    "</pre></li></ol></article><img src=x onerror=\"document.title='pwned'\">",
    "</style><svg onload=\"document.title='pwned'\"></svg>",
    "\"><iframe src='http://127.0.0.1:9/pwned'></iframe>",
    "' autofocus onfocus='document.title=\"pwned\"' x='",
    "<a href=\"javascript:document.title='pwned'\">a</a><base href='http://127.0.0.1:9/'>",
    "<meta http-equiv='refresh' content='0;url=http://127.0.0.1:9/pwned'>",
    "<link rel=stylesheet href=http://127.0.0.1:9/pwned.css><style>@import 'http://127.0.0.1:9/pwned'</style>",
    "{{ 7 * 7 }}{% include 'page.html.jinja' %}${7*7}",
    "<!-- --!> ]]> <textarea></title><plaintext>",
    "$\\frac{1}{2}$ http://127.0.0.1:9/pwned",
)
"""What would run or load something if a page took it for more than a text."""

POLICY = """\
import json

TEXTS = json.loads({texts!r})

class Hostile:
    places = iter(range(10_000))
    def start(self, start): self.said = 0
    def act(self, messages):
        self.said += 1
        text = TEXTS[next(self.places) % len(TEXTS)]
        if self.said % 3 == 2:
            call = {{"name": "get_order_details", "arguments": {{"order_id": text}}}}
            return "<tool_call>" + json.dumps(call) + "</tool_call>"
        if self.said % 3 == 0:
            return "<tool_call>" + text
        return text
"""


def hostile_policy(folder: Path, texts: Sequence[str] = ()) -> str:
    """A policy that says hostile texts, one after the other, to the user, in calls, and in what is no call."""
    said = [*HTML, *(attack.text for attack in BOOK if not attack.flood), *texts]
    (folder / "hostile_words.py").write_text(POLICY.format(texts=json.dumps(said)), encoding="utf-8")
    return "hostile_words:Hostile"


def play(out: Path, *words: str, env: str = "simia/retail-v0") -> Path:
    """A record of a few episodes."""
    assert run(["rollout", env, "--out", str(out), *words]) in (0, 1)
    return out


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight episodes of an expert that makes mistakes."""
    return play(tmp_path_factory.mktemp("record") / "some.jsonl", "--policy", "expert:0.5", "--episodes", "8")
