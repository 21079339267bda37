"""A model behind an OpenAI-compatible endpoint: sends requests and returns a checked reply or raises a fault.

Two kinds of retries are counted separately. A request that failed (429, 5xx, timeout, reset, a body that is not a chat
completion) is repeated after a pause, up to ``retries`` times. After an unusable reply (empty, or not in the requested
form) the model is asked again at once, with another seed and, if a form was requested, with the reply and what is wrong
with it; up to ``repairs`` times.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from simia_gym.actions.assistant import broken_off
from simia_gym.actions.thinking import strip_thinking
from simia_gym.common.json_encoding import encode
from simia_gym.common.secrets import hide_in_bytes, keep_secret
from simia_gym.errors import Fault, Role
from simia_gym.llm.accounts import Accounts
from simia_gym.llm.accounts import accounts as default_accounts
from simia_gym.llm.blocks import block, make_nonce
from simia_gym.llm.budget import Budget, Guess, Reservation
from simia_gym.llm.features import Features, features_of
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.reading import BYTES_PER_TOKEN, estimated, failed_sample, read_completion
from simia_gym.llm.settings import Endpoint, ModelSettings, resolve_model
from simia_gym.llm.structured import CALL_FIELDS, THINKING_FIELDS, TOOL_CALLS, Form, called_with, form_of, written
from simia_gym.llm.transport import http, sdk
from simia_gym.llm.transport.connections import Answer
from simia_gym.llm.transport.failures import MAX_WAIT, Failure, of_status, one_line, text_of
from simia_gym.llm.transport.http import Target
from simia_gym.llm.transport.limits import AdaptiveLimit, limit_of
from simia_gym.llm.types import UNREADABLE, ChatRequest, Reply, Unread, Usage

_COMPLAINT = (
    "Your reply could not be read, and nothing of it was taken over. Reply again to what was asked before it, with one "
    "complete, bare JSON object in which this is put right.\n"
)
_MOST_REPEATED = 4_000
"""Maximum characters of an unreadable reply that the model is shown again."""
_SENT = ("temperature", "top_p", "max_tokens")
_jitter = random.Random()


class EndpointModel:
    """Sends the requests of one role to one model.

    Args:
        role: The role; its faults name it.
        settings: The model's name and parameters.
        endpoint: Address and API key.
        accounts: Usage statistics to add to; default those of the process.
        budget: Limits on calls, tokens and cost; ``None`` for no limits.

    Raises:
        InputError: No model is named, neither in the settings nor in the environment.
    """

    def __init__(
        self,
        role: Role,
        settings: ModelSettings,
        endpoint: Endpoint,
        *,
        accounts: Accounts | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.role, self.settings, self.endpoint = role, settings, endpoint
        self.name = resolve_model(role, settings.model)
        self._accounts = default_accounts() if accounts is None else accounts
        self._budget = budget
        self._secrets = endpoint.secrets
        keep_secret(*self._secrets)
        url = endpoint.url
        self._features: Features = features_of(url, self.name, settings.structured)
        self._limit: AdaptiveLimit = limit_of(url, self.name, settings.concurrency)
        self._by_sdk = endpoint.client is not None and not sdk.is_plain(endpoint.client)
        self._made_target = sdk.Targets(endpoint.client, self.name)
        self._target = Target(endpoint.address(sdk.CHAT), endpoint.headers) if endpoint.client is None else None

    async def complete(self, request: ChatRequest) -> Reply:
        """Send a request, with retries, and return the checked reply, as `ChatModel` demands."""
        form = None if request.reply is None else form_of(request.reply)
        tries = failed = worthless = 0
        prompt, unread = request.prompt, list[Unread]()
        try:
            while True:
                tries += 1
                mode = self._features.mode
                fields = self._fields(request, form, mode, worthless)
                body = (b'{"messages":[', *prompt.chunks, b"],", encode(fields)[1:])
                said: Reply | None = None
                try:
                    said = await self._try(request, body, first=tries == 1)
                    if form is not None:
                        self._features.worked(mode)
                    reply = self._judge(said, form)
                    return reply._replace(unread=tuple(unread)) if unread else reply
                except Failure as failure:
                    if said is not None:
                        failure.said = failure.kind != "server_error"
                        self._accounts.failed(request.role, failure.kind, answered=True)
                        if form is not None and failure.kind in UNREADABLE:
                            unread.append(self._unread(said, failure))
                            prompt = _complaining(request.prompt, unread[-1])
                    if self._features.learn(failure, fields, mode):
                        continue
                    lost = failure
                if form is not None and lost.status:
                    self._features.forget_doubt()
                worthless += lost.said
                failed += not lost.said
                allowed = self.settings.retries
                if not lost.again or failed > allowed or worthless > min(allowed, self.settings.repairs):
                    fault = self._fault(lost, tries, request.role)
                    fault.unread = tuple(unread)
                    raise fault
                if not lost.said:  # an unusable reply shows that the server works: no need to wait
                    await asyncio.sleep(self._pause(lost, failed))
        except Fault as fault:
            self._accounts.gave_up(request.role, fault.kind)
            raise

    def _fields(self, request: ChatRequest, form: Form | None, mode: str, worthless: int) -> dict[str, Any]:
        """The fields of the request body except the messages."""
        settings, features = self.settings, self._features
        fields: dict[str, Any] = {"model": self.name}
        for name in _SENT:
            value = getattr(settings, name)
            if value is not None:
                fields[name] = value
        if settings.seed and request.seed is not None:
            fields["seed"] = seed_of(request.seed, worthless)
        if form is not None and mode != "none":
            bounded = self._features.bounds or mode != "json_schema"
            fields["response_format"] = form.format[mode] if bounded else form.unbounded
        fields.update(settings.extra)
        fields.update(request.body)
        for name in features.dropped:
            fields.pop(name, None)
        if features.renamed and "max_tokens" in fields:
            fields["max_completion_tokens"] = fields.pop("max_tokens")
        return fields

    async def _try(self, request: ChatRequest, body: Sequence[bytes], *, first: bool) -> Reply:
        """Send one request within the concurrency limit and the budget; both are released whatever happens."""
        settings = self.settings
        await self._limit.acquire()
        reservation = None
        usage, cost = Usage(), 0.0
        try:
            if self._budget is not None:
                reservation = await self._reserve(self._budget, request.role, sum(map(len, body)))
            if first:  # counted here, because a request that the budget refuses is never sent
                self._accounts.asked(request.role, request.prompt.size, request.prompt.static)
            began = time.perf_counter()
            answer = await self._send(body)
            # A model may be shown the request's headers, and whatever it says is recorded.
            answer = answer._replace(body=hide_in_bytes(answer.body, (*self._made_target.secrets, *self._secrets)))
            said = read_completion(answer.body) if answer.status == 200 else failed_sample(answer.body)
            if said is None:
                raise of_status(answer.status, answer.body, answer.headers)
            usage = said.usage
            counted = bool(usage.prompt or usage.completion)
            if not counted:
                usage = estimated(sum(map(len, body)), answer.body, said.message)
            cost = settings.price(usage.prompt, usage.cached, usage.completion)
            self._accounts.answered(request.role, usage, cost, time.perf_counter() - began, counted=counted)
            self._limit.answered()
            return said
        except Failure as failure:
            self._accounts.failed(request.role, failure.kind)
            if failure.status == 429:
                self._limit.refused(failure.wait)
            raise
        finally:
            self._limit.release()
            if reservation is not None and self._budget is not None:
                self._budget.settle(reservation, usage.prompt + usage.completion, cost, usage.completion)

    async def _reserve(self, budget: Budget, role: Role, size: int) -> Reservation:
        """Reserve the tokens and the cost of a request; without ``max_tokens`` the reply's length is estimated."""
        settings = self.settings
        prompt, completion = size // BYTES_PER_TOKEN, settings.max_tokens
        if completion is not None:
            return await budget.admit(role, prompt + completion, settings.price(prompt, 0, completion))
        likely = budget.reply_tokens(role)
        guess = Guess(likely, settings.price(0, 0, likely))
        return await budget.admit(role, prompt, settings.price(prompt, 0, 0), guess)

    async def _send(self, body: Sequence[bytes]) -> Answer:
        """Send as the caller's client object would, with the key that it provides for this request, if there is one."""
        client, timeout, target = self.endpoint.client, self.settings.timeout, self._target
        if self._by_sdk:
            return await sdk.send_by_sdk(client, b"".join(body), timeout)
        left = timeout
        if target is None:
            began = time.monotonic()
            try:
                async with asyncio.timeout(timeout):
                    target = await self._made_target.get()
            except TimeoutError:
                raise Failure("timeout", f"the client object gave no key within {timeout:g} s", again=True) from None
            left = max(0.001, timeout - (time.monotonic() - began))
        return await http.send(target, body, left)

    def _unread(self, said: Reply, failure: Failure) -> Unread:
        """A reply that could not be read, as the record keeps it."""
        problem = one_line(failure.message, (*self._made_target.secrets, *self.endpoint.secrets))
        text = said.raw if said.raw.strip() else written(said.message)[0]
        if not text.strip():  # several calls, of which none is the reply
            text = next((text_of(said.message[name]) for name in CALL_FIELDS if said.message.get(name)), "")
        return Unread(text, problem, said.model or self.name, said.usage)

    def _judge(self, said: Reply, form: Form | None) -> Reply:
        """Turn a completion into a reply, or raise why it is unusable."""
        raw, reason, data = said.raw, said.finish_reason, None
        tolerant = self.settings.read == "tolerant"
        read: tuple[str, ...] | None = None
        calls, refusal = said.message.get("tool_calls"), said.message.get("refusal")
        refusal = refusal if isinstance(refusal, str) else ""
        usable = raw.strip()
        called = isinstance(calls, list) and len(calls) > 0
        silent = not usable and not called
        kind = broken_off(reason)
        if kind == "content_filter":
            raise Failure(kind, refusal or "the server's content filter stopped the reply", again=True)
        if kind is not None:
            raise Failure(kind, f"the server broke the reply off (finish_reason {reason!r})", again=True)
        if form is None and isinstance(said.message.get("function_call"), dict) and not called:
            words = "the server answers with the legacy field function_call: let it write tool_calls"
            raise Failure("bad_reply", words)
        if form is None:
            if silent:
                raw = refusal
                if not raw.strip():
                    raise _empty(reason, said)
        else:
            if refusal and silent:
                raise Failure("content_filter", refusal, again=True)
            place = ""
            if tolerant and reason != "length":
                if not usable:
                    raw, place = written(said.message)
                elif "{" not in raw and (beside := called_with(said.message)):  # words, and the reply in a call
                    raw, place = beside, TOOL_CALLS
            if not raw.strip() and called:
                words = f"the reply holds {len(calls or ())} tool calls and no text"
                raise Failure("bad_reply", words, again=True)
            if not raw.strip():
                raise _empty(reason, said)
            try:
                if tolerant and reason != "length":  # what was cut off is read as it stands, or not at all
                    data, read = form.read_tolerantly(raw, place)
                else:
                    data, read = form.read(raw), () if tolerant else None
            except Failure as failure:
                if reason == "length":
                    limit = self.settings.max_tokens
                    words = f"max_tokens{'' if limit is None else f' ({limit})'} is too small for the reply"
                    raise Failure("bad_reply", f"{words}: it was cut off", again=True) from None
                raise failure
        return said._replace(text=strip_thinking(raw), raw=raw, data=data, model=said.model or self.name, read=read)

    def _pause(self, failure: Failure, number: int) -> float:
        """Seconds before the next attempt: the server's Retry-After, or exponential backoff with full jitter."""
        bound = min(MAX_WAIT, self.settings.backoff * 2.0 ** min(number - 1, 30))
        if failure.wait is not None:
            return float(failure.wait + min(0.1, bound) * _jitter.random())
        return float(bound * _jitter.random())

    def _fault(self, failure: Failure, tries: int, role: Role) -> Fault:
        """The fault of a request that is given up; names model, host and number of attempts, without secrets."""
        times = "1 try" if tries == 1 else f"{tries} tries"
        text = one_line(failure.message, (*self._made_target.secrets, *self.endpoint.secrets))
        return Fault(failure.kind, f"{text} ({self.name} at {self.endpoint.host}, {times})", role=role)


def _complaining(prompt: Prompt, unread: Unread) -> Prompt:
    """The prompt with a reply that could not be read, and what is wrong with it, both as data."""
    nonce = make_nonce("unread", prompt.digest)
    asked = prompt.fork()
    asked.add("assistant", block("answer", nonce, unread.text[:_MOST_REPEATED]))
    asked.add("user", _COMPLAINT + block("violations", nonce, [unread.problem]))
    return asked


def seed_of(seed: int, attempt: int) -> int:
    """The seed of a request after this number of unusable replies; at first its own."""
    if attempt == 0:
        return seed
    return int.from_bytes(sha256(f"{seed}:{attempt}".encode()).digest()[:4], "big") & 0x7FFFFFFF


def _empty(reason: str | None, said: Reply) -> Failure:
    """The failure of an empty reply. The model is to blame unless the server stopped it, or took the text away."""
    kind = "empty_reply" if reason in ("stop", "length") else "bad_reply"
    if reason == "stop" and any(said.message.get(name) for name in THINKING_FIELDS):
        words = "the model's reply is empty, all of it stands in reasoning_content"
        fix = "give the server the reasoning parser of this model, or none, or turn thinking off"
        return Failure("bad_reply", f"{words}: {fix}", again=True)
    why = ": max_tokens is too small for it" if reason == "length" else ""
    return Failure(kind, f"the model's reply is empty{why} (finish_reason {reason!r})", again=True)
