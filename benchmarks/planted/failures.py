"""What a planted fault and the failures that mask it look like in a log, in the form that serving engines give them.

The lines are ours. A target failure is asynchronous where CUDA's are: the frame that reports it is not the cause.
"""

from __future__ import annotations

from dataclasses import dataclass

STAGES: dict[str, str] = {
    "arg_parsing": "server_args=ServerArgs(model_path='/models/planted', {settings})",
    "model_config": "Reading config.json of /models/planted",
    "distributed_init": "Init torch distributed begin.",
    "weight_load": "Load weight begin. avail mem=93.11 GB",
    "kv_cache_alloc": "KV Cache is allocated. #tokens: 524288, K size: 18.00 GB, V size: 18.00 GB",
    "cuda_graph_capture": "Capture cuda graph begin. This can take up to several minutes.",
    "warmup": "Application startup complete.",
    "ready": "The server is fired up and ready to roll!",
    "prefill": "Prefill batch, #new-seq: 1, #new-token: 64, #cached-token: 0, token usage: 0.00",
    "decode": "Decode batch, #running-req: 1, #token: 97, token usage: 0.00, gen throughput (token/s): 41.20",
}
"""The stages in their order, with the line by which each begins."""


@dataclass(frozen=True)
class Shows:
    """A failure: where it strikes, what it prints, and after how many minutes."""

    stage: str
    lines: tuple[str, ...]
    minutes: float


def _raised(place: str, code: str, error: str) -> tuple[str, ...]:
    file, line, function = place.split(":")
    return (
        "Traceback (most recent call last):",
        f'  File "/srv/engine/{file}", line {line}, in {function}',
        f"    {code}",
        error,
    )


_ASSERTED = (
    "/pytorch/aten/src/ATen/native/cuda/TensorCompare.cu:112: _assert_async_cuda_kernel: block: [0,0,0], thread: "
    "[0,0,0] Assertion `probability tensor contains either `inf`, `nan` or element < 0` failed."
)

TARGETS: dict[str, Shows] = {
    "assert-in-decode": Shows(
        "decode",
        (
            _ASSERTED,
            *_raised(
                "sampler.py:97:forward",
                "torch.multinomial(probs, 1)",
                "torch.AcceleratorError: CUDA error: device-side assert triggered",
            ),
        ),
        12.0,
    ),
    "illegal-access-in-prefill": Shows(
        "prefill",
        _raised(
            "model_runner.py:512:forward_extend",
            "torch.cuda.synchronize()",
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
        ),
        12.0,
    ),
    "attention-in-the-stack": Shows(
        "decode",
        _raised(
            "layers/attention/flashinfer_backend.py:288:forward_decode",
            "decode_wrapper.run(q, kv_buffer)  # BatchDecodeWithPagedKVCache",
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
        ),
        12.0,
    ),
    "experts-in-the-stack": Shows(
        "decode",
        _raised(
            "layers/moe/fused_moe.py:611:forward",
            "moe_align_block_size(topk_ids, block, num_experts)",
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
        ),
        12.0,
    ),
    "all-reduce-in-the-stack": Shows(
        "decode",
        _raised(
            "distributed/custom_all_reduce.py:174:all_reduce",
            "ops.all_reduce(self.ipc_handles, tensor)",
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
        ),
        12.0,
    ),
}
"""How a planted fault can show."""

MASKS: dict[str, Shows] = {
    "refused-arguments": Shows(
        "arg_parsing",
        _raised("arguments.py:88:check", "assert not self.kv_cache_store_fp8", "AssertionError"),
        0.6,
    ),
    "unknown-model-type": Shows(
        "model_config",
        _raised(
            "config.py:31:read",
            "return CONFIG_MAPPING[kind]",
            "KeyError: 'glm_moe_dsa'",
        ),
        0.1,
    ),
    "weights-do-not-fit": Shows(
        "weight_load",
        _raised(
            "loader.py:141:load",
            "param.copy_(loaded)",
            "RuntimeError: The size of tensor a (512) must match the size of tensor b (256) at non-singleton dimension 0",
        ),
        3.0,
    ),
    "no-room-for-the-cache": Shows(
        "kv_cache_alloc",
        _raised(
            "memory.py:57:allocate",
            "raise RuntimeError(message)",
            "RuntimeError: Not enough memory for the KV cache. Raise --mem-fraction-static.",
        ),
        5.0,
    ),
    "tiles-too-large": Shows(
        "cuda_graph_capture",
        _raised(
            "graphs.py:310:capture",
            "kernel[grid](*arguments)",
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376.",
        ),
        9.0,
    ),
    "does-not-build": Shows(
        "weight_load",
        _raised("build.py:12:compile", "raise ImportError(name)", "ImportError: engine._C: undefined symbol: _ZN6engine4initEv"),
        2.0,
    ),
}
"""The failures that strike before the target could show."""
