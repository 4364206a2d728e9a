"""What if: a row goes on from another token. From the place that a browser names to a job, or to words why not.

The browser names a trace of this server, a place in it and one token, by its id or by its text. Prompts, configurations
and the row's text are read from the server's own copy: nothing else comes from outside. The row's prompt is then its
prompt, its output up to that place, and the token; the other rows start from their prompts again.

The new trace's header tells it: `what_if`: {trace, lane, row, index, token, instead: [id, text, hex]}, where trace and
lane are those that were looked at and `index` is the generated token of theirs, from 0, that was changed.
"""

import json

from engine.config import ConfigError, RunConfig
from engine.fold import Fold, fold
from engine.frames import RowState
from engine.lines import TraceError, read_lines
from engine.one_token import NotOneToken, one_token
from engine.worker import EngineState
from ui.request import MAX_NEW, MAX_PROMPTS, Offer
from ui.runs import RunStore
from ui.static import Folder
from ui.status import ticket

MAX_BODY = 2048  # bytes

#: What the browser sends: `index` counts the row's generated tokens from 0; `held` is its run that may still go on.
FIELDS = {"trace": str, "lane": str, "row": int, "index": int, "held": str}
TOKEN = {"token": int, "text": str}  # one of them


class Refused(ValueError):
    """A what-if that cannot run: what is wrong and what would work, without full stops."""

    def __init__(self, error: str, works: str, status: int = 400) -> None:
        self.error, self.works, self.status = error, works, status
        super().__init__(f"{error}: {works}")


def begin(store: RunStore, offer: Offer, traces: Folder, body: bytes) -> dict:
    """Queue the run that a request asks for and give its ticket. Raises Refused or StoreFull."""
    asked = read(body)
    if store.engine.state.phase == "failed":
        raise Refused(
            f"this server has no model ({store.engine.state.text})", "start Ragged where it can load one", 503
        )
    state = trace_of(store, traces, asked["trace"])
    if "token" not in asked:
        asked["token"] = _typed(store.engine.state, asked["text"])
    work = job(offer, state, asked)
    try:
        return ticket(store, store.create(work, held=asked["held"]))
    except OSError as error:
        raise Refused(f"the run's file cannot be made ({error.strerror})", "try again later", 503) from error


def read(body: bytes) -> dict:
    """The fields of a request, each of its type. Raises Refused."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        asked = None
    given = asked if type(asked) is dict else {}
    wrong = [name for name, kind in FIELDS.items() if type(given.get(name)) is not kind]
    one = [name for name, kind in TOKEN.items() if type(given.get(name)) is kind]
    if wrong or len(one) != 1 or len(TOKEN.keys() & given.keys()) != 1:
        kinds = ", ".join(f"{name} ({kind.__name__})" for name, kind in FIELDS.items())
        wrong += [] if len(one) == 1 else [" or ".join(TOKEN)]
        raise Refused(
            f"{', '.join(wrong) or 'token and text'} missing or of another type",
            f"send JSON with {kinds}, and token (int) or text (str)",
        )
    return given


def _typed(engine: EngineState, text: str) -> int:
    """The token that a text is to the loaded model. Raises Refused."""
    if engine.phase != "ready":
        raise Refused("the model is not loaded yet", "try again in a moment, or give # and an id", 503)
    try:
        return one_token(engine.tokenizer, text)
    except NotOneToken as error:
        what, _, works = str(error).rpartition(": ")
        raise Refused(what, works) from None


def trace_of(store: RunStore, traces: Folder, name: str) -> Fold:
    """This server's own copy of a trace, as addresses name it: a recorded one, or run:<id>. Raises Refused."""
    text = None
    if name.startswith("run:"):
        run = store.get(name.removeprefix("run:"))
        text = run and run.log.text()
    elif file := traces.files.get(f"{name}.jsonl"):
        text = file.body.decode()
    if text is None:
        raise Refused(
            f"there is no trace {name[:60]!r} on this server", "use a recorded trace or a run of this server", 404
        )
    try:
        return fold(read_lines(text.split("\n")))  # not splitlines: token texts hold other line ends
    except (TraceError, ValueError) as error:
        raise Refused(f"the trace cannot be read ({error})", "use another one") from None


def job(offer: Offer, state: Fold, asked: dict) -> dict:
    """The same lanes on the same rows, one of which goes on from another token. Raises Refused."""
    header, token = state.header, asked["token"]
    lanes = {spec["lane"]: _config(offer, spec["config"]) for spec in header.lanes}
    target = header.models.get("target", {})
    if target.get("name") != offer.target:
        raise Refused(
            f"this trace is of {target.get('name')}; this server has {offer.target}", f"use one of {offer.target}"
        )
    if len(header.prompts) > MAX_PROMPTS:
        raise Refused(f"it has {len(header.prompts)} rows", f"use a trace of at most {MAX_PROMPTS}")
    row, at = _place(state, asked)
    index = row.prompt + asked["index"]
    prompts = [list(p["ids"]) for p in header.prompts]
    prompts[at] = [*row.ids[:index], token]
    if not all(0 <= i < target["vocab"] for ids in prompts for i in ids):
        raise Refused(f"token {token} is none of the model's", f"send an id from 0 to {target['vocab'] - 1}")
    if token in header.stop_ids:
        raise Refused(f"token {token} ends the row: nothing would come after it", "choose a token that does not")
    if token == row.ids[index]:
        raise Refused(f"token {token} is there already", "choose another one")
    if len(prompts[at]) >= target["context"]:
        raise Refused(f"the row has {len(prompts[at])} tokens there", f"choose a place before {target['context'] - 1}")
    instead = [row.ids[index], *state.pieces.get(row.ids[index], ["", ""])]
    kept = {"trace": asked["trace"], "lane": asked["lane"], "index": asked["index"], "token": token}
    texts = [p["text"] for p in header.prompts]
    named = {token: [asked["text"], ""]} if "text" in asked else {}
    texts[at] += "\n" + _text(state.pieces | named, prompts[at][row.prompt :])
    about = {"what_if": {**kept, "row": at, "instead": instead}, "texts": texts}
    return {"lanes": lanes, "prompts": prompts, "title": header.title, "about": about}


def _text(known: dict[int, list[str]], ids: list[int]) -> str:
    """The text of some tokens, as far as it is known: characters that are not whole are marked."""
    pieces = [known.get(i, ["", ""]) for i in ids]
    return b"".join(bytes.fromhex(raw) or text.encode(errors="replace") for text, raw in pieces).decode(
        errors="replace"
    )


def _place(state: Fold, asked: dict) -> tuple[RowState, int]:
    """The row in the lane that was looked at, and its place among the prompts."""
    if asked["lane"] not in state.lanes:
        raise Refused(f"there is no lane {asked['lane'][:40]!r}", f"choose one of {', '.join(state.lanes)}")
    rows = state.lanes[asked["lane"]].rows
    if asked["row"] not in rows:
        raise Refused(f"there is no row {asked['row']}", f"choose one of {', '.join(map(str, rows))}")
    row = rows[asked["row"]]
    if not 0 <= asked["index"] < len(row.ids) - row.prompt:
        count = len(row.ids) - row.prompt
        raise Refused(f"the row has no generated token {asked['index']}", f"it has {count}, counted from 0")
    return row, [p["row"] for p in state.header.prompts].index(row.row)


def _config(offer: Offer, data: dict) -> RunConfig:
    """A lane's own configuration, if this server can run it."""
    if "method" not in data:
        raise Refused("this trace does not say how its lanes were run", "use one that Ragged wrote")
    try:
        config = RunConfig.from_json({**data, "device": offer.device})
    except (ConfigError, TypeError) as error:
        raise Refused(f"a lane's configuration cannot run here ({error})", "use a trace of this version") from None
    if config.target != offer.target or config.draft not in (None, offer.draft):
        pair = " and ".join(filter(None, (config.target, config.draft)))
        raise Refused(f"this trace is of {pair}; this server has {offer.target}", f"use one of {offer.target}")
    if why := offer.unavailable().get(config.proposer):
        raise Refused(f"its drafts come from {config.proposer}, not here ({why})", "use a trace with another proposer")
    if config.max_new > MAX_NEW:
        raise Refused(f"its rows may have {config.max_new} new tokens", f"use a trace with at most {MAX_NEW}")
    return config
