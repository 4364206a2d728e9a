"""Bytes of a round: as JSON lines, and on the wire as a browser receives them (an event stream in gzip)."""

import json
import statistics
import zlib
from collections import defaultdict
from collections.abc import Iterator

import httpx

Round = tuple[str, int]  # lane, step


def weigh(url: str, run: str) -> list[str]:
    """The weight of a finished run's rounds (prefill and token texts left out), two lines to print."""
    plain: dict[Round, int] = defaultdict(int)
    wire: dict[Round, int] = defaultdict(int)
    prompts, rest = [], b""
    for message, came in messages(f"{url}runs/{run}/events"):
        for line in message.splitlines():
            if line.startswith(b"data: {"):
                event = json.loads(line[6:])
                prompts = event.get("prompts", prompts)
                if event.get("lane") and event["step"] > 0:
                    plain[event["lane"], event["step"]] += len(line) - 6
                    wire[event["lane"], event["step"]] += came
        rest = message
    if b"event: bye" not in rest:
        raise RuntimeError(f"the stream of run {run} did not end with bye")
    return [spread(name, weights, len(prompts)) for name, weights in (("JSON", plain), ("wire", wire))]


def spread(name: str, weights: dict[Round, int], rows: int) -> str:
    """One line: mean, median and largest."""
    sizes = sorted(weights.values())
    middle = f"{statistics.mean(sizes):.0f} on average, {statistics.median(sizes):.0f} in the median"
    return f"bytes a round ({name}) {middle}, {sizes[-1]} at most ({rows} rows, {len(sizes)} rounds)"


def messages(url: str) -> Iterator[tuple[bytes, int]]:
    """Each message of an event stream with the bytes that brought it."""
    inflate, text, came = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), b"", 0
    with httpx.stream("GET", url, headers={"Accept-Encoding": "gzip"}, timeout=60) as response:
        if response.headers.get("content-encoding") != "gzip":
            raise RuntimeError("the event stream is not in gzip")
        for chunk in response.iter_raw():
            for byte in chunk:  # one at a time: a chunk may hold several messages
                text += inflate.decompress(bytes([byte])).replace(b"\r", b"")
                came += 1
                while b"\n\n" in text:
                    message, _, text = text.partition(b"\n\n")
                    yield message, came
                    came = 0
