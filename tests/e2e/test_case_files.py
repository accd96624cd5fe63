"""What a person wrote wrongly is told with its line and what to write instead, and nothing is started."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

CASE = """\
name: fake
engine: command
command: [python3, fake.py]
mode: job
factors:
  batching: {flag: --batching, levels: ["on", "off"], baseline: "on"}
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("mode: job", "mood: job", 4, ["mood", "Did you mean mode?"]),
        ("mode: job", "mode: job\ngood: [{batching: auto}]", 5, ["auto", "on, off"]),
        ("  batching:", "\tbatching:", 6, ["tab", "spaces"]),
        ("mode: job", "mode: job\nmode: serve", 5, ["mode", "twice"]),
    ],
    ids=["a wrong key", "an unknown level", "a tab", "a key twice"],
)
def test_a_mistake_is_told_with_its_line(workshop: Workshop, old: str, new: str, line: int, words: list[str]) -> None:
    (workshop.cwd / "case.yaml").write_text(CASE.replace(old, new))
    workshop.run("investigate", "case.yaml").told(2, f"case.yaml, line {line}:", *words)
    assert not (workshop.cwd / "ruleout").exists()


def test_a_file_that_is_not_there_is_told(workshop: Workshop) -> None:
    workshop.run("investigate", "nowhere.yaml").told(2, "nowhere.yaml", "No such file")


def test_a_folder_is_no_case_file(workshop: Workshop) -> None:
    (workshop.cwd / "case.yaml").mkdir()
    workshop.run("investigate", "case.yaml").told(2, "case.yaml", "folder")


@pytest.mark.parametrize(
    "content", [b"\x7fELF\x02\x01\x01\x00\xff\xfe\x80", b"name: caf\xe9\n", b"name: \x00fake\n", b"\x00" * 100]
)
def test_a_binary_is_no_case_file(workshop: Workshop, content: bytes) -> None:
    (workshop.cwd / "case.yaml").write_bytes(content)
    workshop.run("investigate", "case.yaml").told(2, "case.yaml")


def test_a_log_by_mistake_is_no_case_file(workshop: Workshop) -> None:
    (workshop.cwd / "server.log").write_bytes(b"INFO: step\n" * 200_000)
    workshop.run("investigate", "server.log").told(2, "server.log", "case file")


def test_aliases_that_explode_are_refused_quickly(workshop: Workshop) -> None:
    text = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    text += "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    (workshop.cwd / "case.yaml").write_text(text)
    workshop.run("investigate", "case.yaml", seconds=20).told(2, "case.yaml", "100000")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"engine": "sglang", "mode": "serve"}, ["the command is not", "sglang.launch_server", "engine: command"]),
        ({"engine": "warp-drive"}, ["warp-drive", "unknown engine"]),
        ({"host": {"ssh": "gpu-box"}}, ["host", "ssh", "not supported yet"]),
        ({"mode": "serve"}, ["port"]),
        ({"mode": "serve", "ready": {"timeout": "5s"}}, ["nothing says when", "ready"]),
        ({"probes": [{"kind": "compare"}]}, ["compare has no reference", "ruleout probe --save"]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_what_is_not_there_yet_is_said_before_anything_starts(
    workshop: Workshop, change: dict[str, Any], words: list[str]
) -> None:
    workshop.plan()
    case = workshop.case(**{"factors": {"batching": ["on", "off"]}, **change})
    if change == {"mode": "serve"}:
        case.write_text(case.read_text().replace("'{port}'", "eighty"))
    workshop.run("investigate", case).told(2, *words)
    workshop.run("check", "--case", case).told(129, *words)
    assert workshop.ledger == []
    assert not (workshop.cwd / "ruleout").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["investigate"],
        ["investigate", "--budget-trials", "0", "a.yaml"],
        ["investigate", "--budget-time", "soon", "a.yaml"],
        ["conjure"],
        ["status", "nothing"],
        ["status"],
        ["findings"],
        [],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_is_told(workshop: Workshop, words: list[str]) -> None:
    done = workshop.run(*words)
    if words:
        done.told(2)
    else:  # git, pip and cargo show their help
        assert done.status == 2
        assert "investigate" in done.out + done.err


def test_a_relative_cwd_is_seen_from_the_case_file(workshop: Workshop, tmp_path: Path) -> None:
    workshop.plan(fails=[{"--batching": "on"}])
    (workshop.cwd / "deep").mkdir()
    case = workshop.case(factors={"batching": ["on", "off"]}, cwd="deep")
    assert workshop.run("investigate", case, cwd=tmp_path).status == 0
    case.unlink()
    workshop.case(factors={"batching": ["on", "off"]}, cwd="nowhere")
    workshop.run("investigate", case, cwd=tmp_path).told(2, "nowhere")
