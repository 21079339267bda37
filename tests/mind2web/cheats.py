"""The cheats of the small sites: ``simia check mind2web --cheats tests.mind2web.cheats``.

Two players without understanding belong to them: one that remembers letters is in the list; what one that goes by
shared words reaches is measured by a test of its own, since it may solve a task in twenty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta

from simia_gym.envs.mind2web.sites.loading import sites_called
from simia_gym.envs.mind2web.sites.spec import Site
from simia_gym.envs.mind2web.work.expert import SiteExpert, call_of, moves
from simia_gym.envs.mind2web.work.position import Move
from simia_gym.envs.mind2web.work.reading import LETTERS, read_page, read_prompt
from simia_gym.envs.mind2web.work.seen import Press, Seen
from simia_gym.envs.mind2web.work.sentences import Asked, Sentences
from simia_gym.policies import Policy, PolicyStart
from simia_gym.types import Calls, Message
from tests.cheats.making import paired
from tests.mind2web.guessers import Rememberer

Does = Callable[["Bent", Seen, Move], Move | None]
"""What is done on a page instead of the expert's action; nothing if that stands."""


class Bent(SiteExpert):
    """The expert, which does something else in places.

    Attributes:
        bent: Whether it has done so; what a patient one does says so itself, once it matters.
        site: The site.
        asked: What the task asks for.
        turn: The number of the action.
        notes: What it keeps in mind.
    """

    does: Does
    patient = False

    def start(self, start: PolicyStart) -> None:
        super().start(start)
        self.bent, self.turn, self.notes = False, -1, list[str]()

    def act(self, messages: Sequence[Message]) -> str:
        text = str(messages[-1]["content"])
        prompt = read_prompt(text)
        self.site: Site = sites_called(prompt.title)[0]
        self.asked: Asked = Sentences(self.site).read(prompt.task)
        self.turn += 1
        own = (moves(text) or (Move("done"),))[0]
        seen = read_page(prompt, self.site)
        new = type(self).does(self, seen, own)
        self.bent = self.bent or (not self.patient and new not in (None, own))
        assert self._start is not None
        return self._start.grammar.render(Calls((call_of(own if new is None else new),)))

    @property
    def effects(self) -> dict[str, str]:
        """What pages say after the buttons that have an effect."""
        forms = [page.form for page in self.site.pages.values()]
        return {form.button: form.done for form in forms if form is not None and form.done is not None}


def cheat(about: str, says: str, does: Does, harmless: Does, *, patient: bool = False) -> type[Policy]:
    """A cheat of a class, with its twin."""
    return paired(about, _policy(says, does, patient), _policy(f"twin of: {says}", harmless))


def _policy(says: str, does: Does, patient: bool = False) -> type[Bent]:
    members = {"__doc__": says, "does": staticmethod(does), "patient": patient}
    return type("".join(filter(str.isalnum, says.title())), (Bent,), members)


def first(move: Move) -> Does:
    """Do something before anything else."""
    return lambda act, seen, own: move if act.turn == 0 else None


def pressed(seen: Seen, move: Move) -> str:
    """The words of the link or button that an action presses."""
    found = [press for press in (*seen.steps, *seen.menu) if move.tool == "click" and press.letter == move.choice]
    return found[0].words if found else ""


def click(press: Press) -> Move:
    return Move("click", press.letter) if press.letter in LETTERS else Move("more")


def without_the_button(act: Bent, seen: Seen, own: Move) -> Move | None:
    return Move("done") if pressed(seen, own) in act.effects else None


def without_the_second_wish(act: Bent, seen: Seen, own: Move) -> Move | None:
    said = any(words in act.effects.values() for words in seen.words)
    return Move("done") if len(act.asked.kind.wishes) > 1 and said and own.tool != "done" else None


def another_row(act: Bent, seen: Seen, own: Move) -> Move | None:
    """The same step of the row that is most like the wanted one."""
    rows = [row for block in seen.rows for row in block]
    for row in rows:
        places = [place for place, step in enumerate(row.steps) if step.letter == own.choice and own.tool == "click"]
        if places and not act.notes:
            others = [other for other in rows if other.cells != row.cells and other.steps[places[0]].letter]
            if others and act.asked.kind.read is None:
                act.notes.append("row")
                like = max(others, key=lambda one: len(one.cells.items() & row.cells.items()))
                return click(like.steps[places[0]])
    return _onward(act, seen, own) if act.notes else None


def _onward(act: Bent, seen: Seen, own: Move) -> Move | None:
    """On a page of another row than the wanted one: goes on as if it were the wanted one, and ends."""
    if any(words in act.effects.values() for words in seen.words):
        act.bent = own.tool != "done"
        return Move("done")
    if not any(press.letter == own.choice for press in seen.menu if own.tool == "click"):
        return None
    for stop in act.asked.kind.wishes[0].route:
        form = act.site.pages[stop.page].form
        words = form.button if stop.fill is not None and form is not None else stop.press
        found = [step for step in seen.steps if step.words == words]
        if found:
            return click(found[0])
    return None


def another_value(act: Bent, seen: Seen, own: Move) -> Move | None:
    """The day after, one more, or another option; then it sends the form."""
    field = next((field for field in seen.fields if field.letter and field.letter == own.choice), None)
    button = next((step for step in seen.steps if step.words in act.effects), None)
    if field is None or button is None or own.tool not in ("select", "type"):
        return None
    if field.label in act.notes:
        return click(button)
    act.notes.append(field.label)
    if own.tool == "select":
        others = [option.words for option in field.options if option.words not in (own.value, "Choose")]
        return Move("select", own.choice, others[0])
    return Move("type", own.choice, _other(own.value))


def _other(value: str) -> str:
    if value.isdecimal():
        return str(int(value) - 1 or 2)
    try:
        return (date.fromisoformat(value) - timedelta(days=1)).isoformat()
    except ValueError:
        return f"{value} 2"


def more_than_asked(act: Bent, seen: Seen, own: Move) -> Move | None:
    """Before the end, takes the step of the first row that removes it, and presses the button."""
    if own.tool == "done" and not act.notes and act.asked.kind.read is None:
        forms = {name: page.form for name, page in act.site.pages.items()}
        ends = [name for name, form in forms.items() if form and form.effect and form.effect.remove]
        rows = [page.rows for page in act.site.pages.values() if page.rows is not None]
        words = {step.words for one in rows for step in one.steps if step.to in ends}
        steps = [
            step for block in seen.rows for row in block for step in row.steps if step.words in words and step.letter
        ]
        if steps:
            act.notes.append("step")
            return click(steps[0])
    if act.notes == ["step"]:
        act.notes.append("button")
        act.bent = True
        return next(click(step) for step in seen.steps if step.words in act.effects)
    return Move("done") if act.notes else None


def answering(words: Callable[[Seen, str], str]) -> Does:
    """Answer in other words."""
    return lambda act, seen, own: (
        Move("done", value=words(seen, own.value)) if own.value and own.tool == "done" else None
    )


def everything(seen: Seen, answer: str) -> str:
    return " ".join(cell for block in seen.rows for row in block for cell in row.cells.values())


def looks_elsewhere(act: Bent, seen: Seen, own: Move) -> Move | None:
    """Before it acts, looks at the last page of the menu."""
    return click(seen.menu[-1]) if act.turn == 0 else None


SAID = "I have taken care of everything. It is all done."
MORE = first(Move("more"))
QUOTED = answering(lambda seen, answer: f'"{answer}"')
CHEATS = [
    cheat("claims", "Ends the visit at once.", first(Move("done")), looks_elsewhere),
    cheat("claims", "Says that it is done, at once.", first(Move("done", value=SAID)), MORE),
    cheat("claims", "Does all but press the button, and ends.", without_the_button, looks_elsewhere),
    cheat("partial work", "Ends after the first of two wishes.", without_the_second_wish, MORE),
    cheat("partial work", "Gives another value in a form than the wanted one.", another_value, looks_elsewhere),
    cheat("partial work", "Takes the row that is most like the wanted one.", another_row, MORE, patient=True),
    cheat("more than asked", "Undoes another row, too.", more_than_asked, looks_elsewhere, patient=True),
    cheat("floods", "Answers with all that is on the page.", answering(everything), QUOTED),
    cheat("hedges", "Answers with two values.", answering(lambda seen, answer: f"{answer} or 17"), QUOTED),
    cheat("hedges", "Answers with a sentence.", answering(lambda seen, answer: f"It is {answer}, or so."), QUOTED),
    cheat("hedges", "Denies its answer.", answering(lambda seen, answer: f"not {answer}"), QUOTED),
    paired("guesses", Rememberer, _policy("twin of: letters", MORE)),
]
