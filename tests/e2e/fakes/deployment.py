"""A fake deployment for tests: no engine, no model, no GPU. What it does wrong is in a plan, a JSON file.

    python deployment.py PLAN [--port N] [--any-flag [value]]...

It writes its own start into a ledger, so that a test can count how often it was really started. At the point that the
plan names it holds: it leaves the file `held` beside the plan and waits for the file `go`.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler

PLAN = Path(sys.argv[1])
plan: dict[str, Any] = json.loads(PLAN.read_text())
LONG = 120.0


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def flags() -> dict[str, str]:
    """The command line as it came: `--f v` and bare `--f`, and variables whose names begin with FAKE_."""
    found = {name: value for name, value in os.environ.items() if name.startswith("FAKE_")}
    words = sys.argv[2:]
    for word, following in pairwise([*words, "--"]):
        if word.startswith("--"):
            found[word] = "present" if following.startswith("--") else following
    return found


def enter() -> int:
    """Write our start into the ledger; its number, from 1."""
    entry = {"pid": os.getpid(), "token": os.environ.get("RULEOUT_TRIAL"), "flags": flags(), "wall": time.time()}
    with open(plan["ledger"], "a+") as ledger:
        fcntl.flock(ledger, fcntl.LOCK_EX)
        ledger.write(json.dumps(entry) + "\n")
        ledger.flush()
        ledger.seek(0)
        return len(ledger.readlines())


def shows(kind: str) -> bool:
    """Whether a conjunction of the plan's list of that name holds, and chance wants it."""
    here = flags()
    return any(all(here.get(f, "absent") == level for f, level in rule.items()) for rule in plan.get(kind, ()))


def hold(phase: str) -> None:
    """Wait here, if this start and this phase are the ones."""
    wanted = plan.get("hold") or {}
    if wanted.get("phase") != phase or wanted.get("start") != number:
        return
    say(f"fake deployment: held in {phase}")
    PLAN.with_name("held").write_text(str(os.getpid()))
    until = time.monotonic() + LONG
    while not PLAN.with_name("go").exists() and time.monotonic() < until:
        time.sleep(0.01)


def child(kind: str) -> None:
    """A process below us that does not go away by itself.

    session: in a session of its own. stubborn: it ignores SIGTERM besides. daemon: it forked twice.
    """
    read, write = os.pipe()
    if os.fork():
        os.close(write)
        os.read(read, 1)  # until it is what it is going to be
        os.close(read)
        return
    os.setsid()
    if kind == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if kind == "daemon" and os.fork():
        os._exit(0)
    os.write(write, b".")
    os.close(write)
    time.sleep(LONG * 5)
    os._exit(0)


def break_down() -> None:
    raise RuntimeError(plan.get("error", "shape mismatch: value tensor of shape [512] cannot be broadcast to [256]"))


def write_log(size: int) -> None:
    """Real bytes, quickly: many lines of an ordinary log."""
    block = b"".join(b"INFO: step %06d of a very talkative engine, nothing is wrong here\n" % i for i in range(16000))
    while size > 0:
        os.write(1, block[:size])
        size -= len(block)
    os.write(1, b"\n")


def job() -> None:
    say("Loading weights")
    hold("load")
    if plan.get("seconds"):
        time.sleep(plan["seconds"])
    if shows("other"):
        raise ValueError("tokenizer: unknown pre-tokenizer of this fake")
    if shows("fails"):
        break_down()
    say("fake deployment: done")
    hold("end")


def serve() -> None:
    import http.server
    import traceback

    served = 0

    def complete(handler: BaseHTTPRequestHandler) -> tuple[int, str]:
        nonlocal served
        served += 1
        handler.rfile.read(int(handler.headers["Content-Length"]))
        hold("probe")
        text = "Paris, as in every fake."
        if shows("other"):
            say("ValueError: tokenizer: unknown pre-tokenizer of this fake")
            return 500, '{"error": "ValueError"}'
        if shows("fails") and served >= plan.get("from_request", 1):
            try:
                break_down()
            except RuntimeError:
                if not plan.get("silent"):
                    traceback.print_exc()
                if plan.get("how") == "die":
                    sys.stderr.flush()
                    os._exit(1)
                if plan.get("how") != "empty":
                    return 500, '{"error": "internal"}'
                text = ""
        if shows("wrong"):
            text = "Lyon, as in no other fake."
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return 200, json.dumps({"choices": [choice], "usage": {"completion_tokens": len(text.split())}})

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status: int, body: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_GET(self) -> None:
            healthy = self.path == "/health" and not plan.get("never_ready")
            self.answer(200 if healthy else 503, "fake")

        def do_POST(self) -> None:
            self.answer(*complete(self))

        def log_message(self, *words: object) -> None:
            pass

    def leave(received: int, frame: object) -> None:
        hold("stop")
        os._exit(0)

    signal.signal(signal.SIGTERM, signal.SIG_IGN if plan.get("ignores_term") else leave)
    say("Loading weights")
    hold("load")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(flags()["--port"])), Handler)
    server.daemon_threads = True
    say("fake deployment: listening")
    server.serve_forever()


def main() -> None:
    say(f"RULEOUT_COST_MINUTES={plan.get('minutes', 1.0)}")
    write_log(int(plan.get("log_bytes", 0)))
    if (plan.get("hold") or {}).get("start") == number:
        for kind in plan["hold"].get("children", ()):
            child(kind)
    for kind in plan.get("children", ()):
        child(kind)
    if plan.get("daemon"):  # the launcher leaves; what serves is a daemon in a session of its own
        if os.fork():
            os._exit(0)
        os.setsid()
        if os.fork():
            os._exit(0)
    serve() if plan["mode"] == "serve" else job()


if __name__ == "__main__":
    number = enter()
    main()
