"""Options that name the models of a world, the same for every command that plays episodes."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

MODELS = "Models"

ModelName = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="NAME", help="Model of simulator, user and judge.", rich_help_panel=MODELS),
]
BaseUrl = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="URL", help="Their OpenAI-compatible endpoint.", rich_help_panel=MODELS),
]
EscalationBaseUrl = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        metavar="URL", help="Another endpoint for the model of --role escalation.model.", rich_help_panel=MODELS
    ),
]
UserModel = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="NAME", help="Another model for the user.", rich_help_panel=MODELS),
]
UserBaseUrl = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="URL", help="Another endpoint for the user.", rich_help_panel=MODELS),
]
JudgeModel = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="NAME", help="Another model for the judge.", rich_help_panel=MODELS),
]
JudgeBaseUrl = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="URL", help="Another endpoint for the judge.", rich_help_panel=MODELS),
]
Votes = Annotated[
    int, typer.Option(metavar="N", min=1, help="Judge's votes on a gating criterion, odd.", rich_help_panel=MODELS)
]
Strategy = Annotated[
    str,
    typer.Option(metavar="KIND", help="How a model simulates: auto, ledger, reference.", rich_help_panel=MODELS),
]
Route = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        metavar="TOOL=KIND",
        help="Who answers a tool's calls in a hybrid: world, llm; may be repeated.",
        rich_help_panel=MODELS,
    ),
]
Role = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        metavar="ROLE.KEY=VALUE",  # such as judge.temperature=0
        help="Setting of the model of simulator, escalation, user, judge or policy; may be repeated.",
        rich_help_panel=MODELS,
    ),
]
Pins = Annotated[
    bool, typer.Option(help="Same call, same state, same group: same answer of the model.", rich_help_panel=MODELS)
]
MaxCost = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option(metavar="USD", help="Most that the run may cost.", rich_help_panel=MODELS),
]
MaxCalls = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(metavar="N", help="Most requests to models.", rich_help_panel=MODELS),
]
MaxTokens = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(metavar="N", help="Most tokens, prompts and replies together.", rich_help_panel=MODELS),
]
