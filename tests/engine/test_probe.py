"""The probe accepts models that keep rows apart and refuses one that does not, whatever its signature says."""

import pytest
import torch

from engine.probe import probe
from engine.support import UnsupportedModel
from tests.engine.pairs import VOCAB, model


@pytest.mark.parametrize("family", ["llama", "qwen3", "gpt2", "neox"])
def test_a_sound_model_passes_with_rounding_only(family: str) -> None:
    assert probe(model(family), VOCAB) < 1e-9


def test_a_model_that_ignores_its_position_ids_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    made = model("gpt2")
    forward = type(made).forward

    def deaf(self: object, *args: object, position_ids: torch.Tensor, **kwargs: object) -> object:
        return forward(self, *args, position_ids=torch.zeros_like(position_ids), **kwargs)

    # position 0 for everybody would be the same wrong answer alone: only the ragged batch must be deaf
    monkeypatch.setattr(
        type(made),
        "forward",
        lambda self, *a, **k: (deaf if k["position_ids"].shape[0] > 1 else forward)(self, *a, **k),
    )
    with pytest.raises(UnsupportedModel, match="away from those it gets alone"):
        probe(made, VOCAB)
