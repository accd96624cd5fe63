"""`ruleout audit` as a verb: what it exits with, what it says of what it cannot read, and that its screen fits."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest
from tests.support.models import model, spoil
from tests.support.rope_variants import CHANGES, GLM, changed

from ruleout.interfaces.cli.auditing import SCREEN, screen
from ruleout.interfaces.cli.host import described
from ruleout.interfaces.cli.main import run
from ruleout.model.audit import Audit, AuditFinding, Host, MemoryNeed, ModelFacts, Severity
from ruleout.model.errors import UsageError

BOTH = changed(CHANGES["both: rope_parameters + rope_scaling yarn f4"])


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run(["audit", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found = json.loads(told(capsys, *arguments, "--json")[1])
    assert isinstance(found, dict)
    assert next(iter(found.items())) == ("schema", "ruleout.audit/1")
    return found


def test_it_exits_1_when_an_error_was_found_and_0_when_none_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = model(tmp_path / "m")
    assert told(capsys, str(folder))[0] == 0
    spoil(folder / "config.json", **BOTH)
    status, out, err = told(capsys, str(folder))
    assert (status, err) == (1, "")
    assert "rope-theta-reset" in out
    assert "config.json: rope_scaling" in out


def test_a_command_in_quotes_is_the_same_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(model(tmp_path / "m"))
    words = ["vllm", "serve", folder, "--dtype", "bf16"]
    as_words, as_one = (told(capsys, folder, "--", *command)[1] for command in (words, [" ".join(words)]))
    assert as_words == as_one
    assert "command-word" in as_one
    assert told(capsys, folder, "--", "vllm serve 'a")[0] == 0


def test_the_document_has_the_keys_of_its_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, str(model(tmp_path / "m", BOTH)))
    assert {"schema", "model", "findings", "memory", "rope", "against"} <= set(found)
    assert found["model"]["model_type"] == "glm_moe_dsa"
    assert {"id", "severity", "what", "where", "remedy", "source"} <= set(found["findings"][0])
    assert set(found["rope"]) == {"transformers-4.57", "transformers-5.2", "transformers-5.24", "vllm", "sglang"}
    assert found["rope"]["vllm"]["outcome"] == "different"
    assert set(found["rope"]["vllm"]["angle_error"]) == {"1k", "8k", "128k"}


def test_numbers_that_json_does_not_have_are_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = model(tmp_path / "m")
    (folder / "config.json").write_text(json.dumps({**GLM, "rope_parameters": {"rope_theta": float("inf")}}))
    status, out, _ = told(capsys, str(folder), "--json")
    assert "Infinity" not in out
    assert json.loads(out)["rope"]["vllm"]["parameters"]["rope_theta"] == "inf"
    assert status == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "no such folder"),
        (["zai-org/GLM-5"], "a name on a hub is no folder"),
        ([""], "no such folder"),
        (["a\0b"], "not the name of a folder"),
        (["FILE"], "not a folder"),
        (["EMPTY"], "no config.json in there"),
        (["MODEL", "--host", "sm=120,gpus=eight"], "number of GPUs"),
        (["MODEL", "--host", "cores=4"], "is none of sm="),
        (["MODEL", "--host", "memory=96"], "size with its unit"),
        (["MODEL", "--engine", "ollama"], "not one of sglang"),
        (["MODEL", "--engine", "vllm==abc"], "is no version"),
        (["MODEL", "--host", "memory=80"], "no size with its unit"),
        (["MODEL", "--engine", "vllm", "--", "python", "-m", "sglang.launch_server"], "the command starts sglang"),
        (["MODEL", "--against", "nowhere.json"], "not there"),
        ([], "Missing argument"),
    ],
)
def test_what_is_wrong_is_told_in_two_lines(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    model(tmp_path / "MODEL")
    (tmp_path / "EMPTY").mkdir()
    (tmp_path / "FILE").write_text("")
    status, out, err = told(capsys, *arguments)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 2
    assert words in err


def test_a_host_is_described_in_words() -> None:
    assert described("sm=120,gpus=8,memory=96GiB") == Host("120", 8, 96 << 30)
    assert described("sm=12.0") == Host("120", 1, 0)
    assert described("sm=SM_90a, gpus=4, memory=80GB") == Host("90", 4, 80 * 10**9)
    assert described("sm=gfx942") == Host("gfx942", 1, 0)
    for wrong in ("", "sm=", "sm=blackwell", "gpus=0", "memory=much", "memory=0", "sm=90,sm=80", "gpus=²"):
        with pytest.raises(UsageError):
            described(wrong)


def test_a_corrected_copy_is_written_beside_the_original_and_never_over_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = model(tmp_path / "m", BOTH)
    before = (folder / "config.json").read_bytes()
    status, _, err = told(capsys, str(folder), "--fix")
    assert status == 1
    assert "rope_scaling is now in rope_parameters" in err
    assert (folder / "config.json").read_bytes() == before
    copy = folder / "config.fixed.json"
    corrected = json.loads(copy.read_text())
    assert "rope_scaling" not in corrected
    assert corrected["rope_parameters"]["rope_theta"] == 1e6
    written = copy.read_bytes()
    status, _, err = told(capsys, str(folder), "--fix")
    assert status == 2
    assert "exists already" in err
    assert copy.read_bytes() == written
    os.replace(copy, folder / "config.json")
    again = document(capsys, str(folder))
    own_ways = ("transformers-4.57", "transformers-5.2")
    assert {reading["outcome"] for name, reading in again["rope"].items() if name not in own_ways} == {"same"}


def test_a_link_where_the_copy_would_go_is_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = model(tmp_path / "m", BOTH)
    (folder / "config.fixed.json").symlink_to(tmp_path / "elsewhere")
    assert told(capsys, str(folder), "--fix")[0] == 2
    assert not (tmp_path / "elsewhere").exists()


def test_what_was_changed_is_told_against_the_original(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original, other = model(tmp_path / "a"), model(tmp_path / "b", changed(CHANGES["index_topk=0"]))
    found = document(capsys, str(other), "--against", str(original))["against"]
    assert found["transformers-5.2"]["outcome"] == "nan"
    assert found["transformers-5.24"]["outcome"] == "different"
    assert "index_topk" in found["transformers-5.24"]["why"][0]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_screen_fits(width: int) -> None:
    findings = tuple(
        AuditFinding(f"finding-{n}", severity, "what happens, and why. " * 20, "config.json: key", "do this. " * 30)
        for severity in Severity
        for n in range(6)
    )
    need = MemoryNeed(57.1, 44928, 425664)
    rows = list(screen(Audit(ModelFacts("/models/GLM-5-NVFP4", "glm_moe_dsa", 744_000_000_000), findings, need), width))
    assert len(rows) <= SCREEN
    assert all(len(text) <= width for text, _ in rows)
    assert "6 errors" in rows[1][0]
    assert any("425 664 tokens fit" in text for text, _ in rows) or width == 40


@pytest.mark.parametrize(
    ("between", "said"),
    [(None, "425 664 tokens fit"), ((420_000, 430_000), "425 664 tokens fit"),
     ((0, 900_000), "about 425 664 tokens (0 to 900 000) fit")],
)  # fmt: skip
def test_both_ends_are_shown_where_they_are_far_apart(between: tuple[int, int] | None, said: str) -> None:
    need = MemoryNeed(57.1, 44928, 425664, {}, between)
    rows = screen(Audit(ModelFacts("/models/GLM-5-NVFP4"), (), need), 200)
    assert any(said in text for text, _ in rows)


def test_what_a_change_breaks_is_a_finding_that_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original, other = model(tmp_path / "a", GLM), model(tmp_path / "b", GLM)
    spoil(other / "config.json", hidden_size=str(GLM["hidden_size"]))
    status, out, _ = told(capsys, str(other), "--against", str(original))
    assert status == 1
    assert "✗" in out.splitlines()[1]
    spoil(other / "config.json", hidden_size=2 * GLM["hidden_size"])
    found = document(capsys, str(other), "--against", str(original))["findings"]
    assert [one["severity"] for one in found if one["id"] == "changed-fails"] == ["error"]
    spoil(other / "config.json", hidden_size=GLM["hidden_size"], routed_scaling_factor=7.5)
    status, out, _ = told(capsys, str(other), "--against", str(original))
    assert (status, "changed-different" in out, "! Nothing is sure to fail" in out) == (0, True, True)
    status, out, _ = told(capsys, str(original), "--against", str(original))
    assert (status, "changed-" in out) == (0, False)


def test_the_line_of_rotary_positions_agrees_with_the_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = model(tmp_path / "m", GLM)
    found = document(capsys, str(folder), "--engine", "transformers==5.2.0")
    ignored = next(one for one in found["findings"] if one["id"] == "rope-interleave-ignored")
    assert "transformers-5.2" in ignored["what"]
    assert found["rope"]["transformers-5.2"]["outcome"] == "different"


def test_rows_that_go_on_are_cut_after_a_whole_word() -> None:
    what, remedy = "positions are turned otherwise. " * 20, "mend it. " * 40
    finding = AuditFinding("finding", Severity.ERROR, what, "config.json", remedy)
    rows = [text for text, _ in screen(Audit(ModelFacts("/m"), (finding,)), 80)]
    cut = [row for row in rows if row.endswith("…")]
    assert cut
    words = {"positions", "are", "turned", "otherwise.", "mend", "it."}
    assert all(row.removesuffix("…").split()[-1] in words for row in cut), cut


def test_what_loading_takes_is_told_apart_from_the_weights() -> None:
    need = MemoryNeed(0.3, 64, assumed={"loading_takes_gib": 0.29})
    rows = [text for text, _ in screen(Audit(ModelFacts("/m"), memory=need), 80)]
    assert any("less than 0.1 GiB of weights a rank, 0.3 GiB more for loading them" in row for row in rows)


def test_a_full_disk_leaves_no_corrected_copy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = model(tmp_path / "m", BOTH)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        status, _, err = told(capsys, str(folder), "--fix")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert status == 2
    assert "config.fixed.json" in err
    assert not (folder / "config.fixed.json").exists()
