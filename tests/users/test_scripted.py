from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from simia_gym.common.event_loop import run_inline
from simia_gym.contracts import PreparedTask, StepContext
from simia_gym.errors import InputError
from simia_gym.types import Transition
from simia_gym.users.cues import Cues
from simia_gym.users.scripted import ScriptedUser
from tests.users.stage import CUES, Stage, script


def acts(reply: Transition) -> list[str]:
    return list(reply.meta["acts"])


def test_gives_only_what_is_asked_for() -> None:
    stage = Stage(script())
    assert stage.opening.observation == "Hello."
    reply = stage.say("What is your name?")
    assert reply.observation == "I am Ada."
    assert reply.meta["slots"] == ["name"]
    assert reply.speaker == "user"
    assert reply.end is None
    assert stage.say("Which seat would you like?").observation == "Seat B12, please."


def test_answers_two_questions_in_order() -> None:
    reply = Stage(script()).say("Please tell me your code and your name.")
    assert reply.observation == "The code is 4711. I am Ada."
    assert reply.meta == {"acts": ["inform"], "slots": ["code", "name"], "request": "book"}


def test_answers_a_list_of_questions() -> None:
    assert Stage(script()).say("I need:\n- your name\n- your code").observation == "I am Ada. The code is 4711."


def test_alternatives_are_answered_with_what_it_has() -> None:
    reply = Stage(script()).say("Please give me your email, or your name and code.")
    assert reply.observation == "I am Ada. The code is 4711."


def test_says_what_it_does_not_know() -> None:
    stage = Stage(script())
    assert stage.say("What is your email?").observation == "I forgot the email."
    assert stage.say("Your email and name?").observation == "I forgot the email. I am Ada."


def test_quiet_slots_are_passed_over() -> None:
    user = script(slots={}, expect=[])
    assert Stage(user).say("Your name and seat?").observation == "I am Ada."


def test_states_its_wish_when_invited() -> None:
    reply = Stage(script()).say("How can I help you?")
    assert reply.observation == "I want to book a seat."
    assert acts(reply) == ["request"]


def test_vague_user_adds_its_wish_when_invited() -> None:
    user = {**script(), "vague": True}
    reply = Stage(user).say("Thanks! What can I do for you, and what is your name?")
    assert reply.observation == "I want to book a seat. I am Ada."
    reply = Stage(script()).say("Thanks! What can I do for you, and what is your name?")
    assert reply.observation == "I am Ada."


def test_reminds_of_its_wish_when_asked_the_same_again_and_again() -> None:
    stage = Stage(script())
    said = [stage.say("What is your name?") for _ in range(10)]
    assert "I want to book a seat." not in said[0].observation
    assert any("I want to book a seat." in reply.observation for reply in said)
    assert any(reply.end == "user_stop" for reply in said)


def test_confirms_a_right_proposal() -> None:
    reply = Stage(script()).say("I will book seat B12. Shall I proceed?")
    assert acts(reply) == ["confirm"]
    assert reply.observation.startswith("Yes")


def test_corrects_a_wrong_proposal() -> None:
    reply = Stage(script()).say("I will book seat C3. Shall I proceed?")
    assert acts(reply) == ["deny"]
    assert reply.observation.endswith("Seat B12, please.")
    assert reply.meta["slots"] == ["seat"]


def test_corrects_words_to_avoid() -> None:
    user = script(expect=[{"slot": "seat", "any": ["window"], "avoid": ["aisle"]}])
    assert acts(Stage(user).say("I will book the aisle seat. Shall I proceed?")) == ["deny"]
    assert acts(Stage(user).say("I will book the window seat, not the aisle. Shall I proceed?")) == ["confirm"]
    assert acts(Stage(user).say("I will book the seat. Shall I proceed?")) == ["clarify"]


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


def test_clarified_details_are_forgotten_when_they_change() -> None:
    change = {"say": ["No, rather D4."], "expect": [{"slot": "seat", "any": ["D4"]}]}
    stage = Stage(script(change=change))
    assert acts(stage.say("I will book it. Shall I proceed?")) == ["clarify"]
    assert acts(stage.say("I will book B12. Shall I proceed?")) == ["change"]
    assert acts(stage.say("I will book it. Shall I proceed?")) == ["clarify"]
    assert acts(stage.say("I will book D4. Shall I proceed?")) == ["confirm"]


def test_confirms_and_answers() -> None:
    reply = Stage(script()).say("I will book B12. Do you confirm? And what is your name?")
    assert acts(reply) == ["confirm", "inform"]
    assert reply.observation.endswith("I am Ada.")


def test_bare_question_for_a_yes_needs_a_proposal_before() -> None:
    stage = Stage(script())
    assert acts(stage.say("Is that correct?")) == ["agree"]
    stage.say("I am going to book B12 for you.")
    assert acts(stage.say("Do you confirm?")) == ["confirm"]


def test_another_action_is_declined() -> None:
    reply = Stage(script()).say("Shall I sell it?")
    assert acts(reply) == ["deny"]


def test_asking_to_confirm_a_detail_is_a_question() -> None:
    reply = Stage(script()).say("Can you confirm your name?")
    assert acts(reply) == ["inform"]


def test_leaves_when_the_wish_is_settled() -> None:
    stage = Stage(script())
    stage.call("book_seat", ok=False)
    assert stage.say("One moment.").end is None
    stage.call("book_seat")
    reply = stage.say("It is booked.")
    assert reply.end == "user_stop"
    assert reply.observation.endswith("Bye.")
    assert acts(reply) == ["thank", "leave"]


def test_arguments_of_the_settling_call_count() -> None:
    stage = Stage(script(done=[{"tool": "book_seat", "arguments": {"seat": "B12"}}]))
    stage.call("book_seat", seat="C3")
    assert stage.say("Hm.").end is None
    stage.call("book_seat", seat="B12")
    assert stage.say("Hm.").end == "user_stop"


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


def test_wrong_answer_ends_a_question_too() -> None:
    user = script(action=None, done=[], told=[["20"]], answer="price")
    assert Stage(user).say("It costs $25.").end == "user_stop"


def test_question_stays_open_without_an_answer() -> None:
    user = script(action=None, done=[], told=[["20"]], answer="price")
    reply = Stage(user).say("Prices differ a lot.")
    assert acts(reply) == ["restate"]


def test_insists_and_gives_in() -> None:
    user = script(insist=2, insist_say=["Please!", "Really?"], accept=["Alright."])
    stage = Stage(user)
    assert stage.say("I'm sorry, I cannot book it.").observation == "Please!"
    assert acts(stage.say("I'm sorry, I cannot book it.")) == ["insist"]
    reply = stage.say("I'm sorry, I cannot book it.")
    assert reply.observation == "Alright. Bye."
    assert reply.end == "user_stop"


def test_refusal_outweighs_an_offer_for_a_forbidden_wish() -> None:
    stage = Stage(script(accept=["Alright."]))
    reply = stage.say("I'm sorry, I can't book it. Would you like me to book another one instead?")
    assert "confirm" not in acts(reply)


def test_question_outweighs_a_refusal() -> None:
    reply = Stage(script()).say("I'm sorry, I can't find you. What is your name?")
    assert reply.observation == "I am Ada."


def test_repeated_question_with_refusal_counts_as_refusal() -> None:
    stage = Stage(script(accept=["Alright."]))
    stage.say("What is your name?")
    assert acts(stage.say("I can't book that. What is your name?"))[0] == "accept_refusal"


def test_changes_its_mind_once() -> None:
    change = {
        "say": ["No, rather D4."],
        "slots": {"seat": {"say": ["D4."]}},
        "expect": [{"slot": "seat", "any": ["D4"], "token": "seat"}],
    }
    stage = Stage(script(change=change))
    assert acts(stage.say("I will book B12. Shall I?  Yes or no?")) == ["change"]
    assert acts(stage.say("I will book B12. Shall I proceed?")) == ["deny"]
    assert acts(stage.say("I will book D4. Shall I proceed?")) == ["confirm"]


def test_withdraws() -> None:
    stage = Stage(script(change={"say": ["Leave it."], "withdraw": True}))
    reply = stage.say("I will book B12. Shall I proceed?")
    assert reply.observation == "Leave it. Bye."
    assert reply.end == "user_stop"
    assert "confirm" not in acts(reply)


def test_believes_claims() -> None:
    reply = Stage(script()).say("All done!")
    assert reply.end == "user_stop"


def test_waits_when_told_so() -> None:
    stage = Stage(script())
    assert acts(stage.say("One moment, let me check.")) == ["wait"]


def test_fallback_ladder() -> None:
    stage = Stage(script())
    assert acts(stage.say("Blue.")) == ["restate"]
    assert acts(stage.say("Green.")) == ["nothing_to_add"]
    reply = stage.say("Red.")
    assert acts(reply) == ["give_up"]
    assert reply.end == "user_stop"


def test_never_talks_forever() -> None:
    for text in (
        "One moment.",
        "What is your name?",
        "How can I help?",
        "Is that correct?",
        "I will book C3. Shall I?",
        "x",
        "I can't.",
    ):
        stage = Stage(script())
        assert "user_stop" in [stage.say(text).end for _ in range(20)]


def test_leaves_after_being_handed_over() -> None:
    stage = Stage(script())
    stage.call("hand_over")
    assert stage.say("Please hold on.").end == "user_stop"


def test_same_seed_same_words_and_seeds_differ() -> None:
    user = script(confirm=["Yes.", "Yes, do.", "Yes please.", "Yes!", "Yes, go ahead."])
    said = [Stage(user, seed=seed).say("I will book B12. Shall I proceed?").observation for seed in range(30)]
    again = [Stage(user, seed=seed).say("I will book B12. Shall I proceed?").observation for seed in range(30)]
    assert said == again
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
    "config",
    [
        {"oops": 1},
        {"slots": {"a": {"ask": ["("]}}},
        {"slots": {"a": 1}},
        {"actions": {"a": [1]}},
        {"conversation": {"oops": []}},
    ],
)
def test_mistakes_in_cues_are_named(config: dict[str, object]) -> None:
    with pytest.raises(InputError, match="cues"):
        Cues(config)


def test_cues_survive_pickling() -> None:
    cues = Cues(CUES)
    text = "Which seat would you like, and what is your name?"
    assert cues.hear(text).asks == pickle.loads(pickle.dumps(cues)).hear(text).asks == ("seat", "name")
