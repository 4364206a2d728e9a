"""Files that the page loads, held in memory under a name that changes with their contents."""

import gzip
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from ui.squeeze import accepts_gzip

#: Written out: a machine's own MIME table can be wrong, and a module of the wrong type does not load.
MIME = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
_PACKED = (".png", ".woff2")
IMMUTABLE = {"Cache-Control": "public, max-age=31536000, immutable"}


@dataclass(slots=True)
class File:
    """One file: its bytes, the same gzipped (empty where that is no use), and its MIME type."""

    body: bytes
    packed: bytes
    mime: str

    def response(self, request: Request, headers: dict[str, str]) -> Response:
        headers = {**headers, "Vary": "Accept-Encoding", "X-Content-Type-Options": "nosniff"}
        if self.packed and accepts_gzip(request.headers):
            return Response(self.packed, media_type=self.mime, headers={**headers, "Content-Encoding": "gzip"})
        return Response(self.body, media_type=self.mime, headers=headers)


@dataclass(slots=True)
class Folder:
    """The files of one folder, read once. `hash`: of all names and contents; a missing folder is an empty one."""

    path: Path
    files: dict[str, File] = field(default_factory=dict)
    hash: str = ""

    def __post_init__(self) -> None:
        digest = hashlib.sha256()
        for path in sorted(self.path.glob("*")):
            if path.suffix not in MIME or not path.is_file():
                continue
            body = path.read_bytes()
            digest.update(path.name.encode() + b"\0" + hashlib.sha256(body).digest())
            packed = b"" if path.suffix in _PACKED else gzip.compress(body, 6, mtime=0)
            self.files[path.name] = File(body, packed, MIME[path.suffix])
        self.hash = digest.hexdigest()[:12]

    def names(self, suffix: str) -> list[str]:
        return [name for name in self.files if name.endswith(suffix)]


def trace_list(folder: Folder) -> list[dict]:
    """What the page needs to offer the recorded traces: name, title, date, lanes, rows. Not a trace: left out."""
    out = []
    for name in folder.names(".jsonl"):
        try:
            header = json.loads(folder.files[name].body.split(b"\n", 1)[0])
            facts = {k: header.get(k, "") for k in ("title", "created")}
            lanes, rows = [lane["lane"] for lane in header["lanes"]], len(header["prompts"])
        except (ValueError, LookupError, TypeError, AttributeError):
            continue
        out.append({"name": name.removesuffix(".jsonl"), **facts, "lanes": lanes, "rows": rows})
    return out
