"""`simia compare`: the same tasks on two sides, with figures of how far they agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import MODELS, EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.assembly.suite import LLM, domain_of
from simia_gym.cli.options import AsJson, Typed, Verbose, with_options
from simia_gym.cli.terminal.playing import play_and_show
from simia_gym.common.formatting import slug
from simia_gym.common.json_encoding import encode
from simia_gym.common.output import Output
from simia_gym.common.writing import check_output, write_whole
from simia_gym.domain.domain import Domain
from simia_gym.domain.registration import resolve_env
from simia_gym.episode import Episode
from simia_gym.errors import InputError
from simia_gym.evaluation.comparing.compare import compare_records
from simia_gym.evaluation.comparing.comparison import MARK, Comparison
from simia_gym.evaluation.comparing.files import Records, record_files
from simia_gym.evaluation.comparing.forced import Forcing, Mode
from simia_gym.evaluation.comparing.page import comparison_page
from simia_gym.evaluation.comparing.recorded import compare_recorded
from simia_gym.evaluation.comparing.rollouts import RECORDED, Rollouts
from simia_gym.evaluation.comparing.sides import SideSpec, read_side
from simia_gym.evaluation.comparing.tables import comparison_parts
from simia_gym.rollout.run import EXPERT, Ended, Run, RunSettings, opened
from simia_gym.types import JsonObject
from simia_gym.viewer.pages import MARK as PAGE
from simia_gym.viewer.pages import require_view, write_page

_BEGINNING = (encode({"made_by": MARK}).rstrip(b"}"),)
_ANYBODY = "null"
"""The policy of a run whose actions are forced."""
WORLD = "world"
_LIMITS = ("record_cassette", "replay_cassette", "max_cost", "max_calls", "max_tokens")
_PRICES = frozenset(("price_in", "price_cached", "price_out"))
_OMITTED = ("policy", "episodes", "group", "out", "simulator", "ray", "ray_address", "ray_workers")


@with_options(RunSettings, EnvConfig, ModelSources, omit=_OMITTED, defaults={"trials": 1, "split": "test"})
def compare_sides(
    typed: Typed,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="LEFT RIGHT | ENV",
            help="Two records or folders of records, the reference first; or the environment to play on both sides.",
        ),
    ],
    *,
    left: Annotated[
        str | None,
        typer.Option(
            metavar="SIDE",
            help="The reference: world, llm,model=NAME, prompt=compact, ...; a record; recorded, with --rollouts.",
        ),
    ] = None,
    right: Annotated[
        str | None, typer.Option(metavar="SIDE", help="What is compared with it, written in the same way.")
    ] = None,
    rollouts: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Recorded rollouts of the real benchmark, for --left recorded."),
    ] = None,
    policies: Annotated[str, typer.Option(metavar="P,Q", help="The policies to play, with commas between.")] = EXPERT,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the records that are played.")] = None,
    open_loop: Annotated[
        bool, typer.Option(help="Force the left side's actions on the right side, each step in the left side's state.")
    ] = False,
    drift: Annotated[
        bool, typer.Option(help="Force the left side's actions; the right side goes on from its own state.")
    ] = False,
    min_agreement: Annotated[
        float | None,
        typer.Option(metavar="X", min=0, max=1, help="Exit with 1 if observations or rewards agree less (0 to 1)."),
    ] = None,
    max_flips: Annotated[int | None, typer.Option(metavar="N", min=0, help="Exit with 1 if more tasks flip.")] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the comparison with every pair there, as JSON.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write it there as a page, with each pair side by side; see `simia view`."),
    ] = None,
    verbose: Verbose = False,
    json: AsJson = False,
) -> int:
    """Compare two sides on the same tasks: observations, changes, rewards, first divergence, order of policies.

    Returns:
        The exit code: 0; 1 if the comparison does not pass ``--min-agreement`` or ``--max-flips``, or if episodes are
        invalid; 130 if it was interrupted.

    Raises:
        InputError: The sides cannot be played or compared.
    """
    output, settings = Output(json), typed.make(RunSettings)
    if report is not None:
        check_output(report, "--report", _BEGINNING, [Path(word) for word in words if Path(word).is_file()])
    if html is not None:
        require_view()
        check_output(html, "--html", (PAGE,), [Path(word) for word in words if Path(word).is_file()])
    real = _Recorded(words, left, right, rollouts) if left == RECORDED or rollouts is not None else None
    if real is not None and right == WORLD and out is None:
        for flag, given in {"--open-loop": open_loop, "--drift": drift, "--html": html is not None}.items():
            if given:
                what = "it needs a record, and without --out the rollouts run again in memory"
                raise InputError(what, where=flag, fix="Add --out DIR.")
        return _show(output, real.compare(typed, settings.seed), min_agreement, max_flips, report)
    code, labels, shared = 0, None, typed.make(ModelSources).role
    prices = shared, shared
    if left is None and right is None:
        paths = _two_records(words, typed, {"--out": out, "--open-loop": open_loop, "--drift": drift})
    else:
        if left is None or right is None or len(words) != 1:
            what = "one environment is played on two sides"
            raise InputError(what, where="ENV", fix="Give ENV --left SIDE --right SIDE --out DIR.")
        if open_loop and drift:
            raise InputError("open loop and drift are two ways", where="--drift", fix="Give one of them.")
        mode: Mode | None = "open-loop" if open_loop else "drift" if drift else None
        rolled = None if real is None else real.read(typed, settings.seed, policies)
        if real is None:
            sides = (read_side(left, "--left"), read_side(right, "--right"))
        else:
            sides, mode = (real.side, read_side(right, "--right")), mode or "drift"
        playing = _Playing(typed, words[0], policies.split(","), out, mode, output, verbose, rolled)
        code, paths = playing.play(*sides)
        prices = _with(shared, sides[0]), _with(shared, sides[1])
        labels = (sides[0].text, right if left != right else f"{right} (right)")
        if code not in (0, 1):
            return code
    with closing(Records([paths[0]])) as first, closing(Records([paths[1]])) as second:
        found = compare_records(first, second, labels=labels, seed=settings.seed, prices=prices)
        if real is not None:
            simulated = found.compared.get("simulator", (WORLD, WORLD))[1]
            found = replace(found, compared={**found.compared, "simulator": (RECORDED, simulated)})
        if html is not None:
            write_page(html, comparison_page(found, first, second))
            output.say(f"page: {html}")
    return max(code, _show(output, found, min_agreement, max_flips, report))


def _two_records(words: list[str], typed: Typed, more: dict[str, object]) -> list[Path]:
    """The records of both sides, of which nothing is played.

    Raises:
        InputError: There are not two, or an option is for playing.
    """
    if len(words) != 2:
        what = f"two sides are compared, and here are {len(words)}"
        raise InputError(what, where="LEFT RIGHT", fix="Give two records, or ENV --left SIDE --right SIDE --out DIR.")
    flags = [flag for flag, value in more.items() if value]
    given = typed.make(ModelSources).role.values()
    may = {"seed", "role"} if _PRICES.issuperset(key for one in given for key in one) else {"seed"}
    flags += [option.flag for option in typed.changed() if option.name not in may]
    if flags:
        fix = "Leave it out, or name an environment with --left and --right."
        raise InputError("nothing is played where records are compared", where=flags[0], fix=fix)
    return [Path(word) for word in words]


def _with(shared: Mapping[str, Mapping[str, Any]], side: SideSpec) -> dict[str, Mapping[str, Any]]:
    """The settings of models by role, with those of a side alone."""
    return {role: {**shared.get(role, {}), **side.roles.get(role, {})} for role in {**shared, **side.roles}}


class _Recorded:
    """Recorded rollouts of the real benchmark as the left side.

    Raises:
        InputError: The command asks for something else.
    """

    def __init__(self, words: list[str], left: str | None, right: str | None, rollouts: Path | None) -> None:
        if rollouts is None:
            raise InputError("no recorded rollouts are named", where="--left", fix="Add --rollouts FILE.")
        if left != RECORDED or right is None or len(words) != 1:
            what = "recorded rollouts are the left side of one environment"
            fix = "Give ENV --data DIR --left recorded --rollouts FILE --right world, or --right llm --out DIR."
            raise InputError(what, where="--rollouts", fix=fix)
        self.env, self.rollouts = words[0], rollouts

    @property
    def side(self) -> SideSpec:
        """How they become a record: with the changes that the domain's world makes."""
        return SideSpec(f"{RECORDED} {self.rollouts.name}", None, {"simulator": WORLD}, {})

    def compare(self, typed: Typed, seed: int) -> Comparison:
        """Run them again in the world."""
        env, domain, data = self._domain(typed)
        return compare_recorded(env, domain, self.rollouts, data=data, seed=seed)

    def read(self, typed: Typed, seed: int, policies: str) -> Rollouts:
        """Read them as tasks that are played."""
        refused = [option.flag for option in typed.changed() if option.name in ("trials", "split", "generated")]
        if policies != EXPERT or refused:
            what = "each recorded rollout is a task that is played once, by what was done in it"
            raise InputError(what, where=(*refused, "--policies")[0], fix="Leave it out.")
        _, domain, data = self._domain(typed)
        return Rollouts(domain, self.rollouts, data=data, seed=seed)

    def _domain(self, typed: Typed) -> tuple[str, Domain, Path | None]:
        chosen = {
            name: value for name, value in typed.values(EnvConfig).items() if name in ("domain", "data", "options")
        }
        env, domain = resolve_env(self.env, chosen.pop("domain", None))
        config = EnvConfig(env=env, domain=domain, **chosen)
        return env, domain_of(config), None if config.data is None else Path(config.data)


class _Playing:
    """Plays the sides that are not there yet, each policy into a record of its own."""

    def __init__(
        self,
        typed: Typed,
        env: str,
        policies: list[str],
        out: Path | None,
        mode: Mode | None,
        output: Output,
        verbose: bool,
        rolled: Rollouts | None = None,
    ) -> None:
        if out is None:
            raise InputError("the records need a place", where="--out", fix="Give --out DIR.")
        if out.exists() and not out.is_dir():
            raise InputError("is no folder", where=f"--out {out}", fix="Give another folder.")
        self.typed, self.env, self.policies, self.out = typed, env, policies, out
        self.mode, self.output, self.verbose, self.rolled = mode, output, verbose, rolled
        self.settings, self.sources = typed.make(RunSettings), typed.make(ModelSources)

    def play(self, left: SideSpec, right: SideSpec) -> tuple[int, list[Path]]:
        """Play both sides; return the highest exit code and where the records of both sides are."""
        if right.record is not None and self.mode is not None:
            what = "the right side is a record, and nothing can be forced on it"
            raise InputError(what, where="--right", fix="Give the record as --left.")
        folders = [side.record or self.out / name for name, side in (("left", left), ("right", right))]
        if self.mode is not None:
            folders[1] = self.out / f"right.{self.mode}"
        with opened(self.settings, self.sources, []) as resources:
            code = self._side(left, folders[0], resources)
            if code < 2:
                code = max(code, self._side(right, folders[1], resources, folders[0] if self.mode else None))
        return code, folders

    def _side(self, side: SideSpec, folder: Path, resources: Resources, reference: Path | None = None) -> int:
        """Play one side; with a reference, repeat its actions."""
        if side.record is not None:
            return 0
        codes = [0]
        sources = self.sources
        if _without_models(side):
            nothing: dict[str, Any] = dict.fromkeys(_LIMITS)
            sources = replace(sources, **nothing)
            resources = Resources(budget=resources.budget, cassette=resources.cassette)
        players = self.policies if reference is None else record_files([reference])
        if self.rolled is not None and reference is None:
            players = [RECORDED]
        for player in players:
            if isinstance(player, str) and self.rolled is not None:
                settings = replace(self.settings, policy=_ANYBODY, out=folder / f"{RECORDED}.jsonl")
                run = Run(self._config(side), settings, sources, resources, self.rolled.tasks)
                run.force(RECORDED, self.rolled.content_hash, RECORDED, self.rolled)
                run.suite.prepare_episode = self.rolled.prepare
            elif isinstance(player, str):
                settings = replace(self.settings, policy=player, out=folder / f"{slug(player)}.jsonl")
                run = Run(self._config(side), settings, sources, resources)
            else:
                assert self.mode is not None
                settings = replace(self.settings, policy=_ANYBODY, out=folder / player.name)
                rolled = self.rolled
                run = Run(self._config(side), settings, sources, resources, None if rolled is None else rolled.tasks)
                forcing = Forcing(player, self.mode)
                run.force(forcing.policy, forcing.policy_hash, self.mode, forcing)
                prepares = [forcing.prepare] if rolled is None else [forcing.prepare, rolled.judge]
                run.suite.prepare_episode = partial(_each, prepares)
            self.output.say(f"\n{side.text} · {run.policy}")
            codes.append(play_and_show(self.output, run, self._tell, verbose=self.verbose))
            if codes[-1] > 1:
                break
        return max(codes)

    def _config(self, side: SideSpec) -> EnvConfig:
        chosen = self.typed.values(EnvConfig)
        env, domain = resolve_env(self.env, chosen.pop("domain", None))
        roles = self.sources.roles()
        for role, given in side.roles.items():
            roles[role] = {**roles.get(role, {}), **given}
        chosen |= side.settings
        if chosen.get("simulator") != "hybrid":
            chosen.pop("routes", None)
        if self.rolled is not None:
            chosen = {"max_turns": self.rolled.turns + 1, **chosen, "split": "all"}
        if _without_models(side):
            fields, roles = EnvConfig.fields(), {}
            for name in [name for name in chosen if name in fields and name not in side.settings]:
                extra = fields[name].json_schema_extra
                if isinstance(extra, dict) and extra.get("panel") == MODELS:
                    del chosen[name]
        return EnvConfig(env=env, domain=domain, roles=roles, **chosen)

    def _tell(self, output: Output, run: Run, ended: Ended, facts: JsonObject, lines: list[str]) -> None:
        for line in lines:
            output.say(line)


def _each(prepares: Sequence[Callable[[Episode], None]], episode: Episode) -> None:
    for prepare in prepares:
        prepare(episode)


def _without_models(side: SideSpec) -> bool:
    """Whether a side is code alone, so that the common settings of models are not for it."""
    given = side.settings
    return given.get("simulator") == WORLD and given.get("user") != LLM and given.get("judge") is None


def _show(
    output: Output, found: Comparison, min_agreement: float | None, max_flips: int | None, report: Path | None
) -> int:
    for part in comparison_parts(found):
        output.console.print(part, soft_wrap=isinstance(part, Text))
    short = found.short_of(min_agreement=min_agreement, max_flips=max_flips)
    for line in short:
        output.say(f"not passed: {line}")
    output.result({**found.to_json(pairs=False), "not_passed": short})
    if report is not None:
        write_whole(report, encode(found.to_json()) + b"\n")
        output.say(f"report: {report}")
    return 1 if short else 0
