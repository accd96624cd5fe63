"""What is carried into an engine: a folder that goes first on PYTHONPATH, and variables; it imports nothing of ours."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ruleout.numerics import records, starting
from ruleout.numerics.starting import TraceMode, carry, records_folder


def test_the_folder_goes_before_what_the_command_has(tmp_path: Path) -> None:
    traced = carry(tmp_path, path="/a:/b")
    first, *rest = traced["PYTHONPATH"].split(os.pathsep)
    assert (Path(first) / "sitecustomize.py").is_file()
    assert rest == ["/a", "/b"]
    assert traced["RULEOUT_TRACE_DIR"] == str(records_folder(tmp_path))
    assert traced["RULEOUT_TRACE_MODE"] == "watch"
    assert "RULEOUT_TRACE_ARM" not in traced


def test_without_a_path_the_one_of_this_process_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/c")
    assert carry(tmp_path)["PYTHONPATH"].endswith(os.pathsep + "/c")
    monkeypatch.delenv("PYTHONPATH")
    assert os.pathsep not in carry(tmp_path)["PYTHONPATH"]


def test_what_is_armed_is_said(tmp_path: Path) -> None:
    traced = carry(tmp_path, TraceMode.RECORD, arm="*", step=3)
    assert (traced["RULEOUT_TRACE_MODE"], traced["RULEOUT_TRACE_ARM"]) == ("record", "*")
    assert traced["RULEOUT_TRACE_STEP"] == "3"


def test_any_python_starts_with_it_and_says_hello(tmp_path: Path) -> None:
    env = {**os.environ, **carry(tmp_path, path="")}
    done = subprocess.run([sys.executable, "-c", "print(1)"], env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1\n", "")
    (told,) = records.processes(records_folder(tmp_path))
    assert told.argv[-2:] == ("-c", "print(1)")
    assert not told.hooks


def test_the_tracer_is_written_for_old_pythons_and_imports_the_standard_library_only() -> None:
    source = Path(starting.__file__).with_name("tracer.py").read_text()
    tree = ast.parse(source, feature_version=(3, 9))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= set(sys.stdlib_module_names) | {"torch"}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Match)]
