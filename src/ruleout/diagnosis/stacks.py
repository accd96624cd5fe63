"""Where a process waits is told by the innermost frames that somebody named for a purpose, not by the last one.

Every hang ends in a poll, a lock or a sleep of some library. What it is for stands a few frames further out: a
collective that a rank does not join, a lock file that a dead build left, a kernel that is still being compiled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ruleout.model import Component


@dataclass(frozen=True, slots=True)
class Place:
    """A place to wait at.

    Attributes:
        frames: what a frame, `function (file:line)`, says there.
        doing: in words, what a process does there; `{frame}` is the deciding frame.
        component: the part that it speaks for; None where waiting there is no fault of any.
        weight: how likely that component is to be the cause when everybody waits there.
    """

    name: str
    frames: re.Pattern[str]
    doing: str
    component: Component | None = None
    weight: float = 0.0


def _place(name: str, frames: str, doing: str, component: Component | None = None, weight: float = 0.0) -> Place:
    return Place(name, re.compile(frames), doing, component, weight)


_COMMUNICATION = r"[^(]*\(.*(?:distributed_c10d|communicat|custom_all_reduce|pynccl|parallel_state|symm_mem|mscclpp)"
PLACES: tuple[Place, ...] = (
    # https://docs.pytorch.org/docs/stable/distributed.html names the operations
    _place("allreduce", rf"(?:^|\.)\w*all_?reduce{_COMMUNICATION}", "an all_reduce: {frame}", Component.ALLREDUCE, 0.6),
    _place(
        "collective",
        rf"(?:^|\.)\w*(?:all_gather|reduce_scatter|broadcast|barrier|all_to_all|gather|scatter|reduce|i?send|i?recv){_COMMUNICATION}",
        "a collective operation: {frame}",
        Component.NCCL,
        0.6,
    ),
    _place(
        "rendezvous",
        r"(?:init_process_group|_store_based_barrier|new_group|TCPStore|_create_c10d_store|rendezvous)\b.*\(",
        "the other ranks to come together: {frame}",
        Component.NCCL,
        0.5,
    ),
    # torch/utils/file_baton.py of https://github.com/pytorch/pytorch and https://github.com/tox-dev/filelock
    _place(
        "lock file",
        r"\(.*(?:file_baton\.py|filelock/)",
        "a lock file that another build holds, or left behind when it was killed: {frame}",
        Component.INSTALL_ABI,
        0.7,
    ),
    _place(
        "compiling",
        r"\(.*(?:torch/_inductor/(?:async_compile|graph\.|codegen/|cpp_builder|autotune)|triton/(?:compiler|runtime/build|backends)|cpp_extension\.py|flashinfer/jit|deep_gemm/jit)",
        "kernels to be compiled: {frame}",
    ),
    _place(
        "download",
        r"\(.*(?:huggingface_hub/(?:file_download|_snapshot_download|hf_api|utils/_http)|urllib3/|requests/|httpcore/)",
        "the network: {frame}",
    ),
    _place(
        "weights",
        r"(?:load_weights?|load_model|safetensors_weights_iterator)\b.*\(|\(.*(?:safetensors|weight_utils|torch/serialization)",
        "weights to be read: {frame}",
    ),
    _place("device", r"(?:^|\.)(?:synchronize|item|tolist|cpu)\b.*\(.*torch/", "the device to be done: {frame}"),
)
"""The most telling first: what a rank computes inside of a load is the load."""

IDLE = re.compile(
    r"\((?:.*/)?(?:selectors|queue|socketserver|socket|signal|resource_tracker)\.py:"
    r"|\((?:.*/)?(?:asyncio|concurrent/futures|uvicorn|zmq|anyio|uvloop|http|xmlrpc|tqdm)/"
    r"|\((?:.*/)?multiprocessing/(?!synchronize)"
    r"|^[^(]*(?:watchdog|monitor|heartbeat|keep_?alive|SignalCallback)"
)
"""Frames of those who wait for work, or for a process of their own: it is not they who hang."""
WAITS = re.compile(r"\((?:.*/)?(?:threading|subprocess|multiprocessing/synchronize)\.py:")
"""Frames of locks, events and programs: what is waited for is told by who called them."""


def place_of(frames: Sequence[str]) -> tuple[Place | None, int]:
    """The place that a stack tells of and the frame that does, the innermost frame being number 0.

    Where it is no place that is known, the innermost frame that is no wait of a library; -1: it waits for work.
    """
    for place in PLACES:
        at = next((number for number, frame in enumerate(frames) if place.frames.search(frame)), None)
        if at is not None:
            return place, at
    own = next((number for number, frame in enumerate(frames) if not WAITS.search(frame)), -1)
    return None, -1 if own < 0 or IDLE.search(frames[own]) or (frames[own].startswith("<module>") and own) else own
