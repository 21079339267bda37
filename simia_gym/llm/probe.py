"""Test what an endpoint supports (`probe`), and check it with one request before a run (`preflight`)."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import orjson

from simia_gym.errors import Fault, InputError, Role
from simia_gym.llm.accounts import Accounts
from simia_gym.llm.endpoint_model import EndpointModel
from simia_gym.llm.features import features_of
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.settings import Endpoint, ModelSettings, model_of
from simia_gym.llm.transport import http
from simia_gym.llm.transport.failures import REDIRECTS, Failure, no_credit, of_status, one_line
from simia_gym.llm.types import ANY_VALUE, ChatRequest, Reply, ReplySchema

_READY = "Reply with the word: ready"
_SHOWN = 8
_SHORT = 40
_ROUNDS = 3
_FINAL = frozenset({"auth", "not_found", "connection", "bad_request", "bad_reply", "context_length"})
_CONTEXT = ("max_model_len", "context_length", "context_window", "max_context_length")
"""Names that servers use for the context length in their list of models."""
_NO_TLS = re.compile(r"InvalidContentType|wrong[_ ]version[_ ]number", re.IGNORECASE)
_CUT_SHORT = re.compile(r"finish_reason 'length'|model output limit was reached")
_ABOUT_ROOM = re.compile(r"max_(?:completion_)?tokens")
_ROOM = 2000
"""``max_tokens`` for a short reply; reasoning models need many tokens before their first word."""
_LEAST_ROOM = 16
"""``max_tokens`` for models whose context is too short for `_ROOM`."""
_LONG, _PART, _MUCH = 8_000, 2_000, 0.95
"""A prompt of so many bytes is long; the characters of a short part of it; the share of its two halves' tokens that a
server must have read of the whole."""
_LONG_TEXT = "\n".join(
    f"{number}. A customer asks for order {number}, and the desk looks it up." for number in range(400)
)
_LONGER = "Give the server a longer context, such as num_ctx or --max-model-len, or use a model with one."
_QUICK = 30.0
_AGAIN = 3
_FORM = ReplySchema(
    "city",
    {
        "type": "object",
        "properties": {"name": {"type": "string"}, "code": {"type": ["string", "null"]}, "mayor": ANY_VALUE},
        "required": ["name", "code"],
        "additionalProperties": False,
    },
)
"""Like the reply schema of simulators, with an optional value of any type. Some servers accept only ``strict`` schemas
and refuse this one."""
_FORM_WORDS = 'Name a city as JSON: {"name": "...", "code": null, "mayor": "..."}. Reply with the JSON alone.'

Status = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Found:
    """One finding about an endpoint.

    Attributes:
        name: ``answers``, ``model``, ``context`` (if the server reports it), ``prompt``, ``structured``, ``seeds`` or
            ``latency``.
        status: ``ok``, ``warning``, or ``error`` if the endpoint cannot be used.
        text: The finding in one line.
    """

    name: str
    status: Status
    text: str


async def probe(
    settings: ModelSettings, endpoint: Endpoint, role: Role, forms: Sequence[ReplySchema] = ()
) -> list[Found]:
    """Test an endpoint with a few short requests; an ``error`` ends the test. `forms` are those that runs ask for."""
    settings = _short(settings)
    model = EndpointModel(role, settings, endpoint, accounts=Accounts())
    # Without retries, so that nobody waits twice for a server that hangs.
    once = EndpointModel(role, replace(settings, retries=0), endpoint, accounts=Accounts())
    found: list[Found] = []
    try:
        reply = await once.complete(_question(role, _READY))
    except Fault as fault:
        # A model whose reply is empty once may answer the next question, and the server answers.
        works = _is_cut_short(fault) or fault.kind == "empty_reply"
        found.append(Found("answers", "warning" if works else "error", advice(fault, endpoint)))
        if found[0].status == "error":
            return found
    else:
        words = one_line(reply.text, endpoint.secrets, _SHORT)
        found.append(Found("answers", "ok", f"{reply.model or model.name} at {endpoint.host} answers: {words!r}"))
    found += await _listed(endpoint, model.name)
    found.append(await _long(model))
    found.append(await _structured(model, forms))
    found.append(await _seeds(role, settings, endpoint))
    found.append(await _latency(model))
    return found


async def preflight(
    settings: ModelSettings,
    endpoint: Endpoint,
    role: Role,
    *,
    reading: str = "",
    name: str | None = None,
    forms: Sequence[ReplySchema] = (),
) -> str | None:
    """Check with few requests what a run needs of an endpoint, by requests like those of the run.

    It responds, accepts the key, knows the model, takes a system message, reads all of a long prompt, and does not fail
    at a request for JSON.

    Args:
        settings: The model and its parameters.
        endpoint: Its address and key.
        role: Role that uses the model.
        reading: Text that every request of the run will contain, as the system message.
        name: Name of the role in settings and environment variables; default `role`.
        forms: The forms of replies that the run will ask for; without them, one like that of simulators is tried.

    Returns:
        A warning about a problem that may be temporary, such as a busy or slow server; ``None`` if there is none.

    Raises:
        InputError: The endpoint cannot be used; the error says how to fix it.
    """
    name = name or role
    quick = replace(_short(settings), timeout=min(settings.timeout, _QUICK))
    model = EndpointModel(role, quick, endpoint, accounts=Accounts())
    question = _question(role, _READY, system=reading)
    for left in reversed(range(_AGAIN)):
        try:
            reply = await model.complete(question)
        except Fault as fault:
            # A lost connection may be temporary; a refused connection means that no server is running.
            if left and fault.kind in ("connection", "bad_reply") and "refused" not in fault.message:
                continue
            unlimited = settings.max_tokens is None
            if _is_cut_short(fault):
                return None if unlimited else f"{model_of(name)}: {advice(fault, endpoint, name)}"
            if left and unlimited and quick.max_tokens == _ROOM and _is_too_much(fault):
                quick = replace(quick, max_tokens=_LEAST_ROOM)
                model = EndpointModel(role, quick, endpoint, accounts=Accounts())
                continue
            if fault.kind in _FINAL:
                raise InputError(fault.message, where=model_of(name), fix=_fix(fault, name)) from None
            return f"{model_of(name)}: {advice(fault, endpoint, name)}"
        if cut := await _cut(model, question, reply, reading):
            raise InputError(cut, where=model_of(name), fix=_LONGER)
        break
    if role == "policy" or settings.structured == "none":
        return None
    if failed := await _form_fault(role, quick, endpoint, forms or (_FORM,), reading):
        what = f"{failed.message}, but only when JSON is asked for (response_format)"
        fix = f"Set --role {name}.structured=json_object or {name}.structured=none, or look at the server's log."
        raise InputError(what, where=model_of(name), fix=fix)
    return None


async def _form_fault(
    role: Role, settings: ModelSettings, endpoint: Endpoint, forms: Sequence[ReplySchema], reading: str = ""
) -> Fault | None:
    """The fault of a server that answers a question, but fails if one of the forms is asked for.

    The reply itself does not matter, so a few tokens of it are enough.
    """
    brief = replace(settings, retries=1, repairs=0, max_tokens=_LEAST_ROOM)
    model = EndpointModel(role, brief, endpoint, accounts=Accounts())
    for form in forms:
        try:
            await model.complete(_question(role, _FORM_WORDS, reply=form, system=reading))
        except Fault as fault:
            if fault.kind in ("server_error", "bad_request") and not _is_cut_short(fault):
                return fault
    return None


async def _cut(model: EndpointModel, question: ChatRequest, reply: Reply, reading: str) -> str:
    """Whether a server has read less of a prompt than was sent, by the tokens that it reports; empty if it seems well.

    The two halves of a text have at least as many tokens as the whole, in any tokenizer.
    """
    tokens, middle = reply.usage.prompt, len(reading) // 2
    if question.prompt.size < _LONG or not tokens:
        return ""
    try:
        halves = [await _tokens(model, part) for part in (reading[:middle], reading[middle:])]
        if halves == [tokens, tokens] and await _tokens(model, reading[:_PART]) == tokens:
            return ""  # some servers report the same number for every prompt
    except Fault:
        return ""
    if tokens >= _MUCH * sum(halves):
        return ""
    what = f"the server reads {tokens:,} tokens of a prompt that has about {sum(halves):,}"
    return f"{what}: it cuts the rest off in silence"


async def _tokens(model: EndpointModel, reading: str) -> int:
    """The tokens that a server reports for a prompt."""
    return (await model.complete(_question(model.role, _READY, system=reading))).usage.prompt


async def _long(model: EndpointModel) -> Found:
    """Whether the server takes a system message, and reads all of a long one."""
    question = _question(model.role, _READY, system=_LONG_TEXT)
    try:
        reply = await model.complete(question)
        cut = await _cut(model, question, reply, _LONG_TEXT)
    except Fault as fault:
        useless = fault.kind in ("bad_request", "context_length", "server_error")
        text = f"no system message of {len(_LONG_TEXT):,} characters is read: {advice(fault, model.endpoint)}"
        return Found("prompt", "error" if useless else "warning", text)
    if cut:
        return Found("prompt", "error", f"{cut}. {_LONGER}")
    counted = f", {reply.usage.prompt:,} tokens" if reply.usage.prompt else ""
    return Found("prompt", "ok", f"reads a system message of {len(_LONG_TEXT):,} characters{counted}")


def advice(fault: Fault, endpoint: Endpoint, name: str | None = None) -> str:
    """A fault of an endpoint and its remedy in one line; `name` is the role as in environment variables."""
    return one_line(f"{fault.message}. {_fix(fault, name or fault.role)}".strip(), endpoint.secrets, 500)


def _fix(fault: Fault, name: str) -> str:
    if fault.kind == "connection" and _NO_TLS.search(fault.message):
        return "The server does not use TLS on this port: write http:// instead of https://, or give another port."
    if _is_cut_short(fault):
        return "The model reached max_tokens before its reply began (thinking counts): raise max_tokens."
    if REDIRECTS in fault.message:
        return "The header Location of its answer names that address."
    if no_credit(fault.kind, fault.message):
        return "The account has no credit left: add some, or use the key of another one."
    keys = [f"SIMIA_{name.upper()}_API_KEY", *(() if name == "policy" else ("SIMIA_API_KEY",))]
    fixes = {
        "auth": f"The key is wrong or missing: set {', '.join(keys)} or OPENAI_API_KEY (the first of them counts).",
        "not_found": "The server does not know this model or this address: check the model's name, and that the base"
        " URL ends as the server's API does, often in /v1.",
        "connection": "No server responds at this address: check the base URL, and that the server is running.",
        "server_error": "The server failed: look at its log.",
        "timeout": "The server hangs, or is too slow or too busy: look at its log, lower the concurrency, or set"
        f" another timeout (`simia doctor --timeout S`; of a run: `--role {name}.timeout=S`).",
        "rate_limit": "The server refuses more requests for now: wait, lower the concurrency, or check the credit.",
        "context_length": "The prompt is longer than the model can read: use a model with a longer context.",
        "bad_request": "The server refuses the request itself: check the model's settings, and that its chat template"
        " takes a system message.",
        "bad_reply": "The server is not OpenAI-compatible, or the model ignores the reply schema: check the URL.",
        "empty_reply": "The model's replies are empty: raise max_tokens, or use another model.",
    }
    return fixes.get(fault.kind, "")


def _is_cut_short(fault: Fault) -> bool:
    """Whether the model responds, but ``max_tokens`` is too small for its reply."""
    return fault.kind in ("empty_reply", "bad_request") and _CUT_SHORT.search(fault.message) is not None


def _is_too_much(fault: Fault) -> bool:
    """Whether ``max_tokens`` may be larger than the model allows."""
    about = fault.kind == "bad_request" and _ABOUT_ROOM.search(fault.message) is not None
    return about or fault.kind == "context_length"


def _short(settings: ModelSettings) -> ModelSettings:
    """Settings for short requests that are hardly repeated."""
    room = _ROOM if settings.max_tokens is None else settings.max_tokens
    return replace(settings, retries=min(settings.retries, 1), max_tokens=room)


async def _listed(endpoint: Endpoint, name: str) -> list[Found]:
    """Whether the server lists the model, and its context length; not every server has a list."""
    try:
        answer = await http.send(http.Target(endpoint.address("/models"), endpoint.headers), None, 20.0)
        if answer.status != 200:
            raise of_status(answer.status, answer.body, answer.headers)
        listed = {str(item["id"]): item for item in orjson.loads(answer.body)["data"]}
    except Failure as failure:
        text = one_line(failure.message, endpoint.secrets, 120)
        return [Found("model", "warning", f"the server does not list its models ({text})")]
    except (ValueError, KeyError, TypeError):
        return [Found("model", "warning", "the server's list of models cannot be read")]
    if name not in listed:
        shown = ", ".join(list(listed)[:_SHOWN]) or "none"
        return [Found("model", "warning", one_line(f"{name} is not listed; listed: {shown}", endpoint.secrets, 300))]
    found = [Found("model", "ok", f"{name} is one of {len(listed)} models that are listed")]
    sizes = [listed[name].get(key) for key in _CONTEXT]
    size = next((size for size in sizes if isinstance(size, int) and not isinstance(size, bool)), None)
    return found if size is None else [*found, Found("context", "ok", f"reads and writes up to {size:,} tokens")]


async def _structured(model: EndpointModel, forms: Sequence[ReplySchema]) -> Found:
    try:
        await model.complete(_question(model.role, _FORM_WORDS, reply=_FORM))
    except Fault as fault:
        text = f"replies are not in the form asked for: {advice(fault, model.endpoint)}"
        # A policy is asked for no form, and a busy server may give one later.
        broken = ("bad_reply", "empty_reply", "bad_request", "server_error")
        useless = model.role != "policy" and fault.kind in broken
        return Found("structured", "error" if useless else "warning", text)
    if failed := await _form_fault(model.role, model.settings, model.endpoint, forms):
        text = f"the forms of a run are not written: {advice(failed, model.endpoint)}"
        return Found("structured", "warning" if model.role == "policy" else "error", text)
    mode = features_of(model.endpoint.url, model.name, model.settings.structured).mode
    if mode == "json_schema":
        return Found("structured", "ok", "replies keep to a JSON Schema")
    text = (
        "to JSON, not to a schema" if mode == "json_object" else "to no form by the server; the model's own JSON fits"
    )
    return Found("structured", "warning", f"replies keep {text}")


async def _seeds(role: Role, settings: ModelSettings, endpoint: Endpoint) -> Found:
    warm = replace(settings, temperature=max(1.0, settings.temperature or 0.0), seed=True)
    model = EndpointModel(role, warm, endpoint, accounts=Accounts())
    words = "Write a sentence of five unusual words."
    try:
        texts = [(await model.complete(_question(role, words, seed=seed))).raw for seed in (7, 7, 8)]
    except Fault as fault:
        return Found("seeds", "warning", f"could not be tried: {advice(fault, endpoint)}")
    if "seed" in features_of(endpoint.url, model.name, settings.structured).dropped:
        return Found("seeds", "warning", "the server refuses seeds: runs are repeated with a cassette")
    if texts[0] != texts[1]:
        return Found("seeds", "warning", "the same seed gives different texts: runs are repeated with a cassette")
    more = " (and so does another one)" if texts[1] == texts[2] else ""
    return Found("seeds", "ok", f"the same seed gives the same text{more}")


async def _latency(model: EndpointModel) -> Found:
    waits: list[float] = []
    try:
        for number in range(_ROUNDS):
            began = time.perf_counter()
            await model.complete(_question(model.role, f"Reply with the number {number}."))
            waits.append(time.perf_counter() - began)
    except Fault as fault:
        return Found("latency", "warning", advice(fault, model.endpoint))
    return Found("latency", "ok", f"{1000 * sorted(waits)[len(waits) // 2]:.0f} ms for a short reply")


def _question(
    role: Role, words: str, *, seed: int | None = None, reply: ReplySchema | None = None, system: str = ""
) -> ChatRequest:
    prompt = Prompt()
    if system:
        prompt.add("system", system)
    prompt.add("user", words)
    return ChatRequest(role, prompt, reply, seed=seed, scope="probe")
