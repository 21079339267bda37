"""Answers a request, given its body: reads the prompt, plays the requested role, and injects mistakes if configured."""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from dataclasses import dataclass
from random import Random
from typing import Any

from simia_gym.common.json_encoding import encode
from simia_gym.oracle.domains import Domains
from simia_gym.oracle.judge import JudgePart
from simia_gym.oracle.ledger import answer_ledger
from simia_gym.oracle.mistakes import make_mistakes
from simia_gym.oracle.obeying import obey, orders
from simia_gym.oracle.options import FAULTS, OracleOptions
from simia_gym.oracle.plain import instance_of, plain_text
from simia_gym.oracle.prefixes import PrefixCache
from simia_gym.oracle.reading import Asked, Refused, read_request
from simia_gym.oracle.reference import Reference
from simia_gym.oracle.user import UserPart

_MOST_ATTEMPTS = 200_000
_BYTES_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Usage:
    """Numbers of tokens, counted as four bytes each.

    Attributes:
        prompt: Tokens of the prompt.
        cached: Those of them in a prefix that an earlier prompt shared.
        completion: Tokens of the reply.
    """

    prompt: int
    cached: int
    completion: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply: its text, the model's name and the token usage."""

    text: str
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Fate:
    """The random draws for one request.

    Attributes:
        chance: Random generator of this attempt at the request.
        fault: The transport fault to inject; ``None`` for none.
        delay: Latency in seconds.
    """

    chance: Random
    fault: str | None
    delay: float


class Oracle:
    """Answers chat-completions requests correctly, except for configured mistakes.

    Args:
        options: The oracle's options.

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
        self._judge = JudgePart(domains, lenient=options.lenient_judge)
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
        """Answer a request.

        Args:
            raw: The request's body.
            chance: The request's random generator, from `fate`.

        Raises:
            Refused: The request cannot be answered; holds the HTTP status and the reason.
        """
        asked = read_request(raw)
        model = str(asked.body.get("model") or "oracle")
        self._check(asked, model)
        part = asked.part
        self.count("requests", part)
        text = self._text(asked, chance)
        return Answer(text, model, self._usage(asked, text))

    def _check(self, asked: Asked, model: str) -> None:
        options = self.options
        if options.model is not None and model != options.model:
            raise Refused(f"The model `{model}` does not exist.", status=404, code="model_not_found")
        form = asked.body.get("response_format")
        kind = form.get("type") if isinstance(form, dict) else None
        if kind is not None and (options.no_structured or (options.no_json_schema and kind == "json_schema")):
            raise Refused(f"'response_format' of type '{kind}' is not supported", code="unsupported_parameter")
        if asked.body.get("stream"):
            raise Refused("'stream' is not supported", code="unsupported_parameter")

    def _text(self, asked: Asked, chance: Random) -> str:
        part = asked.part
        if part == "plain":
            return self._plain(asked)
        if part == "ledger":
            truth = answer_ledger(asked, self._domains)
            reply, mistakes = make_mistakes(truth, self.options, chance)
            for kind in mistakes:
                self.count("errors", kind)
        elif part == "reference":
            reply = self._reference.answer(asked)
        elif part == "user":
            reply = self._user.answer(asked)
        else:
            reply = self._judge.answer(asked)
        if self.options.obedient:
            reply, obeyed = obey(reply, orders(asked))
            if obeyed:
                self._counts["obeyed"][part] += obeyed
        return encode(reply).decode()

    def _plain(self, asked: Asked) -> str:
        form: Any = asked.body.get("response_format")
        kind = form.get("type") if isinstance(form, dict) else None
        if kind == "json_schema":
            return encode(instance_of((form.get("json_schema") or {}).get("schema") or {})).decode()
        if kind == "json_object":
            return '{"ok":true}'
        said = "\0".join(item.text for item in asked.turns).encode()
        return plain_text(asked.body.get("seed"), int.from_bytes(hashlib.sha256(said).digest()[:4]))

    def _usage(self, asked: Asked, text: str) -> Usage:
        whole = "\0".join((*asked.static.texts, *(item.text for item in asked.turns))).encode("utf-8", "replace")
        limit = self.options.context_tokens
        tokens = len(whole) // _BYTES_A_TOKEN + 1
        if limit is not None and tokens > limit:
            message = f"This model's maximum context length is {limit} tokens; your messages have {tokens}."
            raise Refused(message, code="context_length_exceeded")
        cached = self._prefixes.cached(whole) // _BYTES_A_TOKEN
        return Usage(tokens, cached, len(text.encode()) // _BYTES_A_TOKEN + 1)
