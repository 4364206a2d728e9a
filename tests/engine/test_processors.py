"""Penalties and the like: refused by name, or left out on all sides on request."""

from pathlib import Path

import pytest
from transformers import GenerationConfig

from engine import session
from engine.cli import main
from engine.config import RunConfig
from engine.fold import fold
from engine.models import load_pair
from engine.processors import PROCESSORS, WARPERS, UnsupportedProcessor, refuse_processors
from tests.engine.tiny import save, tiny_model

ASKED = {
    "repetition_penalty": 1.1,
    "no_repeat_ngram_size": 3,
    "bad_words_ids": [[5]],
    "suppress_tokens": [7, 8],
    "min_new_tokens": 4,
    "sequence_bias": {(4,): -2.0},
    "forced_eos_token_id": 2,
    "guidance_scale": 1.5,
}


@pytest.fixture
def penalised(tmp_path: Path) -> str:
    folder = save(tmp_path, tiny_model("llama"))
    GenerationConfig(eos_token_id=[1, 2], pad_token_id=0, repetition_penalty=1.3).save_pretrained(folder)
    return folder


def test_a_model_that_asks_for_a_penalty_is_refused_by_name_with_what_works(penalised: str) -> None:
    with pytest.raises(UnsupportedProcessor, match=r"repetition_penalty=1\.3.*processors='none'") as refusal:
        load_pair(RunConfig(target=penalised))
    assert penalised in str(refusal.value)


def test_on_request_it_decodes_without_the_penalty_on_all_sides(penalised: str) -> None:
    config = RunConfig(target=penalised, processors="none", proposer="self_skip", max_new=8, dtype="float64")
    lane = fold(session({"a": config}, ["w3 w4 w5", "w9"], pair=load_pair(config))).lanes["a"]
    assert [r.compare["verdict"] for r in lane.rows.values()] == ["equal", "equal"]
    assert lane.config["processors"] == "none", "the trace says so"


def test_the_command_line_refuses_in_one_line(penalised: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--target", penalised, "--prompt", "w3 w4"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert "repetition_penalty=1.3" in err
    assert main(["run", "--target", penalised, "--prompt", "w3 w4", "--max-new", "3", "--processors", "none"]) == 0


@pytest.mark.parametrize("field", ASKED)
def test_every_processor_is_named(field: str) -> None:
    with pytest.raises(UnsupportedProcessor, match=field):
        refuse_processors(GenerationConfig(**{field: ASKED[field]}), RunConfig(), "tiny")


def test_warpers_of_sampling_matter_only_when_sampling() -> None:
    generation = GenerationConfig(min_p=0.1, typical_p=0.9, temperature=0.6, do_sample=True)
    refuse_processors(generation, RunConfig(), "tiny")
    with pytest.raises(UnsupportedProcessor, match=r"min_p=0\.1, typical_p=0\.9, which"):
        refuse_processors(generation, RunConfig(sampling="shared_noise", temperature=1.0), "tiny")


def test_what_changes_nothing_is_accepted() -> None:
    sampled = RunConfig(sampling="shared_noise", temperature=1.0)
    neutral = {field: values[-1] for field, values in (PROCESSORS | WARPERS).items()}
    for generation in (None, GenerationConfig(), GenerationConfig(**neutral)):
        refuse_processors(generation, sampled, "tiny")
