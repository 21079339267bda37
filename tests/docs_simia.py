"""`simia` for the shell blocks of the pages: commands of a process that has loaded the package once, a fork for each.

    python docs_simia.py SOCKET          loads the package, and obeys whoever asks at the socket
    python docs_simia.py SOCKET WORD...  asks it to run ``simia WORD...``, with its own files, folder and variables

Most of what a command takes is to load what it needs, and the pages have a hundred of them. The program as it is
installed is run by `.ci/run`.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

FILES = (0, 1, 2)


def ask(path: str, words: list[str]) -> int:
    """Let a command run, as long as this process lives; give its exit code."""
    order = {"words": words, "folder": os.getcwd(), "variables": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        socket.send_fds(server, [json.dumps(order).encode() + b"\n"], FILES)
        answers = server.makefile()
        runs = int(answers.readline())
        signal.signal(signal.SIGTERM, lambda *_: os.kill(runs, signal.SIGTERM))
        code = int(answers.readline())
    return code if code >= 0 else 128 - code


def obey(client: socket.socket) -> None:
    """Run a command in a fork of this process, and say how it ended."""
    message, files, *_ = socket.recv_fds(client, 1 << 16, len(FILES))
    while not message.endswith(b"\n"):
        message += client.recv(1 << 16)
    order = json.loads(message)
    if runs := os.fork():
        client.sendall(f"{runs}\n".encode())
        client.sendall(f"{os.waitstatus_to_exitcode(os.waitpid(runs, 0)[1])}\n".encode())
        os._exit(0)
    client.close()
    for old, new in zip(files, FILES, strict=True):
        os.dup2(old, new)
        os.close(old)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["variables"])
    sys.argv = ["simia", *order["words"]]
    from simia_gym.cli import main

    main()


def serve(path: str) -> None:
    """Obey until this process is ended; a line is printed when others may ask."""
    import simia_gym.cli.app
    import simia_gym.cli.terminal.playing
    import simia_gym.rewards.criteria
    import simia_gym.service.bent  # noqa: F401

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            client, _ = listener.accept()
            if not os.fork():
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listener.close()
                obey(client)
            client.close()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        serve(sys.argv[1])
    sys.exit(ask(sys.argv[1], sys.argv[2:]))
