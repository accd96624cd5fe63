"""All the facts of one run's logs, with their addresses: what ran, with which settings, how far, what failed first.

`read_facts([Path("server.log")])`, a folder of rank logs, or a stream: all given sources are one run. No experiment is
made and no cause is concluded; `suspects` and `next` stay empty. `read_run` adds the lines from which one may conclude:
those around the failure and those that some format knows, or all of an excerpt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ruleout.model import Evidence, Stage
from ruleout.model.diagnosis import SURVIVED, DiagnosedFailure, Diagnosis, EngineId, LogOutcome, LogSource, LogWarning
from ruleout.reading import restarts
from ruleout.reading.choosing import choose
from ruleout.reading.commands import continued
from ruleout.reading.facts import KEPT, FactsReader
from ruleout.reading.infer import EXCERPT, Inferred, infer
from ruleout.reading.last_words import last_word
from ruleout.reading.launches import Launch, launch_of
from ruleout.reading.lines import chunks
from ruleout.reading.looking import Look, look
from ruleout.reading.merging import merged
from ruleout.reading.outcome import Judged, of_class, of_failure, of_silence
from ruleout.reading.pastes import pasted
from ruleout.reading.placing import place, rank_number, refined
from ruleout.reading.reading import CONSEQUENCES
from ruleout.reading.restarts import Launches
from ruleout.reading.signature import signature
from ruleout.reading.sources import Stream, Unpacked, expand, opened, rank_of
from ruleout.reading.spotted import Spotted, Weight
from ruleout.reading.surroundings import environment_of

_LAST = 50
"""Lines of a log's end from which something is concluded."""

__all__ = ["Run", "Stream", "read_facts", "read_run"]


@dataclass(frozen=True, slots=True)
class Part:
    """What one log says.

    Attributes:
        time: when its failure was reported.
        launch: when and with what it began, by which it is known whether it is a run or a rank of one.
    """

    facts: Diagnosis
    time: float | None
    look: Look
    launch: Launch


@dataclass(frozen=True, slots=True)
class Run:
    """The facts of a run, and the lines worth a closer look, in order and each once.

    Attributes:
        near: the lines around the first failure; all lines of an excerpt.
        lines: those, the head of the log, and the lines that a format knows.
        lasted: seconds from when it was ready to its last line, None where no log tells.
    """

    diagnosis: Diagnosis
    near: tuple[Evidence, ...] = ()
    lines: tuple[Evidence, ...] = ()
    lasted: float | None = None


def read_facts(sources: Sequence[Path | Stream]) -> Diagnosis:
    """Read the logs of one run, in constant memory.

    Args:
        sources: files (plain, gz or xz), folders (every log in them, as ranks of one run), streams. Evidence and facts
            name theirs in `source`: the file's name, or the stream's.

    Raises OSError for a file that cannot be read, ValueError when there is no source at all, UsageError for one that is
    packed by zstd.
    """
    return read_run(sources).diagnosis


def read_run(sources: Sequence[Path | Stream]) -> Run:
    """The same, with the lines worth a closer look. Raises what `read_facts` raises."""
    if not sources:
        raise ValueError("no log was given")
    return joined([read_part(source, name) for name, source in expand(sources)])


def joined(parts: Sequence[Part]) -> Run:
    """The run whose logs these are. Raises ValueError when there is none."""
    diagnosis = merged([(part.facts, part.time) for part in parts])
    lead = diagnosis.failure.source if diagnosis.failure else ""
    looks = sorted((part.look for part in parts), key=lambda look: look.source != lead)
    near = looks[0].near if looks else ()
    lasted = max((time for part in parts if (time := part.launch.lasted) is not None), default=None)
    return Run(diagnosis, near, tuple(line for look in looks for line in look.lines)[: 4 * KEPT], lasted)


def read_part(source: Path | Stream, name: str) -> Part:
    """Read one log. Raises OSError when it cannot be read."""
    launches, size, complete, truncated = Launches(), 0, True, False
    with opened(source) as stream:
        for chunk in pasted(chunks(stream)):
            launches.chunk(chunk)
            size, complete = size + len(chunk), chunk.endswith(b"\n")
        truncated = isinstance(stream, Unpacked) and stream.truncated
    log = LogSource(
        name, launches.readers[-1].lines, size, truncated or (not complete and launches.readers[-1].lines > EXCERPT)
    )
    return _whole([_part(reader, log) for reader in launches.readers])


def _part(reader: FactsReader, log: LogSource) -> Part:
    reader.finish()
    facts, time = _facts(reader, log)
    return Part(facts, time, look(reader, facts.failure, log.name), launch_of(reader))


def _whole(parts: Sequence[Part]) -> Part:
    """What a log says that holds so many launches."""
    if len(parts) == 1:
        return parts[0]
    facts, launches = [part.facts for part in parts], [part.launch for part in parts]
    if restarts.ranks(launches):
        found = replace(merged([(part.facts, part.time) for part in parts]), sources=facts[-1].sources)
        line = found.failure.line if found.failure else 0
        number = next((n for n, told in enumerate(facts) if told.failure and told.failure.line == line), 0)
    else:
        found, number = restarts.told(facts), restarts.chosen(facts)
    return Part(found, parts[number].time, parts[number].look, restarts.joined(launches, number))


def _facts(reader: FactsReader, source: LogSource) -> tuple[Diagnosis, float | None]:
    book, timeline = reader.book, reader.timeline
    continued(book, reader.head)
    book.adopt()
    engine = book.engine
    if aliases := _aliases(engine):
        book.rename(aliases)
    failure, stage, time = None, timeline.furthest(), None
    silent = of_silence(timeline, reader.tail, engine, reader.read, reader.lives.last < reader.failures.interrupted)
    inferred = _infer(reader, silent)
    chosen, rest, survived = choose(reader, silent.outcome, quiet=inferred is None)
    # That a process ends is said last of all, and tells less than any other line.
    if (chosen is None or chosen.weight is Weight.CONSEQUENCE) and silent.outcome is LogOutcome.UNKNOWN:
        chosen = _last_word(reader) or chosen
    if chosen:
        chosen = refined(chosen, reader)
        stage = place(chosen, reader)
        failure, judged = _failure(chosen, rest, source.name), of_failure(chosen, reader.tail)
        time = reader.times.get(chosen.start)
        if judged.outcome is LogOutcome.HEALTHY:  # only a request failed
            survived, failure, stage, time = [*survived, chosen], None, timeline.furthest(), None
    else:
        judged = silent
        if inferred:
            failure, stage = _inferred(inferred, source.name), inferred.stage
            judged = Judged(of_class(inferred.class_, inferred=True), inferred.why)
        elif survived:
            judged = Judged(judged.outcome, f"{judged.reason}; an exception before was survived")
    return (
        Diagnosis(
            EngineId(engine, book.version.get(engine)),
            judged.outcome,
            stage,
            timeline.finished(source.name, time),
            failure,
            environment_of(book, excerpt=reader.read <= EXCERPT),
            book.all(source.name),
            tuple(replace(w, source=source.name) for w in (*_recovered(survived), *reader.warnings.found)),
            unexplained=1.0 if failure else 0.0,
            command=book.command,
            reason=judged.reason,
            sources=(source,),
            choices=tuple(replace(offer, source=source.name) for offer in book.offers.values()),
        ),
        time,
    )


def _aliases(engine: str) -> dict[str, str]:
    from ruleout.reading.formats import FORMATS

    return next((dict(form.aliases) for form in FORMATS if form.name == engine), {})


def _last_word(reader: FactsReader) -> Spotted | None:
    """What the last lines say that no line calls a failure."""
    began = [span.line for span in reader.timeline.spans if span.name is not Stage.SHUTDOWN]
    known = {
        line for c in reader.failures.candidates if c.weight is not Weight.CONSEQUENCE for line in (c.line, c.start)
    }
    return last_word(reader.last(EXCERPT), max(began, default=0), known, reader.timeline.current)


def _infer(reader: FactsReader, judged: Judged) -> Inferred | None:
    """What a log without a failing line tells of a failure. A run that was stopped in order has none."""
    if judged.outcome is LogOutcome.STOPPED:
        return None
    excerpt = reader.read <= EXCERPT and not {Stage.READY, Stage.WARMUP} & {s.name for s in reader.timeline.spans}
    records = list(reader.head)
    if reader.read > len(records):
        records += reader.last(_LAST)
    return infer(records, reader.timeline.current, excerpt=excerpt)


def _failure(chosen: Spotted, rest: list[Spotted], source: str) -> DiagnosedFailure:
    number = rank_number(chosen.rank)
    return DiagnosedFailure(
        chosen.class_,
        signature(chosen.class_, chosen.exception, chosen.message, chosen.frames),
        chosen.message or chosen.text,
        chosen.line,
        number if number is not None else rank_of(source),
        chosen.asynchronous,
        tuple(Evidence(source, other.line, other.text[:500]) for other in rest[:CONSEQUENCES]),
        chosen.exception,
        chosen.text,
        chosen.rank,
        chosen.frames,
        source,
    )


def _recovered(survived: Sequence[Spotted]) -> list[LogWarning]:
    return [LogWarning(c.line, c.text, None, SURVIVED) for c in survived]


def _inferred(found: Inferred, source: str) -> DiagnosedFailure:
    text = found.record.text.strip()[:500]
    return DiagnosedFailure(
        found.class_,
        signature(found.class_, "", text),
        found.why,
        found.record.line,
        text=text,
        source=source,
        inferred=True,
    )
