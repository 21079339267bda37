"""One line a step: what verl measured, and what the episodes of the step were.

verl's own logger ``file`` writes its numbers to a file of each start; they are followed as they come, joined with the
lines of the episodes, and appended to ``metrics.jsonl``. A resumed run cuts off what comes after its checkpoint first,
so that no step stands there twice.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simia_gym.rl.grpo.episodes import EPISODES, TRAIN, VAL, EpisodeLine
from simia_gym.rl.grpo.models_used import added
from simia_gym.rl.grpo.run_folder import RunFolder, write_whole


@dataclass
class Tail:
    """A growing file of lines, read from where it was left.

    Attributes:
        path: The file; it need not be there yet.
        offset: Bytes that have been read.
    """

    path: Path
    offset: int = 0

    def lines(self) -> Iterator[bytes]:
        """The lines that have come since; one that is still being written is left for later."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                data = file.read()
        except OSError:
            return
        whole = data.rfind(b"\n") + 1
        self.offset += whole
        yield from (line for line in data[:whole].split(b"\n") if line.strip())


@dataclass
class Episodes:
    """The episodes of a run as they end, by step and purpose.

    Attributes:
        run: The folder of the run.
    """

    run: Path
    _tails: dict[Path, Tail] = field(default_factory=dict)
    _found: dict[tuple[int, str], list[EpisodeLine]] = field(default_factory=lambda: defaultdict(list))

    def look(self) -> None:
        """Read what has come since."""
        for path in sorted((self.run / EPISODES).glob("*.jsonl")):
            tail = self._tails.setdefault(path, Tail(path))
            for line in tail.lines():
                episode = EpisodeLine(**json.loads(line))
                self._found[episode.step, episode.purpose].append(episode)

    def of(self, step: int, purpose: str) -> Sequence[EpisodeLine]:
        """Those of one step that have ended."""
        return self._found.get((step, purpose), [])

    def forget(self, step: int) -> None:
        """Drop those of the steps up to this one; their sums are written."""
        for key in [key for key in self._found if key[0] <= step]:
            del self._found[key]


def summed(episodes: Iterable[EpisodeLine]) -> dict[str, Any]:
    """What a step's episodes come to.

    Means are over valid episodes; one that a fault ended has no reward, and counts as masked.
    """
    lines = list(episodes)
    if not lines:
        return {}
    out = _rates(lines)
    out["prompt"] = ", ".join(sorted({line.prompt for line in lines}))
    out["turns"] = _mean(line.turns for line in lines)
    out["policy_tokens"] = sum(line.tokens for line in lines)
    out["length"] = _mean(line.length for line in lines)
    faults = Counter(f"{line.fault.get('role')}:{line.fault.get('kind')}" for line in lines if line.fault)
    out["faults"] = dict(sorted(faults.items()))
    out["ended"] = dict(sorted(Counter(line.ended for line in lines).items()))
    if len({line.uid for line in lines}) < len(lines):
        out["groups"] = _groups(lines)
    if models := added(line.models for line in lines):
        out["models"] = models
    by_env: dict[str, list[EpisodeLine]] = defaultdict(list)
    for line in lines:
        by_env[line.env].append(line)
    out["by_env"] = {env: {**_rates(some), "by_kind": _by_kind(some)} for env, some in sorted(by_env.items())}
    return out


def _groups(lines: Iterable[EpisodeLine]) -> dict[str, int]:
    """How many groups were played, and in how many the rewards of valid episodes differ: only these teach."""
    rewards: dict[str, set[float]] = defaultdict(set)
    for line in lines:
        found = rewards[line.uid]
        if line.valid and line.reward is not None:
            found.add(line.reward)
    return {"played": len(rewards), "mixed": sum(len(found) > 1 for found in rewards.values())}


def _by_kind(lines: Iterable[EpisodeLine]) -> dict[str, Any]:
    kinds: dict[str, list[EpisodeLine]] = defaultdict(list)
    for line in lines:
        kinds[line.kind or "-"].append(line)
    return {kind: _rates(some) for kind, some in sorted(kinds.items())}


def _rates(lines: Sequence[EpisodeLine]) -> dict[str, Any]:
    valid = [line for line in lines if line.valid]
    return {
        "episodes": len(lines),
        "masked": len(lines) - len(valid),
        "valid_share": len(valid) / len(lines),
        "reward": _mean(line.reward for line in valid if line.reward is not None),
        "success": _mean(float(line.success) for line in valid),
    }


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return math.fsum(found) / len(found) if found else None


class Metrics:
    """Writes ``metrics.jsonl`` while a training runs.

    Args:
        folder: The folder of the run.
        attempt: The file that verl writes.

    Attributes:
        written: The lines that stand there.
    """

    def __init__(self, folder: RunFolder, attempt: Path) -> None:
        self._folder, self._attempt = folder, Tail(attempt)
        self._episodes = Episodes(folder.path)
        self.written = read_metrics(folder.metrics)
        self._known = {int(line["step"]) for line in self.written}

    def look(self) -> list[dict[str, Any]]:
        """Write what has come since, and give it."""
        new = []
        for raw in self._attempt.lines():
            value = json.loads(raw)
            step, verl = int(value["step"]), value["data"]
            if step in self._known:
                continue
            self._episodes.look()
            line: dict[str, Any] = {"step": step}
            for purpose in (TRAIN, VAL):
                if sums := summed(self._episodes.of(step, purpose)):
                    line[purpose] = sums
            seconds = verl.get("timing_s/step")
            if seconds and TRAIN in line:
                line["seconds"] = seconds
                line["tokens_per_second"] = line[TRAIN]["policy_tokens"] / seconds
            new.append(_finite({**line, "verl": verl}))
            self._known.add(step)
            self._episodes.forget(step)
        if new:
            with self._folder.metrics.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in new)
            self.written += new
        return new

    def in_flight(self, step: int) -> int:
        """Training episodes of a step that have ended so far."""
        self._episodes.look()
        return len(self._episodes.of(step, TRAIN))


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Read ``metrics.jsonl``; a last line that was torn by a stop is left out."""
    return [json.loads(raw) for raw in Tail(path).lines()]


def go_back(folder: RunFolder, step: int) -> bool:
    """Bring the metrics to where they were after a step, because the training goes on from there.

    What verl has measured and nobody has written down is taken from its own files; what comes after the step is cut.

    Args:
        folder: The folder of the run.
        step: The step of the checkpoint; -1 to begin anew.

    Returns:
        Whether verl was stopped before it measured the step itself: its line is missing.
    """
    # The newest first: a step that was made again is what the last start made of it.
    for attempt in sorted(folder.attempts.glob("*.jsonl"), key=lambda path: int(path.stem), reverse=True):
        Metrics(folder, attempt).look()
    by_step = {int(line["step"]): line for line in read_metrics(folder.metrics) if int(line["step"]) <= step}
    _write(folder, [by_step[number] for number in sorted(by_step)])
    return step > 0 and step not in by_step


def make_up(folder: RunFolder, step: int) -> None:
    """Write the line of a step from its episodes alone, where verl was stopped before it measured the step."""
    episodes = Episodes(folder.path)
    episodes.look()
    line: dict[str, Any] = {"step": step, TRAIN: summed(episodes.of(step, TRAIN)), "verl": {}}
    _write(folder, [*read_metrics(folder.metrics), line])


def _write(folder: RunFolder, lines: Iterable[Mapping[str, Any]]) -> None:
    write_whole(folder.metrics, "".join(json.dumps(_finite(line)) + "\n" for line in lines))


def _finite(value: Any) -> Any:
    """The same with null for numbers that JSON has no way to write."""
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def totals(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a whole training comes to, for its last words."""
    train = [line[TRAIN] for line in lines if TRAIN in line]
    faults: Counter[str] = Counter()
    for sums in train:
        faults.update(sums["faults"])
    episodes, masked = sum(sums["episodes"] for sums in train), sum(sums["masked"] for sums in train)
    out: dict[str, Any] = {"steps": len(train), "episodes": episodes, "masked": masked, "faults": dict(faults)}
    if train:
        out |= {name: train[-1][name] for name in ("reward", "success", "prompt") if name in train[-1]}
    looks = [line for line in lines if VAL in line]
    if models := added(sums.get("models", {}) for sums in (*train, *(line[VAL] for line in looks))):
        out["models"] = models
    if looks:
        out["validation"] = {"step": looks[-1]["step"], **_shown(looks[-1][VAL])}
    return out


def _shown(sums: Mapping[str, Any]) -> dict[str, Any]:
    return {name: sums[name] for name in ("episodes", "masked", "reward", "success", "prompt") if name in sums}
