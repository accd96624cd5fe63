"""Notes of people, and FINDINGS.md, as the command reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.conftest import Workshop

FACTORS = {name: ["on", "off"] for name in ("batching", "graphs", "overlap", "fusion")} | {
    "dtype": ["f32", "bf16", "fp8"]
}
FAILS = [{"--batching": "on"}]
NOTES = """\
# what I tried

- as deployed: crash
- `--batching off`: no crash
- `--dtype bf16`: same crash
- `--dtype fp8 --graphs off --overlap off --fusion off`: same crash
- `--page-size 64`: same crash
- `--overlap off`
"""


def test_what_is_read_in_notes_is_shown_with_its_line_and_what_is_not_with_the_reason(workshop: Workshop) -> None:
    (workshop.cwd / "notes.md").write_text(NOTES)
    done = workshop.run("findings", "notes.md")
    assert done.status == 0
    assert "notes.md: 5 trials\n" in done.out
    (row,) = (line for line in done.out.splitlines() if "--dtype bf16" in line)
    assert row.split()[:4] == ["5", "reproduced", "--dtype", "bf16"]
    assert "8  no outcome is told" in done.out
    document = workshop.run("findings", "--json", "notes.md").document
    assert document["schema"] == "ruleout.notes/1"
    assert [t["line"] for t in document["trials"]] == [3, 4, 5, 6, 7]
    case = workshop.case(factors=FACTORS)
    with_case = workshop.run("findings", "notes.md", "--case", str(case)).out
    assert "7  --page-size is no factor of the case" in with_case


def test_trials_of_notes_lead_to_the_cause_in_fewer_trials_and_confirm_nothing(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    alone = workshop.run("investigate", "--json", workshop.case("alone", factors=FACTORS)).document
    (workshop.cwd / "notes.md").write_text(NOTES)
    case = workshop.case("helped", factors=FACTORS)
    done = workshop.run("investigate", "--json", case, "--notes", "notes.md")
    helped = done.document
    assert (done.status, helped["causes"]) == (0, alone["causes"])
    told = {t["id"] for t in helped["trials"] if t.get("hearsay")}
    assert len(told) == 4
    assert len(helped["trials"]) - len(told) <= len(alone["trials"])
    confirmed = helped["confirmed_by"]
    named = {*confirmed["sufficient"], *confirmed["necessary"], *confirmed["complete"], confirmed["baseline_again"]}
    assert not named & told
    assert all(w["trial"] not in told for w in helped["workarounds"])
    assert "--page-size is no factor" in done.err
    assert "told: notes.md, line 4" in (workshop.investigation("helped") / "FINDINGS.md").read_text()
    for verb in ("status", "report", "findings"):
        assert workshop.run(verb, "helped").status == 0


def test_notes_that_are_wrong_do_not_make_a_wrong_cause(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    (workshop.cwd / "wrong.md").write_text("- baseline: crash\n- `--graphs off`: ok\n- `--batching off`: same crash\n")
    case = workshop.case(factors=FACTORS)
    done = workshop.run("investigate", "--json", case, "--notes", "wrong.md")
    assert done.document["status"] == "isolated"
    assert [[c["factor"] for c in cause] for cause in done.document["causes"]] == [["batching"]]


def test_the_record_of_one_investigation_is_notes_for_the_next_and_is_not_taken_twice(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    first = workshop.run("investigate", "--json", workshop.case("first", factors=FACTORS)).document
    record = workshop.investigation("first") / "FINDINGS.md"
    case = workshop.case("second", factors=FACTORS, budget={"trials": 2})
    workshop.run("investigate", case, "--notes", str(record))
    done = workshop.run(
        "investigate", "--json", "--resume", "--budget-trials", "50", str(case), "--notes", str(record)
    ).document
    told = [t for t in done["trials"] if t.get("hearsay")]
    assert [(t["configuration"], t["outcome"]) for t in told] == [
        (t["configuration"], t["outcome"]) for t in first["trials"]
    ]
    assert done["causes"] == first["causes"]


def test_what_cannot_be_read_is_two_lines(workshop: Workshop) -> None:
    workshop.plan(fails=FAILS)
    case = workshop.case(factors=FACTORS)
    workshop.run("investigate", str(case), "--notes", "nothing.md").told(2, "nothing.md")
    workshop.run("findings", "nothing.md").told(2, "nothing.md")
    workshop.run("findings", "--json").told(2, "--json")
    assert not workshop.ledger
