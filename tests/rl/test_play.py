"""One episode in tokens, with an engine that is a few lines of Python."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.errors import Fault, InputError
from simia_gym.rl.chat.play import Limits, Played, Turn, play
from simia_gym.types import Message

END = 0


class Letters:
    """A conversation whose tokens are characters; 0 ends a turn."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.ids = [ord(letter) for message in messages for letter in message["content"]]
        self.prompt_length = len(self.ids)
        self.mask, self.logprobs = [0] * len(self.ids), [0.0] * len(self.ids)
        self.heard_messages: list[Message] = []

    def said(self, token_ids: Sequence[int], logprobs: Sequence[float] | None, /) -> str:
        """Append."""
        self.ids += token_ids
        self.mask += [1] * len(token_ids)
        self.logprobs += logprobs or [0.0] * len(token_ids)
        return "".join(chr(item) for item in token_ids if item != END)

    async def heard(self, messages: Sequence[Message], /) -> None:
        """Append, as a builder does that has to be waited for."""
        await asyncio.sleep(0)
        self.heard_messages += messages
        new = [ord(letter) for message in messages for letter in message["content"]]
        self.ids += new
        self.mask += [0] * len(new)
        self.logprobs += [0.0] * len(new)


def letters(text: str) -> list[int]:
    """A whole turn."""
    return [*map(ord, text), END]


@pytest.fixture(scope="module")
def shop() -> Suite:
    """WebShop."""
    return load_suite(EnvConfig(env="simia/webshop-v0", prompt="compact"))


def speak(*texts: str) -> tuple[Callable[[list[int], int], Awaitable[Turn]], list[tuple[int, int]]]:
    """An engine that says these texts, and what it was asked: tokens so far, and how many there may be."""
    left, asked = list(texts), []

    async def sample(ids: list[int], most: int) -> Turn:
        asked.append((len(ids), most))
        whole = letters(left.pop(0))
        tokens = whole[:most]
        return Turn(tokens, [-1.0] * len(tokens), "stop" if len(tokens) == len(whole) else "length")

    return sample, asked


async def run(suite: Suite, sample: Any, **settings: Any) -> tuple[Played, list[Letters]]:
    """Play the first task."""
    made: list[Letters] = []

    def begin(messages: Sequence[Message]) -> Letters:
        made.append(Letters(messages))
        return made[-1]

    given = {"limits": Limits(response=100_000), "begin": begin, **settings}
    played = await play(suite.episode(), suite.tasks[0], seed=3, group="g", sample=sample, **given)
    return played, made


SEARCH, BACK = "search[red shoes]", "click[Back to Search]"


async def test_tokens_and_mask_are_what_was_sampled(shop: Suite) -> None:
    sample, asked = speak(SEARCH, "nonsense", BACK, "click[Buy Now]", *[BACK] * 20)
    played, (conversation,) = await run(shop, sample)
    assert (played.valid, played.success, played.reward, played.turns) == (True, False, 0.0, len(asked))
    assert played.ended == "turn_limit"
    start = asked[0][0]
    assert played.prompt_ids == conversation.ids[:start]
    assert played.response_ids == conversation.ids[start : start + len(played.response_ids)]
    own = [item for item, mask in zip(played.response_ids, played.response_mask, strict=True) if mask]
    said = [SEARCH, "nonsense", BACK, "click[Buy Now]", *[BACK] * (len(asked) - 4)]
    assert own == [item for text in said for item in letters(text)]
    assert played.tokens == len(own)
    logprobs = zip(played.response_logprobs, played.response_mask, strict=True)
    assert all(logprob == -float(mask) for logprob, mask in logprobs)
    assert played.response_mask[-1] == 1
    assert {tuple(message) for message in conversation.heard_messages} <= {
        ("role", "content"),
        ("role", "content", "name"),
    }
    assert played.messages == 2 * len(asked) or played.messages == 2 * len(asked) + 1


async def test_a_turn_that_its_limit_cuts_is_carried_out_and_recorded_as_cut(shop: Suite) -> None:
    sample, _ = speak("search[red shoes with a very long name]", *[BACK] * 20)
    episode, limits = shop.episode(), Limits(response=100_000, turn=len(BACK) + 1)
    played = await play(episode, shop.tasks[0], seed=3, group="g", begin=Letters, sample=sample, limits=limits)
    assert [event["turn"] for event in episode.ledger.events if "finish_reason" in event] == [1]
    assert (played.valid, played.turns) == (True, shop.max_turns)


async def test_with_a_prompt_a_turn_the_tokens_are_those_of_one_turn(shop: Suite) -> None:
    suite = load_suite(replace(shop.config, history="page"))
    sample, asked = speak(SEARCH, "click[next >]", *[BACK] * 20)
    played, made = await run(suite, sample)
    texts = ["".join(map(chr, talk.ids)) for talk in made]
    assert len(made) == played.turns == len(asked) == suite.max_turns
    assert texts[2].startswith(suite.domain.prompts["compact"])
    assert texts[2].endswith(f"Previous actions:\n{SEARCH}\nclick[next >]{BACK}\0")
    assert all(not talk.heard_messages for talk in made)
    (learned,) = (talk for talk in made if talk.ids[: talk.prompt_length] == played.prompt_ids)
    assert played.response_ids == learned.ids[learned.prompt_length :]
    assert played.tokens == sum(sum(talk.mask) for talk in made)
    small, _ = await run(suite, speak(SEARCH, *[BACK] * 20)[0], limits=Limits(9_999, prompt=asked[1][0] - 1))
    assert (small.ended, small.turns, small.valid) == ("token_limit", 1, True)


async def test_the_limits_of_a_turn_of_the_answer_and_of_the_context(shop: Suite) -> None:
    sample, asked = speak(SEARCH, *[BACK] * 50)
    await run(shop, sample, limits=Limits(response=100_000, turn=30))
    assert {most for _, most in asked} == {30}
    prompt = asked[0][0]
    for limits in (Limits(response=1000), Limits(response=100_000, total=prompt + 1000)):
        sample, asked = speak(SEARCH, *[BACK] * 50)
        played, _ = await run(shop, sample, limits=limits)
        assert all(most == prompt + 1000 - before for before, most in asked)
        assert (played.ended, played.valid, played.fault) == ("token_limit", True, None)
        assert len(played.response_ids) <= 1000
        assert played.response_mask[-1] == 1
        assert played.turns == len(asked)


async def test_half_an_action_at_the_end_of_the_tokens_is_none(shop: Suite) -> None:
    sample, _ = speak(SEARCH)
    played, _ = await run(shop, sample, limits=Limits(response=5))
    assert (played.ended, played.valid, played.turns, played.response_ids) == (
        "token_limit",
        True,
        0,
        letters(SEARCH)[:5],
    )
    assert played.response_mask == [1] * 5


async def test_a_turn_that_is_cut_short_by_its_own_limit_is_an_action_like_any_other(shop: Suite) -> None:
    sample, asked = speak(*[SEARCH] * 50)
    played, _ = await run(shop, sample, limits=Limits(response=100_000, turn=5))
    assert played.turns > 1
    assert played.ended == "turn_limit"
    assert len(asked) == played.turns


async def _raises(error: BaseException) -> Turn:
    raise error


@pytest.mark.parametrize(
    ("second", "kind", "role"),
    [
        (lambda: _raises(Fault("connection", "gone", role="policy")), "connection", "policy"),
        (lambda: _raises(RuntimeError("broken")), "bug", "policy"),
        (lambda: _raises(asyncio.CancelledError()), "bug", "policy"),
        (lambda: asyncio.sleep(0, Turn([], None, "aborted")), "no_tokens", "policy"),
        (lambda: asyncio.sleep(0, Turn([5], None, "aborted")), "no_tokens", "policy"),
        (lambda: asyncio.sleep(0, Turn([], None, "stop")), "no_tokens", "policy"),
    ],
)
async def test_whatever_the_engine_does_is_a_fault_and_masked(
    shop: Suite, second: Callable[[], Awaitable[Turn]], kind: str, role: str
) -> None:
    first, asked = speak(SEARCH)

    async def sample(ids: list[int], most: int) -> Turn:
        return await (second() if asked else first(ids, most))

    played, _ = await run(shop, sample)
    assert played.fault is not None
    assert (played.fault.kind, played.fault.role) == (kind, role)
    assert (played.valid, played.reward, played.success, played.ended) == (False, None, False, "fault")
    assert played.response_ids == letters(SEARCH)
    assert played.response_mask == [0] * len(letters(SEARCH))
    assert played.tokens == len(letters(SEARCH))
    assert (played.trace is not None) == (kind == "bug")


async def test_a_fault_before_the_first_word_leaves_no_tokens(shop: Suite) -> None:
    def begin(messages: Sequence[Message]) -> Letters:
        raise InputError("no template", where="tokenizer")

    sample, _ = speak(SEARCH)
    played, _ = await run(shop, sample, begin=begin)
    assert played.fault is not None
    assert "no template" in played.fault.message
    assert (played.prompt_ids, played.response_ids, played.response_mask) == ([], [], [])


async def test_time_that_is_up_is_a_fault(shop: Suite) -> None:
    async def sample(ids: list[int], most: int) -> Turn:
        await asyncio.sleep(60)
        raise AssertionError

    played, _ = await run(shop, sample, timeout=0.05)
    assert played.fault is not None
    assert (played.fault.kind, played.valid) == ("timeout", False)


async def test_a_cancelled_task_is_cancelled(shop: Suite) -> None:
    waiting = asyncio.Event()

    async def sample(ids: list[int], most: int) -> Turn:
        waiting.set()
        await asyncio.sleep(60)
        raise AssertionError

    task = asyncio.create_task(run(shop, sample))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
