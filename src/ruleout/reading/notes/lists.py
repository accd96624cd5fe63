"""Items of lists and diaries: each names a change with what became of it, or heads the items that do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ruleout.model import PRESENT
from ruleout.reading.notes.changes import changes_in
from ruleout.reading.notes.claims import NEAR, PREVIOUS, Claim, base_of, claims_of, has_outcome
from ruleout.reading.notes.fields import ERROR, LABEL, RESULT, WHAT, fields, groups
from ruleout.reading.notes.found import Found
from ruleout.reading.notes.layout import Block, Item, Line
from ruleout.reading.notes.told import Told, commands_in, retyped
from ruleout.reading.notes.words import Word, said

STARTS = re.compile(
    r"^\s*(?:(?:also|and|then|with|plus|tried|but|now|ok|or|next|so|again|finally|same with),?\s+){0,2}[`~=]?(?:\+\s*)?"
    r"(?:--[A-Za-z]|-[a-z]{1,4} \S+.*[:→]|[A-Z][A-Z0-9]*_[A-Z0-9_]+=|baseline\b|default\b|no flags\b"
    r"|without\s+[`~]?--)",
    re.IGNORECASE,
)
"""How a line begins that tells of a change, though it is no item."""
ASKS = re.compile(r"\?\s*$|^\W*(?:next|todo|to do|plan|idea|fyi|nb)\b\s*[:-]", re.IGNORECASE)
BASELINE_WITHIN = 40
"""Characters from the begin of an item within which it says that nothing was changed."""
_MAYBE = re.compile(r"\b(?:maybe|perhaps|might|probably|should|would|could)\s+(?:be\s+)?$", re.IGNORECASE)
_DOUBTED = re.compile(r"^[^.!;,]*\?\s*$")
"""How an item goes on from its outcome that only asks for it: `hangs?`."""
_EXPLAINS = re.compile(
    r"\b(?:because|due to|to (?:avoid|prevent)|otherwise|or else|or it|(?:is|are) (?:required|needed|necessary))\b"
    r"|\b(?:according to|supposedly|reportedly|was told|heard)\b"
    r"|\b(?:(?:he|she|they|someone|docs?|forum) (?:says?|said|claims?))\b",
    re.IGNORECASE,
)
"""What stands before an outcome that is a reason for a setting, or another's word, and was not seen."""
_STRUCK = re.compile(r"^\s*~~.*~~\W*$")
_ADDS = re.compile(r"\W*(?:\+|and|plus|also|with)\b|\s*\+")
_REPEATS = re.compile(
    r"^\W*(?:(?:the )?same again|re-?ran|ran (?:it|this|that) again|repeat(?:ed)?(?: (?:it|this|that))?|once more"
    r"|second (?:run|time|try))\b",
    re.IGNORECASE,
)
"""How an item begins that tells of one more run of the item before it."""
_LEVEL = re.compile(r"[\s`*=~]*([\w.+/-]+)")


def lines_of(item: Item) -> Iterator[Line]:
    """The lines of an item, and of what is below it."""
    yield item.line, item.text
    for child in item.children:
        yield from lines_of(child)


def read_fields(told: Told, lines: Sequence[Line]) -> bool:
    """Take lines as fields of trials. False where they are none."""
    whole = [(group, found) for group in groups(lines) if WHAT in (found := fields(group))]
    whole = [(group, found) for group, found in whole if RESULT in found or ERROR in found]
    for group, found in whole:
        result = " ".join(found[role] for role in (RESULT, ERROR) if role in found)
        line, text = group[0][0], " / ".join(text.strip() for _, text in group[:4])
        changed = changes_in(found[WHAT])
        if changed.begin < 0:
            told.leave(line, text, "does not say which setting was changed")
        else:
            label = re.sub(r"^\W+|\W+$", "", found.get(LABEL, ""))
            told.claims.append(Claim(line, text, result, changed, label, base_of(found[WHAT])))
    return bool(whole)


def read_item(told: Told, item: Item, parent: Found | None = None, outcome: str = "") -> None:
    """Take what an item tells.

    Args:
        parent: the changes of the item above, which hold for it as well.
        outcome: what the heading of the list says became of all that it names.
    """
    text = item.text
    if item.code and not changes_in(text).changes:
        text = " ".join([text, *map(retyped, commands_in([line for _, line in item.code])[:1])])
    known = len(told.claims)
    own = item.lines if len(item.lines) > 1 else [(item.line, text)]
    if read_fields(told, [*own, *(line for child in item.children for line in lines_of(child))]):
        if len(told.claims) > known:
            first = told.claims[known]
            told.claims[known] = replace(first, line=item.line, label=first.label or item.label)
        return
    found = changes_in(text)
    before, told.item = told.item, item.line
    if why := _why_not(item, text):
        if found.changes or found.commands or _STRUCK.match(text):
            told.leave(item.line, text, why)
    elif has_outcome(text) and 0 <= found.begin <= NEAR and _is_near(text, found):
        _read_whole(told, item, text, parent)
    elif found.begin >= 0 and outcome and not any(word is Word.UNTRIED for _, _, word in said(text)):
        told.claims.append(_built_on(Claim(item.line, text, outcome, found, item.label), parent))
    elif (again := _REPEATS.match(text)) and found.begin < 0 and told.claims and told.claims[-1].line == before:
        told.claims.append(Claim(item.line, text, text[again.end() :], found, item.label, PREVIOUS))
    elif found.begin >= 0 and item.children:
        _read_headed(told, item, found, parent)
    else:
        if found.changes or found.commands:
            untried = any(word is Word.UNTRIED for _, _, word in said(text))
            told.leave(item.line, text, "not tried" if untried else "no outcome is told")
        heads = outcome or (text if is_outcome(text) else "")
        for child in item.children:
            read_item(told, child, outcome=heads)


def is_outcome(title: str) -> bool:
    """Whether a heading says what became of all that is listed below it: `Works`, `Crashes (as above)`."""
    plain = re.sub(r"\([^)]*\)|[*_`:#]", " ", title).split()
    first = next((begin for begin, _, word in said(" ".join(plain)) if word is not Word.UNTRIED), -1)
    return 0 <= first < 12 and len(plain) <= 6 and changes_in(title).begin < 0


def _is_near(text: str, found: Found) -> bool:
    """Whether an outcome is told right behind a change or before it, and a baseline at the begin."""
    if not found.changes and not found.commands:
        return found.baseline < BASELINE_WITHIN
    end = max([*(one.end for one in found.changes), *(one.end for one in found.commands)])
    return has_outcome(text[: found.begin]) or has_outcome(text[found.begin : end + NEAR])


def _why_not(item: Item, text: str) -> str:
    """Why an item is no trial, whatever it names; empty where it may be one."""
    if _STRUCK.match(text):
        return "struck out"
    if item.done is False:
        return "not done yet"
    if ASKS.search(text) and not has_outcome(text):
        return "only asked"
    first = next((begin for begin, _, _ in said(text)), len(text))
    if _MAYBE.search(text[:first]) or _DOUBTED.search(text[first:]):
        return "only supposed"
    return "only explained" if _EXPLAINS.search(text[:first]) else ""


def _read_whole(told: Told, item: Item, text: str, parent: Found | None) -> None:
    """An item that tells a change and its outcome; what is below adds to it, or is a trial of its own."""
    claims = [replace(claim, label=item.label) for claim in claims_of(item.line, text)]
    trials = [child for child in item.children if _is_trial(child)]
    if len(claims) == 1 and item.children and not trials:
        below = " . ".join(child.text for child in item.children)
        claims = [replace(claims[0], result=f"{claims[0].result} . {below}")]
    told.claims += [_built_on(claim, parent) for claim in claims]
    for child in trials:
        read_item(told, child, claims[0].found if claims and _ADDS.match(child.text) else None)


def _read_headed(told: Told, item: Item, found: Found, parent: Found | None) -> None:
    """An item that names a change, with what became of it below: by itself, or for each of several levels."""
    trials = [child for child in item.children if _is_trial(child)]
    outcomes = [child for child in item.children if has_outcome(child.text)]
    if trials:
        for child in trials:
            read_item(told, child, found)
    elif len(outcomes) > 1 and len(found.changes) == 1 and found.changes[0].level == PRESENT:
        for child in outcomes:
            if level := _LEVEL.match(child.text):
                change = replace(found.changes[0], level=level[1])
                told.claims.append(Claim(child.line, child.text, child.text[level.end() :], Found((change,))))
    elif outcomes:
        result = " . ".join(child.text for child in item.children)
        base = base_of(item.text)
        told.claims.append(_built_on(Claim(item.line, item.text, result, found, item.label, base), parent))
    elif found.changes or found.commands:
        told.leave(item.line, item.text, "no outcome is told")


def _is_trial(item: Item) -> bool:
    found = changes_in(item.text)
    return has_outcome(item.text) and (any(change.sure for change in found.changes) or bool(found.commands))


def _built_on(claim: Claim, parent: Found | None) -> Claim:
    if parent is None or not parent.changes:
        return claim
    return replace(claim, found=replace(claim.found, changes=(*parent.changes, *claim.found.changes), baseline=-1))


def lines_as_items(lines: Sequence[Line]) -> list[Item]:
    """Lines that each begin with a change, with what is continued below them, as items."""
    items: list[Item] = []
    for number, text in lines:
        ended = items and re.search(r"[.!?]\W*$", items[-1].text) and re.match(r"\s*[A-Z`*]", text)
        if STARTS.match(text) or not items or ended:
            items.append(Item(number, 0, "", [(number, text.strip())]))
        else:
            items[-1].lines.append((number, text.strip()))
    return items


def joined(body: Sequence[Block]) -> Iterator[Block]:
    """Blocks in which the entries of a diary are put together: what was begun in one, and its outcome in the next."""
    begun: Item | None = None
    for block in body:
        if not isinstance(block, Item) or not block.dated:
            if begun is not None:
                yield begun
            begun = None
            yield block
            continue
        named, ended = changes_in(block.text).begin >= 0, has_outcome(block.text)
        if begun is not None and not named:
            begun = replace(begun, lines=[*begun.lines, (block.line, f": {block.text}")], children=block.children)
            if ended:
                yield begun
                begun = None
            continue
        if begun is not None:
            yield begun
        begun = block if named and not ended else None
        if begun is None:
            yield block
    if begun is not None:
        yield begun
