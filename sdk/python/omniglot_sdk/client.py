"""The client itself."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self
from urllib.parse import quote

import httpx

from .http import Http
from .session import Session
from .stream import AllEventStream, label_filter
from .types import AgentInfo, AgentModelsResponse, SessionInfo


class Sessions:
    def __init__(self, http: Http) -> None:
        self._http = http

    async def create(self, *, agent: str, id: str | None = None, **options: Any) -> Session:
        """Makes a session; `options` are the members of `CreateSessionRequest`."""
        ours = id or uuid.uuid4().hex
        # After a cut, an id that only we know exists only if our own request has made it.
        again, done = (True, 409) if id is None else (False, None)
        path = f"/v1/sessions/{quote(ours, safe='')}"
        response = await self._http.send("POST", path, body={"agent": agent, **options}, again=again, done=done)
        return Session(self._http, ours, response.json() if response.is_success else None)

    async def get(self, id: str) -> Session:
        """Returns a session that exists."""
        session = self.open(id)
        await session.info()
        return session

    def open(self, id: str) -> Session:
        """Returns a session without asking the daemon whether it exists."""
        return Session(self._http, id)

    async def list(self, *, labels: Mapping[str, str] | None = None, **filters: Any) -> list[SessionInfo]:
        """Lists sessions, newest first; `filters` are `limit`, `after`, `agent` and `ended`."""
        if labels:
            filters["label"] = label_filter(labels)
        return (await self._http.send("GET", "/v1/sessions", params=filters)).json()["sessions"]


class Agents:
    def __init__(self, http: Http) -> None:
        self._http = http

    async def list(self) -> list[AgentInfo]:
        return (await self._http.send("GET", "/v1/agents")).json()["agents"]

    async def models(self, agent: str) -> AgentModelsResponse:
        return (await self._http.send("GET", f"/v1/agents/{quote(agent, safe='')}/models")).json()


class Omniglot:
    """A client of one daemon; `async with` closes its connections."""

    def __init__(
        self, url: str = "http://127.0.0.1:2468", token: str | None = None, *, silence: float = 25, timeout: float = 120
    ) -> None:
        """`silence`: a stream that is silent for so many seconds is opened again.

        `timeout`: a request that is not answered for so many seconds is given up.
        """
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        limits = httpx.Limits(max_connections=None)
        self._client = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, limits=limits, trust_env=False)
        self._http = Http(self._client, silence)
        self.sessions = Sessions(self._http)
        self.agents = Agents(self._http)

    def events(
        self,
        *,
        after: str | int | None = None,
        types: Sequence[str] | None = None,
        agent: str | None = None,
        labels: Mapping[str, str] | None = None,
        deltas: bool = False,
        on_caught_up: Callable[[], None] | None = None,
        on_deleted: Callable[[str], None] | None = None,
        on_damaged: Callable[[dict[str, Any]], None] | None = None,
    ) -> AllEventStream:
        """The events of all sessions that the token sees; see `AllEventStream`.

        The stream begins after the position `after`: by default now, with 0 at the oldest event that is kept. It has
        `item.delta` with `deltas` or by `types`. `on_deleted` is told the id of each deleted session, `on_damaged`
        what cannot be read; without `on_damaged` the loop raises a `DamagedError` there.
        """
        return AllEventStream(
            self._http,
            after=after,
            types=types,
            agent=agent,
            labels=labels,
            deltas=deltas,
            on_caught_up=on_caught_up,
            on_deleted=on_deleted,
            on_damaged=on_damaged,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._client.aclose()
