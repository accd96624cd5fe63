"""A tracer that did not get in is told with the reason, whatever stood in its way."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleout.engines import recognise
from ruleout.investigation.tracing.reach import CARRIED, refuse_unreachable, why_unheard
from ruleout.model import Case, MissingError


def case_of(*words: str) -> Case:
    found = recognise(words)
    return Case("c", found.engine, found.command, env=found.env)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["python3", "-I", "serve.py"], "python -I ignores PYTHONPATH"),
        (["python3.11", "-u", "-sE", "-m", "sglang.launch_server"], "python -sE ignores PYTHONPATH"),
        (["nice", "-n", "5", "/venv/bin/python", "-X", "dev", "-S", "serve.py"], "python -S ignores PYTHONPATH"),
        (["env", "-i", "python3", "serve.py"], "env -i clears the environment"),
        (["sudo", "python3", "-m", "sglang.launch_server"], "sudo clears the environment"),
        (
            ["bash", "-c", "export PYTHONPATH=/src; python3 serve.py | tee log"],
            "the shell's script sets PYTHONPATH anew",
        ),
        (["bash", "-c", "exec docker run x", "docker"], "it runs in a container"),
    ],
)
def test_what_keeps_pythonpath_out_is_named(words: list[str], reason: str) -> None:
    assert why_unheard(case_of(*words), 0)[0].startswith(reason)


@pytest.mark.parametrize(
    "words",
    [
        ["python3", "-s", "-u", "serve.py", "-E", "-I"],
        ["python3", "-W", "-I", "serve.py"],
        ["python3", "-WError", "serve.py"],
        ["python3", "-c", "-I"],
        ["sudo", "-E", "python3", "serve.py"],
    ],
)
def test_options_that_are_none_of_the_interpreters_are_not_blamed(words: list[str]) -> None:
    assert "none of its processes is a Python" in why_unheard(case_of(*words), 0)[0]


def test_the_first_line_of_a_script_is_read(tmp_path: Path) -> None:
    script = tmp_path / "serve"
    script.write_text("#!/usr/bin/python3 -Es\nprint(1)\n")
    script.chmod(0o755)
    reason, remedy = why_unheard(case_of(str(script), "--port", "1"), 0)
    assert reason == f"{script} begins with `#!/usr/bin/python3 -Es`, and -Es ignores PYTHONPATH"
    assert "python -m" in remedy


def test_pythons_without_torch_are_counted() -> None:
    assert why_unheard(case_of("python3", "serve.py"), 1)[0] == "1 Python process carried it, and none imported torch"
    assert why_unheard(case_of("python3", "serve.py"), 3)[0].startswith("3 Python processes carried it")


def test_a_container_is_refused_before_it_is_launched_with_what_to_add() -> None:
    words = ["docker", "run", "--network", "host", "vllm/vllm-openai:v0.9", "--model", "m"]
    with pytest.raises(MissingError) as told:
        refuse_unreachable(case_of(*words), Path("/here/traces"))
    assert "a container, into which PYTHONPATH does not reach" in told.value.what
    assert "-v /here/traces:/here/traces -e PYTHONPATH" in told.value.remedy
    passed = [word for name in CARRIED for word in ("-e", name)]
    refuse_unreachable(case_of(*words[:2], *passed, *words[2:]), Path("/here/traces"))


def test_an_engine_without_torch_is_refused() -> None:
    with pytest.raises(MissingError, match="computes without torch"):
        refuse_unreachable(case_of("llama-server", "-m", "m.gguf"), Path("/here"))
