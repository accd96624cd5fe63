"""An engine's environment, made here from a fake recipe: a package of one line, built without any index."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ruleout.engines.environments import environment, installed
from ruleout.engines.recipes import FixUp, Proof, Recipe
from ruleout.model import MissingError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RULEOUT_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wheels") / "fake_engine-1.0-py3-none-any.whl"
    info = "fake_engine-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("fake_engine.py", "def main():\n    print('fake')\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: fake-engine\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/entry_points.txt", "[console_scripts]\nfake-engine = fake_engine:main\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def test_it_is_made_in_the_cache_folder_and_found_there_the_next_time(cache: Path, wheel: Path) -> None:
    recipe = Recipe("fake", "1.0", ((str(wheel),),))
    told: list[str] = []
    made = environment(recipe, told.append)
    assert made.folder == cache / "engines" / "fake-1.0"
    assert subprocess.check_output([made.script("fake-engine")], text=True) == "fake\n"
    assert told[0] == "making the environment of fake 1.0"
    assert "fake-engine" in (cache / "engines" / "fake-1.0.log").read_text()
    told.clear()
    assert environment(recipe, told.append) == made
    assert told == []


def test_an_environment_whose_python_is_gone_is_made_anew(cache: Path) -> None:
    recipe = Recipe("fake", "empty", ())
    assert installed(recipe) is None
    made = environment(recipe)
    assert installed(recipe) == made
    made.python.unlink()
    assert installed(recipe) is None
    environment(recipe)
    assert made.python.exists()


def test_a_package_that_cannot_be_had_is_told_in_two_lines_and_the_environment_is_not_whole(cache: Path) -> None:
    recipe = Recipe("fake", "2.0", (("no-such-engine==2.0",),))
    for _ in range(2):
        with pytest.raises(MissingError) as error:
            environment(recipe)
    log = cache / "engines" / "fake-2.0.log"
    assert error.value.what == f"pip could not install no-such-engine==2.0 for fake (log: {log})"
    assert "Python 3.11" in error.value.remedy
    assert "no-such-engine" in log.read_text()


def test_a_python_without_venv_is_told_in_two_lines(cache: Path, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'No module named venv' >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(MissingError) as error:
        environment(Recipe("fake", "3.0", ()), python=str(python))
    assert "cannot make a virtual environment" in error.value.what
    assert "python3-venv" in error.value.remedy


def test_a_full_disk_is_told_as_such(cache: Path, tmp_path: Path) -> None:
    python = tmp_path / "python"
    script = f"""#!/bin/sh
if [ "$2" = venv ]; then
    mkdir -p "$3/bin"
    printf '#!/bin/sh\\necho "OSError: [Errno 28] No space left on device"\\nexit 1\\n' > "$3/bin/python"
    chmod +x "$3/bin/python"
fi
exec {sys.executable} -c pass
"""
    python.write_text(script)
    python.chmod(0o755)
    with pytest.raises(MissingError) as error:
        environment(Recipe("fake", "4.0", (("big",),)), python=str(python))
    assert "Make room on the disk" in error.value.remedy


def test_fixups_are_carried_out_and_proofs_run_once(cache: Path, wheel: Path) -> None:
    written = FixUp("a name", "why", "stub/names.py", text="NAME = 'fixed'\n")
    commented = FixUp("a default", "why", "fake_engine.py", lines=r"def main\(")
    proof = Proof(("python", "-c", "import stub.names as s; print('name', s.NAME)"), says="name fixed")
    recipe = Recipe("fake", "1.1", ((str(wheel),),), (written,), (proof,))
    told: list[str] = []
    environment(recipe, told.append)
    assert told[-1].startswith("fake-1.1: does `python -c")
    told.clear()
    environment(recipe, told.append)
    assert told == []
    broken = Recipe("fake", "1.2", ((str(wheel),),), (commented,), (Proof(("fake-engine",)),))
    with pytest.raises(MissingError) as error:
        environment(broken)
    assert error.value.what.startswith("fake-1.2 is installed but does not work: `fake-engine` ended with 1 (log: ")
    assert "# def main():" in (next((cache / "engines" / "fake-1.2").rglob("fake_engine.py"))).read_text()


def test_a_proof_that_says_something_else_is_told_and_tried_again_the_next_time(cache: Path, wheel: Path) -> None:
    recipe = Recipe("fake", "1.3", ((str(wheel),),), proofs=(Proof(("fake-engine",), says="genuine"),))
    for _ in range(2):
        with pytest.raises(MissingError, match="`fake-engine` does not say genuine"):
            environment(recipe)


@pytest.mark.parametrize(("path", "lines"), [("fake_engine.py", "no such line"), ("no_such_file.py", "def main")])
def test_a_fixup_that_no_longer_fits_is_told(cache: Path, wheel: Path, path: str, lines: str) -> None:
    recipe = Recipe("fake", "1.4", ((str(wheel),),), (FixUp("a default", "why", path, lines=lines),))
    with pytest.raises(MissingError, match="the fix-up `a default` does not fit what was installed") as error:
        environment(recipe)
    assert path in error.value.what
