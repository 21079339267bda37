"""The app shell: commands on real files, which become rows again."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import openpyxl
import pytest

from simia_gym.common.files import read_json
from simia_gym.domain.registration import domain_path
from simia_gym.envs.officebench.apps import shell as shell_app
from simia_gym.envs.officebench.formats.folder import read_office, written_office
from simia_gym.envs.officebench.grammar import AnswerGrammar
from simia_gym.envs.officebench.world import OfficeWorld
from simia_gym.errors import SandboxUnavailable
from simia_gym.rollout.replay import replay_file
from simia_gym.state import State
from simia_gym.types import Calls, ToolCall, Transition

from ..domains.shell import Says
from ..proof.stage import suite_of
from ..rollout.conftest import Roll
from ..sandbox.conftest import needs_sandbox
from .test_formats import ORIGINAL, document, workbook
from .test_public import own

__all__ = ["document", "own", "workbook"]
ENV = "simia/officebench-v0"
BOOK, TEXT, CALENDAR = "/testbed/data/team.xlsx", "/testbed/data/notes.docx", "/testbed/calendar/Bob.ics"
MAIL = "/testbed/emails/Bob/News.eml"
LETTER = b"From: a@b.c\nTo: Bob\nSubject: News\n\nAll is well.\n"
ROOT = Path(__file__).parents[2]


class Office:
    """An office of real files with a shell."""

    def __init__(self, files: dict[str, bytes]) -> None:
        tables = read_json(domain_path(ENV) / "state.json")
        self.state = State.from_tables({**tables, **vars(read_office(files)), "people": tables["people"]})
        self.world = OfficeWorld({"shell": True})

    def __call__(self, name: str, /, **arguments: Any) -> Transition:
        app = ToolCall("system_switch_app", {"target_app": name.partition("_")[0]})
        self.state = self.world.call(self.state, app).state or self.state
        done = self.world.call(self.state, ToolCall(name, arguments))
        self.state = done.state or self.state
        return done

    def run(self, command: str) -> str:
        return self("shell_command", command=command).observation

    @property
    def files(self) -> dict[str, bytes]:
        return written_office(self.state)


@pytest.fixture
def office(workbook: bytes, document: bytes) -> Office:
    return Office({BOOK: workbook, TEXT: document, CALENDAR: ORIGINAL, MAIL: LETTER})


@needs_sandbox
def test_a_command_sees_the_files_of_the_office_and_nothing_else(office: Office, workbook: bytes) -> None:
    shown = "calendar\ndata\nemails\ncalendar/Bob.ics\ndata/notes.docx\ndata/team.xlsx\nemails/Bob/News.eml"
    assert office.run("pwd; ls; find * -type f | sort") == f"/testbed\n{shown}"
    assert office.run("wc -c < data/team.xlsx") == str(len(workbook))
    before = office.state
    assert office.run("true") == "Successfully executed command: true. The output was []."
    assert office.run("cat no; exit 3").startswith("The command ended with code 3.\ncat: no: No such file")
    assert all(dict(before.rows(name)) == dict(office.state.rows(name)) for name in before.tables)


@needs_sandbox
def test_files_are_moved_copied_and_removed_with_all_that_is_in_them(office: Office, workbook: bytes) -> None:
    office.run("mkdir new; cp data/team.xlsx new/copy.xlsx; mv data/notes.docx new/; rm data/team.xlsx")
    rows = dict(office.state.rows("files"))
    assert sorted(rows) == ["/testbed/new/copy.xlsx", "/testbed/new/notes.docx"]
    assert office.files["/testbed/new/copy.xlsx"] == workbook
    assert office("excel_read_file", file_path="new/copy.xlsx").outcome == "ok"
    office("excel_set_cell", file_path="new/copy.xlsx", row_idx=2, column_idx=2, text="99")
    office.run("mv new/copy.xlsx data/again.xlsx")
    sheet = openpyxl.load_workbook(io.BytesIO(office.files["/testbed/data/again.xlsx"])).active
    assert (sheet["B2"].value, sheet["B2"].font.b, [*sheet.tables]) == (99, True, ["Team"])


@needs_sandbox
def test_what_the_apps_have_made_is_there_for_commands(office: Office) -> None:
    office("email_send_email", sender="Bob", recipient="Ines", subject="Hello", content="One two three")
    assert office.run("grep -rl 'two' emails | sort; tail -n 1 emails/Ines/Hello.eml") == (
        "emails/Bob/Hello.eml\nemails/Ines/Hello.eml\nOne two three"
    )
    assert office.run("rm emails/Bob/Hello.eml; sed -i s/two/2/ emails/Ines/Hello.eml").startswith("Successfully")
    assert office("email_read_email", username="Ines", email_id="Hello").observation.endswith("One 2 three")
    assert "Hello" not in office("email_list_emails", username="Bob").observation
    assert office("email_read_email", username="Bob", email_id="News").outcome == "ok"


@needs_sandbox
def test_a_calendar_is_edited_and_removed(office: Office) -> None:
    office.run("sed -i s/Goes/Came/ calendar/Bob.ics; cp calendar/Bob.ics calendar/Zoe.ics")
    for user in ("Bob", "Zoe"):
        assert "Summary: Came" in office("calendar_list_events", username=user).observation
    office.run("rm calendar/Bob.ics")
    assert office("calendar_list_events", username="Bob").observation == "No events found for Bob."
    assert sorted(office.files) == ["/testbed/calendar/Zoe.ics", TEXT, BOOK, MAIL]


@needs_sandbox
def test_empty_folders_texts_and_broken_files_stay(office: Office) -> None:
    office.run("mkdir -p a/b data/c; printf 'x\\ny' > a/note.md; printf '\\377' > a/raw; echo no > data/broken.xlsx")
    assert sorted(key for key, _ in office.state.rows("folders")) == ["/testbed/a/b", "/testbed/data/c"]
    kinds = {path: row["kind"] for path, row in office.state.rows("files") if path not in (BOOK, TEXT)}
    assert kinds == {"/testbed/a/note.md": "txt", "/testbed/a/raw": "other", "/testbed/data/broken.xlsx": "other"}
    assert office("excel_read_file", file_path="data/broken.xlsx").error_code == "wrong_kind"
    assert office.run("find a data/c | sort; cat a/note.md; rmdir a/b; cat data/broken.xlsx") == (
        "a\na/b\na/note.md\na/raw\ndata/c\nx\nyno"
    )
    assert [key for key, _ in office.state.rows("folders")] == ["/testbed/data/c"]


@needs_sandbox
@pytest.mark.parametrize(("command", "code"), [("rm -r data; yes", "stopped"), ("echo \0", "bad_command")])
def test_a_command_that_is_stopped_or_refused_changes_nothing(office: Office, command: str, code: str) -> None:
    done = office("shell_command", command=command)
    assert (done.error_code, done.outcome, done.ops) == (code, "error", ())


@needs_sandbox
def test_a_long_output_is_cut(office: Office) -> None:
    assert office.run("seq 1 5000").endswith("3,892 more characters]")


FORKING = """
import os
from tests.officebench.test_shell import Office

office = Office({"/testbed/data/a.txt": b"one"})
office.run("true")
child = os.fork()
if child == 0:
    os._exit(office.run("rm -r data; echo $?") != "0")
assert os.waitpid(child, 0)[1] == 0
print(office.run("cat data/a.txt"))
"""


@needs_sandbox
@pytest.mark.slow
def test_a_process_that_was_forked_has_sandboxes_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.stdout, done.stderr) == ("one\n", "")


def actions(*calls: tuple[str, dict[str, Any]]) -> list[str]:
    return [AnswerGrammar().render(Calls((ToolCall(name, given),))) for name, given in calls]


@needs_sandbox
def test_the_benchmark_s_tasks_have_a_shell_that_is_recorded_and_repeated(own: Path, tmp_path: Path) -> None:
    said = actions(
        ("system_switch_app", {"target_app": "shell"}),
        ("shell_command", {"command": "mv data/team.xlsx data/a.xlsx; echo $RANDOM $$; ls -l data"}),
        ("system_finish_task", {"answer": ""}),
    )
    path = tmp_path / "record.jsonl"
    roll = Roll(suite_of(ENV, data=str(own)), path)
    roll(lambda: Says(*said))
    assert all(proof.proven for proof in replay_file(path))
    (record,) = roll.records
    assert "excel, word, pdf, calculator, llm, shell" in record.events[1]["text"]


def test_without_a_sandbox_there_is_no_shell_and_info_says_why(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise SandboxUnavailable("no sandbox can be made")

    monkeypatch.setattr(shell_app, "working_way", none)
    env = gym.make(ENV, data=str(own), split="all")
    observation, info = env.reset(seed=1)
    assert "no sandbox can be made" in info["world"]["missing"]["shell"]
    assert "shell" not in info["world"]["apps"]
    assert "shell" not in observation
    said = actions(("system_switch_app", {"target_app": "shell"}), ("shell_command", {"command": "ls"}))
    assert "There is no app shell" in env.step(said[0])[0]
    assert "shell_command" in env.step(said[1])[0]
    assert all(tool["function"]["name"] != "shell_command" for tool in info["tools"])


@needs_sandbox
def test_own_tasks_have_no_shell_unless_it_is_asked_for() -> None:
    _, info = gym.make(ENV).reset(seed=1)
    assert "shell" not in info["world"]["apps"]
    assert "missing" not in info["world"]
    _, info = gym.make(ENV, options={"shell": True}).reset(seed=1)
    assert "shell" in info["world"]["apps"]
