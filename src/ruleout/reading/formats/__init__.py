"""One file per log format, behind the protocol in `base`; `FORMATS` is the whole list."""

from ruleout.reading.formats.base import Format, LogFormat, Says
from ruleout.reading.formats.generic import GENERIC
from ruleout.reading.formats.llamacpp import LLAMACPP
from ruleout.reading.formats.lmdeploy import LMDEPLOY
from ruleout.reading.formats.sglang import SGLANG
from ruleout.reading.formats.tensorrt_llm import TENSORRT_LLM
from ruleout.reading.formats.transformers import TRANSFORMERS
from ruleout.reading.formats.vllm import VLLM

FORMATS: tuple[LogFormat, ...] = (SGLANG, VLLM, TENSORRT_LLM, LMDEPLOY, LLAMACPP, TRANSFORMERS, GENERIC)
"""Every format, the generic one last."""

__all__ = ["FORMATS", "Format", "LogFormat", "Says"]
