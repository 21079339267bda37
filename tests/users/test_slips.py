"""A customer's reply that contradicts itself, or the conversation, is asked again once; then it is a fault."""

from __future__ import annotations

import pytest

from simia_gym.errors import Fault
from simia_gym.types import JsonObject

from ..model_server import Asked, serving
from .test_llm_user import Talk, says, task

HI = says("Hi, I want to book a seat.")
SHALL_I = "I will book seat B12 for $20. Shall I go ahead?"
EMAIL = "Could you please tell me your e-mail address?"

SLIPS: list[tuple[str, list[str], list[JsonObject], str]] = [
    # what, the agent's messages, the customer's before the last one, the slip, a word of the complaint
    ("agrees and leaves", [SHALL_I], [HI, says("Yes.", confirms=True, stop=True)], "both true"),
    ("agrees to a question", [EMAIL], [HI, says("It is a@b.com.", confirms=True)], "proposed nothing"),
    ("agrees to a greeting", ["Hello, welcome!"], [HI, says("Yes, do it.", confirms=True)], "proposed nothing"),
    (
        "agrees again",
        [SHALL_I, "It is booked. Is there anything else?"],
        [HI, says("Yes, please.", confirms=True), says("Yes, all good.", confirms=True)],
        "proposed nothing",
    ),
    ("says no and agrees", [SHALL_I], [HI, says("No, not that seat.", confirms=True)], "says no"),
    ("says do not and agrees", [SHALL_I], [HI, says("Please don't book it.", confirms=True)], "says no"),
    ("says nein and agrees", [SHALL_I], [HI, says("Nein, das will ich nicht.", confirms=True)], "says no"),
    ("says yes without the flag", [SHALL_I], [HI, says("Yes, please go ahead.")], "says yes"),
    ("agrees in other words", [SHALL_I], [HI, says("Sure, I agree to that.")], "says yes"),
    ("says si without the flag", [SHALL_I], [HI, says("S\u00ed, adelante.")], "says yes"),
    (
        "says hai without the flag",
        [SHALL_I],
        [HI, says("\u306f\u3044\u3001\u304a\u9858\u3044\u3057\u307e\u3059\u3002")],
        "says yes",
    ),
    ("offers help", [EMAIL], [HI, says("How can I help you today?")], "agent would say"),
    ("asks for the agent's data", [EMAIL], [HI, says("Could you please provide your order number?")], "agent would"),
    ("reports a deed", [EMAIL], [HI, says("I have cancelled your order.")], "agent would say"),
    ("reports a state", [EMAIL], [HI, says("Your refund has been processed.")], "agent would say"),
    ("offers help in German", [EMAIL], [HI, says("Wie kann ich Ihnen helfen?")], "agent would say"),
    (
        "says the same a third time",
        [EMAIL, "And your name?", "Which seat?"],
        [HI, *[says("The order is your order, please.")] * 3],
        "the same twice",
    ),
    ("leaves and asks", [SHALL_I], [HI, says("What does it cost?", stop=True)], "asks something"),
    ("leaves without a wish", ["I see."], [says("Hello."), says("Bye.", stop=True)], "what you want"),
    ("leaves at the first question", [EMAIL], [HI, says("Goodbye.", stop=True)], "only begun"),
    ("makes up an id", [EMAIL], [HI, says("My user id is 2323f63c9cfb.")], "you do not know"),
    ("makes up a number", [EMAIL], [HI, says("It is 183919072238.")], "you do not know"),
    ("makes up an e-mail", [EMAIL], [HI, says("It is ada_love1815@example.org.")], "you do not know"),
    (
        "leaves without a detail",
        ["What is your name?", "I cannot help without it.", "I cannot help."],
        [HI, says("Please refresh the page."), says("You may not edit this."), says("Goodbye to you.", stop=True)],
        "told nothing",
    ),
    (
        "says yes to each question",
        ["What is your name?", *["And your zip code?"] * 3],
        [HI, *[says("Yes.")] * 4],
        "tell none",
    ),
    (
        "never says its wish",
        ["Hello!"] * 7,
        [says(text) for text in ["Hello.", "Ada.", "Me.", "So.", "And.", "Well.", "Hm.", "Um."]],
        "what you want",
    ),
    ("says okay again and again", ["I cannot do that."] * 5, [HI, *[says("Okay.")] * 5], "again and again"),
    ("says okay to a proposal", [SHALL_I], [HI, says("Okay.")], "says yes"),
]


@pytest.mark.parametrize(("heard", "said", "words"), [slip[1:] for slip in SLIPS], ids=[slip[0] for slip in SLIPS])
@pytest.mark.sampled
async def test_a_slip_is_asked_again_and_then_a_fault(heard: list[str], said: list[JsonObject], words: str) -> None:
    lines = list(said)

    def answer(asked: Asked) -> JsonObject:
        return lines[0] if len(lines) == 1 else lines.pop(0)

    async with serving(answer) as server:
        talk = Talk(server.model("user"))
        await talk.begin()
        for text in heard[:-1]:
            await talk.say(text)
        with pytest.raises(Fault, match=words) as caught:
            await talk.say(heard[-1])
    assert (caught.value.kind, caught.value.role) == ("invalid_reply", "user")
    assert any(words in problem for problem in server.asked[-1].value("violations"))
    assert [event["type"] for event in talk.ledger.events][-4:] == ["model", "rejected", "model", "rejected"]
    assert len(server.asked) == len(said) + 1


async def test_the_second_answer_is_what_counts() -> None:
    def answer(asked: Asked) -> JsonObject:
        if asked.has("violations"):
            return says("It is a@b.com.")
        return says("Yes!", confirms=True) if asked.has("agent") else HI

    async with serving(answer) as server:
        talk = Talk(server.model("user"))
        await talk.begin()
        said = await talk.say(EMAIL)
    assert (said.observation, said.meta["acts"]) == ("It is a@b.com.", [])
    assert "Yes!" not in server.asked[-1].messages[-1]["content"]


FINE: list[tuple[str, list[str], list[JsonObject]]] = [
    ("agrees", [SHALL_I], [HI, says("Yes, please go ahead.", confirms=True)]),
    ("agrees with another wish", [SHALL_I], [HI, says("Yes. Please don't change anything else.", confirms=True)]),
    ("agrees later", [SHALL_I, "It costs $20."], [HI, says("What does it cost?"), says("Fine.", confirms=True)]),
    ("agrees to a plan", ["I will book B12 for you."], [HI, says("Yes, thank you.", confirms=True)]),
    ("agrees in German", ["Soll ich B12 buchen?"], [HI, says("Ja, gerne.", confirms=True)]),
    ("agrees to a summary", ["Your order is B12, correct?"], [HI, says("Yes, that's right.")]),
    ("says yes to nothing", ["Shall I go ahead?"], [HI, says("Yes, that's right.")]),
    ("answers a yes-no question", ["Is your name Ada?"], [HI, says("Yes, that is right.")]),
    ("declines", [SHALL_I], [HI, says("No, I want another seat.")]),
    ("asks before it agrees", [SHALL_I], [HI, says("Yes, but what does it cost?")]),
    ("quotes the agent", [EMAIL], [HI, says('You wrote "your order has been cancelled"?')]),
    ("asks for help", ["Hello!"], [HI, says("Can you help me with my order? How can I pay?")]),
    ("knows nothing", ["Code?", "Name?", "E-mail?", "Seat?"], [HI, *[says("No idea, sorry.")] * 4]),
    ("answers the same question", [EMAIL] * 3, [HI, *[says("My e-mail address is a@b.com.")] * 3]),
    ("says a detail to one that goes on asking", [EMAIL] * 7, [HI, *[says("a@b.com")] * 7]),
    ("says its wish to one that goes on asking", ["How can I help you?"] * 7, [HI, *[says("A seat, please.")] * 7]),
    ("answers many questions", [f"Is it {n}?" for n in "ABCD"], [HI, *[says("No.")] * 4]),
    ("leaves when it is done", ["It is booked. Anything else?"], [HI, says("No, thanks. Bye.", stop=True)]),
    (
        "leaves after an answer",
        ["Hello!", "Your total is $20. Would you like to know anything about your other order?"],
        [HI, says("What is the total of A1?"), says("No, thanks.", stop=True)],
    ),
    ("leaves when asked again", [EMAIL, EMAIL], [HI, says("I have none."), says("Then goodbye.", stop=True)]),
    ("names what it heard", ["Is it order #W1234567?"], [HI, says("Yes, #W1234567 is right, W1234567.")]),
    ("names sizes and times", [EMAIL], [HI, says("The 1000mah one, at 10:30am on 2024-05-26, for $1,200.50.")]),
    ("leaves after a refusal", ["I cannot help with that."], [says("Hello."), says("Goodbye.", stop=True)]),
]


@pytest.mark.parametrize(("heard", "said"), [fine[1:] for fine in FINE], ids=[fine[0] for fine in FINE])
async def test_what_may_be_right_passes(heard: list[str], said: list[JsonObject]) -> None:
    lines = list(said)
    async with serving(lambda asked: lines.pop(0)) as server:
        talk = Talk(server.model("user"))
        told = [await talk.begin(), *[await talk.say(text) for text in heard]]
    assert [one.observation for one in told] == [line["message"] for line in said]
    assert len(server.asked) == len(said)


@pytest.mark.parametrize("flag", ["stop", "confirms"])
async def test_at_an_opening_both_flags_are_false(flag: str) -> None:
    async with serving(lambda asked: {**HI, flag: True}) as server:
        talk = Talk(server.model("user"))
        with pytest.raises(Fault, match=flag) as caught:
            await talk.begin()
    assert (caught.value.role, caught.value.kind) == ("user", "bad_reply")
    schema = server.bodies[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"][flag]["enum"] == [False]


async def test_a_customer_of_whom_the_wish_is_unknown_may_leave() -> None:
    lines = [says("Hello."), says("Bye.", stop=True)]
    async with serving(lambda asked: lines.pop(0)) as server:
        talk = Talk(server.model("user"))
        await talk.begin(task({"persona": "in a hurry"}))
        assert (await talk.say("I see.")).end == "user_stop"
