"""Answers a request, given its body: reads the prompt, plays the requested role, and injects mistakes if configured."""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from random import Random
from typing import Any, NamedTuple

from simia_gym.actions.sampling import sample_value
from simia_gym.common.json_encoding import encode
from simia_gym.llm.types import Reply, Usage
from simia_gym.oracle.domains import Domains
from simia_gym.oracle.judge import answer_judge
from simia_gym.oracle.mistakes import make_mistakes
from simia_gym.oracle.obeying import obey, orders
from simia_gym.oracle.options import FAULTS, OracleOptions
from simia_gym.oracle.plausible import vary
from simia_gym.oracle.prefixes import PrefixCache
from simia_gym.oracle.reading import ParsedRequest, Refused, read_request
from simia_gym.oracle.simulator import Reference, answer_ledger
from simia_gym.oracle.teacher import give_opinion, teach
from simia_gym.oracle.user import UserPart

_MOST_ATTEMPTS = 200_000
_BYTES_A_TOKEN = 4


class Fate(NamedTuple):
    """The random draws for one request: a generator for this attempt at it, the transport fault, seconds of latency."""

    chance: Random
    fault: str | None
    delay: float


class Answer(NamedTuple):
    """A reply, and the kinds of mistakes that were injected into it."""

    reply: Reply
    injected: tuple[str, ...]


class Oracle:
    """Answers chat-completions requests correctly, except for configured mistakes.

    Attributes:
        counts: Numbers of ``requests`` by role, of injected ``faults`` and ``errors`` by kind, of ``refused`` requests
            by error code, and of ``obeyed`` instructions by role.

    Raises:
        InputError: A folder in ``options.domains`` is not a domain.
    """

    def __init__(self, options: OracleOptions) -> None:
        self.options = options
        self._domains = domains = Domains(options)
        self._prefixes = PrefixCache()
        self._reference = Reference(domains)
        self._user = UserPart(domains, options.seed)
        self._attempts: OrderedDict[bytes, int] = OrderedDict()
        self._counts: dict[str, Counter[str]] = {
            name: Counter() for name in ("requests", "faults", "errors", "refused", "obeyed")
        }

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """A copy of the counters."""
        return {name: dict(sorted(counter.items())) for name, counter in self._counts.items()}

    def count(self, what: str, kind: str) -> None:
        """Add one to a counter."""
        self._counts[what][kind] += 1

    def fate(self, raw: bytes) -> Fate:
        """Draw the fault and the latency of a request, seeded by its body, the oracle's seed and the attempt number."""
        key = hashlib.sha256(raw).digest()[:16]
        attempt = self._attempts.pop(key, 0)
        self._attempts[key] = attempt + 1
        if len(self._attempts) > _MOST_ATTEMPTS:
            self._attempts.popitem(last=False)
        options = self.options
        chance = Random(f"{options.seed}:{attempt}:{key.hex()}")
        fault: str | None = None
        if options.fault_rate and chance.random() < options.fault_rate:
            kinds = options.faults or FAULTS
            fault = kinds[chance.randrange(len(kinds))]
        delay = options.latency_ms / 1000
        if options.latency_sigma:
            delay *= chance.lognormvariate(0.0, options.latency_sigma)
        return Fate(chance, fault, delay)

    def answer(self, raw: bytes, chance: Random) -> Answer:
        """Answer a request, given its body and its random generator from `fate`.

        Four bytes count as a token; cached tokens are those of a prefix that an earlier prompt shared.

        Raises:
            Refused: The request cannot be answered; holds the HTTP status and the reason.
        """
        request = read_request(raw)
        model = str(request.body.get("model") or "oracle")
        self._check(request, model)
        self.count("requests", request.part)
        text, injected = self._text(request, chance)
        usage = Usage(*self._prompt_tokens(request), completion=len(text.encode()) // _BYTES_A_TOKEN + 1)
        return Answer(Reply(text, text, model=model, usage=usage), tuple(injected))

    def _check(self, request: ParsedRequest, model: str) -> None:
        options = self.options
        if options.model is not None and model != options.model:
            raise Refused(f"The model `{model}` does not exist.", status=404, code="model_not_found")
        form = request.body.get("response_format")
        kind = form.get("type") if isinstance(form, dict) else None
        if kind is not None and (options.no_structured or (options.no_json_schema and kind == "json_schema")):
            raise Refused(f"'response_format' of type '{kind}' is not supported", code="unsupported_parameter")
        if request.body.get("stream"):
            raise Refused("'stream' is not supported", code="unsupported_parameter")

    def _text(self, request: ParsedRequest, chance: Random) -> tuple[str, list[str]]:
        """The reply, and the kinds of mistakes that were injected into it."""
        part = request.part
        mistakes: list[str] = []
        if part == "plain":
            return _plain_reply(request), mistakes
        if part == "teacher":
            taught = teach(request, self._domains, self.options, chance)
            for kind in taught.mistakes:
                self.count("errors", kind)
            return taught.text, [*taught.mistakes]
        if part == "ledger":
            truth = answer_ledger(request, self._domains)
            if self.options.plausible:
                truth = truth._replace(reply=vary(truth, chance))
            reply, mistakes = make_mistakes(truth, self.options, chance)
            for kind in mistakes:
                self.count("errors", kind)
        elif part == "reference":
            reply = self._reference.answer(request)
        elif part == "opinion":
            reply = give_opinion(request, self._domains)
        elif part == "user":
            reply = self._user.answer(request)
        else:
            reply = answer_judge(request, self._domains, lenient=self.options.lenient_judge)
        if self.options.obedient:
            reply, obeyed = obey(reply, orders(request))
            if obeyed:
                self._counts["obeyed"][part] += obeyed
        return encode(reply).decode(), mistakes

    def _prompt_tokens(self, request: ParsedRequest) -> tuple[int, int]:
        """The number of tokens of the prompt, and how many of them are cached."""
        whole = "\0".join((*request.static.texts, *(item.text for item in request.turns))).encode("utf-8", "replace")
        limit = self.options.context_tokens
        tokens = len(whole) // _BYTES_A_TOKEN + 1
        if limit is not None and tokens > limit:
            message = f"This model's maximum context length is {limit} tokens; your messages have {tokens}."
            raise Refused(message, code="context_length_exceeded")
        return tokens, self._prefixes.cached(whole) // _BYTES_A_TOKEN


def _plain_reply(request: ParsedRequest) -> str:
    """The reply to a prompt that addresses none of the environment's roles, such as the probes of ``simia doctor``."""
    form: Any = request.body.get("response_format")
    kind = form.get("type") if isinstance(form, dict) else None
    if kind == "json_schema":
        schema = (form.get("json_schema") or {}).get("schema") or {}
        return encode(sample_value(Random(0), schema, schema, ())).decode()
    if kind == "json_object":
        return '{"ok":true}'
    said = "\0".join(item.text for item in request.turns).encode()
    key = int.from_bytes(hashlib.sha256(said).digest()[:4]) % 0xFFFF
    return f"The oracle hears you ({key:04x}, seed {request.body.get('seed')})."
