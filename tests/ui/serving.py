"""Real servers on free ports, a reader of their event streams, and a cable that can be cut."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn

from tests.ui.fakes import until

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def serve(app: object) -> Iterator[str]:
    """Serve an ASGI app in a thread; gives its address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.force_exit = server.should_exit = True
        thread.join(10)


@dataclass
class Message:
    """One server-sent event."""

    event: str = "message"
    data: str = ""
    id: str = ""
    retry: str = ""
    comment: str = ""

    @property
    def seq(self) -> int:
        return int(self.id.rpartition(":")[2])

    def json(self) -> dict:
        return json.loads(self.data)


def messages(response: httpx.Response) -> Iterator[Message]:
    """The events of an open response, split at LF and CR LF only, as a browser does."""
    message, rest = Message(), ""
    for chunk in response.iter_text():
        *complete, rest = (rest + chunk).split("\n")
        for line in complete:
            line = line.removesuffix("\r")
            if not line:
                yield message
                message = Message()
            elif line.startswith(":"):
                message.comment += line[1:]
            else:
                field, _, value = line.partition(": ")
                setattr(message, field, value)


@contextmanager
def listen(url: str, last: str = "") -> Iterator[Iterator[Message]]:
    """Open an event stream, as an EventSource does that has seen event id `last`."""
    headers = {"Last-Event-ID": last} if last else {}
    with httpx.stream("GET", url, headers=headers, timeout=60) as response:
        assert response.status_code == 200, response.read()
        yield messages(response)


def read_all(url: str, last: str = "") -> list[Message]:
    with listen(url, last) as stream:
        return list(stream)


@contextmanager
def application(folder: Path, **env: str) -> Iterator[tuple[str, subprocess.Popen]]:
    """`python app.py` on a free port with its runs in `folder`; gives its address and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    env = {**os.environ, "GRADIO_SERVER_NAME": "127.0.0.1", "GRADIO_SERVER_PORT": port, **env}
    env["RAGGED_DATA"] = str(folder / "runs")
    process = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert "Ragged is at" in process.stdout.readline()
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()


def no_model(folder: Path) -> dict[str, str]:
    """Environment of a server whose model cannot be had; known at once, no network is asked."""
    (folder / "file").write_text("")
    return {"RAGGED_CACHE": str(folder / "file" / "cache")}


class Cable:
    """A TCP proxy: `url` leads to `target` until `cut()`, which drops every open connection; new ones work again."""

    def __init__(self, target: str) -> None:
        self._port = int(target.rpartition(":")[2])
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        dropped, self._open = self._open, []
        for end in dropped:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._socket.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                self._open += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
