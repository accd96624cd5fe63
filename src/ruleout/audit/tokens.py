"""Tokens that the model does not have: an id beyond the vocabulary is a device-side assert in the first request.

Four files speak of the same few tokens, and engines read different ones: the configuration's, the generation's, the
tokenizer's own and its configuration's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ruleout.audit.folder import Unreadable, quoted
from ruleout.audit.subject import Subject, unreadable
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Severity

_SOURCE = "https://huggingface.co/docs/transformers/main_classes/tokenizer"
_KEYS = ("eos_token_id", "bos_token_id", "pad_token_id")
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "tekken.json", "spiece.model")


def tokens(subject: Subject) -> Iterator[AuditFinding]:
    """What is to be known of the tokenizer and the special tokens."""
    if not subject.config:
        return
    yield from _there(subject)
    try:
        ids = _ids(subject)
        settings = (
            subject.folder.mapping("tokenizer_config.json") if subject.folder.has("tokenizer_config.json") else {}
        )
    except Unreadable as problem:
        yield unreadable(problem, Severity.ERROR, Component.TOKENIZER_TEMPLATE)
        return
    yield from _within(subject, ids)
    yield from _ends(subject, ids, settings)
    if settings.get("tokenizer_class") == "TokenizersBackend":
        old = subject.launch.engine == "transformers" and (subject.launch.version or "5").startswith("4.")
        what = "saved by transformers 5: version 4 ends with `TokenizersBackend does not exist`"
        severity = Severity.ERROR if old else Severity.NOTE
        yield _finding("tokenizer-class", severity, what, "tokenizer_config.json: tokenizer_class", "Use version 5.")


def _there(subject: Subject) -> Iterator[AuditFinding]:
    names = subject.folder.names
    given = subject.launch.value("tokenizer", "tokenizer_path")
    found = any(n in _TOKENIZERS or n.endswith(".tiktoken") or n.startswith("tokenization_") for n in names)
    if not found and given is None and subject.launch.value("skip_tokenizer_init") is None:
        what = "the folder has no tokenizer"
        yield _finding(
            "tokenizer-missing", Severity.ERROR, what, "tokenizer.json", "Fetch it, or name one: --tokenizer."
        )
    for name in names:
        if (name in _TOKENIZERS or name.endswith(".tiktoken")) and name != "tokenizer.json":
            yield from _instead(subject, name, needed="tokenizer.json" not in names)


def _instead(subject: Subject, name: str, *, needed: bool) -> Iterator[AuditFinding]:
    """A pointer or a page in the place of a tokenizer; with a tokenizer.json beside it, most readers do without."""
    try:
        told = subject.folder.instead(name)
    except Unreadable as problem:
        told = problem.why, problem.remedy
    if told is not None:
        severity = Severity.ERROR if needed else Severity.WARNING
        yield _finding("tokenizer-instead", severity, told[0], quoted(name), told[1])


def _ids(subject: Subject) -> dict[str, int]:
    """The tokens of tokenizer.json with their ids; none where there is no such file. Raises Unreadable."""
    if not subject.folder.has("tokenizer.json"):
        return {}
    document = subject.folder.mapping("tokenizer.json")
    model = document.get("model")
    if not isinstance(model, dict):
        raise Unreadable("tokenizer.json", "has no model in it", "Fetch the published file again.")
    vocabulary, added = model.get("vocab"), document.get("added_tokens")
    found = {}
    if isinstance(vocabulary, dict):
        found = {text: number for text, number in vocabulary.items() if type(number) is int}
    elif isinstance(vocabulary, list):
        found = {str(entry[0]): at for at, entry in enumerate(vocabulary) if isinstance(entry, list) and entry}
    for one in added if isinstance(added, list) else ():
        if isinstance(one, dict) and isinstance(one.get("content"), str) and type(one.get("id")) is int:
            found[one["content"]] = one["id"]
    return found


def _within(subject: Subject, ids: Mapping[str, int]) -> Iterator[AuditFinding]:
    """Every id that anybody names is one of the vocabulary's."""
    size = subject.config.get("vocab_size")
    if type(size) is not int:
        return
    places = {"config.json": subject.config, "generation_config.json": subject.generation_config}
    for name, place in places.items():
        for key in _KEYS:
            bad = [number for number in _listed(place.get(key)) if type(number) is not int or not 0 <= number < size]
            if key == "pad_token_id" and bad == [-1]:
                continue  # how Llama says that it has none
            if key == "pad_token_id" and bad and type(bad[0]) is int and -size <= bad[0] < 0:
                what = f"{key} {bad[0]} is no token: engines do not pad with it, a program that does ends with an error"
                yield _finding("pad-token-negative", Severity.NOTE, what, f"{name}: {key}", "")
                continue
            if bad:
                what = f"{key} {quoted(bad[0])} is no token of the {size} of the vocabulary"
                yield _finding("token-beyond-vocabulary", Severity.ERROR, what, f"{name}: {key}", _PUBLISHED)
    last = max(ids.items(), key=lambda item: item[1], default=None)
    if last is not None and last[1] >= size:
        count = sum(number >= size for number in ids.values())
        what = f"{count} tokens have ids beyond the model's {size} (up to {last[1]}): embedding them is out of bounds"
        yield _finding("tokenizer-beyond-vocabulary", Severity.ERROR, what, "tokenizer.json", _PUBLISHED)


_PUBLISHED = "Fetch the published file again."


def _ends(subject: Subject, ids: Mapping[str, int], settings: Mapping[str, Any]) -> Iterator[AuditFinding]:
    """The token that ends a text is the same for the model and the tokenizer; else answers run on to the limit."""
    own, generated = (_listed(p.get("eos_token_id")) for p in (subject.config, subject.generation_config))
    if own and generated and not set(map(repr, own)) & set(map(repr, generated)):
        what = f"eos_token_id is {quoted(own)} here and {quoted(generated)} in generation_config.json: engines differ"
        yield _finding("eos-differs", Severity.WARNING, what, "config.json: eos_token_id", "Make them agree.")
    text = settings.get("eos_token")
    text = text.get("content") if isinstance(text, dict) else text
    if not isinstance(text, str) or not ids:
        return
    number, known = ids.get(text), [*own, *generated]
    where = "tokenizer_config.json: eos_token"
    if number is None:
        yield _finding(
            "eos-unknown", Severity.WARNING, f"{quoted(text)} is no token of tokenizer.json", where, _PUBLISHED
        )
    elif known and number not in known:
        what = f"{quoted(text)} is token {number}, the model ends with {quoted(known)}: answers may not end"
        yield _finding("eos-differs", Severity.WARNING, what, where, "Make them agree.")


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _finding(id_: str, severity: Severity, what: str, where: str, remedy: str) -> AuditFinding:
    return AuditFinding(id_, severity, what, where, remedy, _SOURCE, Component.TOKENIZER_TEMPLATE)
