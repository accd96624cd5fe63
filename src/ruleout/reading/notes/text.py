"""Notes are pasted from anywhere: what a terminal, a chat or a browser put into their lines says nothing of trials."""

from __future__ import annotations

import html
import re

from ruleout.reading.lines import clean

LONGEST = 2000
"""Characters of a line that are looked at: people do not write longer ones, logs that they paste do."""
MOST = 20_000
"""Lines that are looked at."""
_TAGS = re.compile(
    r"</?(?:br|p|div|span|summary|details|b|i|em|strong|kbd|sub|sup|u|code|pre|ul|li)\b[^<>]{0,80}/?>", re.I
)
_COMMENT = re.compile(r"<!--.*?-->")
_LINK = re.compile(r"!?\[([^\[\]]{1,200})\]\([^()\s]{1,400}\)")
_LOGGED = re.compile(
    r"^\W*\(\w+ pid=\d+|\bpid=\d+|^\W*(?:INFO|WARNING|WARN|ERROR|DEBUG)\b[ :\[]"
    r"|^\s*\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]*\]"
    r"|\.(?:py|cc|cpp|cu|h):\d+\]|^\s*File \"[^\"]*\", line \d+|^Traceback \(|ServerArgs\(|non-default args"
    r"|^\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S* .{0,40}\b(?:INFO|WARNING|WARN|ERROR|DEBUG)\b|unauthenticated requests"
)
"""What a logger writes, and no person."""
_MONOSPACED = re.compile(r"\{\{([^{}]+)\}\}")
_QUOTE = re.compile(r"^(?: ?>)+ ?")


def decoded(data: bytes) -> str:
    """The text of a note, without a terminal's escapes."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return clean(data).decode("utf-8-sig", "replace")


def plain(line: str) -> str:
    """A line as a person reads it; empty for one that a logger wrote."""
    line = line[:LONGEST].rstrip()
    if _LOGGED.search(line):
        return ""
    if not line.isascii():
        line = "".join(c for c in line.replace("\xa0", " ") if c.isprintable() or c == "\t")
    line = _QUOTE.sub("", line)
    if "<" in line:
        line = _TAGS.sub(" ", _COMMENT.sub("", line)).rstrip()
    if "{{" in line:
        line = _MONOSPACED.sub(r"`\1`", line)
    if "](" in line:
        line = _LINK.sub(r"\1", line)
    if "&" in line:
        line = html.unescape(line)
    return line.replace("\t", "    ") if line[:1] == "\t" else line
