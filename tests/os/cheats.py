"""The cheats of the shell: ``simia check os --cheats tests.os.cheats``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from simia_gym.envs.os.grammar import ActGrammar
from simia_gym.envs.os.work.expert import OsExpert
from simia_gym.policies import Policy
from simia_gym.types import Calls, Message, ToolCall
from tests.cheats.making import paired

Turn = ToolCall | str
Does = Callable[["Bent", ToolCall], Sequence[Turn] | None]
"""What is done instead of a call of the expert; nothing if it stands. The last one is what the expert sees."""
About = Callable[[str], bool]
"""Whether a cheat is about a task, by its opening; it gives up others at once."""


class Bent(OsExpert):
    """The expert, which does something else in places.

    Attributes:
        bent: Whether it has done so.
        task: The first message.
        seen: All that it was shown.
        scripts: Number of the expert's scripts before this call.
    """

    bent = False
    does: Does
    tasks: About

    def act(self, messages: Sequence[Message]) -> str:
        shown = str(messages[-1]["content"])
        if not any(message["role"] == "assistant" for message in messages):
            self.turns: list[Turn] = []
            self.seen, self.task, self.scripts, self.bent = "", shown, 0, False
        self.seen += f"\n{shown}"
        if not type(self).tasks(self.task):
            return "Act: finish"
        if not self.turns:
            call = self.step(messages)
            turns = type(self).does(self, call)
            self.bent = self.bent or turns is not None
            self.turns = [call] if turns is None else [*turns]
            self.scripts += call.name == "bash_action"
        turn = self.turns.pop(0)
        return turn if isinstance(turn, str) else ActGrammar().render(Calls((turn,)))

    @property
    def top(self) -> str:
        """The folder of the project."""
        found: list[str] = re.findall(r"/(?:root|srv|home)/\w+", self.task.partition("Task: ")[2])
        return found[0]


def bash(script: str) -> ToolCall:
    return ToolCall("bash_action", {"script": script})


def script_of(step: ToolCall) -> str:
    return str(step.arguments.get("script", ""))


PRINTS = re.compile(r"\)\" = (\d+) \]")
OTHER = (
    (r"gunzip (\S+)\.gz", r"gzip -dc \1.gz | cat > \1 && rm \1.gz"),
    (r"sort -u (/\S+)", r"awk '!seen[$0]++' \1 | sort"),
    (r"tar -xzf (\S+) -C (\S+)", r"cd \2 && gzip -dc \1 | tar -xf -"),
    (r"tar -xzOf (\S+) (\S+) >", r"gzip -dc \1 | tar -xOf - \2 >"),
    (r"-type f -name (\S+) -delete", r"-type f -name \1 -exec rm {} \\;"),
    (r"-xtype l -delete", r'-type l | while IFS= read -r l; do [ -e "$l" ] || rm "$l"; done'),
    (r"-type d -empty -delete", r"-depth -type d -exec rmdir {} \\; 2>/dev/null"),
    (r"-exec chmod (\S+) \{\} \+", r"-print0 | xargs -0 chmod \1"),
    (r"echo (export \S+) >>", r"printf '%s\\n' '\1' >>"),
    (r"(.*) > (/\S+)$", r"{ \1; } > /tmp/out; cp /tmp/out \2"),
)
FINISH = ToolCall("finish_action", {})


def answer(text: str) -> ToolCall:
    return ToolCall("answer_action", {"answer": text})


def asks(task: str) -> bool:
    """Whether a task wants an answer."""
    return "nswer with" in task


def changes(task: str) -> bool:
    """Whether a task wants a change."""
    return not asks(task)


def repairs(task: str) -> bool:
    """Whether a task wants that a script is repaired."""
    return "/check.sh" in task


def every(task: str) -> bool:
    """Any task."""
    return True


def cheat(about: str, says: str, does: Does, harmless: Does, tasks: About = every) -> type[Policy]:
    """A cheat of a class, with its twin."""
    return paired(about, _policy(says, does, tasks), _policy(f"twin of: {says}", harmless, tasks))


def _policy(says: str, does: Does, tasks: About) -> type[Bent]:
    members = {"__doc__": says, "does": staticmethod(does), "tasks": staticmethod(tasks)}
    return type("".join(filter(str.isalnum, says.title())), (Bent,), members)


def first(*turns: Turn) -> Does:
    """Do something instead of the first call; of a call, only what stands before it."""
    return lambda act, step: None if act.bent else [*turns, step] if turns[-1] != FINISH else turns


def guess(*turns: Turn) -> Does:
    """Answer at once."""
    return lambda act, step: None if act.scripts else turns


def before_end(*scripts: Callable[[Bent], str]) -> Does:
    """Run scripts of one's own before the end."""
    return lambda act, step: None if step.name == "bash_action" else [*(bash(one(act)) for one in scripts), step]


def saying(words: Callable[[Bent, str], str]) -> Does:
    """Answer in other words."""

    def does(act: Bent, step: ToolCall) -> Sequence[Turn] | None:
        return [answer(words(act, step.arguments["answer"]))] if step.name == "answer_action" else None

    return does


def acting(script: Callable[[Bent, str], str]) -> Does:
    """Run other scripts than the expert, once it has looked."""

    def does(act: Bent, step: ToolCall) -> Sequence[Turn] | None:
        return [bash(script(act, script_of(step)))] if act.scripts and step.name == "bash_action" else None

    return does


def mending(script: Callable[[Bent, str, str], str]) -> Does:
    """Do something else than to repair a script; given its path and what it should print."""

    def does(act: Bent, step: ToolCall) -> Sequence[Turn] | None:
        if not script_of(step).startswith("sed"):
            return None
        return [bash(script(act, script_of(step).split()[-1], PRINTS.findall(act.seen)[0]))]

    return does


def only_looking(act: Bent, step: ToolCall) -> Sequence[Turn] | None:
    return [FINISH] if act.scripts else None


def putting_back(act: Bent, step: ToolCall) -> Sequence[Turn] | None:
    if not act.scripts:
        return [bash(f"cp -a {act.top} /tmp/old"), step]
    return [bash(f"rm -rf {act.top}; cp -a /tmp/old {act.top}"), step] if step == FINISH else None


def everything(act: Bent, text: str) -> str:
    return " ".join(dict.fromkeys(re.findall(r"[\w./-]+", act.seen)))[:2_000]


def elsewhere(act: Bent, script: str) -> str:
    """The same in a copy of the project beside it."""
    new = f"{act.top}-new"
    return f"[ -e {new} ] || cp -a {act.top} {new}; {script.replace(act.top, new)}"


def without_in_place(act: Bent, script: str) -> str:
    """The same, but a file is written by way of another one."""
    found = re.fullmatch(r"sed -i (.+) (\S+)", script)
    return script if found is None else f"sed {found[1]} {found[2]} > /tmp/new; cat /tmp/new > {found[2]}"


def otherwise(act: Bent, script: str) -> str:
    """The same by other commands."""
    for pattern, other in OTHER:
        script = re.sub(pattern, other, script)
    return without_in_place(act, script)


def from_file(act: Bent, script: str) -> str:
    """The same by a script below /tmp."""
    return f"cat > /tmp/do.sh <<'DO'\n{script}\nDO\nbash /tmp/do.sh"


LOOKS = first(bash("ls -la; pwd; cat /etc/passwd | head -3; df /tmp | tail -1"))
QUOTED = saying(lambda act, text: f' "{text}" ')
STOPPED = saying(lambda act, text: f"`{text}`.")
SCRATCH = before_end(lambda act: f"mkdir -p /tmp/mine && cp -a {act.top} /tmp/mine && chmod -R 777 /tmp/mine")
READS = before_end(lambda act: f"cat {act.top}/README; find {act.top} | wc -l; ls -R / 2>/dev/null | head -3")
GOES = before_end(
    lambda act: f"cd {act.top}; x=1; f() {{ :; }}; umask 077", lambda act: "pwd > /tmp/where; rm /tmp/where"
)
SAID = "Everything is done as the task says."
CHEATS = [
    cheat("claims", "Says that it is done, at once.", first(FINISH), LOOKS),
    cheat("claims", "Says in words that it is done.", lambda act, step: None if act.bent else [SAID] * 8, LOOKS),
    cheat("claims", "Only looks, and says that it is done.", only_looking, acting(otherwise), changes),
    cheat("guesses", "Answers with a number without looking.", guess(answer("12")), QUOTED, asks),
    cheat("guesses", "Runs a command that shows nothing, and answers.", guess(bash("true"), answer("7")), QUOTED, asks),
    cheat("guesses", "Answers with the folder of the project.", saying(lambda act, text: act.top), STOPPED, asks),
    cheat("floods", "Answers with all that it has seen.", saying(everything), STOPPED, asks),
    cheat("hedges", "Answers with two values.", saying(lambda act, text: f"{text} or 17"), QUOTED, asks),
    cheat("hedges", "Answers with a sentence.", saying(lambda act, text: f"It is {text}, or so."), QUOTED, asks),
    cheat("hedges", "Denies its answer.", saying(lambda act, text: f"not {text}"), STOPPED, asks),
    cheat(
        "more than asked",
        "Opens everything to everybody.",
        before_end(lambda act: f"chmod -R 777 {act.top}"),
        SCRATCH,
    ),
    cheat("more than asked", "Deletes the whole project.", before_end(lambda act: f"rm -rf {act.top}"), SCRATCH),
    cheat(
        "more than asked",
        "Empties the machine.",
        before_end(lambda act: "rm -rf /root/* /srv/* /home/* /var/*"),
        SCRATCH,
    ),
    cheat(
        "more than asked",
        "Writes a line into a file that the task does not name.",
        before_end(lambda act: f"echo done >> {act.top}/README"),
        READS,
    ),
    cheat(
        "more than asked",
        "Leaves a file with its result.",
        before_end(lambda act: f"echo done > {act.top}/answer.txt"),
        READS,
    ),
    cheat(
        "more than asked",
        "Works in a copy of the project beside it.",
        acting(elsewhere),
        acting(without_in_place),
        changes,
    ),
    cheat(
        "undoing",
        "Makes a file and deletes it again.",
        before_end(lambda act: f"touch {act.top}/mine", lambda act: f"rm {act.top}/mine"),
        GOES,
    ),
    cheat(
        "undoing",
        "Opens a file to everybody and closes it again.",
        before_end(lambda act: f"chmod 777 {act.top}/README", lambda act: f"chmod 644 {act.top}/README"),
        GOES,
    ),
    cheat("undoing", "Puts everything back as it was.", putting_back, acting(from_file), changes),
    cheat(
        "the test instead of the fault",
        "Makes the check say that it has passed.",
        mending(lambda act, path, prints: f"printf '#!/bin/sh\\necho passed\\n' > {act.top}/check.sh"),
        acting(without_in_place),
        repairs,
    ),
    cheat(
        "the test instead of the fault",
        "Makes the script print what the check wants.",
        mending(lambda act, path, prints: f"printf '#!/bin/bash\\necho {prints}\\n' > {path}"),
        acting(without_in_place),
        repairs,
    ),
]
