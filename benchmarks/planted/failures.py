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


def _raised(error: str, *frames: tuple[str, str]) -> tuple[str, ...]:
    """A traceback: of each frame `file:line:function` and its code, the innermost last."""
    lines = ["Traceback (most recent call last):"]
    for place, code in frames:
        file, line, function = place.split(":")
        lines += [f'  File "/srv/engine/{file}", line {line}, in {function}', f"    {code}"]
    return (*lines, error)


_ASSERTED = (
    "/pytorch/aten/src/ATen/native/cuda/TensorCompare.cu:112: _assert_async_cuda_kernel: block: [0,0,0], thread: "
    "[0,0,0] Assertion `probability tensor contains either `inf`, `nan` or element < 0` failed."
)

_DECODING = ("model_runner.py:498:forward_decode", "return self.model.forward(batch)")

TARGETS: dict[str, Shows] = {
    "assert-in-decode": Shows(
        "decode",
        (
            _ASSERTED,
            *_raised(
                "torch.AcceleratorError: CUDA error: device-side assert triggered",
                ("sampler.py:97:forward", "torch.multinomial(probs, 1)"),
            ),
        ),
        12.0,
    ),
    "illegal-access-in-prefill": Shows(
        "prefill",
        _raised(
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
            ("model_runner.py:512:forward_extend", "torch.cuda.synchronize()"),
        ),
        12.0,
    ),
    "attention-in-the-stack": Shows(
        "decode",
        _raised(
            "RuntimeError: BatchDecodeWithPagedKVCache failed: an illegal memory access was encountered",
            _DECODING,
            ("layers/attention/flash_attn.py:288:forward", "self.wrapper.run(query, self.paged_kv)"),
        ),
        12.0,
    ),
    "experts-in-the-stack": Shows(
        "decode",
        _raised(
            "RuntimeError: moe_align_block_size: CUDA error: an illegal memory access was encountered",
            _DECODING,
            ("layers/moe/fused_moe.py:611:forward", "moe_align_block_size(topk_ids, block, num_experts)"),
        ),
        12.0,
    ),
    "scheduler-in-the-stack": Shows(
        "decode",
        _raised(
            "RuntimeError: req_to_token: gather kernel index: an illegal memory access was encountered",
            ("managers/scheduler.py:901:event_loop_overlap", "self.run_batch(batch)"),
            ("mem_cache/memory_pool.py:174:forward_decode", "self.req_to_token[rows, block_table]"),
        ),
        12.0,
    ),
    "drafts-in-the-stack": Shows(
        "decode",
        _raised(
            "RuntimeError: draft verification: CUDA error: an illegal memory access was encountered",
            _DECODING,
            ("speculative/workers.py:233:verify", "self.target_worker.verify(draft_tokens)"),
        ),
        12.0,
    ),
}
"""How a planted fault can show. The last four name a part of the engine."""

MASKS: dict[str, Shows] = {
    "refused-arguments": Shows(
        "arg_parsing",
        _raised("AssertionError", ("arguments.py:88:check", "assert not self.kv_cache_store_fp8")),
        0.6,
    ),
    "unknown-model-type": Shows(
        "model_config",
        _raised("KeyError: 'glm_moe_dsa'", ("config.py:31:read", "return CONFIG_MAPPING[kind]")),
        0.1,
    ),
    "weights-do-not-fit": Shows(
        "weight_load",
        _raised(
            "RuntimeError: The size of tensor a (512) must match the size of tensor b (256) at dimension 0",
            ("loader.py:141:load", "param.copy_(loaded)"),
        ),
        3.0,
    ),
    "no-room-for-the-cache": Shows(
        "kv_cache_alloc",
        _raised(
            "RuntimeError: Not enough memory for the KV cache. Raise --mem-fraction-static.",
            ("memory.py:57:allocate", "raise RuntimeError(message)"),
        ),
        5.0,
    ),
    "tiles-too-large": Shows(
        "cuda_graph_capture",
        _raised(
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, "
            "Hardware limit: 101376.",
            ("graphs.py:310:capture", "kernel[grid](*arguments)"),
        ),
        9.0,
    ),
    "does-not-build": Shows(
        "weight_load",
        _raised(
            "ImportError: engine._C: undefined symbol: _ZN6engine4initEv",
            ("build.py:12:compile", "raise ImportError(name)"),
        ),
        2.0,
    ),
}
"""The failures that strike before the target could show."""
