"""Which frame of a stack says what is waited for."""

from __future__ import annotations

import pytest

from ruleout.diagnosis.stacks import place_of
from ruleout.model import Component

# Written by us in the form of py-spy, `function (file:line)`, the innermost first.
ALL_REDUCE = (
    "all_reduce (torch/distributed/distributed_c10d.py:2810)",
    "wrapper (torch/distributed/c10d_logger.py:81)",
    "forward (model.py:88)",
    "load_model (runner.py:12)",
)
BARRIER = ("barrier (torch/distributed/distributed_c10d.py:4551)", "init (worker.py:9)")
LOCK_FILE = ("wait (torch/utils/file_baton.py:49)", "_jit_compile (torch/utils/cpp_extension.py:2100)")
COMPILER = ("_wait (subprocess.py:1959)", "compile (triton/compiler/compiler.py:280)")
DOWNLOAD = ("SSLSocket.read (ssl.py:1166)", "http_get (huggingface_hub/file_download.py:490)", "main (serve.py:3)")
WEIGHTS = ("get_tensor (loader.py:4)", "load_weights (vllm/model_executor/model_loader/default_loader.py:300)")
DEVICE = ("synchronize (torch/cuda/__init__.py:1040)", "step (engine.py:5)")
RENDEZVOUS = ("__init__ (x.py:1)", "init_process_group (torch/distributed/distributed_c10d.py:1768)")


@pytest.mark.parametrize(
    ("frames", "name", "component", "at"),
    [
        (ALL_REDUCE, "allreduce", Component.ALLREDUCE, 0),
        (BARRIER, "collective", Component.NCCL, 0),
        (RENDEZVOUS, "rendezvous", Component.NCCL, 1),
        (LOCK_FILE, "lock file", Component.INSTALL_ABI, 0),
        (COMPILER, "compiling", None, 1),
        (DOWNLOAD, "download", None, 1),
        (WEIGHTS, "weights", None, 1),
        (DEVICE, "device", None, 0),
    ],
)
def test_a_known_place_is_named_by_the_frame_that_tells_of_it(
    frames: tuple[str, ...], name: str, component: Component | None, at: int
) -> None:
    place, number = place_of(frames)
    assert place is not None
    assert (place.name, place.component, number) == (name, component, at)


@pytest.mark.parametrize(
    ("frames", "at"),
    [
        (("wait (threading.py:320)", "take (myengine/lock.py:4)", "<module> (serve.py:9)"), 1),
        (("wait (threading.py:320)", "get (queue.py:171)", "_worker (concurrent/futures/thread.py:81)"), -1),
        (("select (selectors.py:468)", "_run_once (asyncio/base_events.py:1898)"), -1),
        (("_worker (concurrent/futures/thread.py:81)", "run (threading.py:982)"), -1),
        (("Queue.get (queue.py:171)", "EngineCoreProc.process_output_sockets (vllm/v1/engine/core.py:1968)"), -1),
        (
            ("Popen.poll (multiprocessing/popen_fork.py:27)", "join (multiprocessing/process.py:149)", "main (x.py:3)"),
            -1,
        ),
        (("SemLock.__enter__ (multiprocessing/synchronize.py:95)", "take (engine.py:3)"), 1),
        (("<module> (serve.py:9)",), 0),
        (("handler (huggingface_hub/cli/_framework.py:365)", "main (transformers/cli/transformers.py:39)"), 0),
        (("call (/tmp/torchinductor/ab/cab.py:40)", "__call__ (torch/_inductor/output_code.py:600)"), 0),
        (("reduce_sum (mymath.py:3)",), 0),
        (("watchdog_thread (scheduler.py:7)", "run (threading.py:982)"), -1),
        ((), -1),
    ],
)
def test_elsewhere_it_is_the_innermost_frame_of_the_engine_s_own(frames: tuple[str, ...], at: int) -> None:
    assert place_of(frames) == (None, at)
