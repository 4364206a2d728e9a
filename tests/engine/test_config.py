"""Every value that cannot run is refused by field and value, with what would work."""

import dataclasses
import json

import pytest

from engine.config import ConfigError, RunConfig
from engine.registry import FAULTS, METHODS, NOT_BUILT, PROPOSERS

BAD = [
    pytest.param("k", 0, "whole number from 1 to 16", id="k_0"),
    pytest.param("k", 99, "whole number from 1 to 16", id="k_99"),
    pytest.param("k", -1, "whole number from 1 to 16", id="k_negative"),
    pytest.param("k", 2.5, "whole number from 1 to 16", id="k_fraction"),
    pytest.param("k", "4", "whole number from 1 to 16", id="k_text"),
    pytest.param("k", True, "whole number from 1 to 16", id="k_bool"),
    pytest.param("k", None, "whole number from 1 to 16", id="k_none"),
    pytest.param("max_new", 0, "whole number from 1 to 4096", id="max_new_0"),
    pytest.param("max_new", 10**6, "whole number from 1 to 4096", id="max_new_huge"),
    pytest.param("batch", 0, "whole number from 1 to 64", id="batch_0"),
    pytest.param("batch", 65, "whole number from 1 to 64", id="batch_65"),
    pytest.param("method", "telepathy", "eqspec", id="unknown_method"),
    pytest.param("method", None, "eqspec", id="no_method"),
    pytest.param("proposer", "crystal_ball", "ngram", id="unknown_proposer"),
    pytest.param("sampling", "nucleus", "greedy", id="unknown_sampling"),
    pytest.param("fidelity", "rough", "paper", id="unknown_fidelity"),
    pytest.param("grouping", "mood", "none", id="unknown_grouping"),
    pytest.param("dtype", "int8", "float32", id="unknown_dtype"),
    pytest.param("temperature", 0.7, "greedy decoding takes 0.0", id="temperature"),
    pytest.param("window", 4, "leave it out", id="window"),
    pytest.param("arrivals", (0.0, 1.0), "eqspec and slots with refill=True", id="arrivals_without_refill"),
    pytest.param("refill", "yes", "eqspec and slots take refill=True", id="refill_text"),
]


@pytest.mark.parametrize(("field", "value", "works"), BAD)
def test_a_bad_value_is_refused_with_field_value_and_what_works(field: str, value: object, works: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        RunConfig(**{field: value})
    assert (refusal.value.field, refusal.value.value) == (field, value)
    assert works in refusal.value.works
    assert str(refusal.value).startswith(f"{field}={value!r} cannot be used: ")


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, names in NOT_BUILT.items() for value in names])
def test_a_part_that_is_not_built_yet_is_refused_by_name_and_others_are_offered(field: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"{field}='{value}' cannot be used: not built yet; choose one of"):
        RunConfig(**{field: value})


def test_nothing_is_both_built_and_not_built() -> None:
    assert not set(METHODS) & set(NOT_BUILT["method"])
    assert not set(PROPOSERS) & set(NOT_BUILT.get("proposer", ()))


@pytest.mark.parametrize("method", METHODS)
def test_faults_that_a_method_does_not_have_are_refused(method: str) -> None:
    with pytest.raises(ConfigError, match="mutiny") as refusal:
        RunConfig(method=method, faults=frozenset({"mutiny"}))
    known = FAULTS.get(method, {})
    assert refusal.value.works == (f"{method} knows {sorted(known)}" if known else f"{method} has no faults")


def test_a_method_starts_with_its_published_faults_and_each_can_be_removed() -> None:
    assert RunConfig(method="bsp").faults == FAULTS["bsp"].keys()
    assert RunConfig(method="bsp", faults=frozenset()).faults == frozenset()
    for fault in FAULTS["bsp"]:
        assert fault not in RunConfig(method="bsp", faults=FAULTS["bsp"].keys() - {fault}).faults
    assert RunConfig(method="eqspec").faults == frozenset()


def test_every_fault_says_what_it_does() -> None:
    assert all(len(why) > 20 for faults in FAULTS.values() for why in faults.values())


@pytest.mark.parametrize("draft", [None, ""])
def test_a_draft_model_needs_a_name(draft: str | None) -> None:
    with pytest.raises(ConfigError, match="draft_model needs a directory or a hub name"):
        RunConfig(proposer="draft_model", draft=draft)


@pytest.mark.parametrize(
    "config",
    [
        RunConfig(),
        RunConfig(method="bsp", faults=frozenset({"no_stop", "padding_gap"}), k=16, max_new=4096, batch=64),
        RunConfig(method="autoregressive", batch=1, dtype="float64", chat=False, seed=7),
        RunConfig(proposer="draft_model", target="a", draft="b", device="cuda:0"),
        RunConfig(method="exspec", batch=4, window=9, grouping="paper", fidelity="paper", arrivals=(0.0, 2.5)),
        RunConfig(method="slots", refill=True, arrivals="poisson:0.5"),
    ],
    ids=["default", "bsp", "autoregressive", "draft_model", "arrivals", "poisson"],
)
def test_a_configuration_survives_json(config: RunConfig) -> None:
    assert RunConfig.from_json(json.loads(json.dumps(config.to_json()))) == config


def test_fields_of_a_later_version_are_ignored() -> None:
    assert RunConfig.from_json({**RunConfig(k=3).to_json(), "colour": "red"}) == RunConfig(k=3)


def test_a_bad_value_in_json_is_refused_too() -> None:
    with pytest.raises(ConfigError, match="k=99"):
        RunConfig.from_json({**RunConfig().to_json(), "k": 99})


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RunConfig().k = 5
