"""Which blocks of notes tell of trials: tables, items, groups of `key: value`, sentences, and sections of a heading each.

What stands under `Ideas`, `Next` or `Conclusion` is planned or repeated, and no trial.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ruleout.model import PRESENT, Unused
from ruleout.reading.notes.changes import Found, changes_in, command_of
from ruleout.reading.notes.claims import Claim, claims_of, has_outcome
from ruleout.reading.notes.layout import Block, Code, Heading, Item, Line, Paragraph, Table
from ruleout.reading.notes.tables import claims_in
from ruleout.reading.notes.words import Word, said, spoken

_PLANNED = re.compile(
    r"^\W*(?:to ?-?do|ideas?|next(?: steps?| up)?|plan(?:s|ned)?|what(?:'s| is)? (?:is )?(?:next|left|missing)|left to (?:do|try)|to try|open(?: questions?)?|later|backlog|wish ?list|not (?:yet )?(?:tried|tested|done)|untried|untested|remaining|future)\b",
    re.I,
)
_REPEATED = re.compile(
    r"^\W*(?:summary|conclu\w+|tl;?dr|bottom line|verdict|diagnosis|what i (?:think|believe|learn\w*)|hypothes\w+|theor\w+|root cause|cause|ruled out|workarounds?|fix(?:es)?|solution|environment|setup|system|versions?|hardware|references?|links?|acceptable|lessons?|looks ruled out|assumptions?|answer|expected)\b",
    re.I,
)
_TRIAL = re.compile(
    r"^\W*(?:run|trial|test|try|attempt|exp(?:eriment)?|case|step|iter(?:ation)?|config\w*|variant|t|#|no\.?)\W*(?P<label>\d{1,3}|[A-Z])\b|^\W*(?P<number>\d{1,3})\s*[.):—–-]",
    re.I,
)
_FIELD = re.compile(
    r"^\s*(?:[-*+•]\s+)?(?:\*\*|__|[*_])?(?P<key>[A-Za-z][\w /#-]{0,28}?)(?:\*\*|__|[*_])?\s*(?::|::|=|->|→)(?:\*\*|__|[*_])?\s+(?P<value>\S.*)?$|^\s*(?P<bare>[A-Za-z][\w ]{0,20}):\s*$"
)
_KEYS = (
    (
        "result",
        re.compile(
            r"(?:results?|outcome|status|verdict|observ\w+|effect|what happened|happened|saw|seen|got|behaviou?r|ergebnis|=>|finding)$",
            re.I,
        ),
    ),
    (
        "what",
        re.compile(
            r"(?:chang\w*|config\w*|flags?|args?|arguments?|settings?|command(?: line)?|cmd|options?|with|what|variant|tried|diff|delta|env\w*|extra\w*|modif\w+|knobs?|launch\w*|params?|parameters?|setup)$",
            re.I,
        ),
    ),
    ("label", re.compile(r"(?:run|trial|test|attempt|exp\w*|try|id|no|nr|case|step|name|title)(?: ?#?\d+)?$", re.I)),
    ("error", re.compile(r"(?:error|message|exception|failure|traceback)$", re.I)),
    ("minutes", re.compile(r"(?:time|duration|took|minutes|min|elapsed)$", re.I)),
)
_COMPLAINT = re.compile(
    r"^\W*(?:\*\*)?(?:symptom|problem|error|issue|bug|failure|question|what fails|fails with|actual)\w*(?:\*\*)?\s*[:=-]\s*(.+)$",
    re.I,
)
_ASKS = re.compile(r"\?\s*$|^\W*(?:next|todo|to do|plan|idea|fyi|nb)\b\s*[:-]", re.I)
_SUPPOSED = re.compile(
    r"\b(?:could|should|would|might|may|maybe|perhaps|probably|suggest\w*|recommend\w*|i (?:think|guess|believe|suspect|assume|expect|wonder)|going to|will|planning|tomorrow|somebody|someone|one can|you can|please|supposed to|expected|hopefully|worth)\b",
    re.I,
)
_ANAPHORA = re.compile(
    r"^\W*(?:(?:and|but|so|again|unfortunately|sadly|luckily|surprisingly|there)\W+)?(?:that|this|it|which|result|no|same|still|crash\w*|work\w*|fail\w*|ok|ran|died|after|everything|server|all|he|she|we|i (?:got|saw|see|get))\b",
    re.I,
)
_SENTENCE = re.compile(r"(?<=[.!?])[)\"*_]*\s+(?=[\"'`*_(\[~]*[A-Z`\-0-9])|(?<=;)\s+|\s+(?=[-=]> )")
_STARTS = re.compile(
    r"^\s*[`~=]?(?:\+\s*)?(?:--[A-Za-z]|-[a-z]{1,4} \S+.*[:→]|[A-Z][A-Z0-9]*_[A-Z0-9_]+=|baseline\b|default\b|no flags\b|without\s+[`~]?--)",
    re.I,
)


@dataclass
class Told:
    """What the blocks tell, in their order."""

    claims: list[Claim] = field(default_factory=list)
    unused: list[Unused] = field(default_factory=list)
    commands: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    tables: list[list[Claim]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def told_by(blocks: Sequence[Block]) -> Told:
    """What all blocks of notes tell."""
    told = Told()
    for heading, body in _sections(blocks):
        _section(told, heading, body)
    return told


def _sections(blocks: Sequence[Block]) -> Iterator[tuple[Heading | None, list[Block]]]:
    """Headings with what stands directly below them; what is below a skipped one is left out with it."""
    heading: Heading | None = None
    body: list[Block] = []
    skipped: Heading | None = None
    for block in [*blocks, Heading(0, 0, "")]:
        if not isinstance(block, Heading):
            body.append(block)
            continue
        if heading is not None or body:
            if skipped is not None and heading is not None and heading.level <= skipped.level:
                skipped = None
            if (
                skipped is None
                and heading is not None
                and (_PLANNED.match(heading.text) or _REPEATED.match(heading.text))
                and not _TRIAL.match(heading.text)
            ):
                skipped = heading
            yield (replace(heading, text=skipped.text) if heading and skipped else heading), body
        heading, body = block, []


def _section(told: Told, heading: Heading | None, body: list[Block]) -> None:
    title = heading.text if heading else ""
    if heading is not None and _REPEATED.match(title) and not _TRIAL.match(title):
        _note_commands(told, body)
        return
    if heading is not None and _PLANNED.match(title):
        for item in (b for b in body if isinstance(b, Item)):
            if changes_in(item.text).changes:
                told.unused.append(Unused(item.line, item.text, "only planned"))
        return
    before = len(told.claims)
    _note_commands(told, body)
    if heading is not None and (trial := _as_trial(heading, body)) is not None:
        told.claims.append(trial)
        return
    if heading is not None and has_outcome(title) and (claims := claims_of(heading.line, title, _label(title))):
        told.claims += claims
    _blocks(told, body)
    if heading is not None and len(told.claims) == before and _TRIAL.match(title) and changes_in(title).changes:
        told.unused.append(Unused(heading.line, title, "no outcome is told"))


def _blocks(told: Told, body: Sequence[Block]) -> None:
    for block in body:
        if isinstance(block, Table):
            claims = claims_in(block)
            if claims is not None:
                told.tables.append(claims)
                told.claims += claims
        elif isinstance(block, Item):
            _item(told, block, None)
        elif isinstance(block, Code):
            _code(told, block)
        elif isinstance(block, Paragraph):
            _paragraph(told, block)


# -- one heading, one trial ------------------------------------------------------------------------------------


def _as_trial(heading: Heading, body: Sequence[Block]) -> Claim | None:
    """The claim of a section that is about one trial; None for any other section."""
    title = heading.text
    head = changes_in(title)
    named = _TRIAL.match(title)
    if not named and not head.changes and head.baseline < 0:
        return None
    lines = [line for block in body for line in _lines_of(block)]
    fields = _fields(lines)
    texts = [text for _, text in lines]
    commands = [argv for block in body for argv in _commands_of(block)]
    inside = Told()
    if not commands:
        _blocks(inside, [b for b in body if not isinstance(b, Code)])
        distinct = {_key(claim) for claim in inside.claims}
        if len(distinct) > 1 or (distinct and any(isinstance(b, Table) for b in body)):
            return None
    result = (
        fields.get("result", "")
        if has_outcome(fields.get("result", ""))
        else next((text for text in _spoken_of(texts) if has_outcome(text)), "")
    )
    if not result and has_outcome(title):
        result = title
    if not result:
        return None
    if commands:
        found = changes_in(" ; ".join(f"`{' '.join(map(_quoted, argv))}`" for argv in commands[:1]))
    elif "what" in fields:
        found = changes_in(fields["what"])
    elif head.changes or head.baseline >= 0:
        found = head
    else:
        found = next((f for f in map(changes_in, texts) if f.changes or f.baseline >= 0), head)
    if found.begin < 0:
        return None
    return Claim(heading.line, title, _with_error(result, body, fields), found, _label(title))


def _with_error(result: str, body: Sequence[Block], fields: dict[str, str]) -> str:
    """The outcome with the error that is quoted below it, where it tells none itself."""
    quoted = [
        text.strip()
        for block in body
        if isinstance(block, Code)
        for _, text in block.lines
        if re.search(r"\b[A-Z]\w*(?:Error|Exception)\b|CUDA error|Assertion", text)
    ]
    quoted = [*([fields["error"]] if "error" in fields else []), *quoted[-1:]]
    return f"{result} `{quoted[0][:300]}`" if quoted and "`" not in result else result


def _quoted(word: str) -> str:
    return f"'{word}'" if re.search(r"[\s{}\"]", word) else word


def _label(title: str) -> str:
    found = _TRIAL.match(title)
    return (found["label"] or found["number"]) if found else ""


def _spoken_of(texts: Sequence[str]) -> Iterator[str]:
    """The sentences of what is written below a heading, the ones that only suppose left out."""
    for text in texts:
        for sentence in _SENTENCE.split(text.strip()):
            if not _SUPPOSED.search(sentence) and not _ASKS.search(sentence):
                yield sentence


def _lines_of(block: Block) -> Iterator[Line]:
    if isinstance(block, Paragraph):
        whole = [text for _, text in block.lines]
        yield from (
            block.lines if any(map(_FIELD.match, whole)) else [(block.lines[0][0], " ".join(t.strip() for t in whole))]
        )
    elif isinstance(block, Item):
        yield block.line, block.text
        for child in block.children:
            yield from _lines_of(child)


# -- groups of `key: value` ------------------------------------------------------------------------------------


def _fields(lines: Sequence[Line]) -> dict[str, str]:
    """What `key: value` lines say, by their role; the first of each."""
    found: dict[str, str] = {}
    last = ""
    for _, text in lines:
        match = _FIELD.match(text)
        if match is None:
            if last and text.startswith("  "):
                found[last] = f"{found[last]} {text.strip()}"
            continue
        key, value = (match["key"] or match["bare"]).strip(), match["value"] or ""
        last = next((role for role, pattern in _KEYS if pattern.match(key)), "")
        if last and last not in found:
            found[last] = value
        else:
            last = ""
    return found


def _field_groups(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Lines cut where a label, or what was changed, comes once more."""
    group: list[Line] = []
    seen: set[str] = set()
    for line in lines:
        match = _FIELD.match(line[1])
        key = (match["key"] or match["bare"]).strip() if match else ""
        role = next((r for r, pattern in _KEYS if key and pattern.match(key)), "")
        if role and role in seen:
            yield group
            group, seen = [], set()
        seen |= {role} if role else set()
        group.append(line)
    if group:
        yield group


def _fielded(told: Told, lines: Sequence[Line]) -> bool:
    """Take lines as fields of trials. False where they are none."""
    groups = [(group, _fields(group)) for group in _field_groups(lines)]
    whole = [(group, found) for group, found in groups if "what" in found and ("result" in found or "error" in found)]
    for group, found in whole:
        result = " ".join(found[role] for role in ("result", "error") if role in found)
        label = re.sub(r"^\W+|\W+$", "", found.get("label", ""))
        claim = Claim(
            group[0][0], " / ".join(text.strip() for _, text in group[:4]), result, changes_in(found["what"]), label
        )
        if claim.found.begin < 0:
            told.unused.append(Unused(group[0][0], claim.text, "does not say which setting was changed"))
        else:
            told.claims.append(claim)
    return bool(whole)


# -- lists -----------------------------------------------------------------------------------------------------


def _item(told: Told, item: Item, parent: Found | None) -> None:
    text = item.text
    if item.code and not changes_in(text).changes:
        text = f"{text} " + " ".join(
            f"`{' '.join(map(_quoted, argv))}`" for argv in _argvs([t for _, t in item.code])[:1]
        )
    below = [line for child in item.children for line in _lines_of(child)]
    if _fielded(told, [(item.line, text), *below]):
        told.claims[-1] = replace(told.claims[-1], line=item.line, label=told.claims[-1].label or item.label)
        return
    found = changes_in(text)
    if re.match(r"^\s*~~.*~~\W*$", text):
        told.unused.append(Unused(item.line, text, "struck out"))
        return
    if item.done is False:
        if found.changes:
            told.unused.append(Unused(item.line, text, "not done yet"))
        return
    if _ASKS.search(text) and not has_outcome(text):
        if found.changes:
            told.unused.append(Unused(item.line, text, "only asked"))
        return
    if has_outcome(text) and found.begin >= 0:
        result = " ".join(child.text for child in item.children)
        claims = [replace(c, label=item.label) for c in _said_in(item.line, text)]
        if len(claims) == 1 and result and not any(changes_in(c.text).changes for c in item.children):
            claims = [replace(claims[0], result=f"{claims[0].result} . {result}")]
        told.claims += [_built_on(c, parent) for c in claims]
        for child in item.children:
            if changes_in(child.text).changes and has_outcome(child.text):
                _item(
                    told,
                    child,
                    claims[0].found if claims and re.match(r"\W*(?:\+|and|plus|also|with)\b", child.text) else None,
                )
        return
    if found.begin >= 0 and item.children:
        _headed(told, item, found, parent)
        return
    if found.changes or found.commands:
        untried = any(word is Word.UNTRIED for _, _, word in said(text))
        told.unused.append(Unused(item.line, text, "not tried" if untried else "no outcome is told"))
    for child in item.children:
        _item(told, child, None)


def _headed(told: Told, item: Item, found: Found, parent: Found | None) -> None:
    """An item that names a change, with what became of it below: by itself, or for each of several levels."""
    own = [child for child in item.children if changes_in(child.text).begin >= 0 and has_outcome(child.text)]
    if own:
        for child in own:
            _item(told, child, found)
        return
    outcomes = [child for child in item.children if has_outcome(child.text)]
    single = len(found.changes) == 1 and found.changes[0].level == PRESENT
    if single and len(outcomes) > 1:
        for child in outcomes:
            level = re.match(r"[\s`*=~]*([\w.+/-]+)", child.text)
            if level is not None:
                change = replace(found.changes[0], level=level[1])
                told.claims.append(Claim(child.line, child.text, child.text[level.end() :], Found((change,))))
        return
    if outcomes:
        result = " . ".join(child.text for child in item.children)
        told.claims.append(_built_on(Claim(item.line, item.text, result, found, item.label), parent))
        return
    told.unused.append(Unused(item.line, item.text, "no outcome is told"))


def _built_on(claim: Claim, parent: Found | None) -> Claim:
    if parent is None or not parent.changes:
        return claim
    return replace(claim, found=replace(claim.found, changes=(*parent.changes, *claim.found.changes), baseline=-1))


def _said_in(line: int, text: str) -> list[Claim]:
    """The claims of an item: of the whole of it, or, where it is told like a story, of its sentences."""
    claims = claims_of(line, text)
    return claims[:1] if len(claims) > 1 and len({_key(c) for c in claims}) == 1 else claims


# -- sentences -------------------------------------------------------------------------------------------------


def _paragraph(told: Told, block: Paragraph) -> None:
    told.complaints += [found[1] for _, text in block.lines if (found := _COMPLAINT.match(text))]
    if _fielded(told, block.lines):
        return
    starts = [bool(_STARTS.match(text)) for _, text in block.lines]
    if sum(starts) > 1 or (len(starts) == 1 and starts[0]):
        for item in _lines_as_items(block.lines):
            _item(told, item, None)
        return
    lines = [line for line in block.lines if not _argvs([_value_of(line[1])])]
    pending: Claim | None = None
    for line, sentence in _sentences(lines):
        if _ASKS.search(sentence) or _COMPLAINT.match(sentence):
            continue
        found = changes_in(sentence)
        supposed = _SUPPOSED.search(spoken(sentence)) is not None
        if found.begin >= 0 and has_outcome(sentence) and not supposed and _tells(sentence, found):
            claims = claims_of(line, sentence, prose=True)
            told.claims += [replace(c, line=_line_at(lines, sentence, c, line)) for c in claims]
            pending = None
        elif found.changes and not supposed and not any(w is Word.UNTRIED for _, _, w in said(sentence)):
            pending = Claim(line, sentence, "", found, prose=True)
            pending = replace(pending, line=_line_at(lines, sentence, pending, line))
        elif pending is not None and has_outcome(sentence) and not supposed and _ANAPHORA.match(sentence):
            told.claims.append(replace(pending, text=f"{pending.text} {sentence}", result=sentence))
            pending = None


def _tells(sentence: str, found: Found) -> bool:
    """Whether a sentence tells of a run: words alone (`vllm 0.14 fails`) do only behind a word such as `with`."""
    if found.commands or any(change.sure for change in found.changes):
        return True
    if found.changes:
        before = sentence[: found.changes[0].begin]
        if re.fullmatch(r"\W*", before):
            return re.match(r"\s*[:,-]", sentence[found.changes[0].end :]) is None
        return (
            re.search(
                r"(?:^|\b)(?:with|on|under|using|to|in|tried|running|ran|set|and|went|going|disabl\w+|enabl\w+|turn\w*|switch\w*|without|same)\W+(?:\w+\W+){0,2}$",
                before,
                re.I,
            )
            is not None
        )
    return (
        re.search(r"\b(?:ran|run|rerun|re-ran|tried|launch\w*|start\w*|repeat\w*|test\w*|baseline)\b", sentence, re.I)
        is not None
    )


def _sentences(lines: Sequence[Line]) -> Iterator[Line]:
    """The sentences of a paragraph, each with the line on which it begins."""
    if not lines:
        return
    text = "\n".join(line.strip() for _, line in lines)
    at = 0
    for piece in _split(text):
        begin = text.index(piece, at) if piece else at
        at = begin + len(piece)
        yield lines[text.count("\n", 0, begin)][0], " ".join(piece.split())


def _split(text: str) -> list[str]:
    """Cut at the ends of sentences, never inside of code."""
    masked = re.sub(r"`[^`]*`", lambda found: "`" + "x" * (len(found[0]) - 2) + "`", text)
    cuts = [(found.start(), found.end()) for found in _SENTENCE.finditer(masked)]
    pieces, begin = [], 0
    for start, end in cuts:
        pieces.append(text[begin:start])
        begin = end
    return [*pieces, text[begin:]]


def _line_at(lines: Sequence[Line], sentence: str, claim: Claim, line: int) -> int:
    """The line on which the claim's change stands."""
    parts = [*claim.found.changes, *claim.found.commands]
    if not parts:
        return line
    words = sentence[parts[0].begin : parts[0].end].strip("` ").split()
    if not words:
        return line
    return next((n for n, text in lines if n >= line and words[0] in text), line)


def _lines_as_items(lines: Sequence[Line]) -> list[Item]:
    """Lines that each begin with a change, with what is continued below them, as the items of a list."""
    items: list[Item] = []
    for number, text in lines:
        if _STARTS.match(text) or not items:
            items.append(Item(number, 0, "", [(number, text.strip())]))
        else:
            items[-1].lines.append((number, text.strip()))
    return items


# -- code ------------------------------------------------------------------------------------------------------


def _code(told: Told, block: Code) -> None:
    """What is quoted is a command, a log, or a list that was pasted as it was."""
    told.errors += [
        text.strip()
        for _, text in block.lines
        if re.search(r"\b[A-Z]\w*(?:Error|Exception)\b:|CUDA error|Assertion", text)
    ][-1:]
    starts = [line for line in block.lines if _STARTS.match(line[1]) and has_outcome(line[1])]
    if len(starts) > 1:
        for item in _lines_as_items(block.lines):
            _item(told, item, None)


def _note_commands(told: Told, body: Sequence[Block]) -> None:
    for block in body:
        told.commands += [(_line(block), argv) for argv in _commands_of(block)]


def _line(block: Block) -> int:
    if isinstance(block, (Code, Paragraph)):
        return block.lines[0][0] if block.lines else 0
    return block.rows[0][0] if isinstance(block, Table) else block.line


def _commands_of(block: Block) -> list[tuple[str, ...]]:
    if isinstance(block, Code):
        return _argvs([text for _, text in block.lines])
    if isinstance(block, Paragraph):
        whole = _argvs([_value_of(text) for _, text in block.lines])
        text = " ".join(text.strip() for _, text in block.lines)
        return whole or [
            command.argv for command in changes_in(text, words=False).commands if "`" in text or "~" in text
        ]
    if isinstance(block, Item):
        inside = [command.argv for command in changes_in(block.text, words=False).commands]
        return inside or _argvs([text for _, text in block.code])
    return []


def _value_of(text: str) -> str:
    """A line without the key before it."""
    return text.partition(": ")[2] if _FIELD.match(text) else text


def _argvs(lines: Sequence[str]) -> list[tuple[str, ...]]:
    """The commands among lines; a backslash at the end goes on in the next one."""
    found, parts = [], ""
    for text in lines:
        if text.rstrip().endswith("\\"):
            parts += f" {text.rstrip()[:-1].strip()}"
            continue
        if argv := command_of(f"{parts} {text.strip()}".strip()):
            found.append(argv)
        parts = ""
    if parts and (argv := command_of(parts.strip())):
        found.append(argv)
    return found


def _key(claim: Claim) -> object:
    return tuple((c.name, c.level) for c in claim.found.changes), tuple(c.argv for c in claim.found.commands)
