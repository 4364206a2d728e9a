"""The routes beside Gradio's: a run's events as they come (SSE), traces as files, the viewer's own files.

Every error is JSON {"error": what was wrong, "works": what would work}; no traceback reaches a visitor.
"""

import asyncio
import base64
import functools
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable

from sse_starlette.event import ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ui import what_if
from ui.request import Offer
from ui.run import Run
from ui.runs import RunStore, StoreFull
from ui.squeeze import SqueezedEvents
from ui.static import IMMUTABLE, Folder
from ui.status import ticket

_LOG = logging.getLogger(__name__)

#: Some proxies hold a stream back until about 2 KB have come: the first message fills that, deflated or not.
_OPENING = ServerSentEvent(comment=base64.b64encode(os.urandom(2048)).decode(), retry=1500)
_PING_S = 12
_KEPT = "finished runs are kept for some days only"
_SEND_TIMEOUT_S = 30.0

Endpoint = Callable[[Request], Awaitable[Response]]


def routes(store: RunStore, viewer: Folder, vendor: Folder, traces: Folder, offer: Offer | None = None) -> list[Route]:
    """All routes; give them to Blocks.launch(app_kwargs={"routes": ...}) or to any Starlette app."""
    logging.getLogger("uvicorn.error").addFilter(quiet)

    @only("GET")
    async def events(request: Request) -> Response:
        run_id = request.path_params["run"]
        last, after = _seen(request, run_id), request.query_params.get("after", "-1")
        if not re.fullmatch(r"-?\d{1,9}", after):
            return fail(400, f"after={after[:40]!r} is not a number", "give the seq of the last event you have")
        run = await _find(store, run_id)
        if run is None:
            return SqueezedEvents(_gone(run_id), ping=_PING_S)
        if last is not None and run.log.closed and last >= run.log.last:
            return Response(status_code=204)  # all was delivered: an EventSource does not come back after this
        stream = _follow(store, run, int(after) if last is None else last)
        headers = {"Cache-Control": "no-cache, no-transform"}
        return SqueezedEvents(stream, ping=_PING_S, send_timeout=_SEND_TIMEOUT_S, headers=headers)

    @only("GET")
    async def status(request: Request) -> Response:
        run = await _find(store, request.path_params["run"])
        if run is None:
            return _unknown(request)
        store.glance(run)
        return JSONResponse(ticket(store, run), headers={"Cache-Control": "no-store"})

    @only("GET")
    async def trace(request: Request) -> Response:
        run = await _find(store, request.path_params["run"])
        if run is None:
            return _unknown(request)
        headers = {"Content-Disposition": f'attachment; filename="ragged-{run.id[:8]}.jsonl"'}
        return Response(run.log.text(), media_type="application/x-ndjson; charset=utf-8", headers=headers)

    @only("POST")
    async def stop(request: Request) -> Response:
        run = await _find(store, request.path_params["run"])
        if run is None:
            return _unknown(request)
        await asyncio.to_thread(store.stop, run)  # takes the store's lock and may write the run's end
        return JSONResponse(ticket(store, run))

    @only("POST")
    async def another_token(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            if len(body := body + part) > what_if.MAX_BODY:
                return fail(413, "this is too long", f"send at most {what_if.MAX_BODY} bytes")
        try:
            return JSONResponse(await asyncio.to_thread(what_if.begin, store, offer or Offer(), traces, body))
        except what_if.Refused as refusal:
            return fail(refusal.status, refusal.error, refusal.works)
        except StoreFull as full:
            return fail(503, *str(full).rstrip(".").split(": ", 1))

    @only("GET")
    async def recorded(request: Request) -> Response:
        name = request.path_params["name"]
        if file := traces.files.get(f"{name}.jsonl"):
            return file.response(request, {"Cache-Control": "no-cache", "ETag": f'"{traces.hash}"'})
        known = ", ".join(sorted(n.removesuffix(".jsonl") for n in traces.files)) or "none is recorded yet"
        return fail(404, f"there is no recorded trace {name[:60]!r}", f"one of: {known}")

    @only("GET")
    async def viewer_file(request: Request) -> Response:
        if request.path_params["hash"] != viewer.hash:
            return fail(404, "this page is older than the server", "reload the page")
        return _static(viewer, request)

    @only("GET")
    async def vendor_file(request: Request) -> Response:
        return _static(vendor, request)

    @only("GET")
    async def health(request: Request) -> Response:
        state = store.engine.state
        model = {"phase": state.phase, "fraction": state.fraction, "text": state.text}
        return JSONResponse({"status": "ok", "model": model, "runs": store.counts()})

    table = {
        "/runs/{run}/events": events,
        "/runs/{run}/status": status,
        "/runs/{run}/trace.jsonl": trace,
        "/runs/{run}/stop": stop,
        "/what-if": another_token,
        "/traces/{name}.jsonl": recorded,
        "/viewer/{hash}/{file}": viewer_file,
        "/vendor/{file}": vendor_file,
        "/healthz": health,
    }
    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
    return [Route(path, endpoint, methods=methods) for path, endpoint in table.items()]


def only(method: str) -> Callable[[Endpoint], Endpoint]:
    """Answer other methods and unforeseen failures with JSON, as every other error."""

    def wrap(endpoint: Endpoint) -> Endpoint:
        @functools.wraps(endpoint)
        async def answer(request: Request) -> Response:
            if request.method not in ((method, "HEAD") if method == "GET" else (method,)):
                reply = fail(405, f"{request.method} is not answered here", f"use {method}")
                reply.headers["Allow"] = method
                return reply
            try:
                return await endpoint(request)
            except Exception:
                _LOG.exception("%s failed", request.url.path)
                return fail(500, "the server made a mistake", "try again; the server's log has the details")

        return answer

    return wrap


def fail(status: int, error: str, works: str) -> JSONResponse:
    return JSONResponse({"error": error, "works": works}, status)


def quiet(record: logging.LogRecord) -> bool:
    """A logging filter: a reader that stopped reading is no error of the server's."""
    return not (record.exc_info and isinstance(record.exc_info[1], SendTimeoutError))


async def _find(store: RunStore, run_id: str) -> Run | None:
    return await asyncio.to_thread(store.get, run_id)


async def _follow(store: RunStore, run: Run, after: int) -> AsyncIterator[ServerSentEvent]:
    with store.watch(run):
        yield _OPENING
        async for seq, line in run.log.follow(after):
            yield ServerSentEvent(line, id=f"{run.id}:{seq}")
        end = run.log.end() or {}
        facts = {"run": run.id, "status": end.get("status", "failed"), "error": end.get("error", "")}
        yield ServerSentEvent(json.dumps(facts), event="bye", id=f"{run.id}:{run.log.last}")


async def _gone(run_id: str) -> AsyncIterator[ServerSentEvent]:
    yield _OPENING
    yield ServerSentEvent(f"There is no run {run_id[:64]!r} on this server. Start it again: {_KEPT}.", event="gone")


def _seen(request: Request, run_id: str) -> int | None:
    """Seq in the Last-Event-ID header when it is of this run; an EventSource sends it when it comes back."""
    match = re.fullmatch(r"(.+):(-?\d{1,9})", request.headers.get("last-event-id", ""))
    return int(match[2]) if match and match[1] == run_id else None


def _unknown(request: Request) -> Response:
    run_id = request.path_params["run"]
    return fail(404, f"there is no run {run_id[:64]!r} on this server", f"start it again; {_KEPT}")


def _static(folder: Folder, request: Request) -> Response:
    name = request.path_params["file"]
    if file := folder.files.get(name):
        return file.response(request, IMMUTABLE)
    return fail(404, f"there is no file {name[:60]!r} here", "reload the page")
