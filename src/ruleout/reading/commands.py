"""The command that started the run, where the log or its reader shows it: `$ vllm serve M --tensor-parallel-size 8`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from ruleout.model import arguments
from ruleout.reading.book import Book
from ruleout.reading.records import Record

_ENGINES = (
    ("sglang", re.compile(r"sglang(?:\.launch_server| serve)|sglang\b")),
    ("vllm", re.compile(r"\bvllm\b")),
    ("tensorrt-llm", re.compile(r"trtllm-|tensorrt_llm")),
    ("lmdeploy", re.compile(r"\blmdeploy\b")),
    ("llama.cpp", re.compile(r"llama-(?:server|cli|bench)|\bllama serve|llama\.cpp")),
    ("transformers", re.compile(r"\btransformers (?:serve|chat)")),
)
_PROGRAM = re.compile(
    r"python3? -m |\b(?:vllm|sglang|lmdeploy|transformers) serve|trtllm-|llama-server|docker run"
    r"|launch_server"
)
PROMPT = r"(?:\([\w.\-]+\) ?)*(?:[\w.\-]+@[\w.\-]+(?::\S*)? ?[$#%❯]|\[[\w.\-]+@[\w.\-]+ [^\]]*\] ?[$#%❯]|[$#❯%]|\++) "
"""What stands before a command: `(venv) me@box:~$`, `[me@box x]#`, a bare sign, or the `+` of a traced script."""
_PROMPTED = re.compile(rf"^\s*(?:{PROMPT}|[$># ]*)")
_STARTER = re.compile(r"^(?:exec|nohup|time) +")
"""Words that change how a command runs, not what."""
_WRAPPERS = frozenset(
    {"docker", "podman", "nerdctl", "srun", "mpirun", "mpiexec", "singularity", "apptainer", "kubectl"}
)
_OWN = re.compile(r"(?:\S*/)?(?:vllm|sglang|lmdeploy|llama-\w+|trtllm-\w+|transformers|python[\d.]*)")
_IMAGE = re.compile(r"(?i)[\w.\-/:]*(?:vllm|sglang|lmdeploy|llama|tensorrt)[\w.\-/]*(?::[\w.\-]+)?(?:@sha256:\w+)?")
_OTHER = re.compile(
    r"(?:sudo )?(?:\S*/)?(?:uv )?(?:pip3?|python3? -m pip|conda|apt|grep|cat|head|tail|less|ls|cd|git|echo|which"
    r"|nvidia-smi)\b"
)
"""Commands that start no engine, whatever they name."""
_VARIABLE = re.compile(r"^[A-Z][A-Z0-9_]{2,}=")
_MODEL = re.compile(r"\b(?:serve|api_server|gradio) (?P<model>[\w./~][\w./\-~]+)")
_LONGEST = 8000


def typed(book: Book, groups: Mapping[str, str], text: str, line: int) -> None:
    """Read a command line: which engine, which flags. A line that only looks like one says nothing."""
    command = _STARTER.sub("", arguments.uncommented(groups["command"][:_LONGEST]))
    unsure = _OTHER.match(command) or text.lstrip().startswith("+")  # which `uv` too puts before what it installs
    if unsure and not _PROGRAM.search(command):
        return
    engine = next((name for name, pattern in _ENGINES if pattern.search(command)), "")
    if not engine and not (text.lstrip()[:1] in ("$", "❯") and " -" in command):
        return
    if engine:
        book.recognised(engine, 3)
    book.command = book.command or command
    if found := _MODEL.search(command):
        book.ran_on("model", found["model"])
    book.knows_requests = True
    for name, value in flags(command).items():
        book.request(name, value, line)


def continued(book: Book, records: Sequence[Record]) -> None:
    """Read commands that go over several lines, each but the last ending in a backslash."""
    parts: list[str] = []
    begin = 0
    for record in records:
        text = arguments.uncommented(record.raw.strip())
        begin = begin if parts else record.line
        if text.endswith("\\"):
            parts.append(text[:-1].strip())
        elif parts:
            command = _PROMPTED.sub("", " ".join((*parts, text)))
            if _PROGRAM.search(command):
                book.command = ""
                typed(book, {"command": command}, command, begin)
            parts = []


def flags(command: str) -> dict[str, str]:
    """Flags and their values, `True` for a bare one, their names in snake_case; and variables, as they are written.

    `-m` is Python's: what follows it is the program.
    """
    try:
        words = shlex.split(command, comments=False)
    except ValueError:
        words = command.split()
    found: dict[str, str] = {}
    begin = _beginning(words)
    for word in words[:begin]:
        if _VARIABLE.match(word):
            found.setdefault(*word.split("=", 1))
    words = words[begin:]
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if _VARIABLE.match(word):
            name, _, value = word.partition("=")
            found.setdefault(name, value)
        if word == "-m" or not re.match(r"^--?[A-Za-z]", word) or (not word.startswith("--") and len(word) > 5):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if not equals:
            bare = not following or re.match(r"^--?[A-Za-z]", following)
            value = "True" if bare else following
        found.setdefault(name.replace("-", "_"), value)
    return found


def _beginning(words: Sequence[str]) -> int:
    """Where the engine's own command begins: what a container or a scheduler is told before is no setting of it."""
    outer = next((n for n, word in enumerate(words) if arguments.program(word) in _WRAPPERS), None)
    if outer is None:
        return 0
    rest = range(outer + 1, len(words))
    own = next((n for n in rest if _OWN.fullmatch(words[n])), None)
    if own is not None:
        return own
    before = ("-v", "--volume", "-e", "--env", "--name", "-w", "--mount", "--network", "--hostname")
    images = (n for n in rest if _IMAGE.fullmatch(words[n]) and words[n - 1] not in before and words[n][0] not in "-/")
    return next(images, outer)
