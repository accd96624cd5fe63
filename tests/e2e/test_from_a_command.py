"""`ruleout investigate -- COMMAND`: no case file, only the command that a person already uses, of engines that fail."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.support.models import model
from tests.support.rope_variants import CHANGES, changed

if TYPE_CHECKING:
    from tests.e2e.conftest import Done, Workshop

ENGINE = Path(__file__).parent / "fakes" / "engine.py"


class Engines:
    """Programs called `vllm` and `sglang` in a folder of their own, which is on the path."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop
        self.bin = workshop.folder / "bin"
        self.bin.mkdir()
        for name in ("vllm", "sglang"):
            script = self.bin / name
            run = f'exec {sys.executable} -S -E {ENGINE} {name} {workshop.plan_file} "${{@:2}}"'
            script.write_text(f"#!/bin/bash\n{run}\n")
            script.chmod(0o755)
        workshop.env["PATH"] = f"{self.bin}:{workshop.env['PATH']}"

    def plan(self, *faults: dict[str, Any], **more: Any) -> None:
        self.workshop.plan(faults=faults, model="m", **more)

    def investigate(self, *words: str, options: tuple[str, ...] = ("--json",)) -> Done:
        return self.workshop.run("investigate", *options, "--", *words)

    def case(self, name: str) -> dict[str, Any]:
        document = yaml.safe_load((self.workshop.investigation(name) / "case.yaml").read_text())
        assert isinstance(document, dict)
        return document


@pytest.fixture
def engines(workshop: Workshop) -> Engines:
    return Engines(workshop)


VLLM = ("vllm", "serve", "m", "--dtype", "float32", "--max-model-len", "512", "--enforce-eager")


def test_a_model_that_the_engine_refuses_is_not_searched_for_long(engines: Engines) -> None:
    engines.plan({"how": "refused"})
    done = engines.investigate(*VLLM)
    document = done.document
    assert document["status"] in ("elsewhere", "narrowed"), document["status"]
    assert done.status == 1
    assert len(document["trials"]) <= 4
    assert document["failure"]["class"] == "unsupported_arch"
    assert document["elsewhere"]["component"] == "kernel_arch_support"


def test_a_flag_of_the_command_is_found_to_be_the_cause(engines: Engines) -> None:
    engines.plan({"--dtype": "float32", "how": "empty"})
    done = engines.investigate(*VLLM)
    assert (done.status, done.causes) == (0, [{"dtype": ["float32"]}]), done.err
    assert done.document["failure"]["class"] == "wrong_output"
    case = engines.case("vllm-m")
    assert case["command"] == list(VLLM)
    assert case["factors"]["dtype"] == {
        "flag": "--dtype",
        "levels": ["float32", "absent", "bfloat16"],
        "baseline": "float32",
    }
    assert list(case["factors"])[:3] == ["dtype", "max_model_len", "enforce_eager"]
    assert "dtype: float32*, absent, bfloat16   given in the command" in done.err


def test_the_first_error_of_the_engine_is_quoted_when_a_request_kills_it(engines: Engines) -> None:
    engines.plan({"--model-impl": "transformers", "how": "dies"})
    done = engines.investigate(*VLLM, "--model-impl", "transformers")
    assert done.causes == [{"model_impl": ["transformers"]}]
    assert (done.document["failure"]["stage"], done.document["trials"][0]["stage"]) == ("prefill", "prefill")
    findings = (engines.workshop.investigation("vllm-m") / "FINDINGS.md").read_text()
    assert "Head dimension 96 is not supported by MLA" in findings


def test_sglang_fails_with_a_backend_beside_ones_that_work(engines: Engines) -> None:
    engines.plan({"--attention-backend": "flashinfer", "how": "refused"})
    command = ["--model-path", "m", "--device", "cpu", "--attention-backend", "flashinfer", "--dtype", "float32"]
    done = engines.investigate("sglang", "serve", *command)
    assert done.causes == [{"attention_backend": ["flashinfer"]}], done.err
    assert engines.case("sglang-m")["factors"]["attention_backend"]["levels"] == [
        "flashinfer", "absent", "torch_native", "intel_amx",
    ]  # fmt: skip


def test_when_no_setting_is_the_cause_all_are_cleared(engines: Engines) -> None:
    engines.plan({"how": "empty"})
    done = engines.investigate("vllm", "serve", "m", "--dtype", "float32", "--enforce-eager")
    assert (done.status, done.document["status"]) == (1, "elsewhere")
    assert {one["factor"] for one in done.document["ruled_out"]} >= {"dtype", "enforce_eager"}
    assert done.document["elsewhere"]["component"] == "weights/checkpoint"


def test_a_size_that_does_not_fit_is_the_cause_and_the_largest_that_works_is_found(engines: Engines) -> None:
    engines.plan({"--kv-cache-memory-bytes": {"above": 3_000_000}, "how": "oom"})
    done = engines.investigate("vllm", "serve", "m", "--kv-cache-memory-bytes", "8000000")
    (cause,) = done.causes
    assert list(cause) == ["kv_cache_memory_bytes"]
    assert all(int(size) > 3_000_000 for size in cause["kv_cache_memory_bytes"])
    (limit,) = done.document["limits"]
    assert (limit["works"], limit["fails"], limit["untried"]) == ("2800000", "3150000", [])
    assert done.document["workarounds"][0]["set"] == {"kv_cache_memory_bytes": "2800000"}


def test_a_backend_that_was_quietly_replaced_was_not_tried(engines: Engines) -> None:
    engines.plan({"how": "empty"})
    done = engines.investigate("vllm", "serve", "m", "--dtype", "float32", "--attention-backend", "FLASH_ATTN")
    trials = done.document["trials"]
    asked = [t for t in trials if t["configuration"].get("attention_backend", "FLASH_ATTN") == "FLASH_ATTN"]
    assert [t["effective"] for t in asked] == [{"attention_backend": "CPU_ATTN"}] * len(asked)
    assert trials[0] in asked, "also of the trial that was made before the factors were known"
    findings = (engines.workshop.investigation("vllm-m") / "FINDINGS.md").read_text()
    assert "Asked for, not in effect: --attention-backend FLASH_ATTN: CPU_ATTN was in effect" in findings
    assert done.document["status"] == "elsewhere"


def test_variables_and_a_shell_before_the_command_are_seen_through(engines: Engines) -> None:
    engines.plan({"VLLM_FAST_MODE": "1", "how": "empty"}, variables=["VLLM_FAST_MODE"])
    done = engines.investigate("bash", "-c", "VLLM_FAST_MODE=1 vllm serve m")
    assert done.causes == [{"vllm_fast_mode": ["1"]}], done.err
    case = engines.case("vllm-m")
    assert (case["command"], case["env"]) == (["vllm", "serve", "m"], {"VLLM_FAST_MODE": "1"})


def test_levels_are_those_of_the_installed_engine(engines: Engines) -> None:
    engines.plan({"--dtype": "float32", "how": "empty"})
    engines.investigate(*VLLM)
    factors = engines.case("vllm-m")["factors"]
    assert "no_enable_prefix_caching" in factors  # its help has it
    assert "no_async_scheduling" not in factors  # its help does not
    (kept,) = (engines.workshop.cache / "help").iterdir()
    assert json.loads(kept.read_text())["program"] == ["vllm", "serve"]


def test_it_goes_on_where_it_was_stopped(engines: Engines) -> None:
    engines.plan({"--dtype": "float32", "how": "empty"})
    begun = engines.investigate(*VLLM, options=("--json", "--budget-trials", "2"))
    assert begun.document["status"] == "exhausted"
    done = engines.investigate(*VLLM, options=("--json", "--resume"))
    assert (done.status, done.causes) == (0, [{"dtype": ["float32"]}])
    assert [t["id"] for t in done.document["trials"]][:2] == [1, 2]
    assert len(engines.workshop.ledger) == len(done.document["trials"])
    again = engines.investigate(*VLLM, "--swap-space", "1", options=("--resume",))
    again.told(2, "command is not what the trials so far were made with")


def test_the_models_folder_is_audited_before_the_first_trial_and_tried_all_the_same(engines: Engines) -> None:
    folder = model(engines.workshop.cwd / "m", changed(CHANGES["both: rope_parameters + rope_scaling yarn f4"]))
    engines.plan({"--dtype": "float32", "how": "empty"})
    done = engines.investigate("vllm", "serve", "m", "--dtype", "float32", "--enforce-eager")
    assert (done.status, done.causes) == (0, [{"dtype": ["float32"]}]), done.err
    assert "audit    error rope-theta-reset (config.json: rope_scaling)" in done.err
    assert done.err.index("audit ") < done.err.index("#1 ")
    assert (folder / "config.json").exists()


def test_a_dry_run_prints_a_case_to_edit_and_launches_nothing(engines: Engines) -> None:
    engines.plan({"--dtype": "float32", "how": "empty"})
    done = engines.investigate(*VLLM, options=("--dry-run", "-o", "mine.yaml"))
    assert (done.status, engines.workshop.ledger) == (0, [])
    assert "nothing is launched" in done.out
    text = (engines.workshop.cwd / "mine.yaml").read_text()
    assert text.strip() in done.out
    assert "#  CUDA_LAUNCH_BLOCKING=1" in text
    engines.investigate(*VLLM, options=("--dry-run", "-o", "mine.yaml")).told(2, "mine.yaml", "exists already")
    edited = engines.workshop.run("investigate", "--json", "mine.yaml")
    assert edited.causes == [{"dtype": ["float32"]}]


def test_any_other_command_is_a_job_with_its_flags_as_factors(workshop: Workshop) -> None:
    workshop.plan(fails=[{"--backend": "fast"}])
    done = workshop.run("investigate", "--json", "--", *workshop.command, "--backend", "fast", "--depth", "4")
    assert done.causes == [{"backend": ["fast"]}]
    assert (workshop.investigation("deployment") / "FINDINGS.md").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "nothing to investigate"),
        (["--"], "nothing to investigate"),
        (["case.yaml", "--", "vllm", "serve", "m"], "both case.yaml and a command"),
        (["-o", "x.yaml", "--", "vllm", "serve", "m"], "--output writes the case of a command"),
        (["--", "vllm", "serve"], "does not say which model"),
        (
            ["--", "docker", "run", "--network", "none", "vllm/vllm-openai", "--model", "m"],
            "no port of it can be reached",
        ),
    ],
)
def test_what_is_not_asked_rightly_is_told(workshop: Workshop, words: list[str], told: str) -> None:
    workshop.run("investigate", *words).told(2, told)


# -- when it shows -------------------------------------------------------------------------------------------------


def showing(done: Done) -> str:
    return str(done.document["shows"])


def test_a_failure_of_every_request_is_said_to_show_with_the_first(engines: Engines) -> None:
    engines.plan({"--dtype": "float32", "how": "empty"})
    done = engines.investigate(*VLLM)
    assert "already with the first request" in showing(done)
    assert "not load, length or caching" in showing(done)
    assert not set(engines.case("vllm-m")["factors"]) & {"concurrency", "prompt_length", "shared_prefix", "streaming"}


@pytest.mark.parametrize(
    ("needs", "factor", "levels", "speaks"),
    [
        ({"at_once": 3}, "concurrency", ["8"], "a race"),
        ({"words": 30}, "prompt_length", ["112"], "positions, pages and chunks"),
        ({"known": True}, "shared_prefix", ["on"], "the prefix cache"),
        ({"stream": True}, "streaming", ["on"], "the way the answer is sent"),
    ],
    ids=["load", "long", "cached", "streamed"],
)
def test_a_failure_that_needs_a_kind_of_request_is_found_to_need_it(
    engines: Engines, needs: dict[str, Any], factor: str, levels: list[str], speaks: str
) -> None:
    engines.plan({"--dtype": "float32", "how": "empty", **needs})
    done = engines.investigate("vllm", "serve", "m", "--dtype", "float32", "--max-model-len", "512")
    (cause,) = done.causes
    assert set(cause) == {"dtype", factor}, done.err
    assert cause["dtype"] == ["float32"]
    assert set(levels) <= set(cause[factor])
    assert speaks in showing(done)
    assert f"only with {factor}=" in showing(done)
    assert engines.case("vllm-m")["factors"][factor]["workload"] == factor


def test_the_record_says_when_it_shows(engines: Engines) -> None:
    engines.plan({"how": "empty", "at_once": 3})
    done = engines.investigate("vllm", "serve", "m", "--max-model-len", "512", options=())
    assert "When it shows" in done.out
    findings = (engines.workshop.investigation("vllm-m") / "FINDINGS.md").read_text()
    assert "- When it shows: with 8 requests at once; what was asked before passed (completion, streaming" in findings


# -- compared with a reference -------------------------------------------------------------------------------------


def test_answers_are_judged_by_a_reference_that_was_made_with_another_setting(engines: Engines) -> None:
    engines.plan({"--dtype": "float32", "how": "other"})
    save = engines.workshop.cwd / "reference.json"
    made = engines.workshop.run("probe", "--save", save, "--", "vllm", "serve", "m", "--dtype", "bfloat16")
    assert made.status == 0, made.err
    done = engines.investigate(
        *("vllm", "serve", "m", "--dtype", "float32"), options=("--json", "--reference", str(save))
    )
    assert (done.status, done.causes) == (0, [{"dtype": ["float32"]}]), done.err
    failure = done.document["failure"]
    assert (failure["class"], failure["message"]) == ("wrong_output", "another text than the reference")
    assert "“Lyon, as in no other fake.” instead of “Paris, as in every fake.”" in failure["client"]
    assert "answered, but not rightly" in showing(done)
    kept = engines.workshop.investigation("vllm-m") / "references" / "reference.json"
    assert json.loads(kept.read_text()) == json.loads(save.read_text())
    save.unlink()
    again = engines.workshop.run("investigate", "vllm-m", "--resume", "--json")
    assert (again.status, again.causes) == (0, done.causes), again.err
