"""The interface of a policy: it reads the transcript and returns the next action."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Self, runtime_checkable

from simia_gym.actions import Grammar, Replies
from simia_gym.common.settings import setting
from simia_gym.errors import InputError
from simia_gym.llm.settings import Endpoint, ModelSettings, resolve_endpoint, resolve_model
from simia_gym.types import JsonObject, Message, PolicyAction

Thinking = Literal["never", "keep"]
THINKING_OFF: Mapping[str, bool] = {"enable_thinking": False}
"""The argument that turns thinking off in the chat templates of Qwen3 and others."""


def thinking_setting(*, unset: str = "as the policy was trained, else keep", **shown: Any) -> Any:
    """Declare the setting ``thinking``, which policies and trainers share."""
    description = "never: off, by the chat template's switch; keep: on, and earlier thinking stays in the context."
    return setting(None, f"Thinking before an action. {description}", unset=unset, **shown)


@dataclass(frozen=True)
class PolicyStart:
    """Facts that a policy gets before an episode.

    Attributes:
        env: The environment's id.
        seed: The episode's random seed; a reproducible policy draws only from it.
        tools: The tools in OpenAI's format; read-only, `copy.deepcopy` makes a copy that can be changed.
        grammar: The grammar of actions.
        samples: Typical action texts of the domain.
        replies: Effect of a reply without tool calls: it is sent to the user, ends the episode, or is an error.
        terminal: Names of the tools that end the episode.
        native_tools: Whether the system message leaves out the tools and the format of calls, because the policy says
            that it gives its model the tools itself.
    """

    env: str
    seed: int
    tools: Sequence[JsonObject]
    grammar: Grammar
    samples: tuple[str, ...] = ()
    replies: Replies = "user"
    terminal: tuple[str, ...] = ()
    native_tools: bool = False


@runtime_checkable
class Policy(Protocol):
    """An agent that plays one episode at a time.

    A policy may also have ``start(self, start: PolicyStart) -> None``, which is called before each episode;
    ``whole_transcript = True``, if it is shown the whole transcript in any case, as scripted experts are; and
    ``native_tools = True``, if it gives its model the tools of ``start.tools`` beside the messages, so that the system
    message need not have them. A factory of policies says it likewise. ``mistakes`` lists the ways in which
    ``NAME:RATE:WAY`` may spoil the actions of its class, see `SpoiledPolicy`; by default those that mean something for
    any policy.
    """

    def act(self, messages: Sequence[Message]) -> PolicyAction | Awaitable[PolicyAction]:
        """Write the next action.

        Args:
            messages: The transcript so far in OpenAI's format, with roles system, user, assistant and tool; or what the
                setting ``history`` makes of it, a system message and a prompt. The messages are read-only;
                ``dict(message)`` makes a copy that can be changed.

        Returns:
            The action: text in the domain's grammar, or an assistant message in OpenAI's format; or an awaitable
            of one.

        Raises:
            Fault: The policy's model or other infrastructure failed; with role ``policy``.
            Cut: The policy cannot continue, for example because its context is full; the episode is truncated and
                judged.
        """
        ...


class PolicyOptions(ModelSettings):
    """Settings of the policy that asks a language model: model settings, and the endpoint."""

    retries: int = setting(4, "Further tries after a failure that may pass.", ge=0)
    native_tools: bool = setting(
        False, "Send the tools beside the messages, not in them; for servers that parse tool calls themselves."
    )
    thinking: Thinking | None = thinking_setting()
    base_url: str | None = setting(
        None, "The endpoint; else SIMIA_POLICY_BASE_URL or OPENAI_BASE_URL.", option="", repr=False
    )
    api_key: str | None = setting(
        None, "Its key; else SIMIA_POLICY_API_KEY or OPENAI_API_KEY. Never shown or stored.", option="", repr=False
    )
    client: Any = setting(
        None, "An openai.AsyncOpenAI or AsyncAzureOpenAI, in place of address and key.", option="", repr=False
    )

    def endpoint(self) -> Endpoint:
        """The endpoint of the policy's model.

        Raises:
            InputError: There is neither an endpoint nor a key.
        """
        return resolve_endpoint("policy", base_url=self.base_url, api_key=self.api_key, client=self.client)

    def resolved(self, *, replaying: bool = False) -> Self:
        """These settings as an endpoint gets them, with what environment variables add.

        That is model and key, and the endpoint unless it is OpenAI's. Thinking is turned off by a field of the request.

        Args:
            replaying: Whether replies come from a cassette, so that no endpoint is needed.

        Raises:
            InputError: No model is named, there is neither an endpoint nor a key, or earlier thinking is to be kept.
        """
        found: dict[str, Any] = {"model": resolve_model("policy", self.model), "extra": self._request_fields()}
        if not replaying:
            endpoint = self.endpoint()
            found |= {"base_url": endpoint.base_url, "api_key": endpoint.api_key}
        unchanged = all(getattr(self, name) == value for name, value in found.items())
        return self if unchanged else replace(self, **found)

    def _request_fields(self) -> Mapping[str, Any]:
        """``extra``, with the switch of the chat template if thinking is turned off."""
        if self.thinking == "keep":
            what = "an endpoint is sent no earlier thinking, so it cannot be kept"
            raise InputError(what, where="role.policy.thinking", fix="Give never, leave it out, or use --policy hf.")
        if self.thinking is None:
            return self.extra
        given = self.extra.get("chat_template_kwargs", {})
        if not isinstance(given, Mapping) or any(given.get(name, off) != off for name, off in THINKING_OFF.items()):
            what = f"thinking is never, and extra has chat_template_kwargs {given!r}"
            raise InputError(what, where="role.policy.thinking", fix="Leave one of them out.")
        return {**self.extra, "chat_template_kwargs": {**given, **THINKING_OFF}}
