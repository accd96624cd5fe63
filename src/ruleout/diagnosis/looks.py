"""What can be looked up in seconds, before anything is launched again: a command and what its answer would say.

A look is proposed only where its answer decides, for this failure and this suspect; each is a command that runs as it
stands, with the values that the log gave.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ruleout.diagnosis.ran import on_cpu
from ruleout.diagnosis.view import Place, View
from ruleout.model import Component, FailureClass, arguments
from ruleout.model.diagnosis import Diagnosis, Suspect

C, F = Component, FailureClass


@dataclass(frozen=True, slots=True)
class Look:
    """A look.

    Attributes:
        pattern: what the failure, or a line near it, must say; its named groups fill the command.
        command: with `{python}`, `{serve}`, `{model}`, which is a `{folder}` or a `{repository}`, and the groups.
        says: what the answer tells.
        decides: how far it settles whether the suspect is the cause, 0 to 1.
        classes: of the failure; any when empty.
    """

    components: frozenset[Component]
    pattern: re.Pattern[str]
    command: str
    says: str
    decides: float
    classes: frozenset[FailureClass] = frozenset()


def _look(
    components: set[Component],
    pattern: str,
    command: str,
    says: str,
    decides: float,
    classes: set[FailureClass] | None = None,
) -> Look:
    return Look(frozenset(components), re.compile(pattern), command, says, decides, frozenset(classes or ()))


LOOKS: tuple[Look, ...] = (
    _look(
        {C.TRANSFORMERS_VERSION},
        r"model type `?(?P<type>\w+)`? but Transformers does not recognize",
        "{python} -c \"import transformers as t; print(t.__version__, '{type}' in t.CONFIG_MAPPING)\"",
        "False: too old for {type}; True: the server ran another transformers",
        1.0,
    ),
    _look(
        {C.INSTALL_ABI, C.TRANSFORMERS_VERSION},
        r"No module named '(?P<package>\w+)",
        "{python} -m pip show {package}",
        "not found: install it; else it is not the version that the engine needs",
        0.9,
    ),
    _look(
        {C.INSTALL_ABI},
        r"(?i)no kernel image",
        '{python} -c "import torch as t; print(t.cuda.get_device_capability(), t.cuda.get_arch_list())"',
        "this GPU is not in the list: the wheel was built without it",
        0.8,
    ),
    _look(
        {C.INSTALL_ABI},
        r"(?i)kernel image is invalid|unsupported toolchain|Unsupported \.version|driver version is insufficient",
        'nvidia-smi | grep "CUDA Version"; {python} -c "import torch; print(torch.version.cuda)"',
        "a driver's CUDA older than torch's: a newer driver, or an older wheel",
        0.9,
    ),
    _look(
        {C.INSTALL_ABI, C.KERNEL_ARCH_SUPPORT, C.OTHER},
        r"(?i)ninja: build stopped|nvcc|ptxas",
        'nvcc --version; nvidia-smi --query-gpu=name,compute_cap --format=csv',
        "an nvcc older than the GPU cannot compile for it (Blackwell: from 12.8)",
        0.5,
        {F.COMPILE_ERROR},
    ),
    _look(
        {C.INSTALL_ABI, C.TRANSFORMERS_VERSION},
        r"ImportError|ModuleNotFoundError|AttributeError|undefined symbol|cannot import|metadata",
        "{python} -m pip check",
        "names the packages whose versions do not fit each other",
        0.6,
    ),
    _look(
        {C.MEMORY},
        r".",
        'dmesg -T | grep -iE "out of memory|oom-kill" | tail',
        "a line of that time: the kernel killed it for want of host memory",
        1.0,
        {F.HOST_OOM_KILL},
    ),
    _look(
        {C.MEMORY},
        r"(?i)Free memory on device|process \d+ has|No available memory",
        "nvidia-smi --query-compute-apps=pid,used_memory --format=csv",
        "another process holds the memory that this one lacks",
        0.5,
        {F.OOM},
    ),
    _look(
        {C.WEIGHTS_CHECKPOINT},
        r"(?i)MetadataIncomplete|HeaderTooLarge|incomplete metadata|InvalidHeader|missing|referenced in index",
        "ls -lL {folder}",
        "a shard that is missing, or one of a few bytes, did not come through",
        0.7,
    ),
    _look(
        {C.WEIGHTS_CHECKPOINT},
        r"(?i)MetadataIncomplete|HeaderTooLarge|incomplete metadata|InvalidHeader|missing|referenced in index",
        # https://huggingface.co/docs/huggingface_hub/guides/cli#hf-cache-verify
        "hf cache verify {repository}",
        "compares each file with the repository: one that differs was cut off",
        0.9,
    ),
    _look(
        {C.TOKENIZER_TEMPLATE},
        r".",
        "{python} -c \"from transformers import AutoTokenizer as A; A.from_pretrained('{model}')\"",
        "fails alike: the files or transformers; loads: the engine",
        0.9,
        {F.IMPORT_ABI, F.OTHER, F.MISSING_WEIGHTS, F.INCOMPATIBLE_CONFIG_ASSERT},
    ),
    _look(
        {C.ROPE_CONFIG},
        r".",
        "{python} -c \"import transformers as t; print(t.AutoConfig.from_pretrained('{model}'))\" | grep -A9 rope",
        "other than in config.json (base, type, factor): they were lost",
        0.6,
        {F.WRONG_OUTPUT, F.ACCURACY_LOSS, F.NAN_INF},
    ),
    _look(
        {C.QUANTIZATION, C.WEIGHTS_CHECKPOINT},
        r".",
        "grep -A15 quantization_config {folder}/config.json",
        "the format and the layers left out: are they those that the engine reads?",
        0.4,
        {F.QUANT_FORMAT_MISMATCH},
    ),
    _look(
        {C.USER_CONFIG},
        r"unrecognized arguments?: (?P<flag>(?P<stem>--?[A-Za-z0-9]+)[\w-]*)",
        "{serve} | grep -i -- {stem}",
        "the flags of this release that begin so; {flag} is none of them",
        1.0,
    ),
    _look(
        {C.USER_CONFIG, C.ATTENTION_BACKEND},
        r"(?:argument (?P<flag>--?[\w-]+)[^:]*: invalid)|Unknown (?P<what>attention.backend)",
        "{serve} | grep -i -A3 -- {flag}",
        "the values that this release takes",
        1.0,
    ),
    _look(
        {C.USER_CONFIG},
        r"(?i)address already in use",
        "ss -ltnp",
        "who listens on the port already",
        1.0,
    ),
    _look(
        {C.OTHER},
        r"(?i)uncorrectable ECC|ECC_UNCORRECTABLE|NVRM: Xid|fallen off the bus|GPU is lost",
        "dmesg -T | grep -i xid; nvidia-smi -q -d ECC,ROW_REMAPPER",
        "a line of that time, or errors that count up: the GPU itself failed",
        1.0,
    ),
    _look(
        {C.NCCL},
        r"/dev/shm|ncclShmOpen",
        "df -h /dev/shm",
        "64M is too small for NCCL: --shm-size 16g or --ipc=host for the container",
        0.9,
    ),
)  # fmt: skip

_HELP = {
    "vllm": "vllm serve --help=all",  # https://docs.vllm.ai/en/latest/cli/serve.html
    "sglang": "{python} -m sglang.launch_server --help",
    "transformers": "transformers serve --help",
    "llama.cpp": "llama-server --help",
}
_PYTHON = re.compile(r"(?:^|\s)(?P<python>\S*\bpython[\d.]*)\s+-m\s")
_PACKAGES = {"common_ops": "sgl-kernel", "cv2": "opencv-python-headless", "PIL": "pillow", "yaml": "pyyaml"}
"""Modules whose package bears another name."""
_PLACE = re.compile(r"\{(\w+)\}")
_FOLDERS = re.compile(r"(?:ckpts?|checkpoints?|models?|weights|data|mnt|workspace)/")
"""Folders that people keep models in: no owners of repositories."""


def looks(view: View, suspect: Suspect) -> Iterator[tuple[Look, str, str]]:
    """The looks at a suspect, each with its command and what it tells, all filled."""
    diagnosis = view.diagnosis
    failure = diagnosis.failure
    for look in LOOKS:
        if "nv" in look.command.split()[0] and on_cpu(diagnosis):
            continue
        if suspect.component not in look.components or (
            look.classes and failure and failure.class_ not in look.classes
        ):
            continue
        hit = view.find(look.pattern, Place.WHOLE)  # with the names of models, which the command may need
        values = {k: v for k, v in hit[1].groupdict().items() if v} if hit else {}
        known = _known(diagnosis, values)
        if hit and set(_PLACE.findall(look.command + look.says)) <= set(known):
            yield look, look.command.format_map(known), look.says.format_map(known)


def _known(diagnosis: Diagnosis, values: dict[str, str]) -> dict[str, str]:
    """The values for a look's places: those that the log gave; what it does not say is left out."""
    typed = _PYTHON.search(diagnosis.command)
    python = typed["python"] if typed and arguments.program(typed["python"]).startswith("python") else "python3"
    found = {"python": python, **values}
    if "package" in values:
        found["package"] = _PACKAGES.get(values["package"], values["package"])
    if "what" in values:
        found["flag"] = "--attention-backend"
    if serve := _HELP.get(diagnosis.engine.name):
        found["serve"] = serve.format(python=python)
    model = diagnosis.environment.model or ""
    if model.startswith(("/", "./", "../")) or _FOLDERS.match(model):
        found["folder"] = shlex.quote(model)
    elif model.count("/") == 1:
        found["repository"] = model
    if "folder" in found or "repository" in found:
        found["model"] = model
    return found
