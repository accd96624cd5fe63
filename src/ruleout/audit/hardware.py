"""Whether the GPU has what the launch will ask for: kernels of its architecture, shared memory, formats.

It takes an engine minutes to find out, and it tells of it in the words of the last library in line.
"""

from __future__ import annotations

from collections.abc import Iterator

from ruleout.audit.hardware_settings import settings, stored_as, traits
from ruleout.audit.hardware_table import Choices, Need, table, within
from ruleout.audit.memory_deployment import release
from ruleout.audit.subject import Subject
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Severity

CPU = "cpu"
"""What stands for a compute capability where there is no GPU."""


def hardware(subject: Subject) -> Iterator[AuditFinding]:
    """The rows of the table that this launch meets on this host."""
    launch, sm = subject.launch, _runs_on(subject)
    if not sm or not launch.engine or not subject.config:
        return
    it, kind = traits(subject.config), stored_as(subject.quantization, launch)
    has = settings(subject)
    memory = table().shared_memory.get(sm)
    if memory is None and sm != CPU:
        what = f"{_name(sm)} is not in the table of GPUs: of what it lacks, little is known here"
        source, component = table().toolkit_source, Component.KERNEL_ARCH_SUPPORT
        yield AuditFinding("hardware-not-known", Severity.NOTE, what, _name(sm), "", source, component)
    for need in table().needs:
        if launch.engine not in need.engines or not need.model <= it:
            continue
        if need.quantization and kind not in need.quantization:
            continue
        if launch.version is not None and not within(release(launch.version), need.versions):
            continue
        if not _meets(need.settings, has) or _excused(need, has, subject):
            continue
        if _lacks(need, sm, memory):
            yield _finding(need, sm, memory, has, known=launch.version is not None or not need.versions)
    if sm in table().toolkits:
        toolkit, name = table().toolkits[sm], _name(sm)
        what = f"{name} needs {toolkit} or newer: torch's own, and that of the nvcc which compiles kernels at the start"
        yield AuditFinding(
            "hardware-toolkit", Severity.NOTE, what, name, "", table().toolkit_source, Component.INSTALL_ABI
        )


def _runs_on(subject: Subject) -> str:
    """The compute capability, or `cpu` where the command says so; empty where nobody does."""
    launch, host = subject.launch, subject.host
    if launch.value("device") == CPU or any(name.startswith("VLLM_CPU_") for name in launch.env):
        return CPU
    return host.sm or "" if host is not None else ""


def _name(sm: str) -> str:
    return f"SM{sm}".replace("SMgfx", "gfx").replace("SMcpu", "CPU")


def _meets(asked: Choices, has: dict[str, set[str]]) -> bool:
    return all(values & has.get(name, set()) for name, values in asked.items())


def _excused(need: Need, has: dict[str, set[str]], subject: Subject) -> bool:
    by_setting = any(values & has.get(name, set()) for name, values in need.unless_settings.items())
    return by_setting or any(
        subject.launch.env.get(name, "").lower() in values for name, values in need.unless_env.items()
    )


def _lacks(need: Need, sm: str, memory: int | None) -> bool:
    if sm == CPU:
        return CPU in need.fails  # what a GPU would have to have is no question there
    if need.shared_memory and (memory is None or memory >= need.shared_memory):
        return False
    if need.works is not None:
        return sm not in need.works
    return sm in need.fails if need.fails else True


def _finding(need: Need, sm: str, memory: int | None, has: dict[str, set[str]], *, known: bool) -> AuditFinding:
    filled = {"{sm}": sm, "{limit}": str(memory), "{needed}": str(need.shared_memory)}
    what = need.what
    for mark, value in filled.items():
        what = what.replace(mark, value)
    what = what.replace("SMgfx", "gfx").replace("SMcpu", "CPU")
    severity = need.severity
    if not known:
        what = f"in releases {need.versions}: {what}"
        severity = Severity.WARNING if severity is Severity.ERROR else severity
    told = [f"{name} {', '.join(sorted(values & has.get(name, set())))}" for name, values in need.settings.items()]
    return AuditFinding(
        f"hardware-{need.id}", severity, what, "; ".join(told) or _name(sm),
        need.remedy, need.source, need.component,
    )  # fmt: skip
