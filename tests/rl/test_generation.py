"""The generator: what it samples is what the model alone would give, whatever is sampled beside it."""

from __future__ import annotations

import asyncio
import functools
import random
from collections.abc import Iterator
from types import MethodType, SimpleNamespace
from typing import Any

import pytest

from simia_gym.errors import InputError

from .libraries import need
from .tiny import SIZES, VOCAB, logprobs_of, make_model

need("torch", "transformers")

import torch

from simia_gym.rl.chat.play import Turn
from simia_gym.rl.generation.attention import Segment
from simia_gym.rl.generation.generator import GenerationError, Generator
from simia_gym.rl.generation.plain import PlainRunner
from simia_gym.rl.generation.sampling import Sampling
from simia_gym.rl.generation.scheduler import Request, Scheduler

END = 5
SYSTEM = [random.Random(1).randrange(6, VOCAB) for _ in range(50)]


@pytest.fixture
def generator() -> Iterator[Generator]:
    with Generator(make_model(), end_ids=[END], max_length=256, slots=4, chunk=32) as made:
        yield made


def prompt_of(number: int, length: int = 12) -> list[int]:
    own = random.Random(number)
    return SYSTEM + [own.randrange(6, VOCAB) for _ in range(length)]


async def load(generator: Generator, weights: dict[str, Any]) -> None:
    """Give a generator new weights, as verl's server does."""
    await generator.pause()
    update = generator.begin_update()
    await generator.call(lambda: update.copy(weights.items()))
    update.finish()
    await generator.clear()
    await generator.resume()


async def play(generator: Generator, number: int, how: Sampling, turns: int = 3) -> list[tuple[list[int], Turn]]:
    """A conversation: what the policy says is followed by tokens of the environment."""
    own, ids, talk = random.Random(number), prompt_of(number, 3 + number), []
    for _ in range(turns):
        turn = await generator.generate(f"talk {number}", ids, how)
        talk.append((ids, turn))
        ids = ids + turn.token_ids + [own.randrange(6, VOCAB) for _ in range(own.randrange(1, 9))]
        await asyncio.sleep(own.random() * 0.002)
    return talk


@pytest.mark.parametrize("kind", SIZES)
async def test_logprobs_are_the_trainers(kind: str) -> None:
    model = make_model(kind, scale=1.5)
    how = Sampling(max_tokens=9, temperature=0.7)
    with Generator(model, end_ids=[END], max_length=256, slots=4, chunk=32) as generator:
        assert generator.packed is (kind != "bloom")  # ALiBi is not a matter of keys, values and positions
        talks = await asyncio.gather(*(play(generator, number, how) for number in range(7)))
        reused = generator.statistics.reused
    for prompt, turn in (item for talk in talks for item in talk):
        assert turn.logprobs == pytest.approx(logprobs_of(model, prompt, turn.token_ids, 0.7), abs=1e-5)
        assert turn.stop == ("stop" if turn.token_ids[-1] == END else "length")
        assert len(turn.token_ids) <= 9
    assert reused > 0


async def test_a_forward_that_a_trainer_has_put_into_its_place_does_not_run_the_model_that_was_given() -> None:
    """As TRL does for its fused head: the method holds on to the one that was there."""
    model = make_model()
    original = model.forward

    @functools.wraps(type(model).forward)
    def forward(self: Any, *given: Any, **more: Any) -> Any:
        return original(*given, **more)

    model.forward = MethodType(forward, model)
    with Generator(model, end_ids=[END], max_length=256, slots=4) as generator:
        assert generator.packed
        turn = await generator.generate("one", prompt_of(0), Sampling(max_tokens=5))
    assert turn.logprobs == pytest.approx(logprobs_of(model, prompt_of(0), turn.token_ids), abs=1e-5)


@pytest.mark.parametrize("kind", ["qwen3", "bloom"])
async def test_a_model_with_an_adapter_is_sampled_as_it_is(kind: str) -> None:
    peft: Any = pytest.importorskip("peft")
    bare = make_model(kind)
    parts = ["query_key_value"] if kind == "bloom" else ["q_proj", "v_proj"]
    settings = peft.LoraConfig(task_type="CAUSAL_LM", r=4, target_modules=parts, init_lora_weights=False)
    model = peft.get_peft_model(make_model(kind), settings).eval()
    how = Sampling(max_tokens=6)
    with Generator(model, end_ids=[END], max_length=256, slots=4, chunk=32) as generator:
        assert generator.packed is (kind != "bloom")
        talks = await asyncio.gather(*(play(generator, number, how, turns=2) for number in range(3)))
    for prompt, turn in (item for talk in talks for item in talk):
        assert turn.logprobs == pytest.approx(logprobs_of(model, prompt, turn.token_ids), abs=1e-5)
        assert turn.logprobs != pytest.approx(logprobs_of(bare, prompt, turn.token_ids), abs=1e-2)


async def test_what_is_sampled_does_not_depend_on_what_is_sampled_beside_it() -> None:
    how = Sampling(max_tokens=9)

    async def run(numbers: list[int], slots: int, chunk: int) -> dict[int, list[list[int]]]:
        with Generator(make_model(), end_ids=[END], max_length=256, slots=slots, chunk=chunk, seed=3) as generator:
            talks = await asyncio.gather(*(play(generator, number, how) for number in numbers))
        return {number: [turn.token_ids for _, turn in talk] for number, talk in zip(numbers, talks, strict=True)}

    alone = await run([2], slots=1, chunk=500)
    crowd = await run([0, 1, 2, 3, 4, 5], slots=3, chunk=17)
    other_order = await run([5, 2, 0, 4, 1, 3], slots=8, chunk=64)
    assert crowd[2] == alone[2]
    assert crowd == other_order
    assert len({str(tokens) for tokens in crowd.values()}) == 6


async def test_only_what_is_new_is_computed(generator: Generator) -> None:
    first = prompt_of(0)
    turn = await generator.generate("one", first, Sampling(max_tokens=4, stop_token_ids=[]))
    assert generator.statistics.prefilled == len(first)
    going_on = [*first, *turn.token_ids, 9, 8, 7]
    await generator.generate("another name", going_on, Sampling(max_tokens=4))
    # The token that was sampled last has not been through the model, nor have the three after it.
    assert generator.statistics.prefilled == len(first) + 4
    assert generator.statistics.reused == len(going_on) - 4
    await asyncio.gather(*(generator.generate(str(n), prompt_of(n), Sampling(max_tokens=2)) for n in range(1, 4)))
    assert generator.statistics.copied == 3 * len(SYSTEM)
    assert generator.statistics.prefilled == len(first) + 4 + 3 * 12


async def test_prompts_that_begin_alike_are_computed_once_even_if_they_come_together() -> None:
    with Generator(make_model(), end_ids=[END], max_length=256, slots=8, chunk=20) as generator:
        await asyncio.gather(*(generator.generate(str(n), prompt_of(n), Sampling(max_tokens=2)) for n in range(8)))
        assert generator.statistics.prefilled == len(SYSTEM) + 8 * 12


async def test_more_conversations_than_slots_all_come_to_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simia_gym.rl.generation.slots._PATIENCE", 60.0)  # a busy machine may take long between turns
    with Generator(make_model(), end_ids=[END], max_length=256, slots=2, chunk=32) as generator:
        talks = await asyncio.gather(*(play(generator, number, Sampling(max_tokens=3)) for number in range(9)))
        assert generator.statistics.requests == 27
        assert generator.statistics.reused > 9 * 50  # a conversation is not driven out between its turns
    assert all(len(talk) == 3 for talk in talks)


def test_a_turn_is_counted_before_its_caller_has_it() -> None:
    """Or who looks as soon as the last turn is there, as above, finds one too few on a busy machine."""
    scheduler = Scheduler(PlainRunner(make_model()), 2, 256, seed=0, chunk=32)
    seen: list[int] = []
    for number in range(3):
        request = Request(str(number), prompt_of(number), Sampling(), 1 + number, frozenset([END]))
        request.turn.add_done_callback(lambda _: seen.append(scheduler.statistics.requests))
        scheduler.add(request)
    with torch.inference_mode():
        while not scheduler.idle:
            scheduler.step()
    assert seen == [1, 2, 3]


async def test_a_conversation_that_goes_back_is_computed_right(generator: Generator) -> None:
    prompt = prompt_of(0, 30)
    how = Sampling(max_tokens=5, temperature=0)
    await generator.generate("one", prompt, how)
    back = [*prompt[:60], 11, 12]
    turn = await generator.generate("one", back, how)
    fresh = await generator.generate("two", back, how)
    assert turn.token_ids == fresh.token_ids


async def test_limits_on_what_is_drawn_from() -> None:
    model = make_model(scale=1.0)
    prompt = prompt_of(0)
    with torch.no_grad():
        chances = torch.softmax(model(torch.tensor([prompt])).logits[0, -1], dim=-1)
    order = chances.argsort(descending=True).tolist()
    share = chances[order[:3]].sum().item()
    with Generator(model, end_ids=[], max_length=256, slots=8) as generator:

        async def drawn(**settings: Any) -> set[int]:
            turns = await asyncio.gather(
                *(
                    generator.generate(f"{settings}{n}", prompt, Sampling(max_tokens=1, seed=n, **settings))
                    for n in range(200)
                )
            )
            return {turn.token_ids[0] for turn in turns}

        assert await drawn(top_k=3) == set(order[:3])
        assert await drawn(top_p=share - 1e-4) == set(order[:3])
        assert await drawn(top_k=1) == {order[0]}
        assert await drawn(temperature=0) == {order[0]}
        assert len(await drawn()) > 50
        calls = [generator.generate(str(n), prompt, Sampling(max_tokens=1, seed=n)) for n in range(600)]
        counted = await asyncio.gather(*calls)
    likely = order[0]
    frequency = sum(turn.token_ids[0] == likely for turn in counted) / 600
    spread = (chances[likely].item() * (1 - chances[likely].item()) / 600) ** 0.5
    assert abs(frequency - chances[likely].item()) < 4 * spread


async def test_a_turn_under_way_goes_on_with_new_weights(generator: Generator) -> None:
    new = make_model(seed=1)
    under_way = asyncio.create_task(generator.generate("one", prompt_of(0), Sampling(max_tokens=150, temperature=0)))
    while generator.statistics.sampled < 5:
        await asyncio.sleep(0.001)
    await load(generator, dict(new.state_dict()))
    turn = await under_way
    last = logprobs_of(new, prompt_of(0), turn.token_ids)[-1]
    assert turn.logprobs is not None
    assert turn.logprobs[-1] == pytest.approx(last, abs=1e-5)


async def test_the_model_that_was_given_is_left_as_it_is() -> None:
    model = make_model().train()
    attention = model.config._attn_implementation
    with Generator(model, end_ids=[END], max_length=64, slots=2) as generator:
        turn = await generator.generate("one", [7, 8, 9], Sampling(max_tokens=3, temperature=0))
        with torch.no_grad():
            model.model.norm.weight.mul_(-1.0)  # trained in place: what samples sees it
        await generator.clear()
        other = await generator.generate("one", [7, 8, 9], Sampling(max_tokens=3, temperature=0))
    assert turn.token_ids != other.token_ids
    assert model.training
    assert model.config._attn_implementation == attention


async def test_errors_of_the_model_reach_everyone_and_the_next_goes_on(generator: Generator) -> None:
    runner = generator._scheduler.runner
    real = runner.forward
    broken = True

    def forward(segments: Any) -> Any:
        if broken:
            raise RuntimeError("out of memory")
        return real(segments)

    runner.forward = forward  # type: ignore[method-assign]
    calls = [generator.generate(str(n), prompt_of(n), Sampling(max_tokens=3)) for n in range(6)]
    outcomes = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 10)
    assert all(isinstance(item, GenerationError) and "out of memory" in str(item) for item in outcomes)
    broken = False
    assert (await generator.generate("0", prompt_of(0), Sampling(max_tokens=3))).token_ids


async def test_the_end_of_the_thread_reaches_everyone() -> None:
    generator = Generator(make_model(), end_ids=[], max_length=256, slots=4)
    under_way = asyncio.create_task(generator.generate("one", prompt_of(0), Sampling(max_tokens=190)))
    while not generator.statistics.sampled:
        await asyncio.sleep(0.001)
    await asyncio.to_thread(generator.close)
    with pytest.raises(GenerationError, match="closed"):
        await asyncio.wait_for(under_way, 10)
    with pytest.raises(GenerationError, match="closed"):
        await generator.generate("one", prompt_of(0))
    generator.forget("one")
    generator.close()


async def test_a_call_that_is_cancelled_makes_room() -> None:
    with Generator(make_model(), end_ids=[], max_length=256, slots=1) as generator:
        endless = asyncio.create_task(generator.generate("one", prompt_of(0), Sampling(max_tokens=190)))
        while not generator.statistics.sampled:
            await asyncio.sleep(0.001)
        endless.cancel()
        turn = await asyncio.wait_for(generator.generate("two", prompt_of(1), Sampling(max_tokens=3)), 10)
        assert len(turn.token_ids) == 3
        assert generator.statistics.sampled < 150


def test_several_event_loops_share_one(generator: Generator) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def run(number: int) -> list[int]:
        how = Sampling(max_tokens=6, temperature=0)
        return asyncio.run(generator.generate("same", prompt_of(number), how)).token_ids

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, [0, 1, 2, 3])) == [run(number) for number in range(4)]


async def test_what_cannot_be_sampled_is_refused(generator: Generator) -> None:
    with pytest.raises(InputError, match="prompt is empty"):
        await generator.generate("one", [])
    with pytest.raises(InputError, match="256 tokens, and the generator's conversations at most 256"):
        await generator.generate("one", [7] * 256)
    assert len((await generator.generate("one", [7] * 255)).token_ids) == 1  # no more room
    for settings, words in (({"temperature": -1}, "temperature"), ({"top_p": 0}, "top_p"), ({"max_tokens": 0}, "max")):
        with pytest.raises(InputError, match=words):
            Sampling(**settings)  # type: ignore[arg-type]


class Remembering(torch.nn.Module):
    """A model whose logits are how often it has seen each token, itself remembered in a cache."""

    device = torch.device("cpu")

    def count(self, name: str, ids: Any, seen: Any) -> Any:
        seen = torch.bincount(ids[0], minlength=4) + (0 if seen is None else seen)
        return SimpleNamespace(logits=seen[None, None].float(), **{name: seen})


class Newer(Remembering):
    def forward(self, input_ids: Any, cache: Any = None, use_cache: bool = False) -> Any:
        return self.count("cache", input_ids, cache)


class Older(Remembering):
    def forward(self, input_ids: Any, past_key_values: Any = None, use_cache: bool = False) -> Any:
        return self.count("past_key_values", input_ids, past_key_values)


@pytest.mark.parametrize("kind", [Newer, Older])
def test_a_cache_goes_by_the_name_that_the_model_has_for_it(kind: type[Remembering]) -> None:
    runner = PlainRunner(kind())
    runner.forward([Segment(0, 0, [1, 1], False), Segment(1, 0, [3], False)])
    assert runner.forward([Segment(0, 2, [2], True), Segment(1, 1, [3], True)]).tolist() == [[0, 2, 1, 0], [0, 0, 0, 2]]
    with pytest.raises(InputError, match="Linear has no cache"):
        PlainRunner(torch.nn.Linear(1, 1))
