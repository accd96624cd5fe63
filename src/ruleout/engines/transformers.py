"""`transformers serve`, as of 5.2 to 5.24.

Two things differ from the other servers. It answers `/health` as soon as it listens, which is before the model is
loaded unless the command forces one. And under continuous batching 5.2 encodes its answers twice: the body is a JSON
string that holds the JSON. The model is `--force-model` (until 5.4) or the argument of `serve` (from 5.5 on, which
refuses a request that names any other); completions it answers through chat alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from ruleout.engines import openai
from ruleout.engines.installed import release_of
from ruleout.engines.recognising import recognise
from ruleout.engines.serving import Server
from ruleout.model import Stage, arguments

_FORCED = "--force-model"


def _as_release_takes_it(argv: tuple[str, ...], env: Mapping[str, str], cwd: str | None) -> tuple[str, ...]:
    """The model where the installed release takes it: a flag until 5.4, the argument of `serve` from 5.5 on.

    So a trial with another release is one of the same deployment. As it is where the release is not at hand.
    """
    found = recognise(argv)
    release = release_of("transformers", found, env, cwd) or ""
    model = arguments.value_of(argv, _FORCED)
    major, _, rest = release.partition(".")
    minor = rest.partition(".")[0]
    if model is None or not (major.isdecimal() and minor.isdecimal()) or (int(major), int(minor)) < (5, 5):
        return argv
    begin = found.arguments
    return (*argv[:begin], model, *arguments.without(argv, _FORCED)[begin:])


TRANSFORMERS = Server(
    name="transformers",
    called="transformers serve",
    # Requests are announced from 5.24 on; 5.2 logs nothing when one arrives. Neither says when decoding begins.
    stages={
        Stage.MODEL_CONFIG: r"^(\[transformers\] )?(Loading \S+$|loading configuration file (.*/)?config\.json)",
        Stage.WEIGHT_LOAD: r"loading weights file |Loading weights:|Loading checkpoint shards:",
        Stage.READY: r"^INFO: +Uvicorn running on ",
        Stage.PREFILL: r"\[Request received\] Model: ",
        Stage.SHUTDOWN: r"^INFO: +Shutting down$",
    },
    ready_path="/health",
    model_flags=(_FORCED,),
    spelt=_as_release_takes_it,
    completions=openai.CHAT,
    offline={"HF_HUB_OFFLINE": "1"},
    pages=("/health",),
)
"""The adapter."""
