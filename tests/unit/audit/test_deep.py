"""Numbers that no model has are found at any place of any tensor, in bounded memory, with the progress told."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.support.checkpoints import LISTED, Tiny, floats, library_wrote, write_file

from ruleout.audit import ModelFolder, audit
from ruleout.audit.deep_reading import CHUNK, statistics
from ruleout.audit.tensors import read_header
from ruleout.audit.tensors_dtypes import decoded, eight_bit
from ruleout.model.audit import TensorStatistics

HEALTHY = ("glm", "glm_split", "llama", "qwen2", "qwen3", "deepseek")
QUANTISED = ("llama_nvfp4", "llama_nvfp4a16", "llama_fp8")
assert LISTED.is_file()


def ids(made: Tiny, folder: Path) -> set[str]:
    found = audit(ModelFolder(made.write(folder)), deep=lambda done, total: None).findings
    return {finding.id for finding in found if finding.id.startswith("deep")}


def _at(made: Tiny, name: str, chance: random.Random, value: bytes) -> None:
    """Puts bytes over one element of a tensor."""
    dtype, shape, data = made.tensors[name]
    place = chance.randrange(len(data) // len(value)) * len(value)
    made.tensors[name] = (dtype, shape, data[:place] + value + data[place + len(value) :])


def _floats(made: Tiny) -> list[str]:
    return sorted(name for name, (dtype, _, _) in made.tensors.items() if dtype in ("F32", "BF16", "F16"))


def _nan(made: Tiny, chance: random.Random) -> None:
    name = chance.choice(_floats(made))
    _at(made, name, chance, floats([chance.choice([np.nan, -np.nan])], made.tensors[name][0]))


def _infinite(made: Tiny, chance: random.Random) -> None:
    name = chance.choice(_floats(made))
    _at(made, name, chance, floats([chance.choice([np.inf, -np.inf])], made.tensors[name][0]))


def _nan_byte(made: Tiny, chance: random.Random) -> None:
    name = chance.choice(sorted(name for name, (dtype, _, _) in made.tensors.items() if dtype == "F8_E4M3"))
    _at(made, name, chance, chance.choice([b"\x7f", b"\xff"]))


def _scales(made: Tiny) -> list[str]:
    return sorted(name for name in made.tensors if "scale" in name.rpartition(".")[2])


def _zero_scale(made: Tiny, chance: random.Random) -> None:
    name = chance.choice(_scales(made))
    dtype = made.tensors[name][0]
    _at(made, name, chance, b"\0" if dtype == "F8_E4M3" else floats([0.0], dtype))


def _absurd_scale(made: Tiny, chance: random.Random) -> None:
    name = chance.choice([name for name in _scales(made) if made.tensors[name][0] in ("F32", "BF16")])
    dtype, shape, _data = made.tensors[name]
    made.tensors[name] = (dtype, shape, floats(np.full(int(np.prod(shape)), chance.choice([1e12, 1e-12])), dtype))


def _weights(made: Tiny) -> list[str]:
    return [name for name in _floats(made) if len(made.tensors[name][1]) > 1 and "scale" not in name]


def _all_zero(made: Tiny, chance: random.Random) -> None:
    name = chance.choice(_weights(made))
    dtype, shape, data = made.tensors[name]
    made.tensors[name] = (dtype, shape, bytes(len(data)))


def _constant(made: Tiny, chance: random.Random) -> None:
    name = chance.choice(_weights(made))
    dtype, shape, _data = made.tensors[name]
    made.tensors[name] = (dtype, shape, floats(np.full(int(np.prod(shape)), chance.choice([-0.5, 0.02])), dtype))


def _garbage(made: Tiny, chance: random.Random) -> None:
    name = chance.choice(_weights(made))
    _at(made, name, chance, floats([3e37], made.tensors[name][0]))


DAMAGE: dict[str, tuple[Callable[[Tiny, random.Random], None], str, tuple[str, ...]]] = {
    "a NaN": (_nan, "deep-not-finite", (*HEALTHY, *QUANTISED)),
    "an infinity": (_infinite, "deep-not-finite", (*HEALTHY, *QUANTISED)),
    "an 8-bit NaN": (_nan_byte, "deep-not-finite", QUANTISED),
    "a zero scale": (_zero_scale, "deep-zero-scale", QUANTISED),
    "an absurd scale": (_absurd_scale, "deep-absurd-scale", QUANTISED),
    "all zero": (_all_zero, "deep-all-zero", HEALTHY),
    "constant": (_constant, "deep-constant", HEALTHY),
    "garbage": (_garbage, "deep-absurd", HEALTHY),
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", DAMAGE)
def test_a_number_that_no_model_has_is_found_anywhere(kind: str, seed: int, tmp_path: Path) -> None:
    damage, expected, models = DAMAGE[kind]
    chance = random.Random(f"{kind} {seed}")
    made = library_wrote(chance.choice(models), np.random.default_rng(seed))
    damage(made, chance)
    assert expected in ids(made, tmp_path)


def test_joined_layers_with_two_global_scales_are_found(tmp_path: Path) -> None:
    made = library_wrote("llama_nvfp4", np.random.default_rng(0))
    made.tensors["model.layers.1.mlp.up_proj.weight_global_scale"] = ("F32", (1,), floats([299.0], "F32"))
    assert ids(made, tmp_path) == {"deep-joined-scales"}


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16", "F8_E4M3", "F8_E5M2"])
def test_statistics_are_those_of_the_decoded_numbers(dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    if dtype.startswith("F8"):
        data = rng.integers(0, 256, 70_001, dtype=np.uint8)
    else:
        data = np.frombuffer(floats(rng.standard_normal(70_001), dtype), np.uint8).copy()
        data[: len(data) // 10 // 4 * 4] = 0
    values = decoded(data, dtype).astype(np.float64)
    found = only(tmp_path, dtype, (values.size,), data.tobytes())
    finite = values[np.isfinite(values)]
    assert found.nan == np.count_nonzero(np.isnan(values))
    assert found.inf == np.count_nonzero(np.isinf(values))
    assert found.zeros == np.count_nonzero(values == 0)
    assert found.largest == np.abs(finite).max()
    assert found.smallest == np.abs(finite).min()
    assert not found.constant


def only(folder: Path, dtype: str, shape: tuple[int, ...], data: bytes) -> TensorStatistics:
    write_file(folder / "one.safetensors", {"t": (dtype, shape, data)})
    model = ModelFolder(folder)
    (found,) = statistics(model, read_header(model, "one.safetensors"), lambda done, total: None, 0, 1)
    return found


def test_eight_bit_floats_are_decoded_as_specified() -> None:
    e4m3, e5m2, e8m0 = eight_bit("F8_E4M3"), eight_bit("F8_E5M2"), eight_bit("F8_E8M0")
    assert (e4m3[0x7E], e4m3[0x38], e4m3[0x01], e4m3[0xB8]) == (448, 1, 2.0**-9, -1)
    assert np.isnan(e4m3[0x7F])
    assert np.isnan(e4m3[0xFF])
    assert (e5m2[0x7B], e5m2[0x3C], e5m2[0x01]) == (57344, 1, 2.0**-16)
    assert np.isposinf(e5m2[0x7C])
    assert (e8m0[127], e8m0[128], e8m0[0]) == (1, 2, np.float32(2.0**-127))
    assert np.isnan(e8m0[255])


def test_a_constant_is_seen_over_all_chunks(tmp_path: Path) -> None:
    count = CHUNK // 2 + 1000
    same = np.full(count, 0x3F80, dtype="<u2")
    assert only(tmp_path, "BF16", (count,), same.tobytes()).constant
    same[-1] = 0x3F81
    assert not only(tmp_path, "BF16", (count,), same.tobytes()).constant


def test_reading_takes_the_same_memory_however_large_a_tensor_is(tmp_path: Path) -> None:
    file = tmp_path / "large.safetensors"
    size = 40 * CHUNK
    write_file(file, {}, header={"t": {"dtype": "BF16", "shape": [size // 2], "data_offsets": [0, size]}})
    with file.open("ab") as stream:
        stream.truncate(stream.tell() + size)
    model = ModelFolder(tmp_path)
    told: list[tuple[int, int]] = []
    tracemalloc.start()
    try:
        (found,) = statistics(model, read_header(model, file.name), lambda *at: told.append(at), 0, size)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.zeros == size // 2
    assert peak < 4 * CHUNK
    assert told[-1] == (size, size)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
