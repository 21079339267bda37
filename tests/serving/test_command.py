"""The commands that serve: token, health, cap, address and how they end, for every way of serving."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from types import ModuleType

import aiohttp
import pytest

RETAIL = "simia/retail-v0"


async def asked(address: str, **headers: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as http, http.get(address, headers=headers) as answer:
        return answer.status, await answer.text()


@pytest.mark.slow
def test_a_server_from_its_start_to_its_end(service: ModuleType) -> None:
    words = [sys.executable, "-m", "simia_gym", service.COMMAND, RETAIL, "--split", "train", "--max-sessions", "2"]
    env = {**os.environ, "SIMIA_SERVE_TOKEN": "let-me-in"}

    async def visit(base: str) -> None:
        assert (await asked(f"{base}/health"))[0] == 200
        guarded = f"{base}{service.GUARDED}"
        assert (await asked(guarded))[0] == (await asked(guarded, Authorization="Bearer no"))[0] == 401
        assert (await asked(guarded, Authorization="Bearer let-me-in"))[0] in (200, 404)
        async with service.session(base, "a", token="let-me-in") as one:
            await one.start()
            async with service.session(base, "b", token="let-me-in") as two:
                await two.start()
                async with service.session(base, "c", token="let-me-in") as three:
                    with pytest.raises(service.Refused, match="2"):
                        await three.tools()
            for _ in range(200):  # until the place of one that left is free
                async with service.session(base, "d", token="let-me-in") as four:
                    with suppress(service.Refused):
                        await four.start()
                        return
                await asyncio.sleep(0.05)
            raise AssertionError("no place is free")

    with subprocess.Popen([*words, "--json"], stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        try:
            asyncio.run(visit(json.loads(process.stdout.readline())["base_url"]))
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130


@pytest.mark.slow
def test_an_open_address_needs_a_token(service: ModuleType) -> None:
    words = [sys.executable, "-m", "simia_gym", service.COMMAND, RETAIL, "--host", "0.0.0.0"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, "SIMIA_SERVE_TOKEN" in done.stderr) == (2, True)
