"""The page's own server as a child process, for measuring: a free port, an empty run folder, real signals."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]


class ServerProcess:
    """`python app.py`. Use as a context manager; `url` ends with a slash."""

    def __init__(self) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/"
        self.data = tempfile.TemporaryDirectory()
        env = {
            **os.environ,
            "GRADIO_SERVER_NAME": "127.0.0.1",
            "GRADIO_SERVER_PORT": str(port),
            "RAGGED_DATA": self.data.name,
        }
        self.process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def __enter__(self) -> "ServerProcess":
        for _ in range(600):
            if self.process.poll() is not None:
                raise RuntimeError(f"app.py ended: {self.process.stderr.read().decode()[-400:]}")
            if self.alive():
                return self
            time.sleep(0.1)
        raise RuntimeError("app.py did not answer within a minute")

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.data.cleanup()

    def alive(self) -> bool:
        try:
            return httpx.get(f"{self.url}healthz", timeout=10).status_code == 200
        except httpx.HTTPError:
            return False

    def engines(self) -> list[int]:
        """Process ids of the engine: the server's spawned children (the resource tracker is none)."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
                words = (stat.parent / "cmdline").read_bytes()
            except (OSError, ValueError, IndexError):
                continue
            if parent == self.process.pid and b"spawn_main" in words:
                found.append(int(stat.parent.name))
        return found
