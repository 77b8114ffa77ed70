"""The worker that decodes pictures for other processes."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
from typing import Any, BinaryIO

from .decode import UndecodableError, decode
from .metadata import UnopenedError, metadata_of


def serve_requests(memory: int) -> None:
    """Decode what is asked for on standard input, one picture after the other, until it ends.

    A request is a line of JSON, {"longest_side": 384} with a "path" or with the "length" of the content that follows;
    the answer is a line, {"shape": [height, width, 3]} before the pixels or {"reason": ...}. Without a longest side, it
    is what the picture carries beside them: {"metadata": ...} or {"unopened": ...}. The first line is a sign of life.
    `memory` is what a request may take, in bytes; it is enforced where the system can.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks, and it ends this one
    import PIL.Image

    PIL.Image.init()
    _limit_memory(memory)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    answers.write(b"{}\n")
    answers.flush()
    while line := requests.readline():
        request = json.loads(line)
        answer: dict[str, Any]
        try:
            with open(request["path"], "rb") if "path" in request else _content(requests, request["length"]) as file:
                if "longest_side" in request:
                    pixels = decode(file, request["longest_side"])
                    answer, content = {"shape": pixels.shape}, pixels.tobytes()
                else:
                    answer, content = {"metadata": metadata_of(file).as_texts()}, b""
            answers.write(json.dumps(answer).encode() + b"\n" + content)
        except UnopenedError:
            answers.write(json.dumps({"unopened": True}).encode() + b"\n")
        except (UndecodableError, OSError) as error:
            answers.write(json.dumps({"reason": str(error)}).encode() + b"\n")
        except MemoryError:
            answers.write(json.dumps({"reason": f"needs more than {memory / 2**30:.3g} GB of memory"}).encode() + b"\n")
        answers.flush()


def _content(requests: BinaryIO, length: int) -> BinaryIO:
    return io.BytesIO(requests.read(length))


def _limit_memory(memory: int) -> None:
    try:
        import resource

        with open(f"/proc/{os.getpid()}/status") as status:
            found = re.search(r"VmData:\s+(\d+) kB", status.read())
        if found:
            most = int(found[1]) * 1024 + memory
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    except (ImportError, OSError):  # not Linux: the number of pixels is the only bound
        return
