"""A process of our own that decodes the pictures which might take too much, and that can be ended."""

from __future__ import annotations

import atexit
import json
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path
from threading import Event, Lock, Timer
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gramless.errors import GramlessError
from gramless.pictures.features import decoding
from gramless.pictures.features.decoding import Metadata, UndecodableError, UnopenedError

START = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("decoding", sys.argv[1])
sys.modules["decoding"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
from decoding.worker import serve_requests
serve_requests(int(sys.argv[2]))
"""  # the folder by itself: the packages around it bring PyTorch
MEMORY = 2**30  # bytes that decoding one picture may take
SECONDS = 30.0  # that it may take


class Decoder:
    """Decodes pictures in another process, which starts with the first one and anew after one that it was ended on."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._turn = Lock()
        self.process: subprocess.Popen[bytes] | None = None

    def decode(self, source: Path | bytes, longest_side: int) -> NDArray[np.uint8]:
        """What `decoding.decode` gives of a file or its content; UndecodableError where that takes too much as well."""
        answer, pixels = self._asked({"longest_side": longest_side}, source)
        return np.frombuffer(pixels, dtype=np.uint8).reshape(answer["shape"])

    def metadata(self, picture: Path) -> Metadata:
        """What `decoding.metadata_of` gives of a file; UndecodableError where that takes too much."""
        answer, _ = self._asked({}, picture)
        if "unopened" in answer:
            raise UnopenedError
        return Metadata.of_texts(answer["metadata"])

    def _asked(self, request: dict[str, Any], source: Path | bytes) -> tuple[dict[str, Any], bytes]:
        with self._turn:
            process = self._running()
            too_long = Event()

            def give_up() -> None:
                too_long.set()
                process.kill()

            timer = Timer(SECONDS, give_up)
            timer.daemon = True  # who ends does not wait for a picture
            timer.start()
            try:
                return _ask(process, request, source)
            except (EOFError, BrokenPipeError) as error:
                self._end()
                reason = f"takes more than {SECONDS:g} seconds to decode" if too_long.is_set() else "ends its decoder"
                raise UndecodableError(reason) from error
            except UndecodableError:
                raise
            except BaseException:  # Ctrl-C: the rest of the answer would be taken for the next one
                self._end()
                raise
            finally:
                timer.cancel()
                timer.join()
                if too_long.is_set():
                    self._end()

    def close(self) -> None:
        """End the process; one that is in the middle of something, as well."""
        if self.owner == os.getpid():
            self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            command = [sys.executable, "-P", "-c", START, decoding.__file__, str(MEMORY)]
            few_threads = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
            pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
            self.process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=nowhere, env=os.environ | few_threads
            )
            if not _pipe(self.process.stdout).readline():
                self._end()
                raise GramlessError(
                    f"the process that decodes pictures does not start. Mend that first: {shlex.join(command)}"
                )
        return self.process

    def _end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def the_decoder() -> Decoder:
    """The one of this process."""
    global _decoder
    if _decoder is None or _decoder.owner != os.getpid():  # a fork shares the pipes of another process
        _decoder = Decoder()
        atexit.register(_decoder.close)
    return _decoder


_decoder: Decoder | None = None


def _ask(
    process: subprocess.Popen[bytes], request: dict[str, Any], source: Path | bytes
) -> tuple[dict[str, Any], bytes]:
    """The worker's answer, and the pixels after it."""
    what = {"length": len(source)} if isinstance(source, bytes) else {"path": str(source.absolute())}
    requests, answers = _pipe(process.stdin), _pipe(process.stdout)
    requests.write(json.dumps(request | what).encode() + b"\n")
    if isinstance(source, bytes):
        requests.write(source)
    requests.flush()
    line = answers.readline()
    if not line:
        raise EOFError
    answer = json.loads(line)
    if "reason" in answer:
        raise UndecodableError(answer["reason"])
    n_bytes = math.prod(answer["shape"]) if "shape" in answer else 0
    pixels = answers.read(n_bytes)
    if len(pixels) < n_bytes:
        raise EOFError
    return answer, pixels


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None, "the process was started with pipes"
    return pipe
