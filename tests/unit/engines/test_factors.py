"""How levels get onto a command, an environment and the requests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ruleout.engines import factors
from ruleout.model import (
    ABSENT,
    PRESENT,
    UNSET,
    Case,
    Configuration,
    Factor,
    Mechanism,
    Mode,
    UsageError,
)


def flag(target: str, *levels: str, baseline: str | None = None, name: str = "f") -> Factor:
    return Factor(name, Mechanism.FLAG, target, levels, baseline or levels[0])


def case(*command: str, factors: tuple[Factor, ...] = (), mode: Mode = Mode.SERVE, **env: str) -> Case:
    return Case("c", "command", command, factors, env=env, mode=mode)


def argv(command: str, factor: Factor, level: str) -> str:
    made = factors.apply(case(*command.split(), factors=(factor,)), Configuration({factor.name: level}))
    return " ".join(made.argv)


DTYPE = flag("--dtype", "auto", "bf16")
SWITCH = flag("--f", ABSENT, PRESENT)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("serve --dtype auto --tp 8", "serve --tp 8 --dtype bf16"),
        ("serve --dtype=auto --tp 8", "serve --tp 8 --dtype bf16"),
        ("serve --dtype auto --tp 8 --dtype=fp8 --dtype fp16", "serve --tp 8 --dtype bf16"),
        ("serve --no-dtype --tp 8", "serve --tp 8 --dtype bf16"),
        ("serve --dtype --tp 8", "serve --tp 8 --dtype bf16"),
        ("serve --tp 8 --dtype", "serve --tp 8 --dtype bf16"),
        ("serve --tp 8", "serve --tp 8 --dtype bf16"),
        ("serve --dtype= --tp 8", "serve --tp 8 --dtype bf16"),
        ("serve --dtype auto model", "serve model --dtype bf16"),
    ],
)
def test_every_occurrence_is_removed_and_the_level_added_at_the_end(command: str, expected: str) -> None:
    assert argv(command, DTYPE, "bf16") == expected


def test_a_level_that_the_command_already_has_is_still_moved_to_the_end() -> None:
    assert argv("serve --dtype auto --tp 8", DTYPE, "auto") == "serve --tp 8 --dtype auto"


@pytest.mark.parametrize(
    "other", ["--dtypes x", "--dtype-x=1", "--kv-dtype a", "--d_type a", "-dtype a", "--no-dtypes"]
)
def test_flags_that_only_look_alike_stay(other: str) -> None:
    assert argv(f"serve {other}", DTYPE, "bf16") == f"serve {other} --dtype bf16"


def test_dashes_and_underscores_are_matched_as_written() -> None:
    assert argv("serve --max_len 8", flag("--max-len", "8", "9"), "9") == "serve --max_len 8 --max-len 9"


def test_a_negative_number_is_a_value_and_goes_with_its_flag() -> None:
    assert argv("serve --seed -1 --tp 8", flag("--seed", "1", "2"), "2") == "serve --tp 8 --seed 2"


def test_a_flag_without_values_leaves_the_positional_behind_it() -> None:
    assert argv("serve --f model", SWITCH, ABSENT) == "serve model"
    assert argv("serve --f model", SWITCH, PRESENT) == "serve model --f"


def test_absent_removes_the_flag_the_command_has_and_adds_nothing() -> None:
    assert argv("serve --no-f x --f", SWITCH, ABSENT) == "serve x"


def test_present_passes_the_flag_bare() -> None:
    assert argv("serve x", SWITCH, PRESENT) == "serve x --f"


def test_a_flag_with_values_and_absent_takes_its_value_along() -> None:
    factor = flag("--attn", ABSENT, "eager")
    assert argv("serve --attn sdpa x", factor, ABSENT) == "serve x"
    assert argv("serve --attn sdpa x", factor, "eager") == "serve x --attn eager"


def test_a_flag_that_the_baseline_passes_bare_owns_only_what_is_one_of_its_levels() -> None:
    factor = flag("--compile", PRESENT, ABSENT, "max")
    assert argv("serve --compile model", factor, ABSENT) == "serve model"
    assert argv("serve --compile max model", factor, PRESENT) == "serve model --compile"


def test_a_short_flag_has_no_negation() -> None:
    assert argv("serve -t 1 --no-t", flag("-t", "1", "2"), "2") == "serve --no-t -t 2"


def test_a_program_that_has_the_name_of_a_flag_stays() -> None:
    assert argv("--dtype x", DTYPE, "auto") == "--dtype x --dtype auto"


def test_what_a_wrapper_is_told_is_no_level_of_the_engine() -> None:
    command = ("nsys", "profile", "--dtype", "x", "vllm", "serve", "m", "--dtype=auto")
    made = factors.apply(Case("c", "vllm", command, (DTYPE,)), Configuration(f="bf16"))
    assert " ".join(made.argv) == "nsys profile --dtype x vllm serve m --dtype bf16"


def test_levels_are_added_in_the_order_of_the_factors() -> None:
    both = (flag("--b", "1", "2", name="b"), flag("--a", "1", "2", name="a"))
    made = factors.apply(case("serve", "--a", "1", "--b", "1", factors=both), Configuration(a="2", b="2"))
    assert made.argv == ("serve", "--b", "2", "--a", "2")


def test_a_factor_the_configuration_does_not_name_is_at_its_baseline() -> None:
    made = factors.apply(case("serve", factors=(DTYPE,)), Configuration())
    assert made.argv == ("serve", "--dtype", "auto")


def test_flags_are_set_the_same_way_on_a_job() -> None:
    made = factors.apply(case("run", "--dtype=auto", factors=(DTYPE,), mode=Mode.JOB), Configuration(f="bf16"))
    assert made.argv == ("run", "--dtype", "bf16")


@pytest.mark.parametrize(
    "command",
    [
        ("bash", "-c", "serve --dtype auto"),
        ("/bin/sh", "-ec", "serve"),
        ("bash", "-l", "-c", "serve"),
        ("timeout", "60", "bash", "-lc", "serve"),
    ],
)
def test_flags_inside_a_shell_script_are_refused_and_a_way_out_is_named(command: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as error:
        factors.apply(case(*command, factors=(DTYPE,)), Configuration(f="auto"))
    assert "factor f: --dtype cannot be set safely" in error.value.what
    assert "list of words" in error.value.remedy


def test_a_shell_that_runs_a_file_gets_the_flags_as_arguments() -> None:
    assert argv("bash --norc run.sh --dtype=auto", DTYPE, "bf16") == "bash --norc run.sh --dtype bf16"


def test_variables_can_be_varied_around_a_shell_script() -> None:
    factor = Factor("v", Mechanism.ENV, "V", (UNSET, "0"), UNSET)
    made = factors.apply(case("bash", "-c", "serve", factors=(factor,), V="1"), Configuration(v="0"))
    assert made.env == {"V": "0"}


def test_unset_removes_a_variable_even_one_that_the_case_sets() -> None:
    factor = Factor("v", Mechanism.ENV, "V", (UNSET, "0"), UNSET)
    made = factors.apply(case("serve", factors=(factor,), V="1", W="2"), Configuration(v=UNSET))
    assert made.env == {"V": None, "W": "2"}


def python(tmp_path: Path, *scripts: str) -> Factor:
    (tmp_path / "bin").mkdir()
    for name in ("python", *scripts):
        (tmp_path / "bin" / name).touch()
    values = {"here": sys.executable, "there": f"{tmp_path}/bin/python"}
    return Factor("v", Mechanism.PYTHON, "", ("here", "there"), "here", values=values)


@pytest.mark.parametrize("first", ["python", "python3", "/usr/bin/python3.11", "/venv/bin/python3"])
def test_another_python_takes_the_place_of_the_python(tmp_path: Path, first: str) -> None:
    assert argv(f"{first} -m x", python(tmp_path), "there") == f"{tmp_path}/bin/python -m x"


@pytest.mark.parametrize("first", ["tool", "/venv/bin/tool"])
def test_a_console_script_becomes_the_one_beside_the_other_python(tmp_path: Path, first: str) -> None:
    assert argv(f"{first} serve", python(tmp_path, "tool"), "there") == f"{tmp_path}/bin/tool serve"


@pytest.mark.parametrize("first", ["tool", "env", "bash", "pythonic"])
def test_a_program_that_is_not_beside_the_other_python_is_refused(tmp_path: Path, first: str) -> None:
    with pytest.raises(UsageError, match=f"factor v: {first} is neither"):
        argv(f"{first} serve", python(tmp_path, "bash", "env"), "there")


def test_a_level_without_an_interpreter_is_refused() -> None:
    with pytest.raises(UsageError, match="names no interpreter"):
        argv("python x", Factor("v", Mechanism.PYTHON, "", ("a",), "a"), "a")


@pytest.mark.parametrize("mechanism", [Mechanism.PATCH, Mechanism.OVERRIDE, Mechanism.CACHE])
def test_mechanisms_that_are_not_there_yet_are_told_in_two_lines(mechanism: Mechanism) -> None:
    factor = Factor("smem_fix", mechanism, "", ("off", "on"), "off")
    with pytest.raises(UsageError) as error:
        factors.apply(case("serve", factors=(factor,)), Configuration(smem_fix="off"))
    assert error.value.what == f"factor smem_fix: {mechanism} is not supported yet with engine command"
    assert error.value.remedy


def test_a_level_that_cannot_be_set_is_found_before_the_first_trial(tmp_path: Path) -> None:
    good = case("python", "x", factors=(DTYPE,))
    factors.check(good)
    factor = Factor("v", Mechanism.PYTHON, "", ("a", "b"), "a", values={"a": sys.executable})
    with pytest.raises(UsageError, match="level 'b' names no interpreter"):
        factors.check(case("python", "x", factors=(factor,)))


def test_a_case_without_a_command_is_refused() -> None:
    with pytest.raises(UsageError, match="has no command"):
        factors.apply(case(), Configuration())
