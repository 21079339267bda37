"""The policy that asks a language model behind an OpenAI-compatible endpoint.

Requests go through `EndpointModel`, as for all roles. If the provider fails, the policy raises a `Fault` with role
``policy``; it never returns an empty action, which would be scored as the model's. If the model itself repeatedly
returns an empty completion, that is an empty action; otherwise a model could raise its score by not answering on hard
tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from weakref import ReferenceType, ref

from simia_gym.actions.signatures import public_schema
from simia_gym.errors import Fault
from simia_gym.llm.accounts import Accounts
from simia_gym.llm.budget import Budget
from simia_gym.llm.cassette.cassette import Cassette
from simia_gym.llm.endpoint_model import EndpointModel
from simia_gym.llm.settings import Endpoint, ModelSettings, resolve_endpoint, resolve_model
from simia_gym.llm.types import ChatModel, ChatRequest, Reply
from simia_gym.policies.base import PolicyOptions, PolicyStart
from simia_gym.policies.encoded import EncodedTranscript
from simia_gym.types import JsonObject, Message, PolicyAction

_SILENT = "empty_reply"
# A run creates all policies from the same options.
_latest: tuple[ReferenceType[PolicyOptions], ModelSettings] | None = None


class LLMPolicy:
    """Asks a model for each action.

    Args:
        options: Settings; missing ones are read from environment variables.
        accounts: Counts calls, tokens and cost; by default the accounts of the process.
        budget: Limit on calls, tokens and cost; by default none.
        cassette: Records or replays the model's replies.

    Raises:
        InputError: No model, or neither endpoint nor key, is given.
    """

    def __init__(
        self,
        options: PolicyOptions | None = None,
        *,
        accounts: Accounts | None = None,
        budget: Budget | None = None,
        cassette: Cassette | None = None,
    ) -> None:
        self._options = options or PolicyOptions()
        if cassette is not None and cassette.mode == "replay":  # a replay sends no request and needs no endpoint
            self._model = cassette.wrap(None, "policy", name=resolve_model("policy", self._options.model))
        else:
            self._options, endpoint = _resolved(self._options)
            model: ChatModel = EndpointModel(
                "policy", model_settings(self._options), endpoint, accounts=accounts, budget=budget
            )
            self._model = model if cassette is None else cassette.wrap(model, "policy")
        self._scope = ""
        self._transcript = EncodedTranscript()
        self._body: JsonObject = {}
        self._asked = 0

    def start(self, start: PolicyStart) -> None:
        """Begin an episode. Requests carry the tools only if observations have the role ``tool``."""
        native = self._options.native_tools and start.grammar.observation_role == "tool" and start.tools
        self._body = {"tools": [public_schema(tool) for tool in start.tools]} if native else {}
        self._transcript = EncodedTranscript()
        self._asked = 0
        self._scope = f"{start.env}:{start.seed}"

    async def act(self, messages: Sequence[Message]) -> PolicyAction:
        """Ask for the next action.

        Args:
            messages: The transcript so far.

        Returns:
            The model's text, or its assistant message if it has tool calls.

        Raises:
            Fault: The endpoint failed, even after retries of retryable failures. Kinds: ``rate_limit``,
                ``server_error``, ``timeout``, ``connection``, ``auth``, ``not_found``, ``bad_request``,
                ``context_length``, ``content_filter``, ``bad_reply``, ``budget``.
        """
        prompt = self._transcript.prompt(messages)
        request = ChatRequest("policy", prompt, None, None, self._scope, self._asked, "answer", self._body)
        self._asked += 1
        try:
            return action_of(await self._model.complete(request))
        except Fault as fault:
            if fault.kind == _SILENT:
                return ""
            raise


def resolve_options(options: PolicyOptions) -> PolicyOptions:
    """Fill in missing settings from environment variables.

    Args:
        options: The settings.

    Returns:
        Settings with model and key, and with the endpoint unless it is OpenAI's default or a client object's.

    Raises:
        InputError: No model is named, or there is neither an endpoint nor a key.
    """
    return _resolved(options)[0]


def _resolved(options: PolicyOptions) -> tuple[PolicyOptions, Endpoint]:
    """The settings of `resolve_options`, and the endpoint that they name."""
    model = resolve_model("policy", options.model)
    endpoint = endpoint_of(options)
    if (model, endpoint.base_url, endpoint.api_key) == (options.model, options.base_url, options.api_key):
        return options, endpoint
    return replace(options, model=model, base_url=endpoint.base_url, api_key=endpoint.api_key), endpoint


def endpoint_of(options: PolicyOptions) -> Endpoint:
    """The endpoint of the policy's model.

    Args:
        options: The settings.

    Raises:
        InputError: There is neither an endpoint nor a key.
    """
    return resolve_endpoint("policy", base_url=options.base_url, api_key=options.api_key, client=options.client)


def model_settings(options: PolicyOptions) -> ModelSettings:
    """The model settings among the policy's settings."""
    global _latest
    known = _latest
    if known is None or known[0]() is not options:
        plain = ModelSettings(**{name: getattr(options, name) for name in ModelSettings.fields()})
        known = _latest = (ref(options), plain)
    return known[1]


def action_of(reply: Reply) -> PolicyAction:
    """Turn a model's reply into an action.

    Args:
        reply: The reply.

    Returns:
        The unchanged text, or the assistant message if it has tool calls.
    """
    listed = reply.message.get("tool_calls")
    if not isinstance(listed, list) or not listed:
        return reply.raw
    content = reply.message.get("content")
    calls = [item if item.get("id") else {**item, "id": None} for item in listed]
    return {"role": "assistant", "content": content if isinstance(content, str) else None, "tool_calls": calls}
