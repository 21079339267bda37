"""A real browser, driven over its debugging pipe, on pages that a local server holds."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from simia_gym.envs.mind2web.browser.tree import Element, squeeze

BINARY = shutil.which("chromium")
NEEDED = bool(os.environ.get("SIMIA_NEED_CHROMIUM"))
_PATIENCE = 60
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--remote-debugging-pipe", "--enable-blink-features=ComputedAccessibilityInfo",
)  # fmt: skip

# What can be acted on, in document order.
_ACTABLE = """
() => [...document.querySelectorAll('a[href], button, input, select, textarea')].filter(
  one => one.checkVisibility() && !one.matches(':disabled')
)
"""

# What a driver checks before it acts, and what it sets itself. An element is named by its id, or by its place among
# those that can be acted on.
_SCRIPT = f"""
((name, kind, values) => {{
  const found = typeof name === 'number' ? ({_ACTABLE})()[name] : document.getElementById(name);
  return act(found, kind, values);
}})
"""

_ACT = """
function act(found, kind, values) {
  const box = found.getBoundingClientRect();
  if (!found.checkVisibility() || !box.width || !box.height) return {refused: 'not shown'};
  if (found.matches(':disabled')) return {refused: 'disabled'};
  found.scrollIntoView({block: 'center'});
  if (kind === 'click') {
    const at = found.getClientRects()[0];
    return {x: at.x + at.width / 2, y: at.y + at.height / 2};
  }
  if (kind === 'type') {
    if (found.readOnly) return {refused: 'read only'};
    if (found.type === 'date') { found.value = values[0].trim(); return {}; }
    if (found.type === 'number' && isNaN(Number(values[0].trim()))) return {refused: 'no number'};
    found.focus();
    found.select();
    return {insert: values[0]};
  }
  const options = [...found.options], chosen = [];
  for (const label of values) {
    const option = options.find(one => one.label.trim().replace(/\\s+/g, ' ') === label);
    if (!option || option.disabled || option.parentElement.disabled) return {refused: 'no such option'};
    chosen.push(option);
  }
  for (const option of options) option.selected = chosen.includes(option);
  return {};
}
"""

_TREE = """
(function read(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data;
  const attributes = [...node.attributes].map(one => [one.name, one.value]);
  return [node.localName, attributes, [...node.childNodes].map(read)];
})
"""

# The role of a date box is empty: ARIA has none. Whoever can only type calls it a box for text.
_ELEMENTS = f"""
({_ACTABLE})().map(one => {{
  const role = one.computedRole || (one.type === 'date' ? 'textbox' : '');
  const value = one.matches('a, button') ? null
    : one.matches('select') ? [...one.selectedOptions].map(each => each.label)
    : one.matches('[type=checkbox], [type=radio]') ? one.checked : one.value;
  return [role, one.computedName, value];
}})
"""


class Site(ThreadingHTTPServer):
    """Shows one page at its own address, and notes every other request without leaving the page."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.html, self.shown = "", False
        self.asked: Queue[str] = Queue()


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        if self.path != "/favicon.ico" and self.server.shown:
            self.server.asked.put(f"GET {self.path}")
        if self.path == "/favicon.ico" or self.server.shown:
            self.send_response(204)
            self.end_headers()
            return
        self.server.shown = True
        content = self.server.html.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.put(f"POST {self.path} {body}")
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Chromium:
    """One window of a headless Chromium."""

    def __init__(self, profile: Path) -> None:
        assert BINARY
        read, self._write = os.pipe()
        self._read, write = os.pipe()
        os.set_inheritable(read, True)
        os.set_inheritable(write, True)
        # The browser reads commands from file 3 and answers on file 4.
        line = f'exec "$0" "$@" 3<&{read} 4>&{write}'
        command = ["bash", "-c", line, BINARY, *_FLAGS, f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(command, pass_fds=(read, write), stderr=subprocess.DEVNULL)
        os.close(read)
        os.close(write)
        self._rest, self._number, self._session = b"", 0, ""
        self._events: list[str] = []
        self.heard: list[dict[str, Any]] = []  # every event with what it says
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.send("Page.enable")

    def close(self) -> None:
        self._session = ""
        self.send("Browser.close")
        self._process.wait(timeout=30)
        os.close(self._read)
        os.close(self._write)

    def send(self, method: str, **params: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self._events.append(answer.get("method", ""))
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def open(self, url: str) -> None:
        self._events.clear()
        self.send("Page.navigate", url=url)
        self.loaded()

    def loaded(self) -> None:
        """Waits until a page is there that was asked for by the last action, or is being opened."""
        while "Page.loadEventFired" not in self._events:
            self._events.append(self._next().get("method", ""))

    def tree(self) -> Element:
        """What the page holds now."""
        return _element(self._json(f"{_TREE}(document.body)"))

    def address(self) -> str:
        """Path and query of the open page. (`location.search` does not tell `/x?` from `/x`.)"""
        address: str = self._json("location.href.slice(location.origin.length)")
        return address

    def elements(self) -> list[tuple[str, str, Any]]:
        """Role, name and value of what can be acted on, in document order."""
        return [(role, squeeze(name), value) for role, name, value in self._json(_ELEMENTS)]

    def _json(self, expression: str) -> Any:
        found = self.send("Runtime.evaluate", expression=f"JSON.stringify({expression})")["result"]
        return json.loads(found["value"])

    def called(self, name: str) -> str:
        """The role and name of the element with this id, with single spaces."""
        call = f"document.getElementById({json.dumps(name)})"
        found = self.send("Runtime.evaluate", expression=call)["result"]["objectId"]
        node = self.send("Accessibility.getPartialAXTree", objectId=found, fetchRelatives=False)["nodes"][0]
        return f"{node['role']['value']} {squeeze(node['name']['value'])}"

    def act(self, kind: str, name: str | int, *values: str) -> str | None:
        """Acts on the element with this id or in this place of `elements`, and says why it did not."""
        self._events.clear()
        call = f"{_ACT}; {_SCRIPT}({json.dumps(name)}, {json.dumps(kind)}, {json.dumps(values)})"
        result = self.send("Runtime.evaluate", expression=call, returnByValue=True)["result"]["value"]
        if result.get("insert"):
            self.send("Input.insertText", text=result["insert"])
        elif "insert" in result:
            self.send("Runtime.evaluate", expression="document.execCommand('delete')")
        elif "x" in result:
            for event in ("mousePressed", "mouseReleased"):
                place = {"x": result["x"], "y": result["y"], "button": "left", "clickCount": 1}
                self.send("Input.dispatchMouseEvent", type=event, **place)
        refused: str | None = result.get("refused")
        return refused

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], _PATIENCE)
            assert ready, "the browser says nothing"
            more = os.read(self._read, 65_536)
            assert more, "the browser has ended"
            self._rest += more
        first, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(first)
        if "method" in answer:
            self.heard.append(answer)
        return answer


def _element(read: list[Any]) -> Element:
    tag, attributes, children = read
    held = tuple(child if isinstance(child, str) else _element(child) for child in children)
    return Element(tag, tuple((name, value) for name, value in attributes), held)


def installed() -> None:
    """Skips tests where the browser is absent. In the whole check, its absence is no reason to skip."""
    if BINARY is None and NEEDED:
        pytest.fail("no program `chromium` is installed")
    if BINARY is None:
        pytest.skip("no program `chromium` is installed")


@contextmanager
def browser(profile: Path) -> Iterator[tuple[Chromium, Site]]:
    """A browser and a site for it."""
    site = Site()
    threading.Thread(target=site.serve_forever, daemon=True).start()
    chromium = Chromium(profile)
    try:
        yield chromium, site
    finally:
        chromium.close()
        site.shutdown()
        site.server_close()


def show(chromium: Chromium, site: Site, html: str, at: str) -> None:
    """Opens a page under an address."""
    site.html, site.shown = html, False
    chromium.open(f"http://127.0.0.1:{site.server_port}{at}")


def asked(
    chromium: Chromium, site: Site, html: str, at: str, steps: list[list[str]], patience: float
) -> tuple[Element, str]:
    """The tree that the browser reads, and what it asks for after the actions.

    The latter is a request, ``refused``, or ``nothing``; the browser has so many seconds for it.
    """
    show(chromium, site, html, at)
    read = chromium.tree()
    for step in steps:
        if chromium.act(*step):
            return read, "refused"
    try:
        return read, site.asked.get(timeout=patience)
    except Empty:
        return read, "nothing"
