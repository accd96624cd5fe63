"""Clues about what a start needs: packages, hardware, files, and arguments that are possible."""

from __future__ import annotations

from ruleout.diagnosis.clue import NEAR, RAN, RUNTIME, SAID, SILENT, C, Clue, F, P, clue

START: tuple[Clue, ...] = (
    # Packages that do not fit each other.
    clue(
        NEAR,
        r"'\w*(?:Config|Processor)' object has no attribute|Tokenizer\w*'? (?:object )?has no attribute"
        r"|ROPE_INIT_FUNCTIONS|CONFIG_MAPPING|does not recognize this architecture",
        {C.TRANSFORMERS_VERSION: 3.0},
        "transformers offers less, or something else, than the code expects",
    ),
    clue(
        NEAR,
        r"from 'transformers|No module named 'transformers\.|transformers[/.]\S*.{0,80}(?:ImportError|cannot import)",
        {C.TRANSFORMERS_VERSION: 3.5},
        "an import from transformers fails",
    ),
    clue(
        NEAR,
        r"(?i)undefined symbol|cannot open shared object|DLL load failed|version `GLIBC|common_ops|\b_C\b.*ImportError"
        r"|ImportError'? object|No module named '(?!transformers)|symbol not found|torch::class_"
        r"|operator \S+ does not exist|package metadata|Failed to import|is not installed|pip install"
        r"|_OpNamespace|module '(?!transformers)[\w.]+' has no attribute",
        {C.INSTALL_ABI: 3.0},
        "a compiled part cannot be loaded, or a package is missing",
    ),
    clue(
        SAID,
        r"(?i)cannot import name (?!.*from 'transformers)|ImportError|ModuleNotFoundError|libcud\w+\.so|libtorch",
        {C.INSTALL_ABI: 1.5},
        "an import fails",
        {F.IMPORT_ABI, F.MISSING_SYMBOL, F.OTHER},
    ),
    clue(
        NEAR,
        r"(?i)no kernel image",
        {C.INSTALL_ABI: 1.5, C.KERNEL_ARCH_SUPPORT: 1.0},
        "the package was built for other hardware",
    ),
    clue(
        NEAR,
        r"(?i)kernel image is invalid|unsupported toolchain|driver version is insufficient"
        r"|Unsupported gpu architecture '|nvcc.{0,40}not found|CUDA_HOME|Value '\w+' is not defined for option"
        r"|invalid value for --gpu-architecture|installed CUDA driver|NVIDIA driver on your system",
        {C.INSTALL_ABI: 3.0},
        "the CUDA toolkit, its driver and the code do not go together",
    ),
    clue(
        (P.ENVIRONMENT,),
        r"^engine=transformers$",
        {C.TRANSFORMERS_VERSION: 2.0},
        "the model's code comes with transformers",
        {F.SHAPE_MISMATCH, F.IMPORT_ABI, F.INCOMPATIBLE_CONFIG_ASSERT, F.WRONG_OUTPUT},
    ),
    # The tokenizer and its template.
    clue(
        NEAR,
        r"(?i)slow_tokenizer|sentencepiece|sp_model|spm_processor|TokenizersBackend|tokenizer\.(?:json|model)"
        r"|chat[_ ]template|jinja2?\b|tool[_-]call[_-]parser.{0,40}(?:error|fail)|apply_chat",
        {C.TOKENIZER_TEMPLATE: 3.0, C.TRANSFORMERS_VERSION: 0.5},
        "it happens in the tokenizer or its template",
        {F.IMPORT_ABI, F.OTHER, F.WRONG_OUTPUT, F.MISSING_WEIGHTS, F.INCOMPATIBLE_CONFIG_ASSERT},
    ),
    # Positions.
    clue(
        NEAR,
        r"(?i)\brope\b|rope_(?:theta|scaling|parameters|interleave|type)|rotary|yarn|mrope",
        {C.ROPE_CONFIG: 2.5, C.TRANSFORMERS_VERSION: 1.0},
        "RoPE settings are spoken of",
    ),
    # Kernels that were not made for this hardware.
    clue(
        NEAR,
        r"(?i)unsupported arch|not compatible with .*architecture|(?:only )?supported (?:only )?(?:on|for) (?:devices?"
        r"|GPUs?|Blackwell|Hopper|Ampere|SM)|compute capability (?:not|>=|\d.*requir)|no execution plans"
        r"|arch(?:itecture)? condition|SM\d+.only|not supported on (?:CPU|SM|this (?:GPU|device|platform))"
        r"|requires? (?:sm|compute|Hopper|Blackwell)",
        {C.KERNEL_ARCH_SUPPORT: 2.0},
        "a kernel does not support this hardware",
    ),
    clue(
        NEAR,
        r"(?i)sm_?1[0-3][0-9]a?f?\b|compute_1[0-3]\d|TMA WS|tcgen05|UE8M0=False|\bGDC\b|\bPDL\b|gfx1\d\d\d|gfx9\d\d"
        r"|get_device_capability|Cannot implement|can_implement",
        {C.KERNEL_ARCH_SUPPORT: 1.5},
        "kernels of one hardware generation are spoken of ({0})",
    ),
    clue(
        RAN,
        r"\bsm=1[12]\d?\b",
        {C.KERNEL_ARCH_SUPPORT: 1.0},
        "consumer Blackwell ({0}): many kernels are built for SM90 and SM100 only",
        frozenset({*RUNTIME, F.UNSUPPORTED_ARCH, F.SHARED_MEMORY, F.NO_KERNEL_IMAGE, F.COMPILE_ERROR}),
    ),
    clue(
        RAN,
        r"(?:fp4[_-]gemm|moe|linear)\S*[_-]backend[ =]flashinfer_cutlass|modelopt_fp4",
        {C.KERNEL_ARCH_SUPPORT: 1.0},
        "CUTLASS FP4 kernels, compiled on the spot for this hardware ({0})",
        SILENT,
    ),
    clue(
        NEAR,
        r"(?i)out of resources?: shared memory|OutOfResources|shared memory resources|dynamic shared memory size",
        {C.KERNEL_ARCH_SUPPORT: 1.5},
        "a kernel's tiles are larger than this GPU's shared memory",
    ),
    # Weights.
    clue(
        NEAR,
        r"(?i)safetensors|missing (?:keys|weights|shard)|not initialized from|size mismatch for|HeaderTooLarge|lm_head"
        r"|incomplete metadata|checkpoint (?:shard|is missing|has)|load weights? (?:\(|of size)|load_weights"
        r"|weight_loader"
        r"|loaded_weight|state_dict|no module or parameter named",
        {C.WEIGHTS_CHECKPOINT: 1.5},
        "weights are being loaded",
        {F.SHAPE_MISMATCH, F.MISSING_WEIGHTS, F.QUANT_FORMAT_MISMATCH, F.OTHER, F.IMPORT_ABI, F.WRONG_OUTPUT},
    ),
    # What was asked for cannot be.
    clue(
        NEAR,
        r"(?i)unrecognized arguments|invalid choice|(?:must|should) be (?:divisible|a multiple|one of|greater|less|set)"
        r"|Invalid (?:value|repository|backend)|No such file or directory|Permission denied"
        r"|address already in use|Repo id must|gated repo|mutually exclusive",
        {C.USER_CONFIG: 2.5},
        "what was asked for cannot be",
    ),
    clue(
        SAID,
        r"(?i)not divisible",
        {C.USER_CONFIG: 1.5},
        "sizes do not divide",
    ),
    clue(
        SAID,
        r"(?i)unrecognized arguments|invalid choice|Unknown \w+ backend|Valid options|error: argument"
        r"|unexpected keyword",
        {C.USER_CONFIG: 2.5, C.ATTENTION_BACKEND: -1.0},
        "the engine does not know what was asked for",
    ),
    clue(
        SAID,
        r"(?i)validation error|Field '\w+' expected|expected \w+, got NoneType|directory not found|Invalid config",
        {C.USER_CONFIG: 1.5, C.TRANSFORMERS_VERSION: 0.8},
        "a field of the configuration is missing or of another type",
        {F.INCOMPATIBLE_CONFIG_ASSERT, F.OTHER, F.IMPORT_ABI},
    ),
    # Libraries below the engine.
    clue(
        NEAR,
        r"(?i)\bcudnn_generated|cublas(?:Lt)?(?:Create|GemmEx|_STATUS)|inductor|triton/compiler|ptxas"
        r"|misaligned address",
        {C.OTHER: 1.8, C.INSTALL_ABI: 0.5},
        "a library below the engine is involved ({0})",
        frozenset({*RUNTIME, F.COMPILE_ERROR}),
    ),
)
