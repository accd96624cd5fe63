"""Any other engine: Python, uvicorn, torch and CUDA print the same words whoever calls them.

Also reads what people paste along: `python -m torch.utils.collect_env`, vLLM's report on top of it, SGLang's
`check_env` (https://github.com/sgl-project/sglang/pull/965 shows one), `nvidia-smi`, lists of packages, and the command
that was typed (`$ vllm serve … --dtype half`).
"""

from __future__ import annotations

from ruleout.model import Stage
from ruleout.reading.book import Book
from ruleout.reading.commands import PROMPT, typed
from ruleout.reading.formats.anyones import LISTS, SETTINGS
from ruleout.reading.formats.base import Format, Says, Taken, environment

_VERSION = r"\d+\.\d+[\w.+\-]*"


def _capability(book: Book, groups: Taken, text: str, line: int) -> None:
    value = groups.get("capability") or groups.get("sm") or ""
    if text.count("arch=compute_") > 1:
        return  # what a library was built for, not what it runs on
    book.ran_on("sm", value.replace(".", ""))


def _found(book: Book, groups: Taken, text: str, line: int) -> None:
    """torch's warning about a device that it was not built for."""
    book.ran_on("gpu", groups["gpu"])
    book.ran_on("sm", groups["sm"].replace(".", ""))


def _refused(book: Book, groups: Taken, text: str, line: int) -> None:
    """A parser names the flag and the value that it does not take."""
    book.request(groups["flag"].replace("-", "_"), groups["value"], line)


def _device(book: Book, groups: Taken, text: str, line: int) -> None:
    book.ran_on("gpu", groups["gpu"])
    number = max(int(number) for number in groups["numbers"].split(",")) + 1
    if number > int(book.environment.get("gpus", "0")):
        book.environment["gpus"] = str(number)


GENERIC = Format(
    "",
    stages=(
        (Stage.DISTRIBUTED_INIT, r"init_process_group|NCCL INFO (?:Bootstrap|comm )|ncclCommInitRank"),
        (Stage.WEIGHT_LOAD, r"Loading (?:checkpoint shards|weights|model weights|safetensors)"),
        (Stage.CUDA_GRAPH_CAPTURE, r"[Cc]aptur(?:e|ing) (?:\w+ )*(?:CUDA|cuda) ?graph"),
        (
            Stage.READY,
            r"Application startup complete|Uvicorn running on|[Ss]erver (?:is )?(?:ready|started|listening)",
        ),
        (Stage.DECODE, r"\"POST /(?:v1|generate)[\w/]* HTTP/[\d.]+\" 200"),
        (Stage.SHUTDOWN, r"^INFO: +Shutting down"),
    ),
    says=(
        Says(rf"^\s*{PROMPT}(?P<command>.*\S)", typed, 20),
        Says(
            r"^(?:(?:nohup|exec) )?(?P<command>(?:[A-Z_]+=\S+ )*(?:python3? -m \w[\w.]+|vllm serve|sglang serve"
            r"|trtllm-serve|llama-server|lmdeploy serve|transformers serve) .*-.*)",
            typed,
            20,
        ),
        Says(r"argument (?:-\w/)?--(?P<flag>[\w\-]+)[^:]*: invalid [\w ]*: '(?P<value>[^']+)'", _refused),
        environment(r"(?:PyTorch version|^PyTorch|^torch(?: version)?)\s*: +(?P<torch>" + _VERSION + r")"),
        environment(r"\btorch==(?P<torch>" + _VERSION + r")"),
        environment(r"\btransformers(?:==|: +)(?P<transformers>" + _VERSION + r")"),
        environment(r"\btriton(?:==|: +)(?P<triton>" + _VERSION + r")"),
        environment(r"\bflashinfer(?:[_-]python)?(?:==|: +)(?P<flashinfer>" + _VERSION + r")"),
        environment(r"\b(?:CUDA used to build PyTorch|CUDA runtime version|CUDA Version)\s*: +(?P<cuda>\d+\.\d+)"),
        environment(
            r"(?:Nvidia driver version|NVIDIA driver version|CUDA Driver Version"
            r"|Driver Version)\s*: +(?P<driver>\d[\d.]+)"
        ),
        environment(r"^NVCC: .* release (?P<cuda>\d+\.\d+)"),
        environment(r"kernel driver version (?P<driver>\d[\d.]+)"),
        environment(r"Using CUDA (?P<cuda>\d+\.\d+) driver version"),
        environment(r"ROCM used to build PyTorch\s*: +(?P<rocm>\d[\w.\-]*)"),
        environment(r"^Python(?: version)?\s*: +(?P<python>\d+\.\d+[\w.]*)"),
        environment(r"/python(?P<python>3\.\d+)/"),
        environment(r"(?:NCCL version|nccl==|using nccl==)\s?(?P<nccl>\d+\.\d+[\d.]*)"),
        Says(
            r"^(?:GPU (?P<numbers>\d{1,4}(?:,\d{1,4})*)): (?P<gpu>(?:NVIDIA|AMD|Tesla|Quadro|GeForce"
            r"|Instinct)[^(\n]*)",
            _device,
        ),
        environment(
            r"(?P<gpu>NVIDIA (?:GeForce |RTX |Tesla |Quadro |TITAN |[ABHLV]\d|G[BH]\d)[\w\-]*(?: (?:RTX|PRO|Ti"
            r"|SUPER|Ada|Generation|Laptop|GPU|Blackwell|Server|Workstation|Max-Q|Edition|PCIe|NVL|HBM\w*"
            r"|\d\w*))*)"
        ),
        Says(r"Found GPU\d+ (?P<gpu>.+?) which is of (?:cuda|compute) capability (?P<sm>\d{1,2}\.\d)", _found),
        Says(r"(?i)compute capability:? (?P<capability>\d{1,2}\.\d)\b", _capability),
        Says(r"\b(?:arch=compute_|TORCH_CUDA_ARCH_LIST=)(?P<sm>\d{1,2}\.?\d)a?\b", _capability),
        environment(r"\b(?:sm_?|SM_?)(?P<sm_named>\d{2,3})a?\b"),
        environment(r"\b(?P<sm>gfx\d{3,4}\w?)\b"),
        environment(r"[Mm]odel[ _]type[` =:'\"]+(?P<model_type>[a-z][\w]+)"),
        *LISTS,
        *SETTINGS,
    ),
)
