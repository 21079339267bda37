"""The rollout engine ``hf_server``: what verl asks of a server, in this process and, if asked for, as Ray's actor."""

from __future__ import annotations

import asyncio
import importlib
import warnings
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from simia_gym.errors import InputError

from .libraries import need
from .tiny import logprobs_of, make_model, save_policy

need("torch", "transformers", "verl")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what verl imports from Ray
    importlib.import_module("verl.workers.rollout.replica")

import torch
from verl.workers.config import RolloutConfig

from simia_gym.rl.generation.weights import WeightUpdate
from simia_gym.rl.verl_plugin import hf_server
from simia_gym.rl.verl_plugin.hf_server import HFServer, HFServerAdapter, pack, unpack

PROMPT = [7, 8, 9, 10, 11]
VERLS = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0, "logprobs": True}
"""The parameters that verl's agent loops send."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_policy(tmp_path_factory.mktemp("policy"))


def config(**more: Any) -> RolloutConfig:
    given = {"name": "hf_server", "tensor_model_parallel_size": 1, "dtype": "float32", "max_num_seqs": 8}
    return RolloutConfig(**{**given, "prompt_length": 64, "response_length": 64, **more})


@pytest.fixture
async def server(folder: Path) -> AsyncIterator[HFServer]:
    made = HFServer(config(), SimpleNamespace(local_path=str(folder), path=str(folder)))
    yield made
    await made.close()


class Handle:
    """Stands for Ray's handle of an actor: the same calls, without another process."""

    def __init__(self, server: HFServer) -> None:
        self._server = server

    def __getattr__(self, name: str) -> Any:
        return SimpleNamespace(remote=getattr(self._server, name))


def adapter_of(server: HFServer, **more: Any) -> HFServerAdapter:
    adapter = HFServerAdapter(config(**more), SimpleNamespace(lora=None), None, replica_rank=0)
    adapter._server = Handle(server)
    return adapter


def new_weights(folder: Path, seed: int = 1) -> tuple[Any, dict[str, Any]]:
    from transformers import AutoModelForCausalLM

    vocab = AutoModelForCausalLM.from_pretrained(folder).config.vocab_size
    model = make_model(vocab=vocab, seed=seed, length=2048)
    return model, {name: tensor.clone() for name, tensor in model.state_dict().items()}


async def test_a_turn_as_verl_asks_for_it(server: HFServer) -> None:
    asked = {**VERLS, "max_tokens": 6, "seed": 1}
    turn = await server.generate(PROMPT, asked, "a", image_data=None, video_data=None)
    assert 1 <= len(turn.token_ids) <= 6
    assert turn.log_probs is not None
    assert len(turn.log_probs) == len(turn.token_ids)
    assert (turn.stop_reason, turn.extra_fields["global_steps"]) == ("completed", None)
    assert asked == {**VERLS, "max_tokens": 6, "seed": 1}  # verl uses the same dictionary for the next turn
    again = await server.generate(PROMPT, {**asked, "logprobs": False}, "b")
    assert (again.token_ids, again.log_probs) == (turn.token_ids, None)
    longest = await server.generate(PROMPT, {**VERLS, "stop_token_ids": None}, "c")
    assert len(longest.token_ids) <= 64  # the length of the response, where verl says nothing
    with pytest.raises(InputError, match="128 tokens"):
        await server.generate([7] * 128, VERLS, "d")


@pytest.mark.parametrize("wrong", [{"repetition_penalty": 1.2}, {"min_p": 0.1}, {"stop": ["x"]}, {"guided": {}}])
async def test_what_is_not_computed_is_refused(server: HFServer, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="is not supported"):
        await server.generate(PROMPT, {**VERLS, **wrong}, "a")


@pytest.mark.parametrize("bucket", [20_000, 1 << 30], ids=["many buckets", "one"])
async def test_new_weights_arrive_bit_for_bit(
    server: HFServer, folder: Path, bucket: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hf_server, "_MEGABYTE", bucket // 2048)
    before = await server.generate(PROMPT, {**VERLS, "max_tokens": 4, "seed": 1}, "a")
    model, weights = new_weights(folder)
    await adapter_of(server).update_weights(iter(weights.items()), global_steps=7)
    turn = await server.generate(PROMPT, {**VERLS, "max_tokens": 12, "seed": 1}, "b")
    assert turn.extra_fields["global_steps"] == 7
    assert turn.log_probs == pytest.approx(logprobs_of(model, PROMPT, turn.token_ids), abs=1e-5)
    assert turn.log_probs[:4] != before.log_probs


async def test_an_update_that_fails_is_no_model_to_sample_with(server: HFServer, folder: Path) -> None:
    _, weights = new_weights(folder)
    missing = dict(list(weights.items())[2:-2])
    with pytest.raises(InputError, match="are missing"):
        await adapter_of(server).update_weights(iter(missing.items()))
    with pytest.raises(RuntimeError, match="failed half-way"):
        await asyncio.wait_for(server.generate(PROMPT, VERLS, "a"), 5)
    await adapter_of(server).update_weights(iter(weights.items()))
    assert (await server.generate(PROMPT, VERLS, "a")).token_ids


async def test_weights_that_were_garbled_on_the_way_are_noticed(
    server: HFServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, weights = new_weights(folder)

    def garbled(named: Any) -> Any:
        packed = pack(named)
        packed[1][3][5] ^= 1
        return packed

    monkeypatch.setattr(hf_server, "pack", garbled)
    with pytest.raises(RuntimeError, match="are not those that were sent"):
        await adapter_of(server).update_weights(iter(weights.items()))


async def test_adapters_and_changes_are_refused(server: HFServer) -> None:
    for more in ({"wire_format": "delta_flush"}, {"peft_config": {"r": 8}}):
        with pytest.raises(InputError, match="whole weights"):
            await adapter_of(server).update_weights(iter([]), **more)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tensors_travel_as_bytes(dtype: str) -> None:
    tensors = [("a", torch.randn(3, 4).to(getattr(torch, dtype))), ("b", torch.tensor(2.0))]
    for (_, sent), (_, got) in zip(tensors, unpack(pack(tensors)), strict=True):
        assert got.dtype == sent.dtype
        assert torch.equal(got, sent)


async def test_aborted_turns_keep_what_they_have_and_later_ones_wait(server: HFServer) -> None:
    endless = {**VERLS, "max_tokens": 120}
    turns = [asyncio.create_task(server.generate([7 + n, 8], endless, f"t{n}")) for n in range(6)]
    while server.generator.statistics.sampled < 12:
        await asyncio.sleep(0.001)
    told = await server.abort_all_requests()
    done = await asyncio.gather(*turns)
    cut = [turn for turn in done if turn.stop_reason == "aborted"]
    assert told["aborted_count"] == len(cut) > 0
    assert all(len(turn.token_ids) == len(turn.log_probs or []) for turn in cut)
    late = asyncio.create_task(server.generate(PROMPT, {**VERLS, "max_tokens": 2}, "late"))
    await asyncio.sleep(0.02)
    assert not late.done()
    await server.abort_all_requests(reject_request=True)
    refused = await server.generate(PROMPT, VERLS, "later")
    assert (refused.stop_reason, refused.token_ids) == ("aborted", [])
    await server.resume_generation()
    assert (await asyncio.wait_for(late, 5)).token_ids


async def test_memory_is_given_and_taken(server: HFServer) -> None:
    asked = {**VERLS, "max_tokens": 4, "seed": 3}
    first = await server.generate(PROMPT, asked, "a")
    between: list[Callable[[], Any]] = [server.sleep, server.release_kv_cache, server.clear_kv_cache]
    for give in between:
        await give()
        await server.wake_up(tags=["kv_cache"])
        await server.resume_kv_cache()
        assert (await server.generate(PROMPT, asked, "a")).token_ids == first.token_ids
    assert server.generator.statistics.reused == 0
    await server.start_profile()
    await server.stop_profile()


def test_settings_that_cannot_be(folder: Path) -> None:
    model = SimpleNamespace(local_path=str(folder), path=str(folder))
    with pytest.raises(InputError, match="unknown setting 'slot'"):
        HFServer(config(engine_kwargs={"hf_server": {"slot": 3}}), model)
    with pytest.raises(InputError, match="longer than the model's 2048"):
        HFServer(config(max_model_len=4096), model)
    with pytest.raises(InputError, match="no floating-point dtype"):
        HFServer(config(dtype="float7"), model)


def test_weights_of_another_model_are_refused() -> None:
    update = WeightUpdate(make_model())
    for named, what in (({"other": torch.zeros(1)}, "no parameter"), ({"model.norm.weight": torch.zeros(3)}, "shape")):
        with pytest.raises(InputError, match=what):
            update.copy(named.items())
