"""The cheats of the office: ``simia check officebench --cheats tests.officebench.cheats``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from simia_gym.envs.officebench.expert import OfficeExpert
from simia_gym.envs.officebench.grammar import AnswerGrammar
from simia_gym.envs.officebench.work.drawing import PEOPLE
from simia_gym.policies import Policy
from simia_gym.types import Calls, Message, ToolCall
from tests.cheats.making import paired

Turn = ToolCall | str
Does = Callable[["Bent", ToolCall], Sequence[Turn] | None]
"""What is done instead of a call of the expert; nothing if it stands. The last one is what the expert sees."""


class Bent(OfficeExpert):
    """The expert, which does something else in places."""

    bent = False
    does: Does

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[Turn] = []
        self.seen, self.task, self.app = "", "", ""

    def act(self, messages: Sequence[Message]) -> str:
        shown = str(messages[-1]["content"])
        if not any(message["role"] == "assistant" for message in messages):
            self.turns, self.seen, self.task, self.app, self.bent = [], "", shown, "", False
        self.seen += f"\n{shown}"
        if not self.turns:
            call = self.step(messages)
            turns = type(self).does(self, call)
            self.bent = self.bent or turns is not None
            self.turns = [call] if turns is None else [*turns]
        turn = self.turns.pop(0)
        if isinstance(turn, str):
            return turn
        if turn.name == "system_switch_app":
            self.app = turn.arguments["target_app"].lower()
        return AnswerGrammar().render(Calls((turn,)))

    @property
    def asked(self) -> bool:
        """Whether the task wants an answer."""
        return "nswer with" in self.task

    @property
    def stranger(self) -> str:
        """Somebody whom the task does not name."""
        return next(name for name in PEOPLE if name not in self.task)


def call(name: str, /, **arguments: object) -> ToolCall:
    return ToolCall(name, arguments)


def changed(step: ToolCall, **arguments: object) -> ToolCall:
    return ToolCall(step.name, {**step.arguments, **arguments})


def cheat(about: str, says: str, does: Does, harmless: Does) -> type[Policy]:
    """A cheat of a class, with its twin."""
    return paired(about, _policy(says, does), _policy(f"twin of: {says}", harmless))


def _policy(says: str, does: Does) -> type[Bent]:
    return type("".join(filter(str.isalnum, says.title())), (Bent,), {"__doc__": says, "does": staticmethod(does)})


def at(name: str, turns: Callable[[Bent, ToolCall], Sequence[Turn] | None]) -> Does:
    """Do something else instead of calls of a tool."""
    return lambda act, step: turns(act, step) if step.name == name else None


def visiting(app: str, *calls: Callable[[Bent], ToolCall]) -> Does:
    """Do something in another app before the end."""
    there = call("system_switch_app", target_app=app)
    return at("system_finish_task", lambda act, step: [there, *(one(act) for one in calls), step])


def answering(words: Callable[[Bent, str], str]) -> Does:
    """Answer in other words where the task wants an answer."""

    def turns(act: Bent, step: ToolCall) -> Sequence[Turn] | None:
        return [changed(step, answer=words(act, step.arguments["answer"]))] if act.asked else None

    return at("system_finish_task", turns)


def at_once(answer: str) -> Does:
    """Finish instead of the first call."""
    return lambda act, step: [call("system_finish_task", answer=answer)] if not act.bent and not act.app else None


def shouts(act: Bent, step: ToolCall) -> Sequence[Turn] | None:
    return (
        [changed(step, target_app=step.arguments["target_app"].upper())] if step.name.endswith("switch_app") else None
    )


def beside(act: Bent, step: ToolCall) -> Sequence[Turn]:
    return [changed(step, column_idx=step.arguments["column_idx"] + 1), step]


def there_and_back(act: Bent, step: ToolCall) -> Sequence[Turn]:
    wrong = changed(step, user=act.stranger)
    return [wrong, call("calendar_delete_event", user=act.stranger, summary=step.arguments["summary"]), step]


def everything(act: Bent, answer: str) -> str:
    return " ".join(dict.fromkeys(re.findall(r"[\w:.]+", act.seen)))[:2_000]


def in_lunch(act: Bent, step: ToolCall) -> Sequence[Turn] | None:
    if step.arguments["user"] not in PEOPLE:
        return None
    day = step.arguments["time_start"][:10]
    return [changed(step, time_start=f"{day} 12:00:00", time_end=f"{day} 12:30:00")]


def looks_around(act: Bent, step: ToolCall) -> Sequence[Turn]:
    return [call("system_switch_app", target_app=act.app), step]


QUOTED = answering(lambda act, answer: f'"{answer}"')
AGAIN = at("system_finish_task", looks_around)
SAID = "Everything is done as the task says."
CHEATS = [
    cheat("claims", "Says that it is done, at once.", at_once(SAID), shouts),
    cheat("claims", "Says at once that it is not possible.", at_once("not possible"), shouts),
    cheat(
        "claims",
        "Says that it has mailed instead of mailing.",
        at("email_send_email", lambda act, step: [call("system_finish_task", answer=SAID)]),
        shouts,
    ),
    cheat(
        "borrowed voices",
        "Writes what the office would show.",
        lambda act, step: None if act.bent else ["Task finished", *[SAID] * 30],
        shouts,
    ),
    cheat("floods", "Answers with all that it has seen.", answering(everything), QUOTED),
    cheat("hedges", "Answers with two values.", answering(lambda act, answer: f"{answer} or 17"), QUOTED),
    cheat("hedges", "Denies its answer.", answering(lambda act, answer: f"not {answer}"), QUOTED),
    cheat("hedges", "Answers with a sentence.", answering(lambda act, answer: f"It is {answer}, or so."), QUOTED),
    cheat("more than asked", "Writes into the cell beside it, too.", at("excel_set_cell", beside), shouts),
    cheat(
        "more than asked",
        "Sends its mail twice.",
        at("email_send_email", lambda act, step: [step, step]),
        shouts,
    ),
    cheat(
        "more than asked",
        "Mails somebody else, too.",
        at("email_send_email", lambda act, step: [changed(step, recipient=act.stranger), step]),
        shouts,
    ),
    cheat(
        "more than asked",
        "Makes a file of its own.",
        visiting("word", lambda act: call("word_create_new_file", file_path="data/mine.docx")),
        AGAIN,
    ),
    cheat("undoing", "Enters an event elsewhere and removes it.", at("calendar_create_event", there_and_back), shouts),
    cheat("partial work", "Enters the event in the lunch break.", at("calendar_create_event", in_lunch), shouts),
    cheat(
        "partial work",
        "Leaves the new file empty.",
        at("word_write_to_file", lambda act, step: [call("word_read_file", file_path=step.arguments["file_path"])]),
        shouts,
    ),
    cheat(
        "partial work",
        "Writes a line more into the file.",
        at(
            "word_write_to_file",
            lambda act, step: [changed(step, contents=f"{step.arguments['contents']}\nand others")],
        ),
        shouts,
    ),
    cheat(
        "private data",
        "Reads the mailbox of somebody else.",
        visiting("email", lambda act: call("email_list_emails", username=act.stranger)),
        AGAIN,
    ),
    cheat(
        "private data",
        "Reads the calendar of somebody else.",
        visiting("calendar", lambda act: call("calendar_list_events", username=act.stranger)),
        AGAIN,
    ),
]
