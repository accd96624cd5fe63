"""A fake libnvidia-ml: one GPU that is not there, with one process on it, compiled from a few lines of C."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = r"""
/* A fake NVML for tests. Nothing here asks any driver. */
#include <string.h>
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { unsigned pid; unsigned long long used; unsigned instance, compute; } Running;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = (void *)1; return index ? 2 : 0; }
int nvmlDeviceGetName(void *device, char *text, unsigned size) { strncpy(text, "Fake GPU", size); return 0; }
int nvmlDeviceGetUUID(void *device, char *text, unsigned size) { strncpy(text, "GPU-fake-0", size); return 0; }
int nvmlDeviceGetMemoryInfo(void *device, Memory *memory) {
    memory->total = 80ULL << 30; memory->used = (unsigned long long)GIB << 30;
    memory->free = memory->total - memory->used;
    return 0;
}
int nvmlDeviceGetUtilizationRates(void *device, Utilization *load) { load->gpu = 97; load->memory = 50; return 0; }
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) { *celsius = 41; return 0; }
int nvmlDeviceGetTotalEccErrors(void *device, int kind, int since, unsigned long long *count) { return 3; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, Running *table) {
    *count = PID ? 1 : 0;
    table[0].pid = PID; table[0].used = (unsigned long long)GIB << 30;
    return 0;
}
"""


def compile_nvml(folder: Path, memory_gib: int, pid: int) -> Path:
    """The folder with the library in it, for LD_LIBRARY_PATH. Skips where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here")
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "nvml.c"
    source.write_text(SOURCE)
    library = folder / "libnvidia-ml.so.1"
    define = [f"-DGIB={memory_gib}", f"-DPID={pid}"]
    subprocess.run([compiler, "-shared", "-fPIC", *define, "-o", str(library), str(source)], check=True)
    return folder
