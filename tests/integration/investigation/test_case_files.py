"""What a person wrote wrongly is told with its line and what to write instead: in many ways, within one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleout.interfaces.cli.main import run

GOOD = """\
name: fake
engine: command
command: [python3, fake.py]
mode: job
factors:
  batching: {flag: --batching, levels: ["on", "off"], baseline: "on"}
"""

BAD = {
    "a wrong key": ("mode: job", "mood: job", 4, ["mood", "Did you mean mode?"]),
    "a wrong key in a factor": ("baseline:", "base:", 6, ["base"]),
    "a baseline that is no level": ('baseline: "on"', "baseline: auto", 6, ["auto", "on, off"]),
    "a level twice": ('["on", "off"]', '["on", "on"]', 6, ["on"]),
    "one level only": ('["on", "off"]', '["on"]', 6, ["fewer than two levels"]),
    "no mechanism": ("flag: --batching, ", "", 6, ["no mechanism"]),
    "an unknown mode": ("mode: job", "mode: batch", 4, ["batch", "serve", "job"]),
    "a tab": ("  batching:", "\tbatching:", 6, ["tab", "spaces"]),
    "a key twice": ("mode: job", "mode: job\nmode: serve", 5, ["mode", "twice"]),
    "a key twice, quoted": ("mode: job", 'mode: job\n"mode": serve', 5, ["mode", "twice"]),
    "an unknown level in good": ("mode: job", "mode: job\ngood: [{batching: auto}]", 5, ["auto"]),
    "an unknown factor in never": ("mode: job", "mode: job\nnever: [{batch: 'on'}]", 5, ["batch"]),
    "an unknown level in keep": ("mode: job", "mode: job\nkeep: {batching: auto}", 5, ["auto"]),
    "an unknown target": ("mode: job", "mode: job\ntarget: {class: crash}", 5, ["crash"]),
    "a stage that is no regex": ("mode: job", 'mode: job\nstages: {weight_load: "("}', 5, ["weight_load"]),
    "an unknown stage": ("mode: job", "mode: job\nstages: {loading: x}", 5, ["loading"]),
    "a duration without unit": ("mode: job", "mode: job\ntimeout: soon", 5, ["soon", "90s"]),
    "no YAML": ("mode: job", "mode: [job", 5, ["not YAML"]),
    "a name that is a path": ("name: fake", "name: ../fake", 1, ["../fake"]),
    "no command": ("command: [python3, fake.py]\n", "", 1, ["command"]),
    "an empty command": ("[python3, fake.py]", "[]", 3, ["command"]),
    "a list": (GOOD, "- a\n- b\n", None, ["case"]),
    "nothing": (GOOD, "", None, ["case"]),
}


@pytest.mark.parametrize("wrong", BAD)
def test_a_mistake_is_told_with_its_line(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, line, words = BAD[wrong]
    assert GOOD.count(old) == 1
    (tmp_path / "case.yaml").write_text(GOOD.replace(old, new))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RULEOUT_CACHE_DIR", str(tmp_path / "cache"))
    assert run(["investigate", "case.yaml"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 2
    assert err.startswith(f"ruleout: case.yaml, line {line}:" if line else "ruleout: case.yaml")
    for word in words:
        assert word in err
    assert not (tmp_path / "ruleout").exists()
