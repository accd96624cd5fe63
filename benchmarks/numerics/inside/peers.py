# mypy: disable-error-code="import-not-found"
"""What else finds the first bad number, each used as its own documentation says."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.numerics.inside.looking import Answer, Instrument, Modules, Operations, all_finite, named, no_nan
from torch import nn


class Underflow(Instrument):
    """transformers' DebugUnderflowOverflow: raises at the first bad weight, input or output of a module."""

    def start(self, model: nn.Module) -> None:
        from transformers.debug_utils import DebugUnderflowOverflow

        self._said, self._model, self._at = io.StringIO(), model, 0.0
        self._quiet = contextlib.ExitStack()
        self._quiet.enter_context(contextlib.redirect_stdout(self._said))
        self._debug = DebugUnderflowOverflow(model, max_frames_to_save=2)
        dump = self._debug.dump_saved_frames

        def dumped() -> None:
            self._at = self._at or time.monotonic()
            dump()

        self._debug.dump_saved_frames = dumped

    def stop(self) -> None:
        self._quiet.close()
        for module in self._model.modules():
            for key, hook in list(module._forward_hooks.items()):
                if hook == self._debug.forward_hook:
                    del module._forward_hooks[key]
        if self._debug.detected_overflow:
            report = self._said.getvalue().split("Detected inf/nan during")[1]
            titles = [line.split() for line in report.splitlines() if line.startswith(self._debug.prefix)]
            self.answer = Answer([words[0] for words in titles if "***" not in words][-1], at=self._at)


class PlainDispatch(Modules):
    """A dispatch mode over everything: the first operation that makes a bad number from good ones."""

    only_nan = False

    def start(self, model: nn.Module) -> None:
        super().start(model)
        self._mode = Operations(self._look, no_nan if self.only_nan else all_finite)
        self._mode.__enter__()

    def stop(self) -> None:
        self._mode.__exit__(None, None, None)
        super().stop()

    def _look(self, name: str) -> None:
        if self.answer is None:
            self.answer = Answer(self.running[-1], name, phase=self.phase, step=self.step)


class PlainNan(PlainDispatch):
    """The same, deaf to infinities: the first operation that makes a NaN from none."""

    only_nan = True


class Debugging(Instrument):
    """torch's DebugMode with its record of modules, and a hook that asks of every call whether its output is finite."""

    @staticmethod
    def load() -> None:
        import torch.distributed.tensor
        import torch.utils._debug_mode  # noqa: F401

    def start(self, model: nn.Module) -> None:
        from torch.utils._debug_mode import DebugMode

        self._stack = contextlib.ExitStack()
        self._mode = self._stack.enter_context(DebugMode(record_nn_module=True))
        self._stack.enter_context(DebugMode.dispatch_hooks(record_hook=self._look))

    def _look(self, func: Any, types: Any, args: Any, kwargs: Any, result: Any) -> dict[str, Any]:
        if self.answer is None and not all_finite(result):
            stack = self._mode.current_nn_module_stack
            self.answer = Answer(stack[-1].partition(".")[2] if stack else "", named(func))
        return {}

    def stop(self) -> None:
        self._stack.close()


class Probe(Instrument):
    """msprobe: statistics of every module and call into a file; the first entry whose output has a NaN or infinity."""

    @staticmethod
    def load() -> None:
        import msprobe.pytorch  # noqa: F401

    def start(self, model: nn.Module) -> None:
        from msprobe.pytorch import PrecisionDebugger

        with contextlib.redirect_stdout(io.StringIO()):
            self._folder = tempfile.TemporaryDirectory()
            self._model = model
            self._debugger = PrecisionDebugger(task="statistics", level="mix", dump_path=self._folder.name)
            self._debugger.start(model=model)

    def stop(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            self._debugger.stop()
            self._debugger.step()
        entries: dict[str, Any] = {}
        for file in sorted(Path(self._folder.name).rglob("dump.json")):
            entries |= json.loads(file.read_text()).get("data", {})
        self._folder.cleanup()
        module = ""
        for name, entry in entries.items():
            if not _statistics_finite(entry.get("output")):
                parts = name.split(".")
                if name.startswith("Module."):
                    module = ".".join(parts[1:-3])
                    self.answer = self.answer or Answer(module)
                elif self.answer is None:
                    self.answer = Answer("", parts[1])
                if self.answer and module:
                    self.answer.module = module
                    break


def _statistics_finite(given: Any) -> bool:
    if isinstance(given, list):
        return all(map(_statistics_finite, given))
    if isinstance(given, dict):
        return all(str(given.get(key)).lower() not in ("nan", "inf", "-inf") for key in ("Max", "Min"))
    return True


INSTRUMENTS: dict[str, Any] = {
    "nothing": Instrument,
    "ruleout": Instrument,
    "DebugUnderflowOverflow": Underflow,
    "DebugMode": Debugging,
    "dispatch mode": PlainDispatch,
    "dispatch mode, NaN only": PlainNan,
    "msprobe": Probe,
}
"""ruleout's own tracer is in the process already, so there is nothing to start."""
