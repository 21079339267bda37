"""Records as pages: what stands in them, and what does not."""

from __future__ import annotations

import http.client
import itertools
import json
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from simia_gym import compare, read_records
from simia_gym.cli.app import run
from simia_gym.oracle import OracleServer
from simia_gym.record.blobs import blob_path
from simia_gym.record.records import read_lines, read_results
from simia_gym.viewer.charts import slopes
from simia_gym.viewer.rows import Overview, overview_of
from simia_gym.viewer.serving import PageServer
from simia_gym.viewer.steps import conversation

from .conftest import play


class Seen(HTMLParser):
    """The tags of a page with their attributes, and all of its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.tags if "id" in attributes]


def page(record: Path, *words: str) -> Seen:
    out = record.with_suffix(".html")
    assert run(["view", str(record), *words, "--out", str(out)]) == 0
    return Seen(out.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_page_shows_every_episode_with_its_verdict(record: Path) -> None:
    seen = page(record)
    records = list(read_records(record))
    for number, one in enumerate(records):
        assert f"e{number}" in seen.ids()
        assert one.task in seen.text
        for event in one.events:
            if event["type"] == "transition":
                assert event["observation"][:60] in seen.text
        for item in one.verdict["criteria"]:
            assert f"e{number}:{item['id']}" in seen.ids()
            assert item["reason"] in seen.text


@pytest.mark.slow
def test_scores_stand_above_the_episodes_that_they_are_of(record: Path, tmp_path: Path) -> None:
    other = play(tmp_path / "other.jsonl", "--policy", "claimer", "--episodes", "8")
    out, report = tmp_path / "scores.html", tmp_path / "report.json"
    assert run(["evaluate", str(record), str(other), "--html", str(out), "--report", str(report)]) == 0
    seen = Seen(out.read_text(encoding="utf-8"))
    found = json.loads(report.read_bytes())
    for one in found["series"]:
        assert f"{100 * one['pass_at_1']['value']:.1f}%" in seen.text
        assert f"mean reward {one['mean_reward']['value']:.3f}" in seen.text
        assert all(kind in seen.text for kind in one["kinds"])
    assert "differences on the same tasks" in seen.text
    charts = [attributes.get("aria-label") for tag, attributes in seen.tags if tag == "svg"]
    assert "pass@1, with intervals" in charts
    assert "mean reward, with intervals" not in charts  # the reward is 0 or 1, and its mean the same
    assert {f"e{number}" for number in range(16)} <= set(seen.ids())
    played = tmp_path / "played.html"
    words = ["simia/webshop-v0", "--limit", "3", "--out", str(tmp_path / "shop.jsonl"), "--html", str(played)]
    assert run(["evaluate", *words]) == 0
    assert {"e0", "e1", "e2"} <= set(Seen(played.read_text(encoding="utf-8")).ids())
    assert run(["evaluate", str(record), "--html", str(record)]) == 2


@pytest.mark.slow
def test_how_long_replies_took_is_shown_where_it_is_known(tmp_path: Path, oracle: OracleServer) -> None:
    place = ("--simulator", "llm", "--model", "oracle", "--base-url", oracle.base_url)
    record = play(tmp_path / "timed.jsonl", *place, "--judge", "llm-all", "--episodes", "1")
    times = record.with_name("timed.times.jsonl")
    (line,) = map(json.loads, times.read_text().splitlines())
    (one,) = read_records(record)
    asked = {str(event["i"]) for event in one.events if event["type"] == "model"}
    assert asked
    assert set(line["calls"]) == asked
    made = dict.fromkeys(asked, 123.0)
    times.write_text(json.dumps({**line, "seconds": 77.5, "calls": made}) + "\n" + '{"torn": ', encoding="utf-8")
    assert page(record).text.count("123 s") == len(asked)
    assert "78 s" in page(record).text
    times.unlink()
    assert "123 s" not in page(record).text


def test_links_lead_somewhere_and_no_id_is_there_twice(record: Path) -> None:
    seen = page(record)
    ids = seen.ids()
    assert len(set(ids)) == len(ids)
    linked = {value[1:] for tag, attributes in seen.tags if (value := attributes.get("href")) and tag == "a"}
    assert linked - {""} <= set(ids)
    assert any(":" in one for one in linked)  # from a step to the criterion that rests on it
    for tag, attributes in seen.tags:
        for name in ("src", "href", "action", "data"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)


def test_the_same_record_gives_the_same_page(record: Path) -> None:
    first, second = (record.with_name(f"{name}.html") for name in ("first", "second"))
    for out in (first, second):
        assert run(["view", str(record), "--out", str(out)]) == 0
    assert first.read_bytes() == second.read_bytes()


def test_changes_say_what_stood_there_before(record: Path) -> None:
    for one in read_records(record):
        for step in conversation(one).steps:
            event = one.events[step.event]
            if step.call and event["ops"]:
                assert [change.path for change in (*step.changes, *step.inner)] == [op["path"] for op in event["ops"]]
                for change, op in zip((*step.changes, *step.inner), event["ops"], strict=True):
                    marks = {mark for mark, _ in change.lines}
                    assert ("+" in marks) == (op["op"] != "remove")
                    assert op["op"] != "replace" or "-" in marks


def test_the_list_counts_what_failed(record: Path) -> None:
    overview = overview_of([record])
    records = list(read_records(record))
    for missed in overview.criteria:
        found = [item for one in records for item in one.verdict["criteria"] if item["id"] == missed.name]
        assert missed.judged == len([item for item in found if item["passed"] is not None])
        assert missed.failed == len([item for item in found if item["passed"] is False])
    assert [row.turns for row in overview.rows] == [one.turns for one in records]
    assert [row.reward for row in overview.rows] == [one.reward for one in records]
    with record.open("rb") as file:
        for row, one in zip(overview.rows, records, strict=True):
            file.seek(row.offset)
            assert one.key.encode() in file.readline()


def test_an_episode_that_could_not_begin_is_shown(tmp_path: Path) -> None:
    (tmp_path / "fails_at_once.py").write_text("class Fails:\n  def act(self, messages): raise KeyError('odd')\n")
    sys.path.insert(0, str(tmp_path))
    try:
        seen = page(play(tmp_path / "f.jsonl", "--policy", "fails_at_once:Fails", "--episodes", "2"))
    finally:
        sys.path.remove(str(tmp_path))
    assert "policy: bug" in seen.text
    assert "no reward" in seen.text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "there is no finished episode in it"),
        (b'{"v":2,"key":"torn', "there is no finished episode in it"),
        (b"no record\n", "not valid JSON"),
        (None, "there is no such record"),
    ],
    ids=["empty", "torn", "no record", "missing"],
)
def test_what_is_no_record_is_one_line(
    content: bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    if content is not None:
        path.write_bytes(content)
    assert run(["view", str(path), "--out", str(tmp_path / "a.html")]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert not (tmp_path / "a.html").exists()


@pytest.mark.parametrize("two", [False, True])
def test_a_torn_last_line_is_left_out_and_said(
    two: bool, record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(record.read_bytes()[:-100])
    shutil.copy(blob_path(record), blob_path(torn))
    others = [str(record)] if two else []
    assert run(["view", str(torn), *others, "--out", str(tmp_path / "torn.html")]) == 0
    said = capsys.readouterr().out
    assert f"warning: {torn}: the last line is torn, its writer was stopped; it is left out" in said
    assert ("7 pairs" if two else "7 episodes") in said
    assert run(["view", str(record), "--out", str(tmp_path / "whole.html")]) == 0
    assert "torn" not in capsys.readouterr().out.replace(str(tmp_path), "")


def test_a_folder_of_records_is_one_list(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(tmp_path), "--out", str(tmp_path / "x.html")]) == 2
    assert "there is no record in this folder" in capsys.readouterr().err
    for name in ("a", "b"):
        for end in (".jsonl", ".blobs", ".times.jsonl"):
            (tmp_path / f"{name}{end}").write_bytes(record.with_name(f"some{end}").read_bytes())
    assert run(["view", str(tmp_path), "--out", str(tmp_path / "x.html")]) == 0
    text = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert len(re.findall('<article class="episode"', text)) == 16
    assert 'data-record="b.jsonl"' in text


def test_another_file_is_not_overwritten(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.html"
    mine.write_text("<p>mine</p>")
    assert run(["view", str(record), "--out", str(mine)]) == 2
    assert mine.read_text() == "<p>mine</p>"
    assert "mine.html" in capsys.readouterr().err


def test_without_the_extra_the_command_says_what_to_install(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("simia_gym.viewer.pages.find_spec", lambda name: None)
    assert run(["view", str(record), "--out", str(record.with_name("no.html"))]) == 2
    assert 'pip install "simia-gym[view]"' in capsys.readouterr().err


def test_two_records_stand_side_by_side(record: Path, tmp_path: Path) -> None:
    other = play(tmp_path / "other.jsonl", "--policy", "expert", "--episodes", "8")
    out = tmp_path / "two.html"
    assert run(["view", str(record), str(other), "--out", str(out)]) == 0
    seen = Seen(out.read_text(encoding="utf-8"))
    ids = seen.ids()
    assert len(set(ids)) == len(ids)
    found = compare(record, other)
    assert found.divergences
    for number, pair in enumerate(found.pairs):
        assert f"p{number}" in ids
        marked = [attributes["id"] for tag, attributes in seen.tags if "diverges" in (attributes.get("class") or "")]
        first = pair.divergence
        here = [one for one in marked if one and one.startswith(f"p{number}l")]
        assert (f"p{number}d" in ids) == (first is not None)
        if first is not None and first.left_event >= 0:
            assert int(here[0].removesuffix("a").partition(".")[2]) >= first.left_event
    assert "observation is the same" in seen.text
    same = tmp_path / "compared.html"
    assert run(["compare", str(record), str(other), "--html", str(same)]) == 0
    assert same.read_bytes() == out.read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{record}"], "it does not say where the page should be"),
        (["{record}", "--serve", "--out", "a.html"], "both where to write and to serve"),
        (["{record}", "--out", "a.html", "--port", "1"], "nothing is served"),
        (["{record}", "{record}", "--serve"], "2 records, and one is served"),
        (["{record}", "{record}", "{record}", "--out", "a.html"], "3 records, and one or two are shown"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    words: list[str], said: str, record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["view", *(word.replace("{record}", str(record)) for word in words)]) == 2
    assert said in capsys.readouterr().err


def test_records_of_other_domains_are_not_compared(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = play(tmp_path / "other.jsonl", "--policy", "claimer", "--episodes", "1", env="simia/webshop-v0")
    capsys.readouterr()
    assert run(["view", str(record), str(other), "--out", str(tmp_path / "a.html")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def training(folder: Path, record: Path | None) -> Path:
    lines = [
        {"step": step, "train": {"reward": step / 4, "success": step / 5, "faults": {"policy:bug": step}, "turns": 9.5}}
        for step in range(4)
    ]
    lines[3]["val"] = {"reward": 0.5, "success": None}
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (folder / "metrics.jsonl").write_text(f'{text}{{"step": 4, "tr')
    if record is not None:
        (folder / "rollouts").mkdir()
        for end in (".jsonl", ".blobs"):
            shutil.copy(record.with_suffix(end), folder / f"rollouts/retail.worker-0{end}")
    return folder


@pytest.mark.parametrize("kept", [True, False], ids=["with records", "without records"])
def test_a_training_is_shown_with_its_curves(kept: bool, record: Path, tmp_path: Path) -> None:
    folder = training(tmp_path, record if kept else None)
    assert run(["view", str(folder), "--out", str(tmp_path / "t.html")]) == 0
    seen = Seen((tmp_path / "t.html").read_text(encoding="utf-8"))
    titles = [attributes.get("aria-label") or "" for tag, attributes in seen.tags if tag == "svg"]
    assert [title for title in titles if "over step" in title] == [
        f"{name} over step" for name in ("reward", "success", "faults", "turns")
    ]
    assert "validation tasks" in seen.text
    assert ("e7" in seen.ids()) is kept


@pytest.mark.parametrize(
    ("content", "said"), [("", "no step has been measured yet"), ('{"no": 1}\n', "is no line of metrics")]
)
def test_a_training_without_metrics_is_one_line(
    content: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "metrics.jsonl").write_text(content)
    assert run(["view", str(tmp_path), "--out", str(tmp_path / "t.html")]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("env", "title", "part"),
    [
        ("simia/officebench-v0", "calendar of Liam", "<th>summary</th>"),
        ("simia/webshop-v0", "the open page", "<button type=button>"),
        ("simia/mind2web-v0", "the open page, /", "<form"),
        ("simia/os-v0", "/home/", "<pre>"),
    ],
)
def test_domains_show_parts_of_their_state(env: str, title: str, part: str, tmp_path: Path) -> None:
    seen = page(play(tmp_path / "d.jsonl", "--policy", "expert", "--episodes", "2", env=env))
    frames = [attributes for tag, attributes in seen.tags if tag == "iframe"]
    assert any((one["title"] or "").startswith(title) and part in (one["srcdoc"] or "") for one in frames)
    assert all(one.get("sandbox") in (None, "") and "sandbox" in one for one in frames)
    assert "own view failed" not in seen.text


VIEW = """\
def show(domain, state):
    {body}
"""


@pytest.mark.parametrize(
    ("body", "said"), [("return [('all', '<b>here</b>')]", "srcdoc"), ("raise KeyError('odd')", "own view failed")]
)
def test_a_domain_of_ones_own_may_show_its_state(body: str, said: str, tmp_path: Path) -> None:
    assert run(["new-domain", str(tmp_path / "own")]) == 0
    (tmp_path / "own/show.py").write_text(VIEW.format(body=body))
    with (tmp_path / "own/domain.yaml").open("a") as file:
        file.write("view: show.py:show\n")
    record = play(tmp_path / "o.jsonl", "--policy", "claimer", "--episodes", "1", env=str(tmp_path / "own"))
    page(record)
    assert said in record.with_suffix(".html").read_text(encoding="utf-8")


def test_an_index_is_read_without_events(record: Path) -> None:
    """A row is the same, whether the events were decoded for it or not."""
    whole = Overview()
    offset = 0
    for one, raw in read_lines(record):
        whole.add(one, record, offset)
        offset += len(raw) + 1
    assert overview_of([record]).rows == whole.rows
    assert not [one for one, _ in read_results(record, ("fault",)) if one.events]


@pytest.fixture
def server(record: Path) -> Iterator[PageServer]:
    with PageServer(overview_of([record]), "some", lambda record: None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def asked(server: PageServer, path: str, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_large_records_are_served_episode_by_episode(server: PageServer, record: Path) -> None:
    status, text = asked(server, "/")
    assert status == 200
    assert text.count('href="/episode/') == 8
    assert "<article" not in text
    for number, one in enumerate(read_records(record)):
        status, text = asked(server, f"/episode/{number}")
        assert status == 200
        assert one.task in text
        assert f'href="/#r{number}"' in text


@pytest.mark.parametrize("path", ["/episode/8", "/episode/-1", "/episode/x", "/some.jsonl", "/../etc/passwd"])
def test_nothing_else_is_served(server: PageServer, path: str) -> None:
    assert asked(server, path)[0] == 404


def test_another_name_for_this_machine_is_refused(server: PageServer) -> None:
    assert asked(server, "/", Host="records.example")[0] == 403
    assert server.server_address[0] == "127.0.0.1"


def test_names_of_equal_policies_stand_apart() -> None:
    drawn = slopes([("one", 1.0, 0.0), ("two", 0.5, 0.0), ("three", 0.0, 0.0), ("four", 0.2, 0.9)], "r", ("a", "b"))
    placed = {text: float(height) for height, text in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>(\w+)</text>', drawn)}
    heights = [placed[name] for name in ("one", "two", "three", "four")]
    assert all(one - other >= 8 for one, other in itertools.pairwise(heights)), drawn
