"""What kind of failure a message tells of: an ordered table, the most specific words first.

The first part of the table is about words that mean the same whoever raises them. The second (`_GENERAL`) knows the
exception's type only and is asked last, after the lines that follow the message.
"""

from __future__ import annotations

import re

from ruleout.model import FailureClass

F = FailureClass

_ALONE: tuple[tuple[FailureClass, str], ...] = (
    (
        F.HOST_OOM_KILL,
        r"oom-kill|Out of memory: Killed process|OOMKilled|^Killed$|oom_reaper|Signals\.SIGKILL"
        r"|[Ss]ignal 9\b|[Ee]xit[ _]?code:? -9\b|[Ee]xit(?:ed with)? [Cc]ode:? +137\b",
    ),
    (
        F.OOM,
        r"(?:CUDA|HIP|XPU|NPU|GPU|MPS)(?: error:| driver error:)? (?:backend )?out of memory"
        r"|OutOfMemoryError",
    ),
    (F.DEVICE_SIDE_ASSERT, r"device-side assert|cudaErrorAssert\b|CUDA_ERROR_ASSERT"),
    (
        F.ILLEGAL_MEMORY_ACCESS,
        r"illegal memory access|cudaErrorIllegalAddress|CUDA_ERROR_ILLEGAL_ADDRESS|misaligned address"
        r"|Warp (?:Out-of-range|Illegal|Misaligned) Address|[Mm]emory access fault by GPU"
        r"|HSA_STATUS_ERROR_(?:MEMORY_APERTURE_VIOLATION|MEMORY_FAULT)|hipErrorIllegalAddress"
        r"|\bXid .{0,60}: 31\b|MMU Fault|Segfault encountered|\*\*\* SIGSEGV|[Cc]aught signal 11",
    ),
    (
        F.ILLEGAL_INSTRUCTION,
        r"illegal (?:hardware )?instruction|HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION|\*\*\* SIGILL"
        r"|cudaErrorIllegalInstruction|CUDA_ERROR_ILLEGAL_INSTRUCTION",
    ),
    (
        F.SHARED_MEMORY,
        r"out of resource: shared memory|MaxDynamicSharedMemorySize"
        r"|(?:[Nn]ot enough|[Ii]nsufficient) shared memory|dynamic shared memory size"
        r"|exceeds? .{0,40}shared memory|lacks? .{0,20}shared memory",
    ),
    (
        F.NO_KERNEL_IMAGE,
        r"no kernel image|has no device code|is not compatible with the current PyTorch|device kernel image is invalid"
        r"|invalid device function|NoKernelImageForDevice|hipErrorNoBinaryForGpu"
        r"|hipErrorSharedObjectInitFailed|CUDA_ERROR_(?:INVALID_(?:IMAGE|PTX|SOURCE)|NO_BINARY_FOR_GPU)"
        r"|PTX was compiled with an unsupported",
    ),
    (
        F.NAN_INF,
        r"NaN in the logits|NaN detected|[Nn]an(?:s)? (?:or inf )?(?:found|detected)|NaN or Inf found"
        r"|\b(?:[Aa]ll|are|is) NaN\b|NaN logits|\[nan, nan",
    ),
    (
        F.NCCL_TIMEOUT_HANG,
        r"Watchdog caught collective|collective operation timeout"
        r"|(?:NCCL|RCCL|Gloo|gloo).{0,80}(?:timeout|[Tt]imed out)",
    ),
    (F.HANG, r"[Ww]atchdog timeout|hang detected|[Dd]eadlock detected|RPC call to \S+ timed out"),
    (F.UNKNOWN_MODEL_TYPE, r"does not recognize this architecture|unknown model architecture"),
    (
        F.UNSUPPORTED_ARCH,
        r"[Uu]nsupported (?:GPU )?[Aa]rch(?!\w* type)|\b[Aa]rch(?:itecture)? (?:is )?(?:un|not )supported"
        r"|No valid attention backend|CUBLAS_STATUS_ARCH_MISMATCH|[Kk]ernel only supports sm_?\d"
        r"|No execution plans support the graph|cudnnGraphNotSupportedError",
    ),
    (
        F.KERNEL_LAUNCH_ERROR,
        r"unspecified launch failure|invalid configuration argument|CUDA error: invalid |cudaErrorLaunch"
        r"|cudaErrorInvalid|too many resources requested for launch|Error occurred when running GEMM"
        r"|Failed to (?:run|launch) "
        r"|CUBLAS_STATUS_(?:EXECUTION_FAILED|NOT_SUPPORTED|INVALID_VALUE|INTERNAL_ERROR)|CUDNN_STATUS_\w+"
        r"|CUBLAS_STATUS_NOT_INITIALIZED|CUDA error: (?:operation not|unknown error|initialization error)"
        r"|Error Internal\b",
    ),
    (
        F.COMPILE_ERROR,
        r"ninja: build stopped|Ninja build failed|\bld: cannot find -|errors? detected in the compilation"
        r"|ptxas.{0,200}(?:fatal|error) *:|nvcc fatal|PassManager::run failed|LLVM ERROR|\(\d+\): error: "
        r"|:\d+:\d+: (?:fatal )?error: |Error building extension",
    ),
    (
        F.KERNEL_LAUNCH_ERROR,
        r"\b(?:CUDA|Cuda|HIP) (?:runtime |driver )?error(?: \([^()]{0,200}\)| \S{1,200}:\d+)?(?:: \w| '\w)",
    ),
)
"""Words that are a failure even in a line that names no exception. The last row is for any other CUDA error."""

_SPECIFIC: tuple[tuple[FailureClass, str], ...] = (
    (
        F.ACCURACY_LOSS,
        r"(?i)\b(?:accuracy|gsm8k|mmlu|gpqa|exact_match|score|metric)\b.{0,40}"
        r"(?:too low|lower than|below|less than|\d ?< ?\d)",
    ),
    (F.MEMORY_LEAK, r"(?:memory|pool|slot) leak detected"),
    (
        F.UNSUPPORTED_ARCH,
        r"for the current GPU|\b[Mm]in(?:imum)?\.? capability|[Rr]equires? (?:SM|sm|compute capability) ?[<>=]"
        r"|(?:not (?:implemented|available|usable)|unsupported|are usable) (?:for|on) (?:\w+ )?"
        r"(?:Blackwell|Hopper|Ampere|SM_?\d|sm_?\d)"
        r"|not supported in this architecture"
        r"|[Oo]nly (?:supports? )?(?:the )?(?:Ampere|Hopper|Blackwell|Turing|Volta|Ada|SM_?\d|sm_?\d)",
    ),
    (F.QUANT_FORMAT_MISMATCH, r"KeyError: '[\w.]*(?:scale|qweight|qzeros|weight_packed|zero_point)\w*'"),
    (
        F.SHAPE_MISMATCH,
        r"(?:Attempted|Tried) to load weights? .{0,80}(?:into|to) (?:a )?param"
        r"|assert .{0,80}(?:\.shape|\.size\(\w*\))\S* == .{0,80}(?:shape|size|len\()",
    ),
    (
        F.QUANT_FORMAT_MISMATCH,
        r"[Uu]nsupported (?:quant|modelopt|[Nn][Vv][Ff][Pp]4)|[Cc]annot find the config file for",
    ),
    (F.INCOMPATIBLE_CONFIG_ASSERT, r"(?:expected|must have) .{0,40}dtype|scalar type \w+ but found|dtype mismatch"),
    (
        F.IMPORT_ABI,
        r"untagged enum|[Rr]equires? (?:\w+ ){0,2}[\w\-]+ ?(?:>=|==) ?v?\d"
        r"|version .{0,40}(?:is required|too old|too low)|is not installed\b"
        r"|[Pp]lease (?:install|upgrade|update) (?:the )?[\w\-`]+",
    ),
    (F.COMPILE_ERROR, r"CUDA_HOME"),
    (F.KERNEL_LAUNCH_ERROR, r"Failed to initialize cutlass"),
    (
        F.OOM,
        r"[Oo]ut of memory|No available memory|larger than the available KV cache|an't allocate memory"
        r"|larger than .{0,60}stored in KV cache"
        r"|annot allocate memory|[Nn]ot enough (?:\w+ )?memory|[Ii]nsufficient (?:\w+ )?memory|^MemoryError"
        r"|bad_alloc|ALLOC_FAILED|KV cache (?:is )?needed|(?:Free|Available) memory on (?:device|node) .{0,80}less than"
        r"|cudaMalloc failed|(?:unable|failed) to allocate",
    ),
    (F.SHARED_MEMORY, r"shared memory.{0,60}(?:limit|exceed)|too much shared memory"),
    (
        F.NAN_INF,
        r"probability tensor contains|non-finite|contains? (?:nan|NaN|inf)\b|Out of range float values"
        r"|Numerical .*nan",
    ),
    (
        F.NCCL_TIMEOUT_HANG,
        r"DistStoreError|[Tt]imed out .{0,80}(?:[Ss]tore|rendezvous|barrier|clients joined)"
        r"|client socket has timed out",
    ),
    (
        F.COMPILE_ERROR,
        r"\bnvcc\b|\bptxas\b|CompilationError|CompileError|BackendCompilerFailed|InductorError"
        r"|TorchRuntimeError|_dynamo\.exc|NVRTC|nvrtc|[Ff]ailed to compile|[Cc]ompilation (?:failed|error)"
        r"|[Bb]uild failed|find (?:a )?C compiler|GuardOnDataDependent|'ninja'",
    ),
    (F.MISSING_SYMBOL, r"undefined symbol|symbol lookup error|Undefined reference|DLL load failed.*procedure"),
    (
        F.UNKNOWN_MODEL_TYPE,
        r"KeyError: '?model_type'?|[Uu]nknown model (?:type|arch)"
        r"|architectures .{0,120}failed to be inspected|[Uu]nrecognized (?:model|configuration class)"
        r"|[Mm]odel (?:architectures?|type) .{0,120}not (?:currently )?supported"
        r"|[Uu]nsupported (?:model|arch\w* type)|Tokenizer class \w+ does not exist"
        r"|no \w*(?:SGLang|vLLM) implementation|KeyError.*(?:CONFIG_MAPPING|configuration_auto)",
    ),
    (
        F.MISSING_WEIGHTS,
        r"[Ww]eights? .{0,60}(?:missing|not initialized|not found)|[Mm]issing key"
        r"|[Ss]hard.{0,60}(?:missing|not found)|SafetensorError|deserializing header"
        r"|[Cc]annot find any (?:model )?weights|no file named .{0,80}(?:safetensors|bin)"
        r"|file named .{0,60}(?:safetensors|\.bin)|PytorchStreamReader|missing tensor"
        r"|KeyError: '(?:model|layers|lm_head|transformer|visual|language_model|blk)\.[\w.]+'",
    ),
    (
        F.QUANT_FORMAT_MISMATCH,
        r"[Qq]uantization (?:method|config|scheme|format)?.{0,80}(?:mismatch|not match|different|[Uu]nknown"
        r"|not supported for)|[Uu]nknown quantization|[Ii]nvalid quantization"
        r"|Linear\w*' object has no attribute '\w*(?:weight|scale)\w*'"
        r"|(?:weight_scale|input_scale|qweight|scale_inv|weight_packed)\b",
    ),
    (
        F.SHAPE_MISMATCH,
        r"(?:shape|size)s? mismatch|has wrong shape|must match the size|shapes? cannot be multiplied"
        r"|cannot be broadcast|[Tt]he expanded size|is invalid for input of size|Sizes of tensors must match"
        r"|out of bounds for (?:dimension|axis|size)"
        r"|[Ss]hapes? .{0,60}(?:incompatible|not match|unequal|differ)"
        r"|[Dd]imension\w* .{0,40}(?:mismatch|not match)|[Ii]nvalid shape|selected index k out of range"
        r"|expected .{0,40}to have \d+ (?:dim|channel)",
    ),
    (
        F.UNSUPPORTED_ARCH,
        r"not (?:compiled with|linked with) CUDA"
        r"|not supported on (?:this |the |your )?(?:current )?(?:CPU|GPU|XPU|ROCm|device|hardware|arch"
        r"|[Ss][Mm]|compute|platform|Hopper|Blackwell|Ampere|Turing)"
        r"|(?:only )?support\w* (?:only )?(?:on|for) (?:\w+ ){0,2}(?:GPU|Hopper|Blackwell|Ampere|SM|sm_?\d"
        r"|devices with|compute)|compute capability|[Rr]equires? (?:\w+ )?(?:[Ss][Mm]_?\d|Hopper|Blackwell)"
        r"|[Ff]ailed to find a kernel|\b0 active drivers|kernel \w+ is not supported|FA[23] is only supported",
    ),
    (
        F.IMPORT_ABI,
        r"^(?:[\w.]*\.)?(?:ModuleNotFoundError|ImportError|PackageNotFoundError|VersionConflict"
        r"|DistributionNotFound)|cannot open shared object|version `GLIBC|No module named|cannot import name"
        r"|operator .{0,80}does not exist|Tried to instantiate class|No package metadata|binary incompatib"
        r"|size changed, may indicate|incompatible with |unexpected keyword argument"
        r"|required positional argument|TypeError: not a string"
        r"|KeyError: '(?:default|rope_type|rope_theta|rope_scaling)'",
    ),
    (
        F.OTHER,
        r"'(?:NoneType|float|int|str|bool|list|tuple|dict|set|function|generator)' object has no attribute",
    ),
    (F.IMPORT_ABI, r"AttributeError: .{0,160}has no attribute"),
)

_GENERAL: tuple[tuple[FailureClass, str], ...] = (
    (F.ILLEGAL_INSTRUCTION, r"^Illegal instruction"),
    (F.ILLEGAL_MEMORY_ACCESS, r"^(?:Segmentation fault|Bus error|general protection fault)|SIGSEGV|protection fault"),
    (
        F.INCOMPATIBLE_CONFIG_ASSERT,
        r"^(?:[\w.]*\.)?(?:AssertionError|NotImplementedError|ValueError|ArgumentError|ValidationError"
        r"|\w*ValidationError)\b|GGML_ASSERT|Check failed|[Aa]ssertion\b|invalid choice"
        r"|unrecognized arguments|the following arguments are required|not (?:yet )?supported|[Uu]nsupported"
        r"|does ?(?:not|NOT|n't) support"
        r"|[Ii]ncompatible|expected .{0,80}got |is not valid|not a valid|expected one argument"
        r"|quantiz\w+ .{0,20}requires "
        r"|must be (?:one of|set|divisible|a multiple|greater|less)|not divisible|argument -",
    ),
)

_Table = tuple[tuple[FailureClass, re.Pattern[str]], ...]


def _compiled(table: tuple[tuple[FailureClass, str], ...]) -> _Table:
    return tuple((class_, re.compile(pattern)) for class_, pattern in table)


_ALONE_TABLE, _SPECIFIC_TABLE, _GENERAL_TABLE = _compiled(_ALONE), _compiled(_ALONE + _SPECIFIC), _compiled(_GENERAL)
_READ = 2000
"""Characters of a message that are searched."""


def _first(table: _Table, text: str) -> FailureClass | None:
    return next((class_ for class_, pattern in table if pattern.search(text)), None)


def telling(text: str) -> FailureClass | None:
    """The class of a line that is a failure by its words alone, whatever printed it; None for any other line."""
    return _first(_ALONE_TABLE, text[:_READ])


def classify(exception: str, message: str, more: str = "", context: str = "") -> FailureClass:
    """The class of an exception's type and message.

    Args:
        more: the lines that followed the message and belong to it.
        context: where it was raised (file and source line), for messages that say nothing by themselves.
    """
    head = f"{exception}: {message}"[:_READ] if exception else message[:_READ]
    return (
        _first(_SPECIFIC_TABLE, head)
        or (more and _first(_SPECIFIC_TABLE, more[:_READ]))
        or (context and _first(_SPECIFIC_TABLE, f"{head} {context}"[:_READ]))
        or _first(_GENERAL_TABLE, head)
        or FailureClass.OTHER
    )
