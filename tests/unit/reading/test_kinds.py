"""Standard messages of engines and libraries, in our own words for the names: their class, and where they show."""

from __future__ import annotations

import io

import pytest

from ruleout.reading.diagnose import Stream, read_facts

MESSAGES = [
    ("CUDA error (/b/csrc/flash_fwd_launch.h:12): invalid argument", "kernel_launch_error", ""),
    ("Failed: Cuda error /b/csrc/reduce.cuh:64 'invalid argument'", "kernel_launch_error", ""),
    ("RuntimeError: [TM][ERROR] CUDA runtime error: invalid argument /b/alloc.h:7", "kernel_launch_error", ""),
    ("[TRT-LLM] [E] Failed to initialize executor on rank 0: Arch unsupported for this GEMM", "unsupported_arch", ""),
    ("NotImplementedError: WNA16 MoE is unsupported on SM75.", "unsupported_arch", "model_config"),
    ("ValueError: the scheme needs more. Min capability: 80. Current capability: 75.", "unsupported_arch", ""),
    ("AssertionError: this backend requires SM>=90", "unsupported_arch", ""),
    ("RuntimeError: GPU lacks the shared memory resources to run the kernel", "shared_memory", ""),
    ("AssertionError: GSM8K metric too low: 0.31 < 0.80", "accuracy_loss", "decode"),
    ("AssertionError: Tried to load weights of size [4, 8] to a parameter of size [8, 8]", "shape_mismatch", ""),
    ("AssertionError: assert x.shape[0] == len(lengths)", "shape_mismatch", ""),
    (
        "ValueError: max seq len (4096) is larger than the number of tokens that can be stored in KV cache (512)",
        "oom",
        "",
    ),
    ("torch.distributed.DistNetworkError: The client socket has timed out", "nccl_timeout_hang", "distributed_init"),
    ("acme.cpp:9: run: Assertion `n == m' failed.", "incompatible_config_assert", "prefill"),
    ("AttributeError: 'AcmeConfig' object has no attribute 'heads'", "import_abi", "model_config"),
    ("AttributeError: module 'acme' has no attribute 'mla'", "import_abi", "install_import"),
    ("job 7 failed with exception acme.TransferError(room=5): no such peer", "other", ""),
    ("This kernel only supports sm120.\ncudaErrorLaunchFailure: unspecified launch failure", "unsupported_arch", ""),
    ("ImportError: could not load any library\n1. a.so: undefined symbol: _ZN3c10", "missing_symbol", ""),
    ("RuntimeError: it does NOT support two sizes", "incompatible_config_assert", ""),
    ("NotImplementedError: The page size of a layer does not fit", "incompatible_config_assert", "kv_cache_alloc"),
    (
        "pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
        "  Value error, Model architectures ['AcmeForCausalLM'] are not supported for now.",
        "unknown_model_type",
        "model_config",
    ),
]


@pytest.mark.parametrize(("text", "class_", "stage"), MESSAGES)
def test_a_standard_message_has_its_class(text: str, class_: str, stage: str) -> None:
    found = read_facts([Stream("pasted", io.BytesIO(f"{text}\n".encode()))])
    assert found.failure
    assert found.failure.class_ == class_
    assert found.stage == (stage or found.stage)


def test_an_exception_that_a_line_quotes_with_what_was_done_instead_is_none() -> None:
    handled = "acme: could not scale (KeyError: 'kind'); falling back to none. Long answers may degrade.\n"
    found = read_facts([Stream("pasted", io.BytesIO(f"{handled}KeyError: 'kind'\n".encode()))])
    assert found.failure
    assert (found.failure.class_, found.failure.inferred) == ("wrong_output", True)
    alone = read_facts([Stream("pasted", io.BytesIO(b"KeyError: 'kind'\n"))])
    assert alone.failure
    assert not alone.failure.inferred


def test_an_excerpt_that_ends_as_ranks_are_connected_waits_for_them() -> None:
    text = b"NCCL INFO ncclCommInitRank\nNCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P\n"
    found = read_facts([Stream("pasted", io.BytesIO(text))])
    assert found.failure
    assert (found.failure.class_, found.stage) == ("nccl_timeout_hang", "distributed_init")
