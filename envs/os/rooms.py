"""Runs scripts in sandboxes that wait for the next one.

A sandbox belongs to no episode: whoever has its tree takes it. So a command is a function of the state, an episode may
go on in another process, and nothing has to be freed at its end.
"""

from __future__ import annotations

from simia_gym.sandbox import Limits, Pool, Result, Shell, Tree, in_thread

LIMITS = Limits(time=10)
_POOL = Pool(LIMITS, most=64)


def run_now(tree: Tree, script: str, shell: Shell, seed: int) -> tuple[Result, Tree]:
    """Run a script on a tree; gives what it did, and the tree afterwards.

    Raises:
        SandboxUnavailable: No sandbox can be made on this machine.
        InputError: The script is too long, or the tree cannot be laid out.
        Fault: The sandbox has ended.
    """
    sandbox = _POOL.take(tree)
    try:
        done = sandbox.run(script, shell, seed)
        return done, sandbox.tree() if done.changed else tree
    finally:
        _POOL.give(sandbox)


async def run_in_sandbox(tree: Tree, script: str, shell: Shell, seed: int) -> tuple[Result, Tree]:
    """`run_now` in a thread, so that others go on meanwhile."""
    return await in_thread(run_now, tree, script, shell, seed)
