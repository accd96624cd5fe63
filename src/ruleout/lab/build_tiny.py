# mypy: disable-error-code="import-not-found"
"""Builds the demo's tiny checkpoints. It runs inside an engine's environment and imports nothing of ours.

    python build_tiny.py FOLDER        makes FOLDER/glm-tiny and FOLDER/llama-tiny

Both are real architectures with random weights, a few megabytes each. Two things make their text tell something:
weights are drawn wide (with the usual 0.02 the next token hardly depends on the position), and the output rows of the
special tokens are zero, so that no healthy answer ends before it is as long as asked.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # before the import: nothing here needs the network

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    GenerationConfig,
    GlmMoeDsaConfig,
    LlamaConfig,
    PreTrainedTokenizerFast,
)

SEED = 0
SPREAD = 0.2
VOCABULARY = 512
SHARD = "1MB"
BOS, EOS, PAD = "<|bos|>", "<|endoftext|>", "<|pad|>"
SPECIAL = [BOS, EOS, PAD, "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)

COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_attention_heads": 4,
    "initializer_range": SPREAD,
}


def configurations() -> dict[str, Any]:
    """The configuration of each model, by the name of its folder."""
    glm = GlmMoeDsaConfig(
        **COMMON,
        num_hidden_layers=4,
        num_key_value_heads=4,
        mlp_layer_types=["dense", "sparse", "sparse", "sparse"],
        moe_intermediate_size=64,
        n_shared_experts=1,
        n_routed_experts=8,
        num_experts_per_tok=2,
        n_group=1,
        topk_group=1,
        routed_scaling_factor=2.5,
        norm_topk_prob=True,
        q_lora_rank=64,
        kv_lora_rank=64,
        qk_nope_head_dim=32,
        qk_rope_head_dim=32,
        v_head_dim=32,
        index_topk=16,
        index_head_dim=64,
        index_n_heads=4,
    )
    llama = LlamaConfig(**COMMON, num_hidden_layers=3, num_key_value_heads=2, head_dim=32)
    return {"glm-tiny": glm, "llama-tiny": llama}


def tokenizer() -> Any:
    """A byte-level BPE tokenizer trained on modules of the standard library, with a chat template."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    texts = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("[a-d]*.py"))[:20]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    bpe.train([str(text) for text in texts], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token=BOS,
        eos_token=EOS,
        pad_token=PAD,
        additional_special_tokens=SPECIAL[3:],
        model_max_length=4096,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def model(config: Any) -> Any:
    """A model with weights from a seeded generator of our own, so that they do not depend on the library's version."""
    made = AutoModelForCausalLM.from_config(config).to(torch.float32).eval()
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, weight in sorted(made.named_parameters()):
            if weight.dim() > 1:
                weight.copy_(torch.randn(weight.shape, generator=generator) * SPREAD)
            if name == "lm_head.weight":
                weight[: len(SPECIAL)] = 0
        for name, buffer in sorted(made.named_buffers()):
            if name.endswith("e_score_correction_bias"):
                buffer.copy_(torch.randn(buffer.shape, generator=generator) * 0.05)
    return made


def main(folder: Path) -> None:
    """Writes both checkpoints."""
    words = tokenizer()
    greedy = GenerationConfig(bos_token_id=0, eos_token_id=1, pad_token_id=2, do_sample=False)
    for name, config in configurations().items():
        target = folder / name
        model(config).save_pretrained(target, max_shard_size=SHARD)
        words.save_pretrained(target)
        greedy.save_pretrained(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
