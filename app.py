"""Ragged's server: `python app.py [--host NAME] [--port N]`. The only place that reads the environment.

GRADIO_SERVER_NAME, GRADIO_SERVER_PORT  where to listen (127.0.0.1, 7860; on a Space 0.0.0.0); the options win
SPACE_ID       set by Hugging Face Spaces
RAGGED_DATA    folder of the visitors' runs (~/.cache/ragged/runs)
RAGGED_CACHE   folder of the models (~/.cache/ragged)

The engine's process imports this file again (multiprocessing spawn), so heavy imports stay inside functions.
"""

import argparse
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent

#: For an engine process on a CPU. Attention takes grouped heads as they are: a quarter less time (on CUDA: more).
#: Threads that wait for each other sleep instead of spinning: beside a busy browser 2 cores were 5 to 14 times faster.
CPU_ENV = {"TRANSFORMERS_SDPA_FORCE_GQA": "1", "OMP_WAIT_POLICY": "PASSIVE"}


_ENV = "the environment variables GRADIO_SERVER_NAME, GRADIO_SERVER_PORT, RAGGED_DATA, RAGGED_CACHE"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line and the environment decide."""

    host: str
    port: int
    space: str | None
    data: Path
    cache: Path | None

    @classmethod
    def read(cls, argv: list[str] = ()) -> "Settings":
        """Raises ValueError for a port that is none; an unknown argument ends the program with what would work."""
        env, home = os.environ, Path.home() / ".cache" / "ragged"
        asked, unknown = (options := _options()).parse_known_args(argv)
        if unknown:
            options.error(f"there is no {' '.join(unknown)}. What works: --host NAME, --port N; {_ENV}")
        space = env.get("SPACE_ID") or None
        return cls(
            host=asked.host or env.get("GRADIO_SERVER_NAME") or ("0.0.0.0" if space else "127.0.0.1"),
            port=_port("--port", asked.port) or _port("GRADIO_SERVER_PORT", env.get("GRADIO_SERVER_PORT")) or 7860,
            space=space,
            data=Path(env.get("RAGGED_DATA") or home / "runs"),
            cache=Path(env["RAGGED_CACHE"]) if env.get("RAGGED_CACHE") else None,
        )


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python app.py",
        description="Serve the page. `make demo` does so after it has installed and fetched what is needed.",
        epilog=f"Or {_ENV}.",
        allow_abbrev=False,
    )
    parser.add_argument("--host", metavar="NAME", help="where to listen (127.0.0.1; on a Space 0.0.0.0)")
    parser.add_argument("--port", metavar="N", help="the port (7860)")
    return parser


def _port(name: str, text: str | None) -> int | None:
    """A port that was asked for, None where none was.

    >>> _port("--port", "7931"), _port("GRADIO_SERVER_PORT", "")
    (7931, None)
    """
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise ValueError(f"{name} is {text!r}, and a port is a number from 1 to 65535")
    return int(text)


class Server:
    """The parts of one server: store, routes, page. `engine` replaces the real one in tests."""

    def __init__(self, settings: Settings, engine: object | None = None) -> None:
        # Before gradio is imported: it reads this once.
        os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
        from starlette.middleware import Middleware

        from engine.config import RunConfig
        from engine.process import RealEngine
        from engine.worker import Worker
        from ui import pages, stream
        from ui.boot import HeadMiddleware
        from ui.request import Offer
        from ui.runs import RunStore
        from ui.static import Folder

        self.settings, offer = settings, Offer()
        env = CPU_ENV if offer.device == "cpu" else {}
        self.worker = None
        if engine is None:
            config = RunConfig(target=offer.target, draft=offer.draft, device=offer.device)
            engine = self.worker = Worker(config, RealEngine(settings.cache), env)
        self.store = RunStore(settings.data, engine)
        viewer, assets = Folder(ROOT / "ui" / "viewer"), ROOT / "assets"
        vendor, traces = Folder(assets / "vendor"), Folder(assets / "traces")
        self.routes = stream.routes(self.store, viewer, vendor, traces, offer)
        self.blocks = pages.blocks(self.store, offer).queue(max_size=64)
        head = pages.head(viewer, vendor, traces, settings.space)
        self.middleware = [Middleware(HeadMiddleware, head=head)]
        self.look = {"theme": pages.theme(), "footer_links": [], "run_history": False, "ssr_mode": False, "pwa": False}

    def launch(self) -> None:
        """Serve, and load the model meanwhile. Returns at once."""
        self.blocks.launch(
            server_name=self.settings.host,
            server_port=self.settings.port,
            app_kwargs={"routes": self.routes, "middleware": self.middleware},
            prevent_thread_lock=True,
            quiet=True,
            **self.look,
        )
        print(f"Ragged is at {self.blocks.local_url}", flush=True)
        if self.worker:
            self.worker.start()

    def close(self) -> None:
        """Stop every run, tell its readers, end the engine, close the port."""
        self.store.close()
        if self.worker:
            self.worker.close()
        self.blocks.close()


def create_app(settings: Settings | None = None, engine: object | None = None) -> object:
    """The same as an ASGI app, for a server of your own; `app.state.server` is its Server."""
    import gradio as gr
    from starlette.applications import Starlette

    server = Server(settings or Settings.read(), engine)
    app = Starlette(routes=server.routes)
    app.state.server = server
    inner = {"middleware": server.middleware}
    return gr.mount_gradio_app(app, server.blocks, path="/", app_kwargs=inner, **server.look)


def main() -> None:
    ended = threading.Event()
    # Gradio's server runs beside this thread and sees no signals: without these, open streams would be cut off.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    try:
        settings = Settings.read(sys.argv[1:])
        server = Server(settings)
        server.launch()
    except (OSError, ValueError) as error:
        if "empty port" in str(error):  # Gradio's words for it speak of calls that a visitor does not make
            error = f"port {settings.port} is in use"
        sys.exit(f"Ragged cannot start: {error} (--host, --port and RAGGED_DATA choose others)")
    ended.wait()
    server.close()


if __name__ == "__main__":
    main()
