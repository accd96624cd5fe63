# mypy: disable-error-code="import-not-found"
"""What a real engine's parser makes of words: runs in the engine's environment, which has nothing of ours.

usage: real_words.py ENGINE: reads a list of command lines as JSON, one a line; prints for each whether it is taken.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys


def parser(engine: str) -> argparse.ArgumentParser:
    if engine == "vllm":
        from vllm.engine.arg_utils import EngineArgs
        from vllm.utils.argparse_utils import FlexibleArgumentParser

        made: argparse.ArgumentParser = EngineArgs.add_cli_args(FlexibleArgumentParser())
        return made
    from sglang.srt.server_args import ServerArgs

    plain = argparse.ArgumentParser()
    ServerArgs.add_cli_args(plain)
    return plain


def taken(real: argparse.ArgumentParser, words: list[str]) -> bool:
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            real.parse_args(words)
    except (SystemExit, Exception):
        return False
    return True


if __name__ == "__main__":
    real = parser(sys.argv[1])
    for line in sys.stdin:
        sys.stdout.write(json.dumps({"taken": taken(real, json.loads(line))}) + "\n")
