"""Tells inside an engine's process where a finite number first became NaN or infinite, and harms nothing.

The insight is to look cheaply until something is wrong, and exactly from then on. While all is well, each module's
output is summed: one number that is finite if, but for an overflow, all of them are. The first sum that is not finite
tells the module. Nothing is computed again behind the engine's back; from the next call of the model on (the next
token, or the same request sent once more) every operation is watched, and each bad number is followed back to the
operation that made it.

Infinities are often meant: masks, fills, limits. So an infinity is followed, not reported, unless it reaches what the
model returns or turns into NaN; and where it turns into NaN, what counts is whether somebody meant it.

Carried as one file into whatever Python (3.9+) and torch (2.4+) the engine has; standard library and torch only. Writes
JSON lines into RULEOUT_TRACE_DIR, one file a process, each line at once and whole. Whatever goes wrong in here is
written down, and the tracer steps aside: the engine comes first.
"""

from __future__ import annotations

import atexit
import ctypes
import itertools
import json
import math
import os
import struct
import sys
import threading
import time
import weakref
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType
    from typing import Any, Optional

    Json = dict[str, Any]

torch: Any = None  # the engine's own, once it has been imported

ARMED_CALLS, ARMED_S = 512, 300.0  # how long every operation is watched after a module was caught: calls, seconds
BIRTHS, OPERATIONS, WEIGHTS, ERRORS = 64, 16, 64, 20  # how many records of a kind one process writes at most
CANDIDATES = 16  # births in one call of the model whose arguments are kept until it is known whether they matter
KEPT_BYTES = 64 << 20  # of the arguments of one operation; more are not kept
CHUNK = 1 << 22  # elements that are looked at together where a copy of them has to be made
COVERAGE_S, COVERAGE_MOST_S = 0.25, 60.0  # between two records of coverage: doubles from the first to the second
RECENT = 8  # outputs that are remembered, to tell apart who changed one in place
HIDES = -1e9  # a number as low as this, or as half of the lowest of its dtype, hides a position: no activation is so
FRAMES = 8  # of the caller's stack, the innermost


# --- records ---------------------------------------------------------------------------------------------------------


class Records:
    """This process's file. Every line goes out whole, in one write: killed at any moment, it leaves a readable file.

    It is opened with the first line, and again after a fork: the child writes a file of its own.
    """

    def __init__(self, folder: str) -> None:
        self.folder, self.fd, self.errors = folder, -1, 0

    def write(self, kind: str, **fields: Any) -> None:
        """One record. A disk that is full or gone loses it; nobody is told, because nobody could act on it."""
        line = json.dumps({"kind": kind, "t": round(time.monotonic(), 6), "pid": os.getpid(), **fields}) + "\n"
        self.line(line.encode())

    def line(self, line: bytes) -> None:
        """One line, as it is."""
        try:
            if self.fd < 0:
                name = "%d-%d.jsonl" % (os.getpid(), _start_ticks())
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                self.fd = os.open(os.path.join(self.folder, name), flags, 0o644)
            os.write(self.fd, line)
        except OSError:
            pass

    def error(self, trouble: BaseException, where: str) -> None:
        """The tracer's own trouble; the first ones are told."""
        self.errors += 1
        if self.errors <= ERRORS:
            at = trouble.__traceback__
            while at is not None and at.tb_next is not None:
                at = at.tb_next
            line = at.tb_lineno if at is not None else 0
            self.write("error", what="%s: %s: %s (line %d)" % (where, type(trouble).__name__, trouble, line))

    def forked(self) -> None:
        """What is open belongs to the parent."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd, self.errors = -1, 0


def _start_ticks() -> int:
    """When this process started, in the kernel's ticks: with the pid, a name that no other process ever has."""
    try:
        with open("/proc/self/stat") as stat:
            return int(stat.read().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return int(time.time())


# --- getting in ------------------------------------------------------------------------------------------------------


class Door:
    """Waits in the import system for modules to arrive, and lets each in with its own loader when its time has come."""

    def __init__(self, awaited: dict[str, Callable[[Any], None]]) -> None:
        self.awaited = awaited

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The specification that the other finders have, with a loader that tells when the module has been made."""
        if name not in self.awaited:
            return None
        for finder in sys.meta_path:
            found = getattr(finder, "find_spec", None)
            spec = found(name, path, target) if found is not None and finder is not self else None
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Announcing(spec.loader, self.awaited.pop(name))
                return spec
        return None


class _Announcing:
    """A loader that makes the module as the real one does, puts the real one back, and says that it is there."""

    def __init__(self, loader: Any, then: Callable[[Any], None]) -> None:
        self.loader, self.then = loader, then

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: Any) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        try:
            self.then(module)
        except Exception as trouble:
            TRACER.records.error(trouble, "importing %s" % module.__name__)


def start() -> None:
    """Called when the interpreter starts: says hello, and waits for torch. Does nothing where nobody wants a trace."""
    global TRACER
    folder = os.environ.get("RULEOUT_TRACE_DIR")
    if not folder or TRACER is not None or not os.path.isdir(folder):
        return
    TRACER = Tracer(folder)
    TRACER.hello()
    os.register_at_fork(after_in_child=TRACER.forked)
    awaited = {
        "torch.nn.modules.module": TRACER.torch_arrived,
        "torch._dynamo.eval_frame": TRACER.compiler_arrived,
        "torch.cuda.graphs": TRACER.graphs_arrived,
        "safetensors": TRACER.safetensors_arrived,
    }
    sys.meta_path.insert(0, Door(awaited))


def next_sitecustomize(file: str) -> None:
    """Runs the `sitecustomize` that ours stands in front of, if there is one: Debian's, or another folder's."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    here = os.path.realpath(os.path.dirname(file))
    spec = PathFinder.find_spec("sitecustomize", [path for path in sys.path if os.path.realpath(path or ".") != here])
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


# --- the numbers of a tensor -----------------------------------------------------------------------------------------


def tensors(value: Any, depth: int = 0) -> Iterator[Any]:
    """The tensors in what a module takes or returns. Caches are left out: what is unused in them may hold anything."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < 4 and isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors(item, depth + 1)
    elif depth < 4:
        for _, item in _named(value):
            yield from tensors(item, depth + 1)


def _named(value: Any) -> list[tuple[str, Any]]:
    """The fields of a mapping or dataclass, without those that are caches."""
    if isinstance(value, dict):
        fields = list(value.items())
    elif hasattr(type(value), "__dataclass_fields__"):
        fields = [(name, getattr(value, name, None)) for name in type(value).__dataclass_fields__]
    else:
        return []
    return [(str(name), item) for name, item in fields if not ("past" in str(name) or "cache" in str(name))]


def placed(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Tensors with the place that they have: `in0`, `in.hidden_states`, `out1`."""
    if isinstance(value, torch.Tensor):
        yield place + "0", value
    elif isinstance(value, (tuple, list)):
        for number, item in enumerate(value):
            for tensor in tensors(item):
                yield "%s%d" % (place, number), tensor
    else:
        for name, item in _named(value):
            for tensor in tensors(item):
                yield "%s.%s" % (place, name), tensor


def plain(tensor: Any) -> Any:
    """The tensor if its numbers can be looked at here and now, else None: fake, meta, integer, sparse."""
    kind = type(tensor)
    if kind is not torch.Tensor and kind is not torch.nn.Parameter:
        tensor = getattr(tensor, "_local_tensor", None)  # of a tensor that is spread over ranks
        if type(tensor) is not torch.Tensor:
            return None
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.is_meta or tensor.is_quantized:
        return None
    return tensor if tensor.layout is torch.strided else None


def chunks(tensor: Any) -> Iterator[Any]:
    """Its elements as float32 or wider, some millions at a time: no large copy is ever made."""
    flat = tensor.detach()
    flat = torch.view_as_real(flat.resolve_conj()) if flat.is_complex() else flat
    narrow = flat.dtype.itemsize < 4
    if flat.numel() <= CHUNK:
        yield flat.reshape(-1).float() if narrow else flat.reshape(-1)
    elif flat.is_contiguous():
        for chunk in flat.view(-1).split(CHUNK):
            yield chunk.float() if narrow else chunk
    else:
        for part in flat.unbind(0):
            yield from chunks(part)


def is_finite(tensor: Any) -> bool:
    """Whether all of its elements are: by their sum, and where that overflows or is not defined, one by one."""
    if tensor.numel() == 0:
        return True
    if tensor.dtype.itemsize >= 2:
        total = torch.sum(tensor, dtype=torch.float32).item() if tensor.dtype is torch.float16 else tensor.sum().item()
        if total - total == 0:
            return True
    return all(bool(torch.isfinite(chunk).all()) for chunk in chunks(tensor))


class Counts:
    """How many elements are NaN, plus and minus infinity."""

    __slots__ = ("minus", "nan", "plus")

    def __init__(self, tensor: Any) -> None:
        self.nan = self.plus = self.minus = 0
        for chunk in chunks(tensor):
            nan, plus, minus = torch.stack(
                [torch.isnan(chunk).sum(), (chunk == math.inf).sum(), (chunk == -math.inf).sum()]
            ).tolist()
            self.nan, self.plus, self.minus = self.nan + nan, self.plus + plus, self.minus + minus

    def __bool__(self) -> bool:
        return bool(self.nan or self.plus or self.minus)

    @property
    def maybe_meant(self) -> bool:
        """Minus infinity alone hides positions, in most people's code."""
        return not self.nan and not self.plus

    @property
    def word(self) -> str:
        infinite = self.plus or self.minus
        return "both" if self.nan and infinite else "nan" if self.nan else "inf"


def stats(tensor: Any, place: str, hashed: bool = False) -> Json:
    """One tensor's numbers as they stand in a record; `min`, `max`, `mean`, `rms` are of its finite elements."""
    told: Json = {"place": place, "shape": list(tensor.shape), "dtype": str(tensor.dtype).replace("torch.", "")}
    looked = plain(tensor)
    if looked is not None and looked.numel():
        nan = inf = count = 0
        low, high, total, squares = math.inf, -math.inf, 0.0, 0.0
        for chunk in chunks(looked):
            if is_finite(chunk):
                finite = chunk
            else:
                good = torch.isfinite(chunk)
                finite, nans = chunk[good], int(torch.isnan(chunk).sum())
                nan, inf = nan + nans, inf + chunk.numel() - finite.numel() - nans
            if finite.numel():
                wide = finite.double() if finite.device.type == "cpu" else finite.float()
                numbers = torch.stack([*torch.aminmax(wide), wide.sum(), wide.mul(wide).sum()]).tolist()
                low, high = min(low, numbers[0]), max(high, numbers[1])
                total, squares, count = total + numbers[2], squares + numbers[3], count + finite.numel()
        told["nan"], told["inf"] = nan, inf
        if count:
            told["min"], told["max"] = _number(low), _number(high)
            told["mean"], told["rms"] = _number(total / count), _number(math.sqrt(max(squares / count, 0.0)))
        if nan or inf:
            told["first"] = _first_bad(looked)
    if hashed:
        told["hash"] = content_hash(tensor)
    return told


def _number(value: float) -> Optional[float]:
    """JSON has no sign for what is not finite: a sum of finite numbers may be so."""
    return float("%.7g" % value) if math.isfinite(value) else None


def _first_bad(tensor: Any) -> list[int]:
    """The index of the first element that is not finite."""
    at = 0
    for chunk in chunks(tensor):
        bad = torch.isfinite(chunk).logical_not()
        if bool(bad.any()):
            at += int(bad.to(torch.uint8).argmax())
            break
        at += chunk.numel()
    at = at // 2 if tensor.is_complex() else at
    index: list[int] = []
    for extent in reversed(tensor.shape):
        at, inside = divmod(at, extent)
        index.insert(0, inside)
    return index


_WORDS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64", 16: "int64"}


def content_hash(tensor: Any) -> str:
    """64 bits over shape, dtype and content. Whole numbers add up alike in any order, so every device agrees.

    Each element's bits are mixed with its position; what is left of a tensor that cannot be read is its shape alone.
    """
    total = 0
    head = "%s%s" % (tensor.dtype, tuple(tensor.shape))
    if type(tensor) in (torch.Tensor, torch.nn.Parameter) and not tensor.is_meta and tensor.numel():
        flat = tensor.detach().contiguous().view(-1)
        flat = torch.view_as_real(flat).view(-1) if flat.is_complex() else flat
        word = getattr(torch, _WORDS[flat.dtype.itemsize])
        for number, chunk in enumerate(flat.view(word).split(CHUNK)):
            bits = chunk.to(torch.int64)
            position = torch.arange(number * CHUNK, number * CHUNK + bits.numel(), device=bits.device)
            mixed = (bits + position * 0x2545F4914F6CDD1D) * 0x5851F42D4C957F2D
            mixed = (mixed ^ (mixed >> 29)) * 0x369DEA0F31A53F85
            total += int((mixed ^ (mixed >> 32)).sum())
    for letter in head.encode():
        total = (total ^ letter) * 0x100000001B3
    return "%016x" % (total & 0xFFFFFFFFFFFFFFFF)


# --- the modules and their names -------------------------------------------------------------------------------------


class Seen:
    """One module, as it is known here. `path` as in the names of its weights, `root`: it was called from outside."""

    __slots__ = ("calls", "class_", "on_cpu", "path", "ref", "root")

    def __init__(self, module: Any, path: str, forget: Callable[[Any], None]) -> None:
        self.path, self.class_, self.calls, self.root = path, type(module).__name__, 0, False
        self.on_cpu = False
        self.ref = weakref.ref(module, forget)


class Names:
    """Which module is which. The first parent counts: libraries put slices of their layers into new lists all the time.

    Modules are kept by address for speed, and are forgotten when they die, before another can have the address.
    """

    def __init__(self) -> None:
        self.known: dict[int, Seen] = {}
        self.dead: dict[str, int] = {}  # calls of modules that are no more
        self.parents: Any = weakref.WeakKeyDictionary()
        self.weights: dict[int, tuple[Seen, str]] = {}

    def registered(self, parent: Any, name: str, child: Any) -> None:
        """Called by torch whenever a module becomes part of another."""
        if child is not None:
            first = self.parents.get(child)
            if first is None or first() is None:
                self.parents[child] = weakref.ref(parent)

    def of(self, module: Any) -> Seen:
        """What is known of the module; with it, all that belong to the same model are learnt."""
        seen = self.known.get(id(module))
        if seen is None:
            top, above = module, self.parents.get(module)
            for _ in range(32):
                parent = above() if above is not None else None
                if parent is None or not any(child is top for child in parent._modules.values()):
                    break
                top, above = parent, self.parents.get(parent)
            for path, part in top.named_modules():
                if id(part) not in self.known:
                    self._learn(part, path)
            seen = self.known.get(id(module)) or self._learn(module, "(%s)" % type(module).__name__)
        return seen

    def _learn(self, module: Any, path: str) -> Seen:
        address = id(module)

        def forget(_: Any) -> None:
            dead = self.known.pop(address, None)
            if dead is not None and dead.calls:
                self.dead[dead.path] = self.dead.get(dead.path, 0) + dead.calls

        seen = self.known[address] = Seen(module, path, forget)
        return seen

    def note_weights(self, root: Any) -> None:
        """Remembers which memory belongs to which parameter or buffer."""
        for module in root.modules():
            seen = self.of(module)
            for name, weight, _ in own_weights(module):
                local = plain(weight)
                if local is not None and local.numel():
                    self.weights[storage(local)] = (seen, name)


def own_weights(module: Any) -> Iterator[tuple[str, Any, bool]]:
    """Name, tensor and whether it is a buffer, of the module's own parameters and buffers."""
    for name, weight in module._parameters.items():
        if weight is not None:
            yield name, weight, False
    for name, weight in module._buffers.items():
        if weight is not None:
            yield name, weight, True


def storage(tensor: Any) -> int:
    """The address of the memory that it shares with its views; 0 where it has none."""
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):
        return 0


# --- which step it is ------------------------------------------------------------------------------------------------


def phase_of(args: Any, kwargs: Json) -> str:
    """What a call of the model is for. Engines that mix requests say so; else the shape of the tokens tells."""
    batch = kwargs.get("forward_batch") or next((each for each in args if hasattr(each, "forward_mode")), None)
    mode = getattr(batch, "forward_mode", None)
    if mode is not None:  # SGLang
        return "decode" if "DECODE" in str(getattr(mode, "name", mode)).upper() else "prefill"
    longest = _longest_query(kwargs)
    if longest is not None:
        return "decode" if longest == 1 else "prefill"
    tokens = kwargs.get("input_ids")
    if not isinstance(tokens, torch.Tensor):
        tokens = kwargs.get("inputs_embeds")
    if not isinstance(tokens, torch.Tensor):
        tokens = next((each for each in args if isinstance(each, torch.Tensor)), None)
        if tokens is None or (tokens.is_floating_point() and tokens.dim() < 3):
            return "unknown"
    if tokens.dim() == 1:
        return "decode" if tokens.shape[0] == 1 else "unknown"
    if tokens.dim() > 1 and tokens.shape[1] > 1:
        return "prefill"
    caches = [kwargs.get(name) for name in ("past_key_values", "past_key_value", "cache", "cache_params")]
    return "decode" if any(_cached(each) for each in caches) else "prefill"


def _longest_query(kwargs: Json) -> Optional[int]:
    """The most new tokens that one request has in this call, where the engine keeps account of it."""
    longest = kwargs.get("max_length_q") or kwargs.get("max_seqlen_q")  # transformers' continuous batching
    context = sys.modules.get("vllm.forward_context")
    if longest is None and context is not None:
        try:
            told = context.get_forward_context().attn_metadata
        except (AssertionError, AttributeError):
            return None
        told = next(iter(told.values()), None) if isinstance(told, dict) else told
        longest = getattr(told, "max_query_len", None)
    if isinstance(longest, dict):
        longest = max(longest.values(), default=None)
    return longest if isinstance(longest, int) else None


def _cached(cache: Any) -> bool:
    """Whether tokens came before these. A cache that has to compute how many it holds is not asked."""
    if cache is None:
        return False
    layers = getattr(cache, "layers", None)
    if isinstance(layers, list):
        return any(getattr(layer, "keys", None) is not None and layer.keys.numel() for layer in layers)
    return True


# --- one call of the model -------------------------------------------------------------------------------------------


class Call:
    """A call from outside of any other module: the time in which the modules below it are watched."""

    def __init__(self, tracer: Tracer, seen: Seen, module: Any, args: Any, kwargs: Any) -> None:
        self.tracer, self.seen, self.module, self.args, self.kwargs = tracer, seen, module, args, kwargs
        self.number = tracer.calls
        self.phase = phase_of(args, kwargs)
        self.step = tracer.next_step(self.phase)
        self.hit = False  # a bad number was found, and what follows from it tells nothing new
        self.suspect: Optional[Json] = None  # the birth of the first NaN; until one, that of the first infinity
        self.recent: deque[Any] = deque(maxlen=RECENT)  # outputs that were finite when they were returned
        self.usual = seen.on_cpu and not tracer.recording  # the shortest way will do: one sum, at once
        self.sums: list[tuple[Seen, Any]] = []
        self.operations: Any = None

    def moment(self) -> Json:
        """When this is, as it stands in a record."""
        at = round(time.monotonic(), 6)
        return {"t": at, "phase": self.phase, "step": self.step, "call": self.number, "rank": self.tracer.rank}

    def output(self, module: Any, args: Any, kwargs: Any, out: Any) -> None:
        """Looks at what a module returned."""
        if self.operations is None:
            self.look(module, args, kwargs, out)
        else:
            self.operations.quiet = True  # what we do ourselves is not to be watched
            try:
                self.look(module, args, kwargs, out)
            finally:
                self.operations.quiet = False

    def look(self, module: Any, args: Any, kwargs: Any, out: Any) -> None:
        """Sums each tensor: at once where that costs nothing more, later where it would make an accelerator wait."""
        seen = self.tracer.names.of(module)
        seen.calls += 1
        if self.tracer.recording:
            self.tracer.record(self, seen, args, kwargs, out)
        for tensor in map(plain, tensors(out)):
            if tensor is None or tensor.numel() == 0:
                continue
            if tensor.is_cpu or self.operations is not None:
                if self.hit:
                    continue
                if is_finite(tensor):
                    self.recent.append(tensor)
                else:
                    self.caught(tensor, seen, module, args, kwargs, out)
            elif not torch.cuda.is_current_stream_capturing():
                wide = tensor if tensor.dtype.itemsize > 1 else tensor.float()
                self.sums.append((seen, torch.sum(wide, dtype=torch.float32)))

    def caught(self, tensor: Any, seen: Seen, module: Any, args: Any, kwargs: Any, out: Any) -> None:
        """A sum is not finite: is that so, does it matter, and which of the modules that run did it?"""
        counts = Counts(self.read(tensor))
        if not counts:
            self.tracer.skip("padding, or a sum that overflowed")
            return
        collective = ""
        if self.operations is not None:
            origin = self.operations.reached(tensor, counts)
            if origin.kind == "meant":
                self.tracer.found_meant(seen.path)
            if origin.kind in ("meant", "outside"):
                self.hit = origin.kind == "outside"
                return
            collective = origin.record["op"] if origin.kind == "collective" and origin.record is not None else ""
        self.hit = bool(counts.nan)
        if self.suspect is None or (counts.nan and not self.carries_infinity(args, kwargs)):
            self.suspect = {**self.birth(module, args, kwargs, out, counts), "collective": collective}

    def birth(self, module: Any, args: Any, kwargs: Any, out: Any, counts: Counts) -> Json:
        """The innermost running module whose inputs are finite: bad ones come from the code of its parent."""
        outside, outputs = True, [stats(each, place) for place, each in placed(out, "out")]
        for around, (running, its_args, its_kwargs) in enumerate(modules_running()):
            if self.inputs_finite(its_args, its_kwargs):
                module, args, kwargs, outside = running, its_args, its_kwargs, False
                outputs = outputs if around == 0 else []
                break
        else:
            module, args, kwargs = self.module, self.args, self.kwargs
        seen = self.tracer.names.of(module)
        inputs = [stats(each, place) for place, each in itertools.chain(placed(args, "in"), placed(kwargs, "in"))]
        bad = [stats(weight, name) for name, weight, _ in own_weights(module) if bad_weight(weight)]
        return {
            "module": seen.path,
            "class": seen.class_,
            "non_finite": counts.word,
            "inputs": inputs,
            "outputs": outputs,
            "parameters": bad,
            "exact": True,
            "outside": outside,
            "meant": counts.maybe_meant,
            **self.moment(),
        }

    def inputs_finite(self, args: Any, kwargs: Any) -> bool:
        """Whether a module got only good numbers, as far as they can still be told: some write into what they get."""
        for tensor in itertools.chain(tensors(args), tensors(kwargs)):
            looked = plain(tensor)
            if looked is None or is_finite(looked) or any(each is tensor for each in tensors(list(self.recent))):
                continue
            if not Counts(self.read(looked)).maybe_meant:
                return False
        return True

    def carries_infinity(self, args: Any, kwargs: Any) -> bool:
        """Whether a module got an infinity, so that its NaN may come of it."""
        looked = (plain(each) for each in itertools.chain(tensors(args), tensors(kwargs)))
        return any(each is not None and not is_finite(each) for each in looked)

    def read(self, tensor: Any) -> Any:
        """The tensor without the positions of padding, of which nobody reads what comes out."""
        mask, tokens = self.kwargs.get("attention_mask"), self.kwargs.get("input_ids", self.kwargs.get("inputs_embeds"))
        if not isinstance(mask, torch.Tensor) or not isinstance(tokens, torch.Tensor) or mask.dim() != 2:
            return tensor
        rows, length = tokens.shape[0], tokens.shape[1]
        if length < 2 or mask.shape[0] != rows or mask.shape[1] < length:
            return tensor
        kept = mask[:, -length:].bool().to(tensor.device)
        if tensor.dim() > 0 and tensor.shape[0] == rows:
            for dim in range(1, tensor.dim()):
                if tensor.shape[dim] == length:
                    return tensor.movedim(dim, 1)[kept]
        return tensor[kept.reshape(-1)] if tensor.dim() > 0 and tensor.shape[0] == rows * length else tensor

    def finish(self, out: Any, failed: bool) -> None:
        """The model has returned or failed, and that tells whether a bad number mattered: it does where it lasted."""
        if self.sums and not _capturing():
            self.settle_sums()
        mattered = self.suspect is not None and (failed or self.returned_bad(out))
        if self.suspect is not None and mattered:
            self.hit = not self.suspect["meant"]
            self.tracer.born(self.suspect, sure=self.operations is not None)
        elif self.suspect is not None:
            self.hit = False
            self.tracer.skip("bad numbers that reached nothing")
        if self.operations is not None:
            self.operations.finish(mattered)

    def returned_bad(self, out: Any) -> bool:
        """Whether what the model returns is bad. Samplers fill with minus infinity, and have no weights."""
        returned = [each for each in map(plain, tensors(out)) if each is not None]
        for tensor in returned:
            if not is_finite(tensor):
                counts = Counts(self.read(tensor))
                if counts and not (counts.maybe_meant and next(self.module.parameters(), None) is None):
                    return True
        return not returned  # something of which nothing can be told

    def settle_sums(self) -> None:
        """On accelerators all sums are fetched at once. They tell the first module that returned something bad."""
        by_device: dict[Any, list[int]] = {}
        for number, (_, total) in enumerate(self.sums):
            by_device.setdefault(total.device, []).append(number)
        bad: list[tuple[int, float]] = []
        for numbers in by_device.values():
            totals = torch.stack([self.sums[number][1] for number in numbers])
            if not math.isfinite(totals.sum().item()):
                bad += [(n, v) for n, v in zip(numbers, totals.tolist()) if not math.isfinite(v)]
        sums, self.sums = self.sums, []
        first = next((n for n, value in sorted(bad) if value != -math.inf), bad[0][0] if bad else None)
        if first is not None:
            seen, value = sums[first][0], dict(bad)[first]
            word = "nan" if value != value else "inf"
            self.suspect = {"module": seen.path, "class": seen.class_, "non_finite": word, **self.moment()}
            self.suspect.update(exact=False, meant=value == -math.inf)


# --- every operation -------------------------------------------------------------------------------------------------


class Origin:
    """Where the bad numbers in some memory come from.

    kind: `birth`, an operation made them of good ones · `meant`, somebody wrote an infinity there · `weight` ·
    `outside`, they were there before: a cache, an input · `empty`, nobody has written there · `collective`, another
    rank sent them.
    """

    __slots__ = ("kept", "kind", "number", "record")

    def __init__(self, kind: str, number: int, record: Optional[Json] = None) -> None:
        self.kind, self.number, self.record = kind, number, record
        self.kept: Optional[tuple[dict[str, str], list[tuple[str, Any]]]] = None  # what is said of it, its arguments


class Traits:
    """What an operation does to memory, by its schema and its name."""

    __slots__ = ("collective", "empty", "masks", "name", "overwrites", "view", "written")

    EMPTY = ("empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "empty_permuted", "resize_")
    MASKS = ("add", "sub", "rsub", "mul", "_to_copy", "copy", "where", "scaled_dot_product_attention")
    OVERWRITES = ("fill_", "copy_", "zero_", "normal_", "uniform_", "random_", "exponential_", "bernoulli_", "set_")

    def __init__(self, func: Any) -> None:
        self.name = str(func)
        schema = getattr(func, "_schema", None)
        arguments = schema.arguments if schema is not None else ()
        returns = schema.returns if schema is not None else ()
        space, _, short = self.name.partition(".")
        short = short.partition(".")[0]
        self.collective = "c10d" in space
        self.empty = space == "aten" and short in self.EMPTY
        self.written = [
            (at, each.name, each.is_out)
            for at, each in enumerate(arguments)
            if each.alias_info is not None and each.alias_info.is_write
        ]
        self.view = not self.written and any(each.alias_info is not None for each in returns)
        self.overwrites = space == "aten" and short in self.OVERWRITES
        self.masks = short.rstrip("_") in self.MASKS


class Operations:
    """Watches every operation in one call of the model, and knows of all memory where bad numbers in it came from.

    Memory is told apart by the storage that tensors share, so views need no care. What is finite has no origin.
    """

    def __init__(self, tracer: Tracer, call: Call) -> None:
        self.tracer, self.call = tracer, call
        self.quiet = False
        self.origins: dict[int, Origin] = {}
        self.finite: dict[int, Any] = {}  # memory that was finite, as long as the tensor that had it lives
        self.numbers = itertools.count()
        self.births = 0
        self.suspect: Optional[Origin] = None
        self.suspect_nan = False

    def dispatch(self, func: Any, args: Any, kwargs: Json) -> Any:
        """Runs one operation as it would have run, and looks at what went in and what came out."""
        if self.quiet or _capturing():
            return func(*args, **kwargs)
        before = None
        try:
            traits = self.tracer.traits(func)
            if traits.view:
                return func(*args, **kwargs)
            before = self.before(traits, args, kwargs)
        except Exception as trouble:
            self.tracer.records.error(trouble, "before %s" % func)
        out = func(*args, **kwargs)
        if before is not None:
            try:
                self.after(traits, args, kwargs, out, before)
            except Exception as trouble:
                self.tracer.records.error(trouble, "after %s" % func)
        return out

    def before(self, traits: Traits, args: Any, kwargs: Json) -> list[tuple[Any, bool, Any]]:
        """What an operation will write into: the tensor, whether it is finite now, and a copy where that is cheap."""
        if traits.collective:
            written = operands((args, kwargs))
        else:
            values = [args[at] if at < len(args) else kwargs.get(name) for at, name, _ in traits.written]
            written = operands(values)
        looked = [plain(each) for each in written]
        return [
            (each, is_finite(each), None if traits.collective else _copied(each)) for each in looked if each is not None
        ]

    def after(self, traits: Traits, args: Any, kwargs: Json, out: Any, before: list[tuple[Any, bool, Any]]) -> None:
        """Gives every tensor that an operation wrote an origin, or takes it away."""
        outs = [each for each in map(plain, operands(out)) if each is not None]
        if traits.empty:
            for each in outs:
                self.origins[storage(each)] = Origin("empty", next(self.numbers), self.place(traits, "inf"))
            return
        if traits.collective:
            contributed = [each for each, good, _ in before if not good]
            for each in [*outs, *(each for each, _, _ in before)]:
                if not contributed:
                    record = self.place(traits, "nan")
                    record["collective"] = True
                    self.origins[storage(each)] = Origin("collective", next(self.numbers), record)
            return
        written = {id(each) for each, _, _ in before}
        for each in [*outs, *(each for each, _, _ in before if all(each is not other for other in outs))]:
            address = storage(each)
            if not is_finite(each):
                self.origins[address] = self.origin(traits, each, args, kwargs, before)
            elif id(each) not in written or each.numel() * each.element_size() >= each.untyped_storage().nbytes():
                self.origins.pop(address, None)
                self.finite[address] = weakref.ref(each)

    def origin(self, traits: Traits, bad: Any, args: Any, kwargs: Json, before: list[tuple[Any, bool, Any]]) -> Origin:
        """Where the bad numbers that an operation returned come from: the earliest source, or from itself."""
        counts = Counts(bad)
        inputs = [each for each in map(plain, operands((args, kwargs))) if each is not None]
        written = {id(each) for each, _, _ in before}
        sources = [self.known(each, traits) for each in inputs if id(each) not in written and not is_finite(each)]
        if not traits.overwrites:
            changed = [self.known(each, traits) for each, good, _ in before if not good]
            # What ends in _ changes what is there; anything else only puts its result into the memory it is given.
            in_place = traits.name.partition(".")[2].partition(".")[0].endswith("_")
            sources += [each for each in changed if in_place or each.kind != "empty"]
        bringing = [each for each in sources if each.kind != "meant"]
        if bringing:
            return min(bringing, key=lambda each: each.number)
        if sources:
            if not counts.nan:
                return sources[0]
            return self.birth(traits, counts, bad, args, kwargs, before, "from infinities that were meant until here")
        explicit = [each for each in scalars((args, kwargs)) if not math.isfinite(each)]
        masked = counts.maybe_meant and traits.masks and any(map(_hides, inputs))
        if not counts.nan and (explicit or masked):
            return Origin("meant", next(self.numbers))
        return self.birth(traits, counts, bad, args, kwargs, before, "from a NaN in the code" if explicit else "")

    def known(self, bad: Any, reader: Optional[Traits] = None) -> Origin:
        """The origin of a tensor that is not finite. Without one, it came to be where no operation was seen."""
        address = storage(bad)
        origin = self.origins.get(address)
        if origin is not None:
            return origin
        counts, was_finite = Counts(bad), self.finite.get(address)
        if was_finite is not None and was_finite() is not None:
            record = {**self.place(None, counts.word), "out": [stats(bad, "out0")], "how": UNSEEN}
            origin = Origin("birth", next(self.numbers), record)
        elif counts.maybe_meant:
            origin = Origin("meant", -1)
        elif address in self.tracer.names.weights:
            origin = Origin("weight", -1)
        else:
            record = {**self.place(reader, counts.word), "args": [stats(bad, "arg0")], "how": OUTSIDE}
            origin = Origin("outside", -1, record)
        self.origins[address] = origin
        return origin

    def birth(
        self,
        traits: Traits,
        counts: Counts,
        bad: Any,
        args: Any,
        kwargs: Json,
        before: list[tuple[Any, bool, Any]],
        how: str,
    ) -> Origin:
        """An operation that made bad numbers of good ones. Its arguments are kept until it is known to matter."""
        origin = Origin("birth", next(self.numbers), {**self.place(traits, counts.word), "how": how})
        self.births += 1
        if self.births <= CANDIDATES and origin.record is not None:
            replaced = {id(each): copy for each, _, copy in before}
            kept: list[tuple[str, Any, bool]] = []
            spec = _spelt((args, kwargs), replaced, kept)
            shown = [(name, tensor) for name, tensor, _ in kept if tensor is not None]
            origin.record["args"] = [stats(tensor, name) for name, tensor in shown]
            origin.record["out"] = [stats(bad, "out0")]
            if len(shown) == len(kept) and sum(each.numel() * each.element_size() for _, each in shown) <= KEPT_BYTES:
                changed = json.dumps([name for name, _, written in kept if written])
                told = {"op": traits.name, "call": json.dumps(spec), "changed": changed}
                origin.kept = (told, [(name, _copied(tensor)) for name, tensor in shown])
        return origin

    def place(self, traits: Optional[Traits], word: str) -> Json:
        """Where the code is now: the innermost module, and the frames that led here."""
        running = next(modules_running(), None)
        seen = self.tracer.names.of(running[0] if running is not None else self.call.module)
        return {
            "module": seen.path,
            "class": seen.class_,
            "op": traits.name if traits is not None else "unseen",
            "non_finite": word,
            "frames": frames(),
            **self.call.moment(),
        }

    def reached(self, tensor: Any, counts: Counts) -> Origin:
        """A module returned bad numbers: the origin of these. What was bad before is told of the module that failed."""
        origin = self.known(tensor)
        path = origin.record["module"] if origin.record is not None else None
        told = origin.kind in ("birth", "empty", "collective")
        told = told or (origin.kind == "outside" and ("born", path) in self.tracer.told)
        if told and (self.suspect is None or (counts.nan and not self.suspect_nan)):
            self.suspect, self.suspect_nan = origin, bool(counts.nan)
        return origin

    def finish(self, mattered: bool) -> None:
        """The model has returned or failed."""
        if self.suspect is not None and (mattered or self.suspect.kind == "outside"):
            self.tell(self.suspect)

    def tell(self, origin: Origin) -> None:
        """Writes the operation down, with its arguments."""
        if origin.record is not None:
            self.tracer.operation(origin.record, origin.kept)


def operands(value: Any) -> Iterator[Any]:
    """The tensors that an operation takes or returns."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from operands(item)


def _copied(tensor: Any) -> Any:
    """A copy, unless it is large."""
    return tensor.detach().clone() if tensor.numel() * tensor.element_size() <= KEPT_BYTES else None


def _hides(tensor: Any) -> bool:
    """Whether a finite tensor holds numbers as low as people take to hide a position, and nothing else is."""
    low = max(torch.finfo(tensor.dtype).min / 2, HIDES)
    return any(bool((chunk <= low).any()) for chunk in chunks(tensor))


def scalars(value: Any) -> Iterator[float]:
    """The numbers that stand in the code of a call themselves."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from scalars(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from scalars(item)


def _spelt(value: Any, replaced: dict[int, Any], kept: list[tuple[str, Any, bool]]) -> Any:
    """The arguments of an operation as JSON; its tensors by the name under which they are kept."""
    if isinstance(value, torch.Tensor):
        name = "arg%d" % len(kept)
        known = type(value) in (torch.Tensor, torch.nn.Parameter)
        kept.append((name, replaced.get(id(value), value) if known else None, id(value) in replaced))
        return {"tensor": name, "device": value.device.type, "stride": list(value.stride())}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, (tuple, list)):
        return [_spelt(item, replaced, kept) for item in value]
    if isinstance(value, dict):
        return {str(key): _spelt(item, replaced, kept) for key, item in value.items()}
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return {"torch": str(value).replace("torch.", "")}
    if isinstance(value, torch.device):
        return {"device": value.type}
    return {"unknown": type(value).__name__}


# --- the stack -------------------------------------------------------------------------------------------------------


def modules_running() -> Iterator[tuple[Any, Any, Any]]:
    """The modules that run in this thread with what they were called with, the innermost first: the stack tells."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        if frame.f_code is WRAPPER:  # by identity: code that a compiler made may not even be hashable
            told = frame.f_locals
            yield told["module"], told["args"], told["kwargs"]
        frame = frame.f_back


def frames() -> list[Json]:
    """The calling code without torch's and ours, the innermost last."""
    found: list[Json] = []
    frame: Optional[FrameType] = sys._getframe(1)
    ours, torchs = __file__, os.path.dirname(torch.__file__) + os.sep
    while frame is not None and len(found) < FRAMES:
        code = frame.f_code
        if code.co_filename != ours and not code.co_filename.startswith(torchs):
            found.append({"file": code.co_filename, "line": frame.f_lineno, "function": code.co_name})
        frame = frame.f_back
    return found[::-1]


# --- weights ---------------------------------------------------------------------------------------------------------


def bad_weight(weight: Any) -> bool:
    """Whether a weight holds a number that nobody put there on purpose."""
    looked = plain(weight)
    return looked is not None and not is_finite(looked) and not Counts(looked).maybe_meant


class Reading:
    """Stands in for a safetensors file that is open, and looks at each tensor that is read from it.

    Engines repack weights and cast them after reading, so this is the one moment at which a name still has its numbers.
    """

    def __init__(self, tracer: Tracer, opened: Any, name: str) -> None:
        self._tracer, self._opened, self._name = tracer, opened, name

    def __enter__(self) -> Reading:
        self._opened = self._opened.__enter__()
        return self

    def __exit__(self, *trouble: Any) -> Any:
        return self._opened.__exit__(*trouble)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened, name)

    def get_tensor(self, name: str) -> Any:
        tensor = self._opened.get_tensor(name)
        self._tracer.read(tensor, self._name, name)
        return tensor

    def get_slice(self, name: str) -> Any:
        return _Slice(self._tracer, self._opened.get_slice(name), self._name, name)


class _Slice:
    """A tensor of a safetensors file of which parts are read."""

    def __init__(self, tracer: Tracer, opened: Any, file: str, name: str) -> None:
        self._tracer, self._opened, self._file, self._name = tracer, opened, file, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened, name)

    def __getitem__(self, index: Any) -> Any:
        part = self._opened[index]
        self._tracer.read(part, self._file, self._name)
        return part


_SAFETENSORS = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "float16": "F16",
    "bfloat16": "BF16", "float32": "F32", "float64": "F64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
}  # fmt: skip


def write_safetensors(path: str, named: Sequence[tuple[str, Any]], metadata: dict[str, str]) -> None:
    """The format is 8 bytes with the length of a header, the header as JSON, and the bytes of the tensors."""
    header: Json = {"__metadata__": metadata}
    at = 0
    flat = [(name, tensor.detach().cpu().contiguous()) for name, tensor in named]
    for name, tensor in flat:
        size = tensor.numel() * tensor.element_size()
        dtype = _SAFETENSORS[str(tensor.dtype).replace("torch.", "")]
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".part", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, tensor in flat:
            if tensor.numel():
                file.write(ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()))
    os.replace(path + ".part", path)


# --- the tracer ------------------------------------------------------------------------------------------------------


class Here(threading.local):
    """The call of the model that runs in this thread; None outside of any, OFF in one that is not to be watched."""

    call: Any = None


class Tracer:
    """What one process knows. It is made when the interpreter starts and lives as long as that."""

    def __init__(self, folder: str) -> None:
        self.records, self.names, self.here = Records(folder), Names(), Here()
        self.recording = os.environ.get("RULEOUT_TRACE_MODE") == "record"
        self.always = os.environ.get("RULEOUT_TRACE_ARM", "")
        self.from_step = int(os.environ.get("RULEOUT_TRACE_STEP") or 0)
        self.rank: Optional[int] = None
        self.ranked = False
        self.calls = self.graphs = self.armed_calls = 0
        self.last_step: Optional[int] = None
        self.armed = 0  # calls of the model that are left in which every operation is watched
        self.armed_since = 0.0
        self.tainted = False  # bad numbers were seen, and caches may hold them until a clean prefill
        self.told: set[Any] = set()
        self.bad_tensors: set[Any] = set()  # of checkpoints
        self.meant: set[str] = set()  # modules whose infinities somebody wrote on purpose
        self.doubted: Optional[str] = None  # a module with infinities of which that is not known yet
        self.steps: dict[str, int] = {}
        self.skipped: dict[str, int] = {}
        self.compiled: set[str] = set()
        self.operations = 0
        self.ended = 0  # the process whose end was told
        self.schemas: dict[Any, Traits] = {}
        self.next_coverage, self.between = 0.0, COVERAGE_S

    # Getting in

    def hello(self) -> None:
        """The process's first record."""
        env = {name: os.environ[name] for name in RANK_VARIABLES if name in os.environ}
        argv = getattr(sys, "orig_argv", sys.argv)
        self.records.write(
            "hello",
            argv=list(argv),
            python=sys.version.split()[0],
            ppid=os.getppid(),
            wall=time.time(),
            env=env,
        )

    def forked(self) -> None:
        """In the child of a fork: a process of its own, with the hooks that it inherited."""
        self.records.forked()
        self.here.call = None
        self.ranked, self.rank = False, None
        self.hello()
        if torch is not None:
            self.handshake()

    def handshake(self) -> None:
        """Says that the modules of this process are watched."""
        version = sys.modules.get("torch.version")
        told = getattr(version, "__version__", None) or getattr(torch, "__version__", None)
        self.records.write("hooks", torch=None if told is None else str(told), cuda=getattr(version, "cuda", None))

    def torch_arrived(self, module: Any) -> None:
        """torch's modules exist: from now on every call of one goes through here.

        The method itself is replaced, not a hook registered: torch takes a slow path for every module once there is any
        hook, and its compiler, which looks at this method later than we do, takes ours for its own and leaves it out.
        """
        global torch
        torch = sys.modules["torch"]
        module.Module.__call__ = watched(self, module.Module.__call__)
        register = getattr(module, "register_module_module_registration_hook", None)
        if register is not None:
            register(self.names.registered)
        self.handshake()
        atexit.register(self.end)

    def safetensors_arrived(self, module: Any) -> None:
        """Whoever opens a file from now on reads through us."""
        opens = module.safe_open

        def safe_open(filename: Any, *args: Any, **kwargs: Any) -> Any:
            opened = opens(filename, *args, **kwargs)
            return Reading(self, opened, str(filename)) if torch is not None else opened

        module.safe_open = safe_open

    def compiler_arrived(self, module: Any) -> None:
        """torch's compiler leaves these frames of ours alone, and looks at what they call as ever."""
        for code in [Call.output.__code__, Call.look.__code__, Tracer.outermost.__code__, WRAPPER]:
            module.skip_code(code)

    # A call of the model

    def outermost(self, plain_call: Callable[..., Any], module: Any, args: Any, kwargs: Any) -> Any:
        """Runs a module that no other module called, and watches those that it calls."""
        call = None
        try:
            call = self.begin(module, args, kwargs)
        except Exception as trouble:
            self.records.error(trouble, "before a call of the model")
        if call is None:
            self.here.call = OFF
            try:
                return plain_call(module, *args, **kwargs)
            finally:
                self.here.call = None
        self.here.call = call
        out, failed = None, True
        try:
            if call.operations is None:
                out = plain_call(module, *args, **kwargs)
            else:
                with operations_mode(call.operations):
                    out = plain_call(module, *args, **kwargs)
            failed = False
            return out
        finally:
            self.here.call = None
            try:
                self.finish(call, module, args, kwargs, out, failed)
            except Exception as trouble:
                self.records.error(trouble, "after a call of the model")

    def begin(self, module: Any, args: Any, kwargs: Any) -> Optional[Call]:
        """The call, unless it is one that cannot be watched."""
        if SUM is None:
            prepare()
        seen = self.names.of(module)
        if hasattr(module, "_graph") or _compiling():
            self.compiled.add(seen.path)
            return None
        if _capturing():
            self.graphs += 1
            return None
        if torch._C._len_torch_dispatch_stack() > 0:
            self.skip("another dispatch mode was active")
            return None
        if not self.ranked:
            self.find_rank()
        if not seen.root:
            self.first_call(seen, module)
        self.calls += 1
        call = Call(self, seen, module, args, kwargs)
        wanted = self.always and (call.step is None or call.step >= self.from_step)
        if (self.armed > 0 or wanted) and self.may_arm(module):
            call.operations, call.usual = Operations(self, call), False
            self.armed -= 1
            self.armed_calls += 1
        return call

    def finish(self, call: Call, module: Any, args: Any, kwargs: Any, out: Any, failed: bool) -> None:
        """The model returned or failed."""
        if not failed:
            call.output(module, args, kwargs, out)
        call.finish(out, failed)
        if call.hit:
            self.tainted = True
        elif call.phase == "prefill":
            self.tainted = False
        now = time.monotonic()
        if now >= self.next_coverage:
            self.cover()
            self.next_coverage, self.between = now + self.between, min(self.between * 2, COVERAGE_MOST_S)
        if self.armed > 0 and now > self.armed_since + ARMED_S:
            self.armed = 0

    def next_step(self, phase: str) -> Optional[int]:
        """The number of the decode step since the last prefill, which is 0."""
        self.steps[phase] = self.steps.get(phase, 0) + 1
        if phase == "prefill":
            self.last_step = 0
        elif phase == "decode" and self.last_step is not None:
            self.last_step += 1
        return self.last_step if phase != "unknown" else None

    def find_rank(self) -> None:
        """Which of several processes this is, once they have found each other."""
        together = sys.modules.get("torch.distributed")
        if together is not None and together.is_available() and together.is_initialized():
            self.ranked, self.rank = True, together.get_rank()
            world, backend = together.get_world_size(), str(together.get_backend())
            self.records.write("rank", rank=self.rank, world=world, backend=backend)

    def first_call(self, seen: Seen, module: Any) -> None:
        """A module is called from outside for the first time: what it is, and whether its weights are good."""
        if not any(each.root for each in self.names.known.values()):
            self.end_with_process()
        seen.root = True
        seen.on_cpu = all(weight.is_cpu for weight in itertools.chain(module.parameters(), module.buffers()))
        count = sum(weight.numel() for weight in module.parameters())
        size = sum(1 for _ in module.modules())
        self.records.write("model", root=seen.path, **{"class": seen.class_}, modules=size, parameters=count)
        self.names.note_weights(module)
        self.find_compiled(module)
        looked = 0
        for part in module.modules():
            for name, weight, buffer in own_weights(part):
                if bad_weight(weight) and looked < WEIGHTS:
                    looked += 1
                    told = {**stats(weight, name), "parameter": name, "buffer": buffer}
                    computed = name in getattr(part, "_non_persistent_buffers_set", ())
                    self.records.write("weight", module=self.names.of(part).path, computed=computed, **told)

    def may_arm(self, module: Any) -> bool:
        """Not where the compiler has a hand in it: a dispatch mode would make it compile again, or fail."""
        self.find_compiled(module)
        if self.compiled:
            self.skip("operations of a compiled model")
        return not self.compiled

    def find_compiled(self, module: Any) -> None:
        """Notes the modules whose inside is compiled, so that only what they return is seen."""
        for part in module.modules():
            compiled = part._compiled_call_impl is not None or type(part).__name__ == "OptimizedModule"
            if compiled or getattr(part, "do_not_compile", True) is False:  # the last is vLLM's
                self.compiled.add(self.names.of(part).path)

    def graphs_arrived(self, module: Any) -> None:
        """A graph that is replayed calls no module: that it was is all there is to tell."""
        replay = module.CUDAGraph.replay

        def counted(graph: Any) -> Any:
            self.graphs += 1
            return replay(graph)

        module.CUDAGraph.replay = counted

    # What is told

    def skip(self, reason: str) -> None:
        """Counts what was not looked at, or was found harmless."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def born(self, birth: Json, sure: bool) -> None:
        """A module made bad numbers. What a cache still holds of earlier ones is no birth.

        Minus infinity may have been put there on purpose, and where operations are not watched, nobody is `sure` of it.
        """
        path, doubtful = birth["module"], birth.pop("meant")
        known = ("born", path)
        if self.tainted or known in self.told or len(self.told) >= BIRTHS or (doubtful and path in self.meant):
            return
        self.doubted = path if doubtful and not sure else None
        if self.doubted is None:
            self.told.add(known)
            self.records.write("born", **birth)
        if not birth.get("parameters"):
            self.arm(path)

    def found_meant(self, path: str) -> None:
        """Somebody put infinities into the output of that module on purpose: they are not asked after again."""
        self.meant.add(path)
        if self.doubted == path:
            self.doubted, self.armed = None, 0

    def arm(self, path: str) -> None:
        """From the next call of the model on, every operation is watched."""
        if not self.always and self.doubted is None:
            self.records.write("armed", module=path)
        self.armed, self.armed_since = ARMED_CALLS, time.monotonic()

    def operation(self, record: Json, kept: Any) -> None:
        """The operation that did it; what it was called with goes into a file beside the records."""
        known = ("operation", record["module"], record["op"])
        self.armed = 0
        if known in self.told or self.operations >= OPERATIONS:
            return
        self.told.add(known)
        self.operations += 1
        path = None
        if kept is not None:
            described, named = kept
            path = os.path.join(self.records.folder, "operation-%d-%d.safetensors" % (os.getpid(), self.operations))
            try:
                write_safetensors(path, named, described)
            except (OSError, KeyError) as trouble:
                self.records.error(trouble, "writing the arguments of %s" % record["op"])
                path = None
        self.records.write("operation", tensors=path, **record)

    def record(self, call: Call, seen: Seen, args: Any, kwargs: Any, out: Any) -> None:
        """Record mode: one call of one module, all of its tensors."""
        every = itertools.chain(placed(args, "in"), placed(kwargs, "in"), placed(out, "out"))
        told = [stats(tensor, place, hashed=True) for place, tensor in every]
        self.records.write("call", module=seen.path, **call.moment(), tensors=told)

    def read(self, tensor: Any, file: str, name: str) -> None:
        """A tensor was read from a checkpoint."""
        try:
            known = (file, name)
            if len(self.bad_tensors) < WEIGHTS and known not in self.bad_tensors and bad_weight(tensor):
                self.bad_tensors.add(known)
                self.records.write("checkpoint", file=file, tensor=name, **stats(tensor, name))
        except Exception as trouble:
            self.records.error(trouble, "reading %s" % name)

    def cover(self) -> None:
        """What was seen until now; the last such record counts."""
        seen = dict(self.names.dead)
        for each in list(self.names.known.values()):
            if each.calls:
                seen[each.path] = seen.get(each.path, 0) + each.calls
        compiled = sorted(self.compiled)
        self.records.write(
            "coverage",
            modules=seen,
            steps=self.steps,
            compiled=compiled,
            graphs=self.graphs,
            skipped=self.skipped,
            armed=self.armed_calls,
        )

    def end_with_process(self) -> None:
        """Has the last records written at the end: what multiprocessing starts ends in a way of its own."""
        from multiprocessing import util

        util.Finalize(None, self.end, exitpriority=0)

    def end(self) -> None:
        """The process ends by itself."""
        if self.ended != os.getpid():
            self.ended = os.getpid()
            self.cover()
            self.records.write("end")

    def traits(self, func: Any) -> Traits:
        """Of an operation, looked up once."""
        traits = self.schemas.get(func)
        if traits is None:
            traits = self.schemas[func] = Traits(func)
        return traits


TRACER: Any = None
OFF = object()
UNSEEN = "finite before, and changed by something that torch does not dispatch: a kernel that is launched directly"
OUTSIDE = "read from memory that was bad before this call of the model: a cache, or a place that nobody has written"
RANK_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_PORT", "CUDA_VISIBLE_DEVICES")
SUM: Any = None  # torch.sum and torch.Tensor, once they are there
TENSOR: Any = None
UNUSUAL = (OFF,)  # in place of an output that is neither a tensor nor a tuple
WRAPPER: Any = None  # the code of our `Module.__call__`, by which its frames are known


def prepare() -> None:
    """What could not be looked up while torch was still being imported."""
    global SUM, TENSOR
    SUM, TENSOR = torch.sum, torch.Tensor


def _compiling() -> bool:
    return bool(torch.compiler.is_compiling())


def _capturing() -> bool:
    return torch.cuda.is_initialized() and bool(torch.cuda.is_current_stream_capturing())


def watched(tracer: Tracer, plain_call: Callable[..., Any]) -> Callable[..., Any]:
    """`Module.__call__` with eyes. It runs as often as the engine's own, so its usual way is kept short."""
    global WRAPPER
    here, known = tracer.here, tracer.names.known

    def call(module: Any, /, *args: Any, **kwargs: Any) -> Any:
        current = here.call
        if current is None:
            return tracer.outermost(plain_call, module, args, kwargs)
        if module._compiled_call_impl is None:
            out = module._call_impl(*args, **kwargs)  # what the plain call does, without its frame
        else:
            out = plain_call(module, *args, **kwargs)
        if current is OFF:
            return out
        if current.usual:
            try:
                total = 0.0
                for part in (out,) if type(out) is TENSOR else out if type(out) is tuple else UNUSUAL:
                    if type(part) is TENSOR:
                        total += SUM(part).item()
                    elif part is not None:
                        total = math.nan
                if total - total == 0:
                    known[id(module)].calls += 1
                    current.recent.append(out)
                    return out
            except Exception:
                pass  # what has no sum, or a module that is new: the long way knows
        try:
            current.output(module, args, kwargs, out)
        except Exception as trouble:
            tracer.records.error(trouble, "looking at the output of %s" % type(module).__name__)
        return out

    WRAPPER = call.__code__
    return call


def operations_mode(operations: Operations) -> Any:
    """torch's way to see every operation. The class can only be made once torch is there."""
    from torch.utils._python_dispatch import TorchDispatchMode  # type: ignore[import-not-found, unused-ignore]

    def dispatch(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return operations.dispatch(func, args, kwargs or {})

    members = {"__torch_dispatch__": dispatch, "supports_higher_order_operators": True}
    return type("Operations", (TorchDispatchMode,), members)()
