"""A checkpoint is whole when its index, its files and their headers tell the same: what each lacks, another knows.

Engines read the files that the index names and the tensors that they find in them; only Transformers reads the index
entry by entry. So a tensor in the wrong file may load here and be missing there, and is told either way.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from ruleout.audit.checkpoint_contents import BESIDE, INDEX, SHARDING, Checkpoint
from ruleout.audit.folder import ModelFolder, Unreadable, quoted
from ruleout.audit.subject import Subject
from ruleout.audit.tensors import few
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Severity

FORMAT = "https://huggingface.co/docs/safetensors/index#format"
_SHARD = re.compile(r"(?P<stem>.+)-(?P<number>\d{5,6})-of-(?P<of>\d{5,6})\.safetensors")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
_OTHER_WEIGHTS = (".gguf", ".safetensors", ".h5", ".msgpack", ".npz", ".tensors", ".onnx")
"""Weights that are not looked into here."""
_NO_WEIGHTS = frozenset(
    {"training_args.bin", "optimizer.pt", "optimizer.bin", "scheduler.pt", "scaler.pt", "rng_state.pth"}
)
_MENDED = "Fetch the file again and compare its hash with the published one."
_FETCHED = "Fetch the file itself: git lfs pull for a pointer, or download it again."
_SEVERITY = {"gap": Severity.WARNING, "rest": Severity.WARNING}


def checkpoint(subject: Subject) -> Iterator[AuditFinding]:
    """Files, index and headers, held against each other."""
    held = subject.checkpoint
    yield from held.unread
    yield from _no_safetensors(subject, held)
    yield from _in_their_place(held)
    for header in held.headers.values():
        for problem in header.problems:
            if problem.kind == "instead":
                continue
            where = f"{quoted(header.file)}: {problem.tensor}" if problem.tensor else quoted(header.file)
            which = "the tensor" if problem.tensor else "the file"
            what = f"{which} {problem.what}: it will not load, or not as it was saved"
            severity = _SEVERITY.get(problem.kind, Severity.ERROR)
            yield _finding(f"checkpoint-{problem.kind}", severity, what, where, _MENDED, FORMAT)
    yield from _shards(subject.folder, held)
    if held.index is not None:
        yield from _against_index(subject.folder, held, held.index)
    yield from _twice(held)


def _in_their_place(held: Checkpoint) -> Iterator[AuditFinding]:
    """What a download left in the place of files: most often in that of all, which is one finding."""
    saved: dict[str, list[str]] = defaultdict(list)
    for header in held.headers.values():
        for problem in header.problems:
            if problem.kind == "instead":
                saved[problem.what].append(header.file)
    for told, names in saved.items():
        what = f"{few(names)}: {told}"
        yield _finding("checkpoint-instead", Severity.ERROR, what, quoted(names[0]), _FETCHED, FORMAT)


def _no_safetensors(subject: Subject, held: Checkpoint) -> Iterator[AuditFinding]:
    folder = subject.folder
    if held.headers or held.index is not None or held.unread:
        return
    pickles = [name for name in folder.names if name.endswith(_PICKLES) and name not in _NO_WEIGHTS]
    others = [name for name in folder.names if name.endswith(_OTHER_WEIGHTS)]
    saved = {name: told for name in (*pickles, *others) if (told := _instead(folder, name))}
    for name, (what, remedy) in saved.items():
        yield _finding("checkpoint-instead", Severity.ERROR, what, quoted(name), remedy, FORMAT)
    pickles = [name for name in pickles if name not in saved]
    if pickles:
        what = f"weights are pickles ({few(pickles)}): loading them can run code, so nothing of them is read here"
        remedy = "Prefer a safetensors release, or convert it where nothing can be harmed."
        source = "https://huggingface.co/docs/hub/security-pickle"
        yield _finding("checkpoint-pickle", Severity.WARNING, what, quoted(pickles[0]), remedy, source)
    elif not others and not saved:
        yield from _empty(subject)
    elif not saved:
        what = f"weights are in a format that is not read here ({few(others)}): nothing is said of them"
        yield _finding("checkpoint-other-format", Severity.NOTE, what, quoted(others[0]), "", FORMAT)


def _instead(folder: ModelFolder, name: str) -> tuple[str, str] | None:
    try:
        return folder.instead(name)
    except Unreadable as problem:
        return f"is not read: {problem.why}", problem.remedy


def _empty(subject: Subject) -> Iterator[AuditFinding]:
    """No weights at all: a server cannot start with that, unless it is told where else to take them from."""
    where, remedy = quoted(str(subject.folder.path)), "Fetch the weights before the launch."
    what, severity = "there are no weights, so nothing is said of them", Severity.NOTE
    if subject.launch.command and subject.launch.engine in ("vllm", "sglang", "transformers"):
        if subject.launch.value("load_format") not in (None, "auto", "safetensors", "pt"):
            return
        what, severity = "there are no weights: the server cannot start", Severity.ERROR
    elif subject.launch.engine:
        what += "; sizes are those that the configuration amounts to"
        severity = Severity.WARNING
    yield _finding("checkpoint-empty", severity, what, where, remedy, SHARDING)


def _shards(folder: ModelFolder, held: Checkpoint) -> Iterator[AuditFinding]:
    """Files that count themselves, `model-00002-of-00005.safetensors`, tell which of them is not there."""
    series: dict[tuple[str, int], set[int]] = defaultdict(set)
    for name in folder.names:
        if found := _SHARD.fullmatch(name):
            series[found["stem"], int(found["of"])].add(int(found["number"]))
    if held.index is None:
        for (stem, of), numbers in series.items():
            absent = of - len(numbers & set(range(1, of + 1)))
            if absent:
                what = f"{absent} of the {of} files {quoted(stem)}-…-of-{of:05d}.safetensors are not there"
                yield _finding(
                    "checkpoint-missing-file", Severity.ERROR, what, quoted(str(folder.path)), "Fetch them.", SHARDING
                )
        if len(held.headers) > 1:
            what = f"{len(held.headers)} files and no index: Transformers does not find them, other engines load all"
            yield _finding("checkpoint-no-index", Severity.WARNING, what, INDEX, "Fetch the index.", SHARDING)


def _against_index(folder: ModelFolder, held: Checkpoint, index: Mapping[str, str]) -> Iterator[AuditFinding]:
    named = Counter(index.values())
    for file, count in sorted((file, count) for file, count in named.items() if not folder.has(file)):
        what = f"the file is not there, and {count} tensors with it"
        yield _finding(
            "checkpoint-missing-file",
            Severity.ERROR,
            what,
            quoted(file),
            "Fetch it; the download may have stopped.",
            SHARDING,
        )
    unused = [
        name for name in folder.names
        if name.endswith(".safetensors") and name not in held.headers and not name.startswith(BESIDE)
    ]  # fmt: skip
    if unused:
        what = f"the index does not name {few(unused)}: what it holds is not loaded"
        remedy = "Remove it, or fetch the index that belongs to it."
        yield _finding("checkpoint-extra-file", Severity.WARNING, what, quoted(unused[0]), remedy, SHARDING)
    names_of = {file: {tensor.name for tensor in header.tensors} for file, header in held.headers.items()}
    everywhere: set[str] = set().union(*names_of.values())
    lacking: dict[str, list[str]] = defaultdict(list)
    elsewhere: dict[str, list[str]] = defaultdict(list)
    for name, file in index.items():
        if file in names_of and name not in names_of[file] and held.headers[file].readable:
            (elsewhere if name in everywhere else lacking)[file].append(name)
    for file, names in sorted(lacking.items()):
        what = f"{len(names)} tensors that the index places here are in no file: {few(names)}"
        yield _finding("checkpoint-missing-tensor", Severity.ERROR, what, quoted(file), _MENDED, SHARDING)
    for file, names in sorted(elsewhere.items()):
        what = f"{len(names)} tensors that the index places here are in another file: {few(names)}; Transformers fails"
        yield _finding(
            "checkpoint-misplaced-tensor", Severity.ERROR, what, quoted(file), "Fetch the index again.", SHARDING
        )
    extra = sorted(everywhere - index.keys())
    if extra:
        what = f"{len(extra)} tensors are in the files and not in the index: {few(extra)}; "
        what += "Transformers ignores them, other engines load them"
        yield _finding("checkpoint-extra-tensor", Severity.WARNING, what, INDEX, "Fetch the index again.", SHARDING)


def _twice(held: Checkpoint) -> Iterator[AuditFinding]:
    places: dict[str, list[str]] = defaultdict(list)
    for file, tensor in held.tensors():
        places[tensor.name].append(file)
    twice = {name: files for name, files in places.items() if len(files) > 1}
    if twice:
        first, files = next(iter(twice.items()))
        what = f"{len(twice)} tensors are in more than one file ({few(list(twice))}): the one that is read last wins"
        remedy = "Remove the file that does not belong to this release."
        yield _finding("checkpoint-duplicate", Severity.ERROR, what, f"{few(files)}: {quoted(first)}", remedy, FORMAT)


def _finding(name: str, severity: Severity, what: str, where: str, remedy: str, source: str) -> AuditFinding:
    return AuditFinding(name, severity, what, where, remedy, source, Component.WEIGHTS_CHECKPOINT)
