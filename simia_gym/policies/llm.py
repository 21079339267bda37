"""The policy that asks a language model behind an OpenAI-compatible endpoint.

Requests go through `EndpointModel`, as for all roles. If the provider fails, the policy raises a `Fault` with role
``policy``; it never returns an empty action, which would be scored as the model's. If the model itself repeatedly
returns an empty completion, that is an empty action; otherwise a model could raise its score by not answering on hard
tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from simia_gym.actions.assistant import LENGTH, cut_off
from simia_gym.actions.signatures import without_keywords
from simia_gym.errors import Cut, Fault
from simia_gym.llm.budget import Budget
from simia_gym.llm.cassette import Cassette
from simia_gym.llm.endpoint_model import EndpointModel
from simia_gym.llm.types import ChatModel, ChatRequest, Reply, Sampled
from simia_gym.policies.base import PolicyOptions, PolicyStart
from simia_gym.policies.openai_messages import EncodedTranscript
from simia_gym.record.finished_episode import CONTEXT_LIMIT
from simia_gym.types import JsonObject, Message, PolicyAction

_SILENT = "empty_reply"
_READ = frozenset(("role", "content", "tool_calls"))


class LLMPolicy:
    """Asks a model for each action.

    Args:
        options: Settings; missing ones are read from environment variables.
        model: The model, if it is made already; `policy_model` makes one that many policies share.

    Attributes:
        native_tools: Whether requests carry the tools beside the messages, if the grammar allows it.
        sampled: The tokens of each reply of the episode, one item a turn, as far as the server gives them.

    Raises:
        InputError: No model, or neither endpoint nor key, is given.
    """

    def __init__(self, options: PolicyOptions | None = None, *, model: ChatModel | None = None) -> None:
        given = options or PolicyOptions()
        self._model = model or policy_model(given)
        self.native_tools = given.native_tools
        self._scope = ""
        self._transcript = EncodedTranscript()
        self._body: JsonObject = {}
        self._asked = 0
        self.sampled: list[Sampled] = []

    def start(self, start: PolicyStart) -> None:
        """Begin an episode. Requests carry the tools only if their answers have the role ``tool`` in the transcript."""
        answered = start.native_tools or start.grammar.observation_role == "tool"
        native = self.native_tools and answered and start.tools
        self._body = {"tools": [without_keywords(tool, "x-") for tool in start.tools]} if native else {}
        self._transcript = EncodedTranscript()
        self._asked = 0
        self.sampled = []
        self._scope = f"{start.env}:{start.seed}"

    async def act(self, messages: Sequence[Message]) -> PolicyAction:
        """Ask for the next action: the model's text, or its assistant message if it has tool calls.

        Raises:
            Fault: The endpoint failed, even after retries of retryable failures. Kinds: ``rate_limit``,
                ``server_error``, ``timeout``, ``connection``, ``auth``, ``not_found``, ``bad_request``,
                ``context_length``, ``content_filter``, ``bad_reply``, ``budget``.
            Cut: The conversation has outgrown the model's context.
        """
        prompt = self._transcript.prompt(messages)
        request = ChatRequest("policy", prompt, None, None, self._scope, self._asked, "answer", self._body)
        self._asked += 1
        try:
            reply = await self._model.complete(request)
            self.sampled.append(reply.sampled or Sampled())
            return action_of(reply, native="tools" in self._body)
        except Fault as fault:
            if fault.kind == _SILENT:
                self.sampled.append(Sampled())
                return ""
            # A conversation that outgrew the context is the policy's own; one that never fitted is a wrong setting.
            if fault.kind == "context_length" and any(message["role"] == "assistant" for message in messages):
                raise Cut(CONTEXT_LIMIT) from fault
            raise


class LLMPolicies:
    """Makes policies that share one model. A pickled factory makes its model anew, where its first policy is made.

    Args:
        options: Settings; missing ones are read from environment variables.
        budget: Limit on calls, tokens and cost; by default none.
        cassette: Records or replays the model's replies.

    Attributes:
        native_tools: As its policies have it.
    """

    def __init__(self, options: PolicyOptions, budget: Budget | None = None, cassette: Cassette | None = None) -> None:
        self._options, self._budget, self._cassette = options, budget, cassette
        self.native_tools = options.native_tools

    @cached_property
    def _model(self) -> ChatModel:
        return policy_model(self._options, self._budget, self._cassette)

    def __call__(self) -> LLMPolicy:
        """Make a policy; errors as for `LLMPolicy`."""
        return LLMPolicy(self._options, model=self._model)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the settings without the model, which holds locks."""
        return type(self), (self._options, self._budget, self._cassette)


def policy_model(options: PolicyOptions, budget: Budget | None = None, cassette: Cassette | None = None) -> ChatModel:
    """The model of a policy's settings; arguments as for `LLMPolicies`, errors as for `LLMPolicy`."""
    if cassette is not None and cassette.mode == "replay":  # sends no request, so it needs no endpoint
        return cassette.wrap(None, "policy", name=options.resolved(replaying=True).model)
    given = options.resolved()
    model = EndpointModel("policy", given, given.endpoint(), budget=budget)
    return model if cassette is None else cassette.wrap(model, "policy")


def action_of(reply: Reply, *, native: bool = False) -> PolicyAction:
    """The action of a model's reply: its assistant message if it has tool calls, else its unchanged text.

    Args:
        reply: The reply.
        native: Whether the server was given the tools; then it may need its own fields of any message again.
    """
    listed, own = reply.message.get("tool_calls"), reply.message
    calls = listed if isinstance(listed, list) else []
    if not calls and not native:
        own = {}
    cut = {"finish_reason": LENGTH} if cut_off(reply.finish_reason) else {}
    if not calls and not cut and _READ.issuperset(own):
        return reply.raw
    message = {**own, **cut, "role": "assistant", "content": reply.raw or (None if calls else "")}
    return {**message, "tool_calls": calls} if calls else {k: v for k, v in message.items() if k != "tool_calls"}
