"""Connections that take their time: a request that does not arrive is given up, whoever sends it."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0  # in which the head of a request arrives
BODY_SECONDS = 10.0  # in which its body does, and one more for every
BODY_BYTES_PER_SECOND = 100_000
TICK_SECONDS = 0.5
GIVEN_UP = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class PunctualProtocol(H11Protocol):
    """Uvicorn's HTTP with deadlines. While the server does not read, because others are first, no time passes."""

    _head_began: float | None
    _body_began = 0.0
    _came = 0
    _tick: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._head_began = self.loop.time()
        self._tick = self.loop.call_later(TICK_SECONDS, self._look_at_the_clock)

    def connection_lost(self, exc: Exception | None) -> None:
        self._tick.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before = self._state
        if before is h11.IDLE and self._head_began is None:
            self._head_began = self.loop.time()
        super().data_received(data)
        if self._state is not h11.IDLE:
            self._head_began = None
        if self._state is h11.SEND_BODY and before is not h11.SEND_BODY:
            self._body_began, self._came = self.loop.time(), 0
        self._came += len(data)

    @property
    def _state(self) -> Any:
        """What the client is at: nothing or a head (IDLE), a body, or done."""
        return self.conn.their_state

    def _look_at_the_clock(self) -> None:
        now = self.loop.time()
        if self._state is h11.SEND_BODY and self.flow.read_paused:
            self._body_began += TICK_SECONDS
        allowed = BODY_SECONDS + self._came / BODY_BYTES_PER_SECOND
        head_is_late = self._head_began is not None and now - self._head_began > HEAD_SECONDS
        if head_is_late or (self._state is h11.SEND_BODY and now - self._body_began > allowed):
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                self.transport.write(GIVEN_UP)
            self.transport.close()
            return
        self._tick = self.loop.call_later(TICK_SECONDS, self._look_at_the_clock)
