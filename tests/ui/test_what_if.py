"""What if: a place and a token of a trace of this server become a job, or words that say why not."""

import json
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

from engine.config import RunConfig
from engine.fold import Fold, fold
from engine.lines import dump_line, read_lines
from engine.trace import Header
from engine.worker import EngineState
from tests.ui.fakes import JOB, ThreadEngine, until
from tests.ui.serving import ROOT
from ui.request import Offer
from ui.static import Folder
from ui.what_if import MAX_BODY, Refused, job, read, trace_of

HERO = ROOT / "assets" / "traces" / "hero.jsonl"
ASKED = {"trace": "hero", "lane": "eqspec", "row": 1, "index": 4, "token": 300, "held": ""}
WORDS = Offer()


@pytest.fixture(scope="module")
def hero() -> Fold:
    return fold(read_lines(HERO.read_text(encoding="utf-8").splitlines()))


def test_the_row_goes_on_from_its_text_and_the_token_and_all_else_is_the_trace_s(hero: Fold) -> None:
    made = job(WORDS, hero, ASKED)
    prompts = [p["ids"] for p in hero.header.prompts]
    row = hero.lanes["eqspec"].rows[1]
    assert made["prompts"] == [prompts[0], [*row.ids[: row.prompt + 4], 300], prompts[2]]
    assert list(made["lanes"]) == [spec["lane"] for spec in hero.header.lanes]
    kept = [RunConfig.from_json(spec["config"]) for spec in hero.header.lanes]
    assert list(made["lanes"].values()) == kept
    before = row.ids[row.prompt + 4]
    told = {"trace": "hero", "lane": "eqspec", "row": 1, "index": 4, "token": 300}
    assert made["about"]["what_if"] == {**told, "instead": [before, *hero.pieces[before]]}
    texts = [p["text"] for p in hero.header.prompts]
    given = texts[1] + "\n" + "".join(hero.pieces[i][0] for i in made["prompts"][1][row.prompt : -1])
    assert made["about"]["texts"] == [texts[0], given + hero.pieces.get(300, [""])[0], texts[2]]
    assert made["prompts"][0] is not hero.header.prompts[0]["ids"]


def test_the_text_is_that_of_the_lane_that_was_looked_at(hero: Fold) -> None:
    wrong = hero.lanes["bsp"].rows[1].compare["index"]
    texts = {lane: job(WORDS, hero, {**ASKED, "lane": lane, "index": wrong + 1})["prompts"][1] for lane in hero.lanes}
    assert texts["eqspec"] == texts["bsp_repaired"] != texts["bsp"]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b"3", b"\xff\xfe", b"{", b"[" * 3000, b'{"trace": NaN}', b"{}",
        *(json.dumps({**ASKED, name: value}).encode() for name, value in [
            ("row", "1"), ("row", True), ("row", 1.0), ("row", None), ("row", [1]),
            ("token", 1e308), ("token", "<img src=x onerror=alert(1)>"), ("index", {}), ("trace", 5), ("held", None),
        ]),
    ],
)  # fmt: skip
def test_a_body_of_another_form_is_refused_with_the_form_that_works(body: bytes) -> None:
    with pytest.raises(Refused, match=r"send JSON with trace \(str\), lane \(str\), row \(int\)"):
        read(body)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"token": -1}, ["token -1", "0 to 49151"]),
        ({"token": 49152}, ["token 49152", "0 to 49151"]),
        ({"token": 10**40}, ["none of the model's"]),
        ({"token": 2}, ["ends the row"]),
        ({"index": -1}, ["no generated token -1", "counted from 0"]),
        ({"index": 10**9}, ["no generated token"]),
        ({"row": -1}, ["no row -1", "0, 1, 2"]),
        ({"row": 10**30}, ["no row"]),
        ({"lane": "../bsp"}, ["no lane '../bsp'", "eqspec"]),
    ],
)
def test_a_place_or_a_token_that_is_not_there_is_named(hero: Fold, changes: dict, words: list[str]) -> None:
    with pytest.raises(Refused) as refusal:
        job(WORDS, hero, {**ASKED, **changes})
    assert all(word in str(refusal.value) for word in words), refusal.value


def test_the_token_that_is_there_already_is_no_change(hero: Fold) -> None:
    row = hero.lanes["eqspec"].rows[1]
    with pytest.raises(Refused, match="is there already"):
        job(WORDS, hero, {**ASKED, "token": row.ids[row.prompt + 4]})


def altered(hero: Fold, **changes: object) -> Fold:
    """The hero with another header: `config` changes every lane's configuration, the rest header fields."""
    config = changes.pop("config", {})
    lanes = [{**spec, "config": {**spec["config"], **config}} for spec in hero.header.lanes]
    state = Fold()
    state.__dict__.update(hero.__dict__)
    state.header = replace(hero.header, **{"lanes": lanes, **changes})
    return state


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"config": {"target": "/etc"}}, ["of /etc", "has smollm2-135m"]),
        ({"config": {"draft": "some/hub-model"}}, ["some/hub-model"]),
        ({"config": {"proposer": "draft_model", "draft": None}}, ["draft", "cannot be used"]),
        ({"config": {"method": "no"}}, ["method='no'"]),
        ({"config": {"k": "4"}}, ["configuration cannot run here"]),
        ({"config": {"max_new": 4096}}, ["4096", "at most 256"]),
        ({"lanes": [{"lane": "mine", "config": {}}]}, ["does not say how its lanes were run"]),
        ({"models": {}}, ["of None", "has smollm2-135m"]),
        ({"models": {"target": {"name": "gpt2", "vocab": 50257, "context": 1024}}}, ["of gpt2", "has smollm2-135m"]),
        ({"models": {"target": {"name": "smollm2-135m", "vocab": 49152, "context": 56}}}, ["56 tokens", "before 55"]),
        ({"models": {"target": {"name": "smollm2-135m", "vocab": 9000, "context": 8192}}}, ["0 to 8999"]),
        ({"prompts": [{"row": n, "text": "", "ids": [1], "arrive": 0.0} for n in range(9)]}, ["9 rows", "at most 8"]),
    ],
)
def test_a_trace_that_this_server_cannot_repeat_is_refused(hero: Fold, changes: dict, words: list[str]) -> None:
    with pytest.raises(Refused) as refusal:
        job(WORDS, altered(hero, **changes), ASKED)
    assert all(word in str(refusal.value) for word in words), refusal.value


def test_a_trace_of_another_device_runs_on_this_server_s(hero: Fold) -> None:
    lanes = job(WORDS, altered(hero, config={"device": "cuda"}), ASKED)["lanes"]
    assert {config.device for config in lanes.values()} == {"cpu"}


@pytest.fixture
def here(site, folder: Path) -> object:
    (folder / "traces" / "hero.jsonl").write_bytes(HERO.read_bytes())
    return site(ThreadEngine())


def post(here: object, **changes: object) -> httpx.Response:
    return httpx.post(f"{here.url}/what-if", json={**ASKED, **changes}, timeout=20)


def test_a_request_becomes_a_run_whose_trace_says_what_was_changed(here: object) -> None:
    reply = post(here)
    assert reply.status_code == 200, reply.text
    run = here.store.get(reply.json()["run"])
    until(lambda: run.over)
    header = next(iter(read_lines(run.log.text().split("\n"))))
    assert isinstance(header, Header)
    assert header.extra["what_if"]["token"] == 300
    assert [p["text"].count("The cat sat on") for p in header.prompts] == [0, 2, 0]
    assert here.store.get(run.id).status == "done"
    assert dump_line(header) == run.log.text().split("\n")[0]


def test_a_token_can_be_named_by_its_text(here: object, tmp_path: Path) -> None:
    typed = {name: value for name, value in ASKED.items() if name != "token"}

    def ask(**fields: object) -> httpx.Response:
        return httpx.post(f"{here.url}/what-if", json={**typed, **fields}, timeout=20)

    tokenizer = Tokenizer(WordLevel({"red": 7, " dog": 11, "?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = Split(" ", "merged_with_next")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    here.engine.state = EngineState("loading", "", 0.5)
    assert (ask(text="red").status_code, ask(text="red").json()["works"]) == (
        503,
        "try again in a moment, or give # and an id",
    )
    here.engine.state = EngineState("ready", "", 1.0, str(tmp_path))
    reply = ask(text="red dog")
    assert reply.status_code == 400
    assert reply.json()["error"] == "“red dog” is 2 tokens, “red” (#7), “ dog” (#11)"
    run = here.store.get(ask(text=" dog").json()["run"])
    until(lambda: run.over)
    header = next(iter(read_lines(run.log.text().split("\n"))))
    assert header.extra["what_if"]["token"] == 11
    assert header.prompts[1]["text"].endswith("dog")
    for both in ({}, {"text": "red", "token": 7}, {"text": 7}):
        assert "token (int) or text (str)" in ask(**both).json()["works"]


def test_a_run_of_this_server_can_be_changed_too_and_again(here: object) -> None:
    (here.store.folder / "kept_run_0123456789.jsonl").write_bytes(HERO.read_bytes())
    made = here.store.get(post(here, trace="run:kept_run_0123456789").json()["run"])
    until(lambda: made.over)
    again = post(here, trace=f"run:{made.id}", row=0, index=1, token=77)
    assert again.status_code == 400
    assert "of None" in again.json()["error"]  # read from the store; this stand-in of an engine names no model


def test_the_visitor_s_run_that_goes_on_is_replaced(here: object) -> None:
    here.engine.gate.clear()
    old = here.store.create(JOB)
    until(lambda: old.log.last == 0)
    assert post(here, held=old.id).status_code == 200
    until(lambda: old.over)
    assert (old.status, old.error) == ("stopped", "you started another run")
    here.engine.gate.set()


@pytest.mark.parametrize("name", ["", "nothing", "run:", "run:../../x", "../hero", "run:" + "x" * 22, "hero.jsonl"])
def test_a_trace_that_this_server_does_not_have_is_not_found(here: object, name: str) -> None:
    reply = post(here, trace=name)
    assert reply.status_code == 404
    assert "no trace" in reply.json()["error"]
    assert here.store.counts() == {"running": 0, "queued": 0}


def test_a_file_that_is_no_trace_is_refused(here: object, folder: Path) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        trace_of(here.store, Folder(folder / "traces"), "broken")


def test_without_a_model_it_is_refused_in_words(here: object) -> None:
    here.engine.state = EngineState("failed", "the wheel could not be fetched")
    reply = post(here)
    assert reply.status_code == 503
    assert "this server has no model (the wheel could not be fetched)" in reply.json()["error"]
    assert here.store.counts() == {"running": 0, "queued": 0}


def test_a_disk_that_takes_no_file_is_said(here: object, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(job: dict, held: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(here.store, "create", full)
    reply = post(here)
    assert reply.status_code == 503
    assert reply.json()["error"] == "the run's file cannot be made (No space left on device)"


def test_a_long_body_another_method_and_a_full_queue_are_answered_in_words(here: object) -> None:
    url = f"{here.url}/what-if"
    assert httpx.post(url, content=b"x" * (MAX_BODY + 1)).status_code == 413
    assert httpx.get(url).json()["works"] == "use POST"
    here.engine.gate.clear()
    running = here.store.create(JOB)
    until(lambda: running.status == "running")
    for _ in range(here.store.limits.queue):
        here.store.create(JOB)
    reply = post(here)
    assert reply.status_code == 503
    assert reply.json()["works"].startswith("try again")
    here.engine.gate.set()
