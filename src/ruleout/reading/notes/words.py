"""The words that engineers have for what became of a trial, by what they say.

Alternatives of one expression, in this order: what negates a word stands before the word itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum


class Word(StrEnum):
    """What a word says of a trial: not made, failed otherwise, did begin, did not fail, failed as before, failed, left
    open. That it began says nothing of the failure."""

    UNTRIED = "untried"
    OTHER = "other"
    HALF = "half"
    CLEAN = "clean"
    SAME = "same"
    FAILED = "failed"
    UNRESOLVED = "unresolved"


_BAD = (
    r"(?:crash|error|hang|garbage|problem|issue|nan|failure|segfault|oom|assert|complaint|trouble|exception|fault|abort"
    r"|traceback|deadlock|freeze|gibberish|corruption|leak|stall|glitch|warning)\w*"
)
_NOT = r"(?:\b(?:does|do|did|would|will|is|was|has)(?: not|n'?t)|\bnot)"

_WORDS: dict[Word, tuple[str, ...]] = {
    Word.UNTRIED: (
        r"not (?:yet\b|tried|tested|run\b|done)",
        r"\bun(?:tested|tried)\b",
        r"\bto ?do\b|\btbd\b|\bwip\b|\bin progress\b|\bplanned\b|\bpending\b|\bskipped\b|\bqueued\b",
        r"\bhaven'?t (?:had|tried|tested|run|got)|\bhave not (?:tried|tested|run)",
        r"\bdid(?:n'?t| not) (?:try|test)\b",
        r"\b(?:will|should|could|would|might|must|let's|going to|want to|plan to|worth) (?:\w+ )?"
        r"(?:try|trying|do|run|test|check|see|be (?:run|tested|tried))\b",
        r"\bto be (?:run|tested|tried|done)\b|\bnext\b(?=\s*:|\s*$)",
        r"\bnoch (?:offen|nicht (?:getestet|probiert|versucht))|\bnicht getestet\b",
    ),
    Word.OTHER: (
        rf"\b(?:before|instead of|rather than) (?:(?:it|we|reach\w*|got|get\w*|to|the|any|a) ){{0,5}}{_BAD}\b",
        rf"\b(?:different|another|other|new|unrelated|separate|distinct) +(?:\w+ +)?"
        rf"(?:{_BAD}|\w*Error|thing|story|place|way|reason|message)\b",
        r"(?<!for )(?<!by )\bsomething else\b|\bnot the same\b|\bmasked\b",
        r"\b(?:fail|crash|die|dead|break|stop)\w* +(?:much +|even +|way +)?(?:earlier|sooner|otherwise|differently)",
        r"\b(?:does|do|did|would)(?: not|n'?t) +(?:even +|really +|get to )?"
        r"(?:start|load|get ready|become ready|come up|boot|launch|get (?:that far|there|up|past)|reach"
        r"|initiali[sz]e|compile|build"
        r"|import)\w*",
        r"\b(?:won'?t|can(?:no|')t|could ?n(?:o|')t|could not|unable to|never) +(?:even +)?"
        r"(?:start|load|boot|c[oa]me up|launch|g[eo]t (?:that far|there|up))\w*",
        r"\brefuse[sd]? +to +(?:start|load|run|boot|launch)",
        r"\b(?:start\w*|load\w*|launch\w*|server|init\w*) +(?:fails|failed|crashes|crashed|refused)\b",
        r"\b(?:does|did)(?: not|n'?t) fit\b|\brejected\b|\bunsupported\b|\bnot supported\b"
        r"|\bunrecogni[sz]ed argument\w*|\binvalid choice\b",
        r"\bno such option\b|\bunknown (?:argument|option|flag)\b",
        r"\banderer (?:fehler|absturz)|\banderes problem|\bstartet (?:\w+ ){0,2}nicht\b",
    ),
    Word.HALF: (
        r"\b(?:load|start|boot|launch|compil|build|built|install|initiali[sz])(?:s|ed|es|ing)? (?:up )?"
        r"(?:fine|okay|ok|cleanly|correctly|good|well)\b",
    ),
    Word.CLEAN: (
        rf"\b{_BAD} (?:(?:is|are|was|has|seems) )?(?:gone|disappeared|vanished|fixed|went away)\b",
        rf"\bno (?:more |longer |further |single |such )?(?:[\w-]+ )?{_BAD}",
        rf"\b(?:without|w/o|zero|0) (?:a |any |a single |further |one )?(?:[\w-]+ )?{_BAD}",
        rf"\b(?:kein(?:e|en)?|ohne) (?:\w+ )?(?:{_BAD}|abst(?:urz|ürze)\b|fehler\b)",
        r"\b(?:läuft|geht|funktioniert)\b(?! (?:\w+ )?nicht\b)",
        r"\bnever (?:crash|fail|h[au]ng|occur|happen|reproduc|saw|seen)\w*",
        r"\bnot reproduc\w*|\bcan(?:no|')t reproduce\b|\bcan ?not reproduce\b|\bunable to reproduce\b",
        r"\b(?:did|does|do)(?: not|n'?t) +(?:crash|fail|hang|repro|happen|occur|oom|show|trigger|segfault|assert|die"
        r"|break|leak)\w*",
        r"\bnone (?:of (?:them|the \w+|those) )?(?:has |have |had )?(?:h[au]ng|crash|fail|died?|broke)\w*",
        r"\b(?:has|have|had)(?: not|n't) (?:h[au]ng|crash|fail|died?|broke|happen|reproduc)\w*",
        r"\bnothing (?:bad )?(?:happen\w*|wrong)",
        r"\ball (?:good|green|fine|pass\w*)",
        r"(?<!not )(?<!n't )(?<!\bno )(?<!never )\b(?:o\.?k(?:ay)?(?!,? (?:so|then|let|try|i|we|thanks|thx|can"
        r"|could|what)\b)|works?|worked|working|fine|good|clean|pass(?:es|ed"
        r"|ing)?"
        r"|stable|healthy|fixe[sd]|gone|correct|sane|coherent|solve[sd]|cure[sd]|help(?:s|ed)|green|lgtm)\b",
        r"\balive\b|\blives\b|\bsurviv\w*|\b(?:go(?:es|ne)|went) away|\bdisappear\w*|\bvanish\w*|\bsuccess\w*"
        r"|\bsmooth\w*|\bheld up\b",
        r"[✅✓✔🟢👍🎉☑]|:(?:white_check_mark|heavy_check_mark|\+1|tada|thumbsup|large_green_circle|green_circle|ok|check):",
        r"\b(?:ran|runs|running) (?:through|for|overnight|all night|to completion|happily)\b",
        r"\b(?:went|goes|got|made it|came) (?:all the way )?through\b"
        r"|(?<!not )(?<!n't )(?<!never )(?<!half )\b(?:finish(?:es|ed)|complete[sd])\b(?=\W*$|[.,;:!]|\s+(?:too|fine"
        r"|all|after|in|the run|within|without|\())",
    ),
    Word.SAME: (
        r"\bsame\b|\bagain\b|\bstill\b|\bidentical\w*|\bas before\b|\bunchanged\b|\bditto\b|\blikewise\b",
        r"\bno (?:change|difference|effect|improvement|luck|joy|dice|help)\b|\bmade no difference\b",
        r"\bgleicher (?:fehler|absturz)|\bimmer noch\b|\bnach wie vor\b|\bwieder\b",
        r"\bchang(?:ed|es) nothing\b|\bwithout (?:any )?(?:effect|change|success|improvement)\b|\bto no avail\b"
        r"|\bd(?:id|oes|o) nothing\b",
        r"\b(?:did|does|do)(?: not|n'?t) +(?:help|change|fix|matter|make)\w*|\bnot (?:it|the cause)\b",
        r"(?<!not )(?<!to )\brepro(?:s|d|duced?|duces|ducible)?\b(?!\s*:)",
    ),
    Word.FAILED: (
        rf"{_NOT} +(?:really +)?(?:ok|okay|work|good|fix|fine|stable|clean|pass|correct|solve|gone|surviv|cure)\w*",
        r"\bno (?:good|go|bueno)\b|\bnever work\w*|\bunstable\b|\bincorrect\b|\bwon'?t work\b|\bnot help\w*",
        r"\bcrash\w*|\bfail\w*|\bbroken?\b|\bbreaks?\b|\bbad\b|\bwrong\b|\bgarb(?:age|led)\w*|\bgibberish\b"
        r"|\bnonsense\b",
        r"\bsalad\b|\bempty\b|\bh[au]ngs?\b|\bhanging\b|\bstuck\b|\bstall(?:s|ed)?\b|\bdead-?lock\w*|\bfr(?:ee"
        r"|o)ze[sn]?\b",
        r"\bseg-?faults?\w*|\b(?:sig)?segv\b|\bcore dump\w*|\bboom\b|\bdie[sd]\b|\bdead\b|\bdying\b|\bassert\w*"
        r"|\boom\w*|\bfaults?\b",
        r"\bout of memory\b|\bunresponsive\b|\bnans?\b|\berrors?\b|\b\w+Error\b|\bexception\b|\btraceback\b|\bkilled\b",
        r"\btimes? ?outs?\b|\btimed out\b|\bko\b|\bnok\b|\bcorrupt\w*|\billegal\b|\bXid\b|\bleak\w*|\bregress\w*"
        r"|\bred\b",
        r"\bblow\w* up\b|\bblew up\b|\bkaputt?\b",
        r"\b(?:läuft|geht|funktioniert) (?:\w+ )?nicht\b|\babst(?:urz|ürze)\b|\bst(?:ü|ue)rzt\b|\babgestürzt\b"
        r"|\bhängt\b|\bfehler\b",
        r"[❌✗✘✖🔴💥☠]|:(?:x|boom|red_circle|no_entry|fire|skull|-1|thumbsdown|negative_squared_cross_mark):|!!!!+",
    ),
    Word.UNRESOLVED: (
        r"\bnot a valid (?:test|run|trial)\b|\binvalid (?:test|run|trial)\b|\b(?:do|does|did)(?:n't| not) count\b"
        r"|\bnot counted\b",
        r"\babort(?:ed)?\b|\binconclusive\b|\bunclear\b|\bunresolved\b|\bg[ai]ve up\b|\binterrupted\b|\bunfinished\b",
        r"\bnot finished\b|\bdid(?:n'?t| not) finish\b|\bstopped (?:it|early|the run)\b|\bhad to (?:stop|kill|abort)\b",
        r"\blost (?:the )?(?:node|machine|log|box|allocation)\b|\bpreempt\w*|\bno result\b|\bcancel\w*",
        r"\bran out of time\b|\bcould not tell\b|\bcan'?t tell\b|^\s*\?+\s*$|\bunknown\b|\bdid(?:n't| not) wait\b",
    ),
}
_EVENTS = re.compile("|".join(f"(?P<{word}>{'|'.join(rows)})" for word, rows in _WORDS.items()), re.IGNORECASE)
CODE = re.compile(r"`+([^`]*)`+|(?<![\w=~/])[~=]([^\s~=](?:[^~=]*[^\s~=])?)[~=](?![\w=~])")
"""Code inside of a text: Markdown's, and org-mode's."""
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w.-]*")
_EXCEPTION = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")


def said(text: str) -> Iterator[tuple[int, int, Word]]:
    """The words of a text that say what became of a trial: where each begins and ends."""
    for found in _EVENTS.finditer(spoken(text)):
        if (word := Word(found.lastgroup or "")) is not Word.HALF:
            yield found.start(), found.end(), word


def spoken(text: str) -> str:
    """The text with flags blanked out, and code that is no error: neither `--no-crash` nor a value says anything."""

    def blank(found: re.Match[str]) -> str:
        return found[0] if is_error(found[1] or found[2] or "") else " " * len(found[0])

    return _FLAG.sub(lambda found: " " * len(found[0]), CODE.sub(blank, text))


def is_error(code: str) -> bool:
    """Whether what is quoted as code is what an engine said when it failed."""
    if _EXCEPTION.search(code) or "!!!!" in code:
        return True
    return len(code.split()) > 1 and not code.lstrip().startswith("-") and _EVENTS.search(code) is not None
