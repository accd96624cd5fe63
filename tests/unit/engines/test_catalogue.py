"""What is offered for variation: by release, by hardware and model, and by what the installed engine's help lists."""

from __future__ import annotations

from importlib.resources import files

import pytest

from ruleout.engines.catalogue import Offer, offers, spelt_out
from ruleout.engines.helping import Help
from ruleout.engines.levels.reading import entries
from ruleout.engines.proxies import PROXIES
from ruleout.engines.registry import ENGINES

CONDITIONS = {"gpu", "cpu", "ranks", "moe", "mla", "sparse", "quantized", "fp4", "fp8"}
LISTED = sorted(
    path.name.removesuffix(".yaml")
    for path in (files("ruleout.engines") / "levels").iterdir()
    if path.name.endswith("yaml")
)


def of(engine: str, flag: str, holds: str = "gpu", version: str | None = None, told: Help | None = None) -> Offer:
    return {offer.flag: offer for offer in offers(engine, version, holds.split(), told)}[flag]


@pytest.mark.parametrize("engine", LISTED)
def test_the_tables_speak_of_known_conditions_and_of_levels_that_are_listed(engine: str) -> None:
    assert engine in ENGINES
    for entry in entries(engine):
        assert set(entry.get("needs", ())) <= CONDITIONS
        for words, levels in entry.get("try", {}).items():
            assert set(words.split()) <= CONDITIONS
            listed = {level for release in entry["levels"].values() for level in release}
            assert set(levels) <= listed, entry["flag"]


def test_levels_worth_a_trial_depend_on_the_hardware_and_the_model() -> None:
    assert of("vllm", "--attention-backend").levels == ("FLASH_ATTN", "FLASHINFER", "TRITON_ATTN")
    assert "TRITON_MLA" in of("vllm", "--attention-backend", "gpu mla").levels
    assert of("vllm", "--attention-backend", "cpu").levels == ()
    assert of("sglang", "--attention-backend", "cpu").levels == ("torch_native", "intel_amx")


def test_settings_that_cannot_matter_are_worth_no_trial() -> None:
    assert of("sglang", "--moe-runner-backend").levels == ()
    assert of("sglang", "--moe-runner-backend", "gpu moe").levels
    assert of("vllm", "--disable-custom-all-reduce").levels == ()
    assert of("vllm", "--disable-custom-all-reduce", "gpu ranks").bare


def test_what_is_on_by_default_is_switched_off_by_its_own_flag() -> None:
    assert of("vllm", "--no-enable-prefix-caching").levels == ("present",)


def test_a_release_has_its_own_levels() -> None:
    assert "trtllm" not in of("sglang", "--dsa-decode-backend", "gpu sparse", "0.5.6").levels
    assert "trtllm" in of("sglang", "--dsa-decode-backend", "gpu sparse", "0.5.23").levels


def test_the_help_of_the_installed_engine_goes_first() -> None:
    told = Help(frozenset({"--dtype", "--nsa-decode-backend"}), {"--dtype": ("auto", "float32")})
    assert of("sglang", "--dtype", told=told).levels == ("auto", "float32")
    assert of("sglang", "--dtype", told=told).said_by == "sglang --help"
    flags = {offer.flag for offer in offers("sglang", None, {"gpu"}, told) if offer.flag.startswith("--")}
    assert flags == {"--dtype", "--nsa-decode-backend"}  # the former name, and nothing that it does not have


def test_other_spellings_are_written_as_the_catalogue_does() -> None:
    given = ("llama-server", "-fa", "on", "-ctk", "q8_0", "-c", "4096")
    assert spelt_out(given, offers("llama.cpp")) == (
        "llama-server", "--flash-attn", "on", "--cache-type-k", "q8_0", "-c", "4096",
    )  # fmt: skip
    assert spelt_out(("--kv_cache_dtype=fp8", "kv_cache_dtype"), offers("vllm")) == (
        "--kv-cache-dtype=fp8",
        "kv_cache_dtype",
    )


def test_an_engine_that_nobody_listed_has_nothing_to_offer() -> None:
    assert offers("command") == ()


def test_proxies_are_never_causes() -> None:
    assert all(proxy.proxy for found in PROXIES.values() for proxy in found)
