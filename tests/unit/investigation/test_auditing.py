"""What an audit is told of a command, and what an investigation makes of its findings."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.support.models import model
from tests.support.rope_variants import CHANGES, changed

from ruleout.investigation.auditing import MOST, audited, launch_of, model_folder, suspects
from ruleout.investigation.suspecting import suspicion
from ruleout.model import PRESENT, Case, Component, Factor, Mechanism
from ruleout.model.audit import Audit, AuditFinding, ModelFacts, Severity


def test_flags_and_variables_are_read_from_the_command() -> None:
    launch = launch_of(
        shlex.split(
            "env A=1 python3 -m sglang.launch_server --model-path /m --tp=8 --trust-remote-code"
            " --kv-cache-dtype bf16 --disable-cuda-graph"
        )
    )
    assert launch.engine == "sglang"
    assert launch.env == {"A": "1"}
    assert launch.arguments == {
        "model_path": "/m",
        "tp": "8",
        "trust_remote_code": PRESENT,
        "kv_cache_dtype": "bf16",
        "disable_cuda_graph": PRESENT,
    }
    assert launch.number("tensor_parallel_size", "tp") == 8
    assert launch_of(["vllm", "serve", "/m", "--enforce-eager", "--max-model-len", "512"]).arguments == {
        "enforce_eager": PRESENT,
        "max_model_len": "512",
    }
    assert launch_of(["make", "serve"]).engine == "command"


def test_the_release_is_that_of_the_environment_whose_program_it_is(tmp_path: Path) -> None:
    site = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    (site / "vllm-0.32.0+cpu.dist-info").mkdir(parents=True)
    (site / "vllm_flash-1.0.dist-info").mkdir()
    program = tmp_path / "venv" / "bin" / "vllm"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert launch_of([str(program), "serve", "/m"]).version == "0.32.0"
    assert launch_of(["no-such-folder/vllm", "serve", "/m"]).version is None


def case(command: list[str], **more: object) -> Case:
    return Case("c", "vllm", tuple(command), **more)  # type: ignore[arg-type]


def test_only_a_folder_of_this_machine_is_looked_into(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    assert model_folder(case(["vllm", "serve", str(folder)])) == folder
    assert model_folder(case(["vllm", "serve", "m"], cwd=str(tmp_path))) == folder
    assert model_folder(case(["vllm", "serve", str(folder)], host={"ssh": "box"})) is None
    assert model_folder(case(["vllm", "serve", "zai-org/GLM-5"])) is None
    assert audited(case(["vllm", "serve", str(tmp_path)]), None) is None


def finding(component: Component, severity: Severity = Severity.ERROR) -> AuditFinding:
    return AuditFinding("x", severity, "what", "config.json: key", "do", "https://example.org", component)


def test_findings_make_their_components_likelier_and_never_sure() -> None:
    assert suspects(None) == ()
    assert suspects(Audit(ModelFacts("m"), (finding(Component.ROPE_CONFIG, Severity.NOTE),))) == ()
    found = (
        finding(Component.ROPE_CONFIG),
        finding(Component.MEMORY, Severity.WARNING),
        finding(Component.ROPE_CONFIG),
    )
    likely = suspects(Audit(ModelFacts("m"), found))
    assert [one.component for one in likely] == [Component.ROPE_CONFIG, Component.MEMORY]
    assert likely[0].probability > likely[1].probability
    many = tuple(finding(component) for component in Component)
    assert sum(one.probability for one in suspects(Audit(ModelFacts("m"), many))) == pytest.approx(MOST)


def test_the_share_of_an_audit_is_what_the_log_leaves_unexplained(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("RuntimeError: something nobody has seen\n")
    factors = (
        Factor("rope", Mechanism.FLAG, "--rope-scaling", ("a", "b"), "a"),
        Factor("dtype", Mechanism.FLAG, "--dtype", ("a", "b"), "a"),
    )
    folder = model(tmp_path / "m", changed(CHANGES["theta=0"]))
    before = suspects(audited(case(["vllm", "serve", str(folder)]), None))
    plain, told = (suspicion(case(["vllm"], factors=factors), log, before=seen) for seen in ((), before))
    assert told.priors["rope"] > plain.priors.get("rope", 0.5)
    assert sum(one.probability for one in told.suspects) <= 1.0
    assert any(one.rule.startswith("audit:") for one in told.suspects)


def test_the_served_folder_is_told_as_a_path(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    assert launch_of(["vllm", "serve", "m"], cwd=str(tmp_path)).model == str(folder)
    assert launch_of(["vllm", "serve", "org/name"], cwd=str(tmp_path)).model == "org/name"
    assert launch_of(["make", "serve"]).model is None
