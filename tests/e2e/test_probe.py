"""`ruleout probe`: a reference is made of a server that is right, and of no other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

SERVES = {"mode": "serve"}


def test_a_command_is_launched_asked_and_stopped(workshop: Workshop) -> None:
    workshop.plan(**SERVES)
    case = workshop.case(mode="serve")
    done = workshop.run("probe", "--case", case, "--save", "reference.json", "--max-tokens", "8")
    assert done.status == 0, done.err
    assert "The capital of France is → Paris, as in every fake." in done.out
    assert "saved: reference.json" in done.out
    document = json.loads((workshop.cwd / "reference.json").read_text())
    assert document["schema"] == "ruleout.reference/1"
    assert {(a["text"], a["max_tokens"]) for a in document["answers"]} == {("Paris, as in every fake.", 8)}
    assert len(document["answers"]) == 4
    workshop.gone()


def test_the_reference_is_one_json_document_on_demand(workshop: Workshop) -> None:
    workshop.plan(**SERVES)
    done = workshop.run("probe", "--case", workshop.case(mode="serve"), "--json", "--prompt", "Hi", "--prompt", "Ho")
    assert done.document["schema"] == "ruleout.reference/1"
    assert [answer["prompt"] for answer in done.document["answers"]] == ["Hi", "Ho"]


def test_a_server_that_fails_is_no_reference_and_nothing_is_saved(workshop: Workshop) -> None:
    workshop.plan(**SERVES, fails=[{}], how="empty", silent=True)
    done = workshop.run("probe", "--case", workshop.case(mode="serve"), "--save", "reference.json")
    assert (done.status, done.out) == (1, "")
    assert "no reference: completion 1 of 2: HTTP 200, empty content" in done.err
    assert not (workshop.cwd / "reference.json").exists()
    workshop.gone()


def test_what_cannot_be_asked_is_told_in_two_lines(workshop: Workshop) -> None:
    workshop.plan()
    (workshop.cwd / "there.json").write_text("{}")
    workshop.run("probe").told(2, "nothing to ask", "--url")
    workshop.run("probe", "--url", "http://x", "--", "vllm").told(2, "both a running server and one to launch")
    workshop.run("probe", "--save", "there.json", "--", "vllm", "serve", "m").told(2, "there.json exists already")
    workshop.run("probe", "--url", "nowhere").told(2, "--url nowhere: no address")
    workshop.run("probe", "--url", "http://127.0.0.1:1").told(4, "http://127.0.0.1:1", "Check that the server runs")
    workshop.run("probe", "--url", "http://x", "--save", "no/x.json").told(2, "there is no folder no", "Make it")
    assert not (workshop.folder / "no").exists()
    workshop.run("probe", "--", *workshop.command).told(2, "nothing says that this is a server", "--case")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, ["line ", "reference reference.json: no such file"]),
        ("{", ["reference reference.json: not JSON"]),
        ('{"schema": "ruleout.verdict/1"}', ["its schema is 'ruleout.verdict/1'"]),
    ],
)
def test_a_case_whose_reference_is_none_is_not_launched(workshop: Workshop, text: str | None, words: list[str]) -> None:
    workshop.plan(**SERVES)
    if text is not None:
        (workshop.cwd / "reference.json").write_text(text)
    case = workshop.case(mode="serve", probes=[{"kind": "compare", "reference": "reference.json"}])
    workshop.run("investigate", case).told(2, *words)
    assert workshop.ledger == []


def test_a_reference_of_another_model_is_not_compared_with(workshop: Workshop) -> None:
    answers = [{"prompt": "Hi", "max_tokens": 4, "text": "Ho"}]
    document = {"schema": "ruleout.reference/1", "path": "/v1/completions", "model": {"name": "a"}, "answers": answers}
    (workshop.cwd / "reference.json").write_text(json.dumps(document))
    command = ("--reference", "reference.json", "--", "vllm", "serve", "org/b")
    workshop.run("investigate", *command).told(2, "made with the model a", "serves b")
    workshop.run("investigate", "--reference", "reference.json", workshop.case()).told(
        2, "--reference is for a command"
    )


def test_the_answers_of_any_server_can_be_compared(workshop: Workshop) -> None:
    workshop.plan(**SERVES)
    made = workshop.run("probe", "--case", workshop.case(mode="serve"), "--save", "reference.json")
    assert made.status == 0, made.err
    probes = [{"kind": "compare", "reference": "reference.json"}]
    case = workshop.case(mode="serve", probes=probes, factors={"kernel": ["fast", "slow"]})
    workshop.plan(**SERVES, wrong=[{"--kernel": "fast"}])
    done = workshop.run("investigate", case, "--json")
    assert (done.status, done.causes) == (0, [{"kernel": ["fast"]}]), done.err
    assert done.document["failure"]["class"] == "wrong_output"
