"""What cannot be is refused in one line that names it, with exit code 2, and changes no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..sweeps import sweep
from .conftest import Simia

PLACE = "--base-url http://127.0.0.1:9/v1"
LLM = f"--simulator llm --model m {PLACE}"
LONG = "x" * 400

BAD: list[tuple[str, ...]] = [
    ("bogus", "No such command"),
    ("rolout retail", "Did you mean 'rollout'?"),
    ("rollout", "Missing argument"),
    ("rollout simia/webshp-v0", "Did you mean 'simia/webshop-v0'?"),
    ("rollout webshop-v0", "Did you mean 'simia/webshop-v0'?"),
    ("rollout simia/nowhere-v0", "there is no environment 'simia/nowhere-v0'"),
    ("rollout simia/custom-v0", "Add --domain DIR"),
    ("rollout webshop --domain desk", "--domain: "),
    ("rollout simia/custom-v0 --domain nowhere", "nowhere: there is no such folder"),
    ("rollout desk --bogus", "No such option"),
    ("rollout desk --policy nobody", "unknown policy 'nobody'"),
    ("rollout retail --policy exprt", "Did you mean 'expert'?"),
    ("rollout desk --policy nobody:Nobody", "there is no module 'nobody'"),
    ("rollout desk --policy llm", "--policy-model"),
    ("rollout desk --policy llm --policy-model m", "neither an endpoint nor a key"),
    ("rollout desk --policy llm --policy-model m --policy-base-url localhost:8000", "not the URL"),
    ("rollout desk --policy-model m", "--policy llm"),
    ("rollout desk --user scripted", "--user: desk"),
    ("rollout desk --simulator dice", "'--simulator'"),
    ("rollout desk --split tests", "--split"),
    ("rollout desk --group 0", "--group"),
    ("rollout desk --episodes many", "--episodes"),
    ("rollout desk --timeout nan", "--timeout"),
    ("rollout desk --generated 5", "no task generator"),
    (f"rollout desk --generated 1{20 * '0'}", "--generated"),
    ("rollout desk --option x", "KEY=VALUE"),
    ("rollout desk --option foo=1", "no option 'foo'"),
    ("rollout retail --option comapt=x", "Did you mean 'compat'?"),
    ("rollout desk --data nowhere", "takes no data"),
    ("rollout desk --out r.jsonl", "r.jsonl: the file exists already"),
    ("rollout desk --out r.jsonl/a.jsonl", "r.jsonl: cannot be read or written"),
    (f"rollout desk --out {LONG} --resume", "File name too long"),
    ("rollout desk --out /proc/x/y.jsonl", "/proc/x: cannot be read or written"),
    ("rollout desk --out desk", "desk: is a folder"),
    ("rollout desk --out s.jsonl", "s.times.jsonl: cannot be read or written"),
    ("rollout desk --resume --out desk", "desk: is a folder"),
    ("rollout desk --resume --out /dev/null", "/dev/null: is not a regular file"),
    ("rollout desk --resume --out mine.json", "mine.json:1: is no record"),
    ("rollout desk --svg desk", "--svg desk"),
    ("rollout desk --svg folder.svg", "folder.svg: "),
    ("rollout desk --out new.svg --svg new.svg", "new.svg: is a record"),
    ("rollout desk --ray-address auto", "--ray-address: ", "--ray."),
    ("rollout desk --ray --record-cassette c", "--record-cassette: "),
    (f"rollout retail {LLM} --out a.jsonl --record-cassette ./a.jsonl", "--record-cassette: a.jsonl"),
    (f"rollout retail {LLM} --record-cassette mine.json", "mine.json: the cassette exists already"),
    (f"rollout retail {LLM} --replay-cassette none.jsonl", "none.jsonl: there is no such file"),
    (f"rollout retail {LLM} --record-cassette a --replay-cassette b", "either records"),
    (f"rollout retail {LLM} --role king.temperature=1", "Roles: simulator, escalation, user, judge"),
    (f"rollout retail {LLM} --judge llm --role judge.colour=1", "unknown setting 'colour'"),
    (f"rollout retail {LLM} --role policy.temperature=1", "Add --policy llm"),
    (f"rollout retail {LLM} --route search=maybe", "must be 'world' or 'llm'"),
    (f"rollout retail {LLM} --max-calls 0", "'--max-calls'"),
    (f"rollout retail {LLM} --max-cost 1", "--role simulator.price_in="),
    (f"rollout desk --policy llm --policy-model m --policy-{PLACE[2:]} --max-cost 1", "--role policy.price_in="),
    (f"rollout desk --policy llm --policy-model m --policy-{PLACE[2:]} --role policy.colour=1", "'colour'"),
    ("rollout all", "--out: ", "--out DIR"),
    ("rollout all --out r.jsonl", "--out: ", "--out DIR"),
    ("rollout all --out new --svg desk", "--svg desk"),
    ("rollout all --out new --domain desk", "error: --domain: ", "instead of all"),
    ("rollout all --out new --data desk", "error: --data: "),
    ("rollout all --out new --option compat=tau2", "error: --option: "),
    ("rollout all --out new --grammar tools", "error: --grammar: "),
    ("rollout all --out new --simulator replay --replay-from r.jsonl", "error: --replay-from: "),
    (f"rollout all --out new --simulator hybrid {LLM[16:]} --route a=llm", "error: --route: "),
    (f"rollout all --out new {LLM} --record-cassette new/retail-v0.jsonl", "--record-cassette: new/retail-v0.jsonl"),
    # Options that would change nothing.
    (f"rollout retail {LLM} --route get_order_details=world", "error: --route: ", "--simulator hybrid"),
    ("rollout retail --route get_order_details=llm", "error: --route: ", "--simulator hybrid"),
    (f"rollout retail --simulator hybrid --model m {PLACE}", "error: --route: ", "The tools are: "),
    ("rollout retail --model foo", "error: --model: ", "--base-url"),
    (f"rollout retail {PLACE}", "error: --base-url: ", "--model"),
    (f"rollout retail --simulator world --model foo {PLACE}", "error: --model: ", "--simulator"),
    ("rollout retail --shadow", "error: --shadow: ", "--simulator"),
    ("rollout retail --replay-cassette empty.jsonl", "error: --replay-cassette: ", "--simulator"),
    ("rollout retail --record-cassette new.jsonl", "error: --record-cassette: ", "--policy llm"),
    ("rollout retail --max-calls 3", "error: --max-calls: ", "--policy llm"),
    ("rollout retail --replay-from r.jsonl", "error: --replay-from: ", "--simulator replay"),
    ("rollout retail --votes 3", "error: --votes: ", "--judge llm"),
    ("rollout retail --role judge.temperature=1", "error: --role judge: ", "--judge llm"),
    (f"rollout retail --judge-{PLACE[2:]}", "error: --judge-base-url: ", "--judge llm"),
    ("rollout retail --user-model m", "error: --user-model: ", "--user llm"),
    ("rollout retail --role escalation.model=big", "error: --role escalation: ", "--simulator"),
    (f"rollout retail --escalation-{PLACE[2:]}", "error: --escalation-base-url: ", "--simulator"),
    (f"rollout retail {LLM} --escalation-{PLACE[2:]}", "error: --role escalation.model: "),
    ("rollout retail --strategy ledger --simulator world", "error: --strategy: ", "--simulator"),
    ("evaluate", "Missing argument"),
    ("evaluate desk desk", "environments are played one at a time"),
    ("evaluate desk r.jsonl", "'r.jsonl' is a record and 'desk' is none"),
    ("evaluate nowhere", "there is no environment 'nowhere'"),
    ("evaluate nowhere.jsonl", "there is no such record"),
    ("evaluate r.jsonl --trials 2", "--trials: nothing is played"),
    ("evaluate desk --report desk/domain.yaml", "desk/domain.yaml: "),
    ("evaluate r.jsonl --report r.jsonl", "r.jsonl: is a record"),
    ("evaluate desk --ray-workers 2", "--ray-workers: "),
    ("replay nowhere.jsonl", "there is no such record"),
    ("replay desk", "desk: cannot be read (Is a directory)"),
    ("replay empty.jsonl", "holds no record"),
    ("replay binary", "binary:1: is no record"),
    ("replay desk/tasks/train.jsonl", "is no record"),
    ("show r.jsonl no-such-task", "there is no episode 0 of task 'no-such-task'"),
    ("check nowhere", "nowhere: there is no such folder"),
    ("check notes.svg", "notes.svg: is a file"),
    ("check folder.svg", "no domain.yaml"),
    ("doctor --model m", "neither an endpoint nor a key"),
    (f"doctor {PLACE}", "no model is named"),
    ("serve-oracle --fault-rate 2", "fault_rate"),
    ("serve-oracle --fault smoke", "smoke"),
    ("serve-oracle --domain nowhere", "nowhere"),
    ("serve-oracle --port 70000", "port"),
    ("new-domain desk", "not an empty folder"),
    ("new-domain desk/domain.yaml", "not an empty folder"),
    ("verify-recorded x", "there is no environment 'x'"),
    ("verify-recorded retail", "no recorded rollouts are named", "Add --rollouts FILE"),
    ("verify-recorded officebench", "Give --data DIR"),
    ("verify-recorded os", "Give --data FILE"),
    ("verify-recorded os --data .", "is no file of tasks", "Name a .json or .jsonl file"),
    ("verify-recorded retail --rollouts x", "Add --data DIR"),
    ("export nowhere x.json", "nowhere: there is no such"),
    ("verify-recorded simia/retal-v0 --data . --rollouts x", "Did you mean 'simia/retail-v0'?"),
    ("verify-recorded webshop --rollouts r.jsonl", "no recorded rollouts of this domain"),
]


def files() -> dict[Path, bytes | None]:
    found = (path for path in Path().rglob("*") if "__pycache__" not in path.parts)
    return {path: path.read_bytes() if path.is_file() else None for path in found}


@pytest.mark.parametrize(
    ("line", "says"), sweep([(line, says) for line, *says in BAD], 35), ids=[case[0][:90] for case in BAD]
)
@pytest.mark.sampled
def test_bad_input_is_one_clear_line(line: str, says: list[str], desk: str, simia: Simia) -> None:
    assert simia("rollout", desk, "--episodes", 1, "--out", "r.jsonl").code == 0
    Path("notes.svg").write_text("dear diary")
    Path("mine.json").write_text('{"mine": 1}')
    Path("empty.jsonl").touch()
    Path("binary").write_bytes(b"\x80\x00\xff" * 99)
    Path("folder.svg").mkdir()
    Path("s.times.jsonl").mkdir()
    before = files()
    result = simia(*line.split())
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith("simia: error: ")
    assert all(text in result.err for text in says), result.err
    assert files() == before
