"""Trained drafters that come in assets/: found by name, refused by name for another target or before training."""

import re
from pathlib import Path

import pytest
import torch

from engine import RunConfig, session, shelf, shipped
from engine.fold import fold
from engine.load import ModelError, find, load_model
from engine.models import load_pair
from engine.trace import Propose
from engine.train import draft_small, head_shard
from engine.train.draft_train import start
from engine.train.heads import HEADS
from tests.engine.tiny import save, tiny_model
from ui.request import PROPOSERS, Offer


@pytest.mark.parametrize("proposer", shipped.SHARDS)
def test_a_drafter_trained_for_another_target_is_refused_and_another_offered(proposer: str, tmp_path: Path) -> None:
    target = save(tmp_path, tiny_model("llama", head_dim=8))
    with pytest.raises(ModelError, match=f"trained for {shelf.NAME}.*ngram"):
        load_pair(RunConfig(target=target, proposer=proposer))


def test_what_is_not_trained_yet_is_named_with_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(shipped.SHARDS, "mtp", shipped.HEADS / "mtp" / "nothing.safetensors")
    assert shipped.lacking("mtp", shelf.NAME) == "not trained yet, there is no assets/heads/mtp/nothing.safetensors"
    assert shipped.lacking("ngram", "any") == ""
    assert "not trained yet" in Offer().unavailable()["mtp"]
    assert re.match(r"This build has no weights for: MTP[,.]", Offer().closed())
    assert "assets" not in Offer().closed()


def test_the_form_says_nothing_of_weights_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for proposer in shipped.SHARDS:
        monkeypatch.setitem(shipped.SHARDS, proposer, shipped.SHARDS["eagle3"])
    assert (
        Offer().closed()
        == "Not here: draft model (no smaller model with the vocabulary of smollm2-135m is on this server)."
    )
    assert "EAGLE-3 (its weights were trained for smollm2-135m, not for some/other)" in Offer("some/other").closed()


def test_the_form_offers_every_shipped_drafter_and_only_what_can_draft() -> None:
    assert set(shipped.SHARDS) <= set(PROPOSERS)
    assert "eagle3" not in Offer().unavailable()
    assert set(shipped.SHARDS) <= set(Offer(target="some/other").unavailable())


@pytest.mark.parametrize("proposer", ["mtp", "draft_small"])
def test_a_published_shard_drafts_for_the_real_target(
    proposer: str, real_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Untrained ones, cut from the target: they draft badly, and the text is the target's all the same."""
    target = load_model(find(shelf.NAME, real_cache), "float32", "cpu")
    if proposer == "mtp":
        file = head_shard.save(HEADS["mtp"].from_target(target, torch.arange(4096)), tmp_path, {})
    else:
        file = draft_small.save(start(target, None)[0], tmp_path, {})
    assert file.stat().st_size < 10_000_000
    monkeypatch.setitem(shipped.SHARDS, proposer, file)
    config = RunConfig(proposer=proposer, k=3, max_new=10)
    events = list(session({"a": config}, ["Please repeat: the red fox.", "Hi"], pair=load_pair(config, real_cache)))
    lane = fold(events).lanes["a"]
    assert {s for e in events if isinstance(e, Propose) for s in e.source} == {proposer}
    assert [r.compare["verdict"] for r in lane.rows.values()] == ["equal", "equal"]
    assert lane.totals["drafted"] > 0
