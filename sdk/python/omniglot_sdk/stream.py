"""Events in order and each once, of one session or of all, over as many connections as it takes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NamedTuple

import httpx

from .http import Http, backoff, is_transient, refusal, retry_after
from .types import UniversalEvent

#: After so many tries in a row that brought nothing the daemon is asked why.
FRUITLESS = 5


class DamagedError(Exception):
    """The daemon cannot read an event; the stream's `cursor` is the position after it."""

    def __init__(self, damage: dict[str, Any]) -> None:
        super().__init__(f"the daemon cannot read {json.dumps(damage)}")
        #: `session_id` and `sequence` of an event, or `number` of a commit of the daemon's log.
        self.damage = damage


class Frame(NamedTuple):
    id: str
    name: str
    data: str


class Over(Exception):
    """The stream has come to its end."""


class Gap(Exception):
    """Something is missing before an event."""


class _Stream:
    def __init__(
        self,
        http: Http,
        path: str,
        params: Mapping[str, str | list[str] | None],
        after: str | int | None,
        on_caught_up: Callable[[], None] | None,
    ) -> None:
        self._http = http
        self._path = path
        self._params = {name: value for name, value in params.items() if value is not None}
        self._on_caught_up = on_caught_up
        #: The position of the last event that the loop has got; give it as `after` to go on there.
        self.cursor = after

    def _read(self, frame: Frame) -> UniversalEvent | None:
        raise NotImplementedError

    async def _ask(self) -> None:
        """Raises what keeps the daemon from telling more, if it says so."""

    async def __aiter__(self) -> AsyncIterator[UniversalEvent]:
        existed, attempt = False, 0
        while True:
            wait = None
            try:
                if attempt % FRUITLESS == FRUITLESS - 1:
                    await self._ask()
                async with self._connect() as response:
                    self._http.has_answered = True
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
                        async for frame in frames(response.aiter_bytes()):
                            attempt = 0
                            if frame.name == "caught_up" and self._on_caught_up is not None:
                                self._on_caught_up()
                            if (event := self._read(frame)) is not None:
                                yield event
            except Over:
                return
            except httpx.TransportError as error:
                self._http.give_up_unheard(error, attempt)
            except Gap:
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


class EventStream(_Stream):
    """A session's events.

    Iterating connects, and connects again after a cut, a silence or a restart of the daemon. The loop ends when the
    session is deleted, and raises an `OmniglotError`: of status 410 when the log is another one than that of the
    cursor, so that nothing is skipped silently, and of status 500 at an event that the daemon cannot read.
    """

    def __init__(
        self,
        http: Http,
        session: str,
        *,
        after: str | int | None = None,
        types: Sequence[str] | None = None,
        include_raw: bool = False,
        on_caught_up: Callable[[], None] | None = None,
    ) -> None:
        self._raw = {"include_raw": "true"} if include_raw else {}
        self._types = types or ()
        self._page = f"{session}/events"
        params = {**self._raw, "types": ",".join(self._types) or None}
        super().__init__(http, f"{self._page}/sse", params, after, on_caught_up)

    def _read(self, frame: Frame) -> UniversalEvent | None:
        if frame.name == "deleted":
            raise Over
        if frame.name != "message" or not frame.data:
            return None
        event: UniversalEvent = json.loads(frame.data)
        if event["sequence"] <= self._last:
            return None
        if not self._types and event["sequence"] != self._last + 1:
            raise Gap
        self.cursor = frame.id
        return event

    async def _ask(self) -> None:
        """A stream only breaks off at an event that cannot be read, also one of another type; a page says why."""
        offset = self._last
        while True:
            params = {**self._raw, "offset": offset, "limit": 1_000 if self._types else 1}
            response = await self._http.client.get(self._page, params=params)
            if response.status_code == 500:
                raise refusal(response)
            if not response.is_success:
                return
            page = response.json()
            # Whatever the stream can still tell comes first.
            told = not self._types or any(event["type"] in self._types for event in page["events"])
            if told or not page["hasMore"]:
                return
            offset = page["events"][-1]["sequence"]

    @property
    def _last(self) -> int:
        return 0 if self.cursor is None else int(str(self.cursor).rsplit(".", 1)[-1])


class AllEventStream(_Stream):
    """The events of all sessions that the token sees, in the order in which they were committed.

    It survives what an `EventStream` survives, and raises an `OmniglotError` of status 410 when its cursor is of
    other data or too old.
    """

    def __init__(
        self,
        http: Http,
        *,
        after: str | int | None = None,
        types: Sequence[str] | None = None,
        agent: str | None = None,
        labels: Mapping[str, str] | None = None,
        deltas: bool = False,
        on_caught_up: Callable[[], None] | None = None,
        on_deleted: Callable[[str], None] | None = None,
        on_damaged: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        params = {
            "types": ",".join(types or ()) or None,
            "agent": agent,
            "label": label_filter(labels),
            "deltas": "true" if deltas else None,
        }
        super().__init__(http, "/v1/events/sse", params, after, on_caught_up)
        self._on_deleted = on_deleted
        self._on_damaged = on_damaged

    def _read(self, frame: Frame) -> UniversalEvent | None:
        if frame.id:
            self.cursor = frame.id
        if not frame.data:
            return None
        told = json.loads(frame.data)
        if frame.name == "deleted" and self._on_deleted is not None:
            self._on_deleted(told["session_id"])
        if frame.name == "damaged":
            if self._on_damaged is None:
                raise DamagedError(told)
            self._on_damaged(told)
        return told if frame.name == "message" else None


def label_filter(labels: Mapping[str, str] | None) -> list[str] | None:
    """Labels as the daemon's filters take them: a parameter each."""
    return [f"{key}:{value}" for key, value in labels.items()] if labels else None


async def frames(chunks: AsyncIterator[bytes]) -> AsyncIterator[Frame]:
    """Reads server-sent events; one that is cut is not told."""
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
                if identity or data or name != "message":
                    yield Frame(identity, name, "\n".join(data))
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
