"""simia_gym: Gymnasium environments for tool-using agents.

    import gymnasium as gym, simia_gym
    env = gym.make("simia/retail-v0")

Importing this package registers the environments. The names below, and those of `simia_gym.rewards` and `simia_gym.rl`,
are public; each is imported on first use. Every other module is private and may change without notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simia_gym.common.lazy import lazy_names
from simia_gym.domain.registration import env_ids, register_all
from simia_gym.version import __version__

if TYPE_CHECKING:
    from simia_gym.actions import Grammar, get_grammar
    from simia_gym.assembly.resources import Resources
    from simia_gym.assembly.settings import EnvConfig
    from simia_gym.assembly.suite import Suite, load_suite
    from simia_gym.common.json_encoding import as_bytes, as_text
    from simia_gym.contracts import Simulator, StepContext, User
    from simia_gym.domain.data import DomainData
    from simia_gym.domain.tools import DeclaredError, tool
    from simia_gym.domain.world import World, WorldSimulator
    from simia_gym.env import SimiaEnv, TranscriptObservation
    from simia_gym.episode import Episode
    from simia_gym.errors import ActionError, Cut, DomainError, EpisodeOver, Fault, InputError, ToolError
    from simia_gym.evaluation.comparing.compare import compare
    from simia_gym.evaluation.comparing.comparison import Comparison
    from simia_gym.evaluation.evaluate import evaluate
    from simia_gym.evaluation.report import Report
    from simia_gym.evaluation.single import PlayedEpisode, play_episode
    from simia_gym.llm.budget import Budget
    from simia_gym.llm.cassette import Cassette
    from simia_gym.oracle import OracleOptions, serve_in_thread
    from simia_gym.policies import Policy, PolicyOptions, PolicyStart, load_policy
    from simia_gym.record.finished_episode import FinishedEpisode, Reward
    from simia_gym.record.records import Record, read_records
    from simia_gym.record.transcript import transcript
    from simia_gym.rollout.judge_again import judge_again
    from simia_gym.simulators.pins import SqlitePins
    from simia_gym.state import Draft, State
    from simia_gym.types import (
        Calls,
        CriterionResult,
        End,
        Evidence,
        Message,
        Row,
        Say,
        Start,
        Step,
        Task,
        ToolCall,
        Transition,
        Verdict,
    )
    from simia_gym.users.cues import Cues
    from simia_gym.users.scripted_script import script_from_json
    from simia_gym.vector import SimiaVectorEnv
    from simia_gym.views.history import History
    from simia_gym.views.slices import compile_reads

__getattr__ = lazy_names(
    __name__,
    {
        "simia_gym.actions": "Grammar get_grammar",
        "simia_gym.assembly.resources": "Resources",
        "simia_gym.assembly.settings": "EnvConfig",
        "simia_gym.assembly.suite": "Suite load_suite",
        "simia_gym.common.json_encoding": "as_bytes as_text",
        "simia_gym.contracts": "Simulator StepContext User",
        "simia_gym.domain.data": "DomainData",
        "simia_gym.domain.tools": "DeclaredError tool",
        "simia_gym.domain.world": "World WorldSimulator",
        "simia_gym.env": "SimiaEnv TranscriptObservation",
        "simia_gym.episode": "Episode",
        "simia_gym.errors": "ActionError Cut DomainError EpisodeOver Fault InputError ToolError",
        "simia_gym.evaluation.comparing.compare": "compare",
        "simia_gym.evaluation.comparing.comparison": "Comparison",
        "simia_gym.evaluation.evaluate": "evaluate",
        "simia_gym.evaluation.report": "Report",
        "simia_gym.evaluation.single": "PlayedEpisode play_episode",
        "simia_gym.llm.budget": "Budget",
        "simia_gym.llm.cassette": "Cassette",
        "simia_gym.oracle": "OracleOptions serve_in_thread",
        "simia_gym.policies": "Policy PolicyOptions PolicyStart load_policy",
        "simia_gym.record.finished_episode": "FinishedEpisode Reward",
        "simia_gym.record.records": "Record read_records",
        "simia_gym.record.transcript": "transcript",
        "simia_gym.rollout.judge_again": "judge_again",
        "simia_gym.simulators.pins": "SqlitePins",
        "simia_gym.state": "Draft State",
        "simia_gym.types": (
            "Calls CriterionResult End Evidence Message Row Say Start Step Task ToolCall Transition Verdict"
        ),
        "simia_gym.users.cues": "Cues",
        "simia_gym.users.scripted_script": "script_from_json",
        "simia_gym.vector": "SimiaVectorEnv",
        "simia_gym.views.history": "History",
        "simia_gym.views.slices": "compile_reads",
    },
)

__all__ = [
    "ActionError",
    "Budget",
    "Calls",
    "Cassette",
    "Comparison",
    "CriterionResult",
    "Cues",
    "Cut",
    "DeclaredError",
    "DomainData",
    "DomainError",
    "Draft",
    "End",
    "EnvConfig",
    "Episode",
    "EpisodeOver",
    "Evidence",
    "Fault",
    "FinishedEpisode",
    "Grammar",
    "History",
    "InputError",
    "Message",
    "OracleOptions",
    "PlayedEpisode",
    "Policy",
    "PolicyOptions",
    "PolicyStart",
    "Record",
    "Report",
    "Resources",
    "Reward",
    "Row",
    "Say",
    "SimiaEnv",
    "SimiaVectorEnv",
    "Simulator",
    "SqlitePins",
    "Start",
    "State",
    "Step",
    "StepContext",
    "Suite",
    "Task",
    "ToolCall",
    "ToolError",
    "TranscriptObservation",
    "Transition",
    "User",
    "Verdict",
    "World",
    "WorldSimulator",
    "__version__",
    "as_bytes",
    "as_text",
    "compare",
    "compile_reads",
    "env_ids",
    "evaluate",
    "get_grammar",
    "judge_again",
    "load_policy",
    "load_suite",
    "play_episode",
    "read_records",
    "register_all",
    "script_from_json",
    "serve_in_thread",
    "tool",
    "transcript",
]

register_all()
