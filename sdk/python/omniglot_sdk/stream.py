"""The events of a session, in order and each once, over as many connections as it takes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence

import httpx

from .http import Http, backoff, is_transient, refusal, retry_after
from .types import UniversalEvent


class EventStream:
    """A session's events.

    Iterating connects, and connects again after a cut, a silence or a restart of the daemon. The loop ends when the
    session is deleted, and raises an `OmniglotError` of status 410 when the log is another one than that of the
    cursor, so that nothing is skipped silently.
    """

    def __init__(
        self,
        http: Http,
        path: str,
        *,
        after: str | int | None = None,
        types: Sequence[str] | None = None,
        include_raw: bool = False,
        on_caught_up: Callable[[], None] | None = None,
    ) -> None:
        self._http = http
        self._path = path
        self._params = {"include_raw": "true"} if include_raw else {}
        if types is not None:
            self._params["types"] = ",".join(types)
        self._is_whole = types is None
        self._on_caught_up = on_caught_up
        #: The position of the last event that the loop has got; give it as `after` to go on there.
        self.cursor = after

    async def __aiter__(self) -> AsyncIterator[UniversalEvent]:
        last = 0 if self.cursor is None else int(str(self.cursor).rsplit(".", 1)[-1])
        existed, attempt = False, 0
        while True:
            wait = None
            try:
                async with self._connect() as response:
                    if existed and response.status_code == 404:
                        # The word of the deletion was cut.
                        return
                    existed = existed or response.is_success
                    if is_transient(response.status_code) or response.status_code >= 502:
                        wait = retry_after(response)
                    elif not response.is_success:
                        await response.aread()
                        raise refusal(response)
                    else:
                        async for identity, name, data in frames(response.aiter_bytes()):
                            attempt = 0
                            if name == "deleted":
                                return
                            if name == "caught_up" and self._on_caught_up is not None:
                                self._on_caught_up()
                            if name != "message":
                                continue
                            event: UniversalEvent = json.loads(data)
                            if event["sequence"] <= last:
                                continue
                            if self._is_whole and event["sequence"] != last + 1:
                                break
                            last, self.cursor = event["sequence"], identity
                            yield event
            except httpx.TransportError:
                pass
            await asyncio.sleep(backoff(attempt) if wait is None else wait)
            attempt += 1

    def _connect(self):
        headers = {"accept": "text/event-stream"}
        if self.cursor is not None:
            headers["last-event-id"] = str(self.cursor)
        # The daemon says something at least every 10 s.
        timeout = httpx.Timeout(self._http.silence)
        return self._http.client.stream("GET", self._path, params=self._params, headers=headers, timeout=timeout)


async def frames(chunks: AsyncIterator[bytes]) -> AsyncIterator[tuple[str, str, str]]:
    """Reads server-sent events as id, name and data; one that is cut is not told."""
    # A line may come in thousands of pieces: they are joined once.
    pieces: list[bytes] = []
    identity, name, data = "", "message", []
    async for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        pieces.append(first)
        for piece in rest:
            line = b"".join(pieces).removesuffix(b"\r").decode()
            pieces = [piece]
            if line == "":
                if data or name != "message":
                    yield identity, name, "\n".join(data)
                identity, name, data = "", "message", []
                continue
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                data.append(value)
            elif field == "event":
                name = value
            elif field == "id":
                identity = value
