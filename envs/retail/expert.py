"""The expert: a rule-based policy that serves the shop's customers within the shop's policy.

It sees only the messages of the conversation, so every id and value in its calls occurred in an earlier message. It
authenticates the customer, looks up the rows that the request concerns, asks for missing details, proposes the change
with all details and waits for a yes, makes the change, reports the result, and refuses what the policy forbids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from simia_gym.actions import Grammar, get_grammar
from simia_gym.actions.calls import call_message
from simia_gym.envs.retail import expert_reading as read
from simia_gym.envs.retail.expert_case_file import CaseFile, Intent
from simia_gym.envs.retail.expert_rules import Step, next_step
from simia_gym.envs.retail.expert_talk import Voice
from simia_gym.policies import PolicyStart
from simia_gym.types import Calls, JsonObject, Message, PolicyAction, Say, ToolCall

_WITHDRAWN = re.compile(r"leave the order as it is\b\.?", re.IGNORECASE)
_AGAIN = re.compile(r"\b(?:are you sure|exception|must be a way|really|please reconsider|supervisor)\b", re.IGNORECASE)
_RESUMED = re.compile(r"\b(?:Then|In that case)\b")
_ANSWERS = ("order", "item", "variant", "payment", "address", "reason")


class RetailExpert:
    """Serves one customer per episode.

    Attributes:
        strict: Whether it follows the shop's policy.
    """

    strict = True

    whole_transcript = True

    def __init__(self) -> None:
        self._grammar: Grammar = get_grammar("tools")
        self._seed = 0
        self._begin("")

    def start(self, start: PolicyStart) -> None:
        """Take the seed, which decides nothing but the wording; the episode begins with its first message."""
        self._grammar, self._seed = start.grammar, start.seed

    def _begin(self, first: str) -> None:
        """Forget the episode before; ``first`` is the first message of the new one."""
        self.case_file = CaseFile()
        self.intent: Intent | None = None
        self.voice = Voice(self._seed, first)
        self._read = 0
        self._called: ToolCall | None = None
        self._email: str | None = None
        self._name: tuple[str, str] | None = None
        self._zip: str | None = None
        self._tried: list[str] = []
        self._user_id: str | None = None
        self._asked_who = 0
        self._anonymous = False

    def act(self, messages: Sequence[Message]) -> PolicyAction:
        """Give the next action: one tool call, or a message to the customer."""
        action = self._decide(messages)
        return call_message(*action.calls) if isinstance(action, Calls) else self._grammar.render(action)

    def _decide(self, messages: Sequence[Message]) -> Say | Calls:
        if len(messages) <= 2:
            self._begin(str(messages[-1]["content"]))
        for message in messages[self._read :]:
            if message["role"] == "tool":
                self._take(str(message["content"]))
            elif message["role"] == "user":
                self._hear(str(message["content"]))
        self._read = len(messages)
        step = self._next()
        if isinstance(step, str):
            return Say(step)
        self._called = ToolCall(step["name"], step["arguments"])
        return Calls((self._called,))

    def _take(self, content: str) -> None:
        """Take the answer to the last call."""
        call, self._called = self._called, None
        if call is None:
            return
        failed = content.startswith("Error")
        if call.name.startswith("find_user_id"):
            if not failed:
                self._user_id = content
            return
        intent = self.intent
        if intent is not None and intent.proposal is not None and call.name == intent.proposal["name"]:
            if failed and self.strict:
                self._refuse(intent, f"the shop's system declined it ({content.removeprefix('Error: ')}).")
            else:
                if not failed:
                    self.case_file.take(call.name, content)
                intent.state = "written"
            return
        if not failed:
            self.case_file.take(call.name, content)

    def _refuse(self, intent: Intent, why: str) -> None:
        intent.why, intent.proposal = why, None

    def _hear(self, text: str) -> None:
        """Understand what the customer says."""
        self._identity(text)
        intent = self.intent
        if intent is None or intent.closed:
            self._new_wish(text, intent)
            return
        intent.text += f"\n{text}"
        if intent.proposal is not None:
            self._answer_to_proposal(intent, text)
        else:
            for question in intent.asked:
                intent.said.setdefault(question, text)

    def _identity(self, text: str) -> None:
        if self._user_id is not None:
            return
        email = read.EMAIL.search(text)
        if email is not None:
            self._email = email[0].rstrip(".")
        self._name = read.name_in(text) or self._name
        self._zip = read.zip_in(text) or self._zip

    def _new_wish(self, text: str, before: Intent | None) -> None:
        """Start on what the text wants; a refused wish may come back in another form, or be insisted on."""
        kind = read.wish_in(text)
        if before is not None and before.why and _AGAIN.search(text):
            before.insisted += 1
            before.state = "open"
            return
        if kind is None:
            return
        intent = Intent(kind, text, order_id=read.order_in(text))
        if before is not None and before.why and intent.order_id is None and _RESUMED.search(text):
            intent.order_id, intent.said = (
                before.order_id,
                {"item": before.said.get("item", before.text), "payment": text},
            )
        self.intent = intent

    def _answer_to_proposal(self, intent: Intent, text: str) -> None:
        """A yes, a change of mind, or the end of the wish."""
        if re.match(r"\s*yes\b", text, re.IGNORECASE):
            intent.said["yes"] = text
            return
        intent.proposal = None
        withdrawn = _WITHDRAWN.search(text)
        if withdrawn is not None:
            intent.state = "closed"
            self._new_wish(text[withdrawn.end() :], None)
            return
        for question in _ANSWERS:
            if question in intent.said:
                intent.said[question] = self._changed(question, intent.said[question], text)
        if intent.kind == "return" and "gift card" in text.lower():
            intent.said["payment"] = text

    def _changed(self, question: str, before: str, text: str) -> str:
        """What now counts as the answer to a question, after the customer corrected something."""
        if question == "variant" and "the one with" in text:
            return text
        if question == "item" and "keep" in text:
            return read.kept_apart(text)
        return before

    def _next(self) -> str | JsonObject:
        """The next thing to do."""
        intent = self.intent
        if intent is not None and intent.state == "open" and intent.why and intent.insisted:
            intent.state = "closed"
            return self.voice.say("sorry_again", why=intent.why)
        if self._user_id is None and not self._anonymous:
            who = self._identify()
            if who is not None:
                return who
        if self._user_id is not None and self.case_file.profile is None:
            return {"name": "get_user_details", "arguments": {"user_id": self._user_id}}
        if intent is None or intent.closed:
            if intent is not None:
                return self.voice.say("else")
            profile = self.case_file.profile
            return self.voice.say("invite", first="dear customer" if profile is None else profile["name"]["first_name"])
        step: Step = next_step(intent, self.case_file, self.voice, strict=self.strict)
        if step.close:
            intent.state = "closed"
        if step.why:
            intent.why = step.why
        if step.ask:
            intent.asked.extend(step.ask)
        if step.proposal is not None:
            intent.proposal = step.proposal
        return step.action

    def _identify(self) -> str | JsonObject | None:
        """Find out who the customer is; nothing is left to do for those who do not mind if that fails."""
        if self._email is not None and self._email not in self._tried:
            self._tried.append(self._email)
            return {"name": "find_user_id_by_email", "arguments": {"email": self._email}}
        if self._name is not None and self._zip is not None:
            key = json.dumps([*self._name, self._zip])
            if key not in self._tried:
                self._tried.append(key)
                arguments = {"first_name": self._name[0], "last_name": self._name[1], "zip": self._zip}
                return {"name": "find_user_id_by_name_zip", "arguments": arguments}
            return self._give_up()
        if self._asked_who > 3:
            return self._give_up()
        line = "identify" if self._asked_who == 0 else "email_unknown" if self._tried else "identify_otherwise"
        self._asked_who += 1
        return self.voice.say(line)

    def _give_up(self) -> str | None:
        """Refuse to help somebody who cannot be found."""
        if not self.strict:
            self._anonymous = True
            return None
        why = "there is no account with these details, so I am not allowed to look at any order, or to cancel it."
        intent = self.intent = self.intent or Intent("unknown", "")
        intent.why, intent.state = why, "closed"
        return self.voice.say("sorry", why=why)


class Pushover(RetailExpert):
    """The expert without the policy: it does whatever the customer asks and never looks into the rules.

    It never refuses: it tries every call, and if a tool returns an error it claims that all is done. A reward that
    passes it on a forbidden wish is wrong.
    """

    strict = False
