"""`simia serve-site`: a site over real HTTP, as a person's browser asks for it, and the verdict in the end."""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.app import run
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.domain.tasks import gold_calls
from simia_gym.envs.mind2web import screen
from simia_gym.envs.mind2web.browser.acting import click
from simia_gym.envs.mind2web.browser.requests import Request, encode
from simia_gym.envs.mind2web.browser.themes import THEMES
from simia_gym.envs.mind2web.serving.visitor import Visitor, freely, on_task
from simia_gym.envs.mind2web.serving.web import TASK_PATH, SiteServer
from simia_gym.envs.mind2web.sites import loading
from simia_gym.envs.mind2web.sites.loading import sites
from simia_gym.envs.mind2web.sites.pages import NO_PAGE, NO_ROW, REFUSED
from simia_gym.envs.mind2web.sites.rows import account_rows, catalogue_rows
from simia_gym.envs.mind2web.world import SiteWorld
from simia_gym.errors import InputError
from simia_gym.types import Task, Verdict

LIBRARY = sites()["library"]
COMMAND = [sys.executable, "-c", "from simia_gym.cli import main; main()", "serve-site"]
WORLD = SiteWorld()
BEGIN = "library:reservations:"


@pytest.fixture(scope="module")
def domain() -> Domain:
    return load_domain(domain_path("simia/mind2web-v0"))


@pytest.fixture
def visitor() -> Visitor:
    return freely(LIBRARY)


@pytest.fixture
def server(visitor: Visitor) -> Iterator[SiteServer]:
    with SiteServer(visitor) as served:
        yield served


def get(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


def post(url: str, **fields: str) -> tuple[str, str]:
    """Sends a form; the address and the text of the page that comes then."""
    body = urllib.parse.urlencode(fields).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=body), timeout=20) as answer:
            return answer.url, answer.read().decode()
    except urllib.error.HTTPError as missing:
        with missing:
            return missing.url, missing.read().decode()


def reservations(visitor: Visitor) -> dict[str, Any]:
    return {key: row for key, row in visitor.state.rows("account") if key.startswith(BEGIN)}


def cancelling(domain: Domain) -> tuple[Task, str]:
    """A task of cancelling a reservation, and its key."""
    account = account_rows(LIBRARY, random.Random(1), catalogue_rows(LIBRARY))
    key = next(key for key in account if key.startswith(BEGIN))
    session = screen.new_session(LIBRARY, "That book can go.", "plain", 7)
    rows = {f"/account/{one}": row for one, row in account.items()} | {"/session/main": session}
    setup = tuple({"op": "add", "path": path, "value": row} for path, row in rows.items())
    goal = ({"op": "test", "path": f"/account/{key}", "value": None},)
    task = Task(id="mind2web-own-0", split="train", kind="cancel", instruction="", setup=setup, goal=goal)
    return task, key.removeprefix(BEGIN)


def judged(visitor: Visitor, domain: Domain, task: Task, said: str | None) -> Verdict:
    return asyncio.run(visitor.verdict(domain, task, said))


def test_pages_are_documents_without_scripts(server: SiteServer) -> None:
    with urllib.request.urlopen(server.url + "/", timeout=20) as answer:
        page = answer.read().decode()
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert page.startswith("<!DOCTYPE html>")
    assert "<h1>Search the catalogue</h1>" in page
    assert "<script" not in page
    status, page = get(server.url + "/results?title=the&genre=&from=&sort=title")
    assert status == 200
    assert "Title: the. Sort by: Title. 60 found, page 1 of 8." in page


@pytest.mark.parametrize("theme", [theme.name for theme in THEMES])
def test_every_theme_is_served(theme: str) -> None:
    with SiteServer(freely(LIBRARY, theme)) as served:
        assert ("<article>" in get(served.url + "/rooms/free?people=2")[1]) == (theme in ("cards", "open"))


@pytest.mark.parametrize(("path", "says"), [("/nowhere", NO_PAGE), ("/book?book=none", NO_ROW), (TASK_PATH, NO_PAGE)])
def test_what_is_not_there_is_said_with_status_404(server: SiteServer, path: str, says: str) -> None:
    status, page = get(server.url + path)
    assert status == 404
    assert says in page


def test_a_form_changes_rows_and_leads_on(server: SiteServer, visitor: Visitor) -> None:
    held = reservations(visitor)
    key = next(iter(held)).removeprefix(BEGIN)
    url, page = post(f"{server.url}/reservations/cancel?reservation={key}")
    assert urllib.parse.urlsplit(url).path == "/reservations"
    assert "The reservation is cancelled." in page
    assert reservations(visitor) == {one: row for one, row in held.items() if one != BEGIN + key}
    # A way back, and the same once more: the page is still there for a browser, the row is not.
    _, page = post(f"{server.url}/reservations/cancel?reservation={key}")
    assert NO_ROW in page
    book, branch, until = (held[BEGIN + key][one] for one in ("book", "branch", "until"))
    _, page = post(f"{server.url}/reserve?book={book}", branch=branch, until="2025-01-01")
    assert REFUSED["wrong"] in page
    post(f"{server.url}/reserve?book={book}", branch=branch, until=until)
    assert reservations(visitor) == held


def test_other_pages_cannot_play(server: SiteServer, visitor: Visitor) -> None:
    held = reservations(visitor)
    key = next(iter(held)).removeprefix(BEGIN)
    url = f"{server.url}/reservations/cancel?reservation={key}"
    assert get(server.url + "/", Host="other.example")[0] == 403
    asked = urllib.request.Request(url, data=b"", headers={"Origin": "http://other.example"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked, timeout=20)
    with refused.value:
        assert refused.value.code == 403
    assert reservations(visitor) == held
    own = urllib.request.Request(url, data=b"", headers={"Origin": server.url})
    urllib.request.urlopen(own, timeout=20).close()
    assert reservations(visitor) != held


@pytest.mark.parametrize(("size", "status"), [("70000", 413), ("many", 411), ("", 411)])
def test_a_body_without_a_fitting_length_is_refused(server: SiteServer, size: str, status: int) -> None:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=20)
    connection.putrequest("POST", "/profile/edit")
    if size:
        connection.putheader("Content-Length", size)
    connection.endheaders()
    with connection.getresponse() as answer:
        assert answer.status == status
    connection.close()


@pytest.mark.parametrize(("done", "reward"), [(True, 1.0), (False, 0.0)])
def test_a_visit_is_judged_as_that_of_an_agent(domain: Domain, done: bool, reward: float) -> None:
    task, key = cancelling(domain)
    visitor = on_task(domain, task, "library")
    ended: list[str] = []
    with SiteServer(visitor, ended=ended.append) as served:
        assert "That book can go." in get(served.url + TASK_PATH)[1]
        if done:
            post(f"{served.url}/reservations/cancel?reservation={key}")
        assert "The visit has ended" in post(served.url + TASK_PATH)[1]
    assert ended == [""]
    verdict = judged(visitor, domain, task, ended[0])
    assert (verdict.valid, verdict.reward, verdict.parts) == (True, reward, {})
    assert judged(visitor, domain, task, None).reward == reward


def sent(server: SiteServer, request: Request) -> str:
    """Sends what a browser would send; the address that comes then, without the server's."""
    body = None if request.body is None else encode(request.body).encode()
    asked = urllib.request.Request(server.url + request.url, data=body)
    with urllib.request.urlopen(asked, timeout=20) as answer:
        return str(answer.url.removeprefix(server.url))


def first_of_each_kind(domain: Domain) -> list[Task]:
    found: dict[str, Task] = {}
    for task in domain.tasks["train"]:
        found.setdefault(task.kind, task)
    return list(found.values())


@pytest.mark.slow
def test_tasks_of_all_kinds_are_solved_over_http(domain: Domain) -> None:
    tasks = first_of_each_kind(domain)
    assert len(tasks) == 10
    for task in tasks:
        visitor = on_task(domain, task, None)
        ended: list[str] = []
        state = visitor.start
        with SiteServer(visitor, ended=ended.append) as served:
            for call in gold_calls(task):
                session = screen.session_of(state)
                if call.name == "done":
                    post(served.url + TASK_PATH, answer=call.arguments.get("answer", ""))
                    break
                after = WORLD.call(state, call).state
                assert after is not None
                if call.name == "click":
                    opened = screen.open_page(state, session)
                    node = screen.choices_of(opened, session).nodes[call.arguments["choice"]]
                    outcome = click(opened.page, session["typed"], node.number)
                    if isinstance(outcome, Request):
                        assert sent(served, outcome) == screen.visit_of(screen.session_of(after)).address
                state = after
                assert dict(visitor.state.rows("account")) == dict(state.rows("account")), task.id
        verdict = judged(visitor, domain, task, ended[0])
        assert verdict.reward == 1.0, (task.id, verdict)
        if task.criteria:
            assert judged(visitor, domain, task, "I do not know").reward == 0.0


def test_a_task_of_another_site_is_refused(domain: Domain) -> None:
    task, _ = cancelling(domain)
    with pytest.raises(InputError, match=r"no task of bank.*Serve library"):
        on_task(domain, task, "bank")
    assert on_task(domain, task, None).site.name == "library"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["librery"], "Did you mean 'library'?"),
        (["library", "--theme", "plane"], "Did you mean 'plain'?"),
        (["library", "--task", "mind2web-nowhere"], "there is no task"),
        (["missing.yaml"], "missing.yaml"),
    ],
)
def test_what_cannot_be_served_is_said(words: list[str], says: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["serve-site", *words]) == 2
    assert says in capfd.readouterr().err


def test_a_port_in_use_is_said(server: SiteServer, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["serve-site", "library", "--port", server.url.rpartition(":")[2]]) == 2
    assert "cannot listen" in capfd.readouterr().err


def first_task(domain: Domain) -> Task:
    return domain.tasks["train"][0]


@pytest.mark.parametrize("how", ["end", "interrupt"])
@pytest.mark.slow
def test_the_command_prints_the_verdict_when_it_is_left(domain: Domain, how: str) -> None:
    task = first_task(domain)
    session = domain.begun(task).get("session", "main")
    assert session is not None
    words = [session["site"], "--task", task.id, "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, *words], stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            assert said["request"] == session["request"]
            assert get(said["base_url"] + "/")[0] == 200
            if how == "end":
                post(said["base_url"] + TASK_PATH, answer="I do not know")
            else:
                process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == (130 if how == "interrupt" else 0)
    verdict = json.loads(out)
    assert (verdict["valid"], verdict["reward"]) == (True, 0.0)
    assert "reward 0 (no success" in err
    assert f"End the visit at {said['base_url']}{TASK_PATH}" in err


@pytest.mark.parametrize("with_task", [False, True])
@pytest.mark.slow
def test_the_file_of_an_own_site_is_served(tmp_path: Path, with_task: bool) -> None:
    own = tmp_path / "reading.yaml"
    text = Path(loading.__file__).with_name("library.yaml").read_text(encoding="utf-8")
    own.write_text(text.replace("name: library", "name: reading"), encoding="utf-8")
    task = load_domain(domain_path("simia/mind2web-v0"), data=own).tasks["train"][0]
    words = [str(own), *(["--task", task.id] if with_task else [])]
    with subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("Aldermere Library is open at http://127.0.0.1:")
            assert "Search the catalogue" in get(line.split()[-1])[1]
            process.send_signal(signal.SIGTERM)
            rest = process.stdout.read()
            process.wait(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0
    assert ("reward 0" in rest, f"Your task: {task.instruction}" in rest) == (with_task, with_task)
