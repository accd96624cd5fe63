"""Asking a server that somebody else runs: the same requests, and answers of the same shape as the agent records."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from ruleout.engines import Request
from ruleout.model import MissingError, UsageError

LOOK_S = 20.0
BODY_BYTES = 16 << 20


def ask(url: str, request: Request, key: str | None) -> Mapping[str, Any]:
    """The raw answer to a request: status, body, error, seconds."""
    return _asked(url, request.method, request.path, request.body, request.headers, request.timeout, key)


def fetched(url: str, path: str, key: str | None) -> Mapping[str, Any]:
    """The JSON object at a path; empty where there is none. Raises MissingError when nobody answers there at all."""
    answer = _asked(url, "GET", path, None, {}, LOOK_S, key)
    if answer["error"] and not answer["status"]:
        raise MissingError(f"{url}: {answer['detail']}", "Check that the server runs and that this is its address.")
    try:
        document = json.loads(answer["body"])
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) and answer["status"] == 200 else {}


def _is_address(url: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _asked(
    url: str, method: str, path: str, body: str | None, headers: Mapping[str, str], timeout: float, key: str | None
) -> Mapping[str, Any]:
    if not _is_address(url):
        raise UsageError(f"--url {url}: no address of a server", "Write it as http://127.0.0.1:8000.")
    more = {} if key is None else {"Authorization": f"Bearer {key}"}
    began, status, text, error, detail = time.monotonic(), 0, "", None, ""
    try:
        asked = urllib.request.Request(
            url.rstrip("/") + path,
            data=None if body is None else body.encode(),
            headers={**headers, **more},
            method=method,
        )
        with urllib.request.urlopen(asked, timeout=timeout) as answer:
            status, text = answer.status, answer.read(BODY_BYTES).decode("utf-8", "replace")
    except urllib.error.HTTPError as refused:
        with refused:
            status, text = refused.code, refused.read(BODY_BYTES).decode("utf-8", "replace")
    except TimeoutError:
        error, detail = "timeout", f"no answer in {timeout:g} s"
    except (OSError, ValueError, http.client.HTTPException) as problem:
        late = isinstance(getattr(problem, "reason", None), TimeoutError)
        error, detail = ("timeout" if late else "other"), str(getattr(problem, "reason", problem))
    return {"status": status, "body": text, "error": error, "detail": detail, "seconds": time.monotonic() - began}
