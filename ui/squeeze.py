"""Event streams in gzip: each message is flushed as it comes, so that nothing waits and repeats cost little.

Starlette's GZipMiddleware leaves event streams alone: it would hold messages back until its buffer is full.
"""

import asyncio
import zlib

from sse_starlette.sse import EventSourceResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Receive, Scope, Send

_GZIP = zlib.MAX_WBITS | 16


class SqueezedEvents(EventSourceResponse):
    """An EventSourceResponse that is sent as gzip to a client that accepts it, and as it is to any other."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if accepts_gzip(Headers(scope=scope)):
            send = squeezed(send)
        await super().__call__(scope, receive, send)


def accepts_gzip(headers: Headers) -> bool:
    """Whether Accept-Encoding names gzip and does not refuse it.

    >>> accepts_gzip(Headers({"accept-encoding": "br, gzip;q=0.5"}))
    True
    >>> accepts_gzip(Headers({"accept-encoding": "gzip;q=0"}))
    False
    """
    for part in headers.get("accept-encoding", "").lower().split(","):
        name, _, quality = part.replace(" ", "").partition(";q=")
        if name == "gzip":
            return quality.strip("0.") != "" or not quality
    return False


def squeezed(send: Send) -> Send:
    """The same messages, their bodies deflated one after the other in one gzip stream."""
    stream = zlib.compressobj(wbits=_GZIP)
    turn = asyncio.Lock()  # pings come from another task: what is deflated first must be sent first

    async def forward(message: Message) -> None:
        async with turn:
            await send(deflated(message))

    def deflated(message: Message) -> Message:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message["headers"]))
            headers["Content-Encoding"] = "gzip"
            headers.add_vary_header("Accept-Encoding")
            return {**message, "headers": headers.raw}
        if message["type"] == "http.response.body":
            more = message.get("more_body", False)
            body = stream.compress(message.get("body", b""))
            body += stream.flush(zlib.Z_SYNC_FLUSH if more else zlib.Z_FINISH)
            return {**message, "body": body}
        return message

    return forward
