"""Puts the page's head into Gradio's first HTML.

Gradio 6.31 hands `head=` to its own JavaScript, which adds it about a second later (measured). The recorded run must
play before that, also when Gradio's JavaScript does not come at all.
"""

import gzip
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_BASE = re.compile(rb"<base [^>]*>")
_STYLE = re.compile(rb'<link rel="stylesheet"[^>]*>')


class HeadMiddleware:
    """Pure ASGI: answers GET / with `head` after the document's base element, gzipped where that is welcome."""

    def __init__(self, app: ASGIApp, head: str) -> None:
        self.app, self.head = app, head.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        if scope["type"] != "http" or scope["method"] != "GET" or path not in ("", "/"):
            return await self.app(scope, receive, send)
        start: Message = {}
        body = bytearray()

        async def collect(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
                return
            body.extend(message.get("body", b""))
            if not message.get("more_body"):
                await self._finish(scope, start, bytes(body), send)

        return await self.app(scope, receive, collect)

    async def _finish(self, scope: Scope, start: Message, body: bytes, send: Send) -> None:
        headers = MutableHeaders(raw=list(start["headers"]))
        if headers.get("content-type", "").startswith("text/html") and "content-encoding" not in headers:
            body = insert(body, self.head)
            headers["Cache-Control"] = "no-cache"  # it names the viewer's current files
            headers.add_vary_header("Accept-Encoding")
            if "gzip" in Headers(scope=scope).get("accept-encoding", ""):
                body, headers["Content-Encoding"] = gzip.compress(body, 5), "gzip"
            headers["Content-Length"] = str(len(body))
        await send({**start, "headers": headers.raw})
        await send({"type": "http.response.body", "body": body})


def insert(page: bytes, head: bytes) -> bytes:
    """`head` after `<base>`, which its relative addresses need, else right after `<head>`.

    Gradio's style sheet comes first of all: it blocks the first paint, and behind our fifty modules it would wait for
    a free connection (measured: 0.6 s).
    """
    if style := _STYLE.search(page):
        page, head = page[: style.start()] + page[style.end() :], style[0] + head
    if base := _BASE.search(page):
        return page[: base.end()] + head + page[base.end() :]
    return page.replace(b"<head>", b"<head>" + head, 1)
