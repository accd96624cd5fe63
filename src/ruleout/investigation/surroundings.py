"""Where the trials ran: told once for each environment, kept in the investigation's folder, and never a reason to fail.

Versions are the first thing that a maintainer asks for, and the last thing that anybody remembers a week later.
"""

from __future__ import annotations

import contextlib
import os

from ruleout.engines import Engine, recognise
from ruleout.engines.installed import Described, described, interpreter_of
from ruleout.investigation.folder import Folder, write_whole
from ruleout.investigation.journal import Journal
from ruleout.model import Case, Configuration, Installation, RuleoutError
from ruleout.model.redaction import SECRETS, Redactor

FOLDER = "environments"


class Surroundings:
    """Looks at the environments of an investigation's trials, each once."""

    def __init__(self, folder: Folder, journal: Journal, engine: Engine) -> None:
        self.folder, self.journal, self.engine = folder, journal, engine
        self._seen: set[tuple[str, ...]] = set()

    def look(self, case: Case) -> None:
        """Describe the environments of the trials that were made, as far as that was not done."""
        for trial in self.journal.trials:
            with contextlib.suppress(RuleoutError, OSError, ValueError):
                self._look(case, trial.configuration)

    def _look(self, case: Case, configuration: Configuration) -> None:
        launch = self.engine.launch(case, case.baseline.moved(configuration))
        found = recognise(launch.argv)
        key = found.program or found.command[:1]
        if key in self._seen:
            return
        self._seen.add(key)
        changes = {name: value for name, value in launch.env.items() if value is not None}
        env = {name: value for name, value in os.environ.items() if launch.env.get(name, "") is not None} | changes
        cwd = launch.cwd or self.journal.cwd
        python = interpreter_of(found, env, cwd)
        if python is None or any(one.python == python for one in self.journal.installations):
            return
        told = described(self.engine.name, python, env, cwd)
        if told is not None:
            self._keep(told)

    def _keep(self, told: Described) -> None:
        number = len(self.journal.installations) + 1
        path = f"{FOLDER}/{number}.txt"
        facts = "".join(f"{name}: {value}\n" for name, value in told.facts.items())
        own = f"\n{told.report.strip()}\n" if told.report.strip() else ""
        text = f"{told.python}\n\n{facts}{own}"
        write_whole(self.folder.path / path, Redactor(SECRETS)(text))
        self.journal.installed(Installation(told.python, told.facts, path))
