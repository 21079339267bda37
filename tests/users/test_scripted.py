from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise

import pytest

from simia_gym.common.event_loop import run_inline
from simia_gym.contracts import PreparedTask, StepContext
from simia_gym.errors import InputError
from simia_gym.types import JsonObject, Transition
from simia_gym.users.cues import Cues
from simia_gym.users.scripted import ScriptedUser
from tests.users.stage import CUES, Stage, script


def acts(reply: Transition) -> list[str]:
    return list(reply.meta["acts"])


QUESTION: JsonObject = {"action": None, "done": [], "told": [["20"]], "answer": "price"}
WINDOW: JsonObject = {"expect": [{"slot": "seat", "any": ["window"], "avoid": ["aisle"]}]}


@pytest.mark.parametrize(
    ("changes", "text", "acts", "words"),
    [
        ({}, "What is your name?", ["inform"], "I am Ada."),
        ({}, "Which seat would you like?", ["inform"], "Seat B12, please."),
        ({}, "Please tell me your code and your name.", ["inform"], "The code is 4711. I am Ada."),
        ({}, "I need:\n- your name\n- your code", ["inform"], "I am Ada. The code is 4711."),
        ({}, "Please give me your email, or your name and code.", ["inform"], "I am Ada. The code is 4711."),
        ({}, "What is your email?", ["inform"], "I forgot the email."),
        ({}, "Your email and name?", ["inform"], "I forgot the email. I am Ada."),
        ({}, "Can you confirm your name?", ["inform"], "I am Ada."),
        ({}, "I'm sorry, I can't find you. What is your name?", ["inform"], "I am Ada."),
        ({"slots": {}, "expect": []}, "Your name and seat?", ["inform"], "I am Ada."),
        ({}, "How can I help you?", ["request"], "I want to book a seat."),
        ({}, "I will book seat B12. Shall I proceed?", ["confirm"], "Yes"),
        ({}, "I will book B12. Do you confirm? And what is your name?", ["confirm", "inform"], "I am Ada."),
        ({}, "I will book seat C3. Shall I proceed?", ["deny"], "Seat B12, please."),
        ({}, "I will book seat B12 or seat C3. Shall I proceed?", ["clarify"], "the seat"),
        ({}, "I will book seat B12, not seat C3. Yes or no?", ["confirm"], "Yes"),
        ({}, "I will not book seat B12. Shall I proceed?", ["insist"], ""),
        ({}, "I refuse, and do something else: I will book seat B12. Shall I proceed?", ["insist"], ""),
        ({}, "I will book seat B12. On second thought, I won't do that. Shall I proceed?", ["insist"], ""),
        ({}, "I will book seat B12. There is no fee, and nothing else will be changed. Ok?", ["confirm"], "Yes"),
        ({}, "I can't do that for C3. Instead, I will book seat B12. Shall I?", ["confirm"], "Yes"),
        ({}, "Shall I sell it?", ["deny"], "I want to book a seat."),
        (WINDOW, "I will book the aisle seat. Shall I proceed?", ["deny"], "Seat B12, please."),
        (WINDOW, "I will book the window seat, not the aisle. Shall I proceed?", ["confirm"], "Yes"),
        (WINDOW, "I will book the seat. Shall I proceed?", ["clarify"], "the seat"),
        ({}, "I will book seat B12.", ["confirm"], "Yes"),
        ({}, "I will book seat B12. How does that sound?", ["confirm"], "Yes"),
        ({}, "I will book seat B12. I won't do anything until I hear back from you.", ["confirm"], "Yes"),
        ({}, "I've checked the details. I will book seat B12.", ["confirm"], "Yes"),
        ({}, "I will book seat B12. Shall I put you on our mailing list (yes/no)?", ["deny"], "not what I asked"),
        ({}, "I have booked seat B12.", ["restate"], "I want to book a seat."),
        ({}, "Seat, please.", ["inform"], "Seat B12, please."),
        ({}, "Your email? I can't open your account without it.", ["inform"], "I forgot the email."),
        ({}, "You want to book seat B12. I'm sorry, that is not possible.", ["insist"], ""),
        ({}, "One moment, let me check.", ["wait"], ""),
        ({}, "All done!", ["restate"], "I want to book a seat."),
        ({"done": []}, "All done!", ["restate"], "I want to book a seat."),
        (QUESTION, "It costs $25.", ["thank", "leave"], "Bye."),
        (QUESTION, "Prices differ a lot.", ["restate"], "I want to book a seat."),
        (QUESTION, "It costs $25 or $30.", ["clarify"], "hich one is it?"),
        (QUESTION, "It costs $25. Das ist der Preis und ich habe recht.", ["clarify"], "write in English"),
        (QUESTION, "It can be $25.", ["clarify"], "hich one is it?"),
        ({}, "Ich habe keine Ahnung. Shall I book B12?", ["clarify"], "write in English"),
        ({"change": {"say": ["Leave it."], "withdraw": True}}, "I will book B12. Shall I proceed?",
         ["change", "withdraw", "leave"], "Leave it. Bye."),
    ],
)  # fmt: skip
def test_answers_one_message(changes: JsonObject, text: str, acts: list[str], words: str) -> None:
    reply = Stage(script(**changes)).say(text)
    assert reply.meta["acts"] == acts
    assert words in reply.observation
    assert reply.end == ("user_stop" if "leave" in acts else None)
    assert reply.speaker == "user"


def test_says_which_slots_it_told() -> None:
    reply = Stage(script()).say("Please tell me your code and your name.")
    assert reply.meta == {"acts": ["inform"], "slots": ["code", "name"], "request": "book"}


def test_vague_user_adds_its_wish_when_invited() -> None:
    text = "Thanks! What can I do for you, and what is your name?"
    assert Stage({**script(), "vague": True}).say(text).observation == "I want to book a seat. I am Ada."
    assert Stage(script()).say(text).observation == "I am Ada."


D4: JsonObject = {"say": ["No, rather D4."], "expect": [{"slot": "seat", "any": ["D4"], "token": "seat"}]}
AISLE: JsonObject = {"id": "aisle", "say": ["Then the aisle."], "action": "book", "otherwise": True}


@pytest.mark.parametrize(
    ("changes", "talk"),
    [
        ({"change": D4}, {
            "I will book it. Shall I proceed?": ["clarify"],
            "I will book B12. Shall I proceed?": ["change"],
            "I will book it, shall I proceed?": ["clarify"],  # what was named before the change is forgotten
            "I will book B12, shall I proceed?": ["deny"],
            "I will book D4. Shall I proceed?": ["confirm"],
        }),
        ({}, {
            "Is that correct?": ["agree"],
            "I am going to book B12 for you.": ["confirm"],
            "Do you confirm?": ["confirm"],
        }),
        ({"slots": {}}, {
            "Blue.": ["restate"], "Green.": ["inform"], "Red.": ["restate"], "Grey.": ["inform"],
            "Pink.": ["restate"], "White.": ["nothing_to_add"], "Anything else?": ["restate"],
            "What else?": ["nothing_to_add"], "Black.": ["give_up"],
        }),
        ({"insist": 2, "insist_say": ["Please!"]}, {
            "I'm sorry, I can't book it. Would you like me to book another one instead?": ["insist"],
            "I'm sorry, I can't book it.": ["insist"],
            "I'm sorry, I cannot book it.": ["accept_refusal", "leave"],
        }),
        ({"insist": 0}, {
            "What is your name?": ["inform"],
            "I can't book that. What is your name?": ["accept_refusal", "leave"],
        }),
        (WINDOW, {
            "I will book the window. I can't undo that later. Shall I proceed?": ["confirm"],
            "I can't book the window. Shall I ask a colleague?": ["insist"],
            "I can't book the window, sorry. I will book the aisle. Shall I?": ["accept_refusal", "leave"],
        }),
    ],
)  # fmt: skip
def test_answers_several_messages(changes: JsonObject, talk: dict[str, list[str]]) -> None:
    stage = Stage(script(**changes))
    assert {text: acts(stage.say(text)) for text in talk} == talk


def test_says_yes_to_nothing_that_leaves_details_out() -> None:
    expect = [{"slot": "seat", "any": ["B12"], "token": "seat"}, {"slot": "fare_class", "any": ["first", "1st-class"]}]
    stage = Stage(script(expect=expect))
    reply = stage.say("I will book seat B12. Shall I proceed?")
    assert acts(reply) == ["clarify"]
    assert "the fare class" in reply.observation
    assert "seat" not in reply.observation
    assert acts(stage.say("It is 1st class. Shall I proceed?")) == ["confirm"]
    vague = Stage(script(expect=expect))
    said = [acts(vague.say("Shall I go ahead and book (yes/no)?")) for _ in range(5)]
    assert said == [["clarify"]] * 4 + [["give_up"]]


def test_leaves_when_the_wish_is_settled() -> None:
    stage = Stage(script(done=[{"tool": "book_seat", "arguments": {"seat": "B12"}}]))
    stage.call("book_seat", ok=False, seat="B12")
    stage.call("book_seat", seat="C3")
    assert stage.say("One moment.").end is None
    stage.call("book_seat", seat="B12")
    reply = stage.say("It is booked.")
    assert (reply.end, acts(reply)) == ("user_stop", ["thank", "leave"])


def test_brings_up_the_next_wish() -> None:
    user = script()
    user["requests"].append(
        {"id": "price", "say": ["What did it cost?"], "told": [["20", "twenty"]], "answer": "price"}
    )
    stage = Stage(user)
    stage.call("book_seat")
    reply = stage.say("It is booked. Anything else?")
    assert reply.observation.endswith("What did it cost?")
    assert reply.end is None
    assert reply.meta["request"] == "price"
    assert stage.say("It cost $20.").end == "user_stop"


@pytest.mark.parametrize(
    "text", ["One moment.", "How can I help?", "Is that correct?", "I will book C3. Shall I?", "x", "I can't."]
)
def test_never_talks_forever(text: str) -> None:
    stage = Stage(script())
    assert "user_stop" in [stage.say(text).end for _ in range(20)]


def test_reminds_of_its_wish_when_asked_the_same_again_and_again() -> None:
    stage = Stage(script())
    said = [stage.say("What is your name?") for _ in range(10)]
    assert "I want to book a seat." not in said[0].observation
    assert any("I want to book a seat." in reply.observation for reply in said)
    assert any(reply.end == "user_stop" for reply in said)


def test_never_says_a_line_twice_in_a_row_to_who_says_nothing_of_use() -> None:
    stage = Stage(script())
    said = [stage.say("Thank you for your patience!") for _ in range(9)]
    assert all(one.observation != other.observation for one, other in pairwise(said))
    assert [reply.end for reply in said] == [None] * 8 + ["user_stop"]


def test_stays_as_long_as_the_agent_calls_tools() -> None:
    stage = Stage(script())
    for _ in range(30):
        stage.call("look", ok=False)
        assert stage.say("You're welcome!").end is None


def test_who_has_agreed_says_so_again() -> None:
    stage = Stage(script())
    stage.say("I will book seat B12. Shall I proceed?")
    assert acts(stage.say("Thank you for choosing us!")) == ["agree"]
    assert acts(stage.say("I have booked it.")) != ["agree"]


def test_gives_in_only_after_a_refusal() -> None:
    user = script(insist=0, done=[{"tool": "book_seat"}])
    user["requests"].append(AISLE)
    refused = Stage(user)
    reply = refused.say("I can't book it, sorry.")
    assert (acts(reply), reply.meta["request"]) == (["accept_refusal", "request"], "aisle")
    assert reply.observation.endswith("Then the aisle.")
    granted = Stage(user)
    granted.call("book_seat")
    assert acts(granted.say("It is booked.")) == ["thank", "leave"]


def test_leaves_after_being_handed_over() -> None:
    stage = Stage(script())
    stage.call("hand_over")
    assert stage.say("Please hold on.").end == "user_stop"


def test_same_seed_same_words_and_seeds_differ() -> None:
    user = script(confirm=["Yes.", "Yes, do.", "Yes please.", "Yes!", "Yes, go ahead."])
    seeds = [*range(30), *range(30)]
    said = [Stage(user, seed=seed).say("I will book B12. Shall I proceed?").observation for seed in seeds]
    assert said[:30] == said[30:]
    assert len(set(said)) == 5


def test_memory_lies_in_the_state_alone() -> None:
    stage = Stage(script(insist=1, accept=["Alright."]))
    stage.say("I can't book it, sorry.")
    fresh = ScriptedUser(CUES)
    context = StepContext(PreparedTask(stage.task, stage.state), stage.state, stage.ledger, 0, 2)
    assert acts(run_inline(fresh.reply("I can't book it, sorry.", context)))[0] == "accept_refusal"
    before = replace(context, state=stage.state.__class__.from_tables({}))
    assert acts(run_inline(fresh.reply("I can't book it, sorry.", before))) == ["insist"]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (None, "user"),
        ({"type": "other"}, "type"),
        ({"type": "scripted", "requests": []}, "requests"),
        ({"type": "scripted", "requests": [{"id": "x"}]}, "say"),
        ({"type": "scripted", "requests": [{"say": 3}]}, "say"),
        ({"type": "scripted", "oops": 1, "requests": [{"say": "x"}]}, "oops"),
        ({"type": "scripted", "requests": [{"say": "x", "expect": [{"colour": 1}]}]}, "colour"),
    ],
)
def test_mistakes_in_scripts_are_named(value: object, place: str) -> None:
    with pytest.raises(InputError) as caught:
        Stage(value)  # type: ignore[arg-type]
    assert place in str(caught.value)
    assert "task t" in str(caught.value)


def test_a_script_is_its_tasks_own() -> None:
    """Scripts are remembered from one episode to the next, by task and not by its id."""
    vague = {"type": "scripted", "vague": True, "requests": [{"id": "other", "say": ["Something else."]}]}
    for _ in range(2):
        assert Stage(script()).opening.observation == "Hello."
        assert Stage(vague).opening.observation == "Something else."


@pytest.mark.parametrize(
    "config", [{"oops": 1}, {"slots": {"a": {"ask": ["("]}}}, {"actions": {"a": [1]}}, {"conversation": {"oops": []}}]
)
def test_mistakes_in_cues_are_named(config: dict[str, object]) -> None:
    with pytest.raises(InputError, match="cues"):
        Cues(config)


def test_cues_survive_pickling() -> None:
    cues = Cues(CUES)
    text = "Which seat would you like, and what is your name?"
    assert cues.hear(text).asks == pickle.loads(pickle.dumps(cues)).hear(text).asks == ("seat", "name")
