"""One session: its events, and everything that a client can do with it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from .http import Http, OmniglotError, backoff
from .stream import EventStream
from .types import CreateSessionResponse, ErrorData, MessageAttachment, SessionDetail, SessionPatch, StopReason, Usage

#: So often a reply is sent while somebody else's is on its way and may still fail.
REPLIES = 4


@dataclass(frozen=True)
class Sent:
    """The receipt of a message."""

    message_id: str
    delivery: str


@dataclass(frozen=True)
class Answer:
    """The end of a turn."""

    turn_id: str
    #: The agent's messages, without thoughts and subagents.
    text: str
    stop_reason: StopReason
    usage: Usage | None
    #: Why the turn failed, if its stop reason is `error`.
    error: ErrorData | None


class Session:
    def __init__(self, http: Http, id: str, created: CreateSessionResponse | None = None) -> None:
        self._http = http
        self._path = f"/v1/sessions/{quote(id, safe='')}"
        self.id = id
        #: The daemon's answer to the request that made this session: whether it can work yet.
        self.created = created

    def events(
        self,
        *,
        after: str | int | None = None,
        types: Sequence[str] | None = None,
        include_raw: bool = False,
        on_caught_up: Callable[[], None] | None = None,
    ) -> EventStream:
        """The events after a cursor, in order and each once; see `EventStream`."""
        return EventStream(
            self._http, self._path, after=after, types=types, include_raw=include_raw, on_caught_up=on_caught_up
        )

    async def send(
        self,
        message: str,
        *,
        attachments: Sequence[MessageAttachment] = (),
        delivery: Literal["queue", "steer", "reject"] = "queue",
        client_ids: Sequence[str] = (),
    ) -> Sent:
        """Sends a message once, also over cuts; the agent's work comes as events."""
        body = {
            "message": message,
            "attachments": list(attachments),
            "delivery": delivery,
            "client_ids": list(client_ids),
        }
        headers = {"idempotency-key": uuid.uuid4().hex}
        told = (await self._post("messages", body, headers=headers)).headers
        return Sent(told.get("omniglot-message-id", ""), told.get("omniglot-delivery", ""))

    async def prompt(self, message: str, *, attachments: Sequence[MessageAttachment] = ()) -> Answer:
        """Sends a message and waits for the end of the turn that answers it; raises if it is removed from the queue."""
        mark = uuid.uuid4().hex
        after = (await self.info())["eventCount"]
        await self.send(message, attachments=attachments, client_ids=[mark])
        is_ours, is_queued, said, error = False, False, [], None
        async with aclosing(aiter(self.events(after=after))) as events:
            async for event in events:
                if event["type"] == "turn.started":
                    is_ours = event["data"]["metadata"].get("client_ids", [])[:1] == [mark]
                elif not is_ours and event["type"] == "session.updated" and "queue" in event["data"]:
                    # The turn of a message begins before the message leaves the queue.
                    queue = await self._queue(event["data"]["queue"])
                    was_queued, is_queued = is_queued, any(one.get("client_ids", [])[:1] == [mark] for one in queue)
                    if was_queued and not is_queued:
                        raise RuntimeError("the message was removed from the queue")
                elif is_ours and event["type"] == "item.completed":
                    item = event["data"]["item"]
                    if item["kind"] == "message" and item.get("role") == "assistant" and not item.get("parent_id"):
                        text = "".join(part["text"] for part in item["content"] if part["type"] == "text")
                        said += [text] if text else []
                elif is_ours and event["type"] == "error":
                    error = event["data"]
                elif is_ours and event["type"] == "turn.ended":
                    end, text = event["data"]["metadata"], "\n\n".join(said)
                    return Answer(event["data"]["turn_id"], text, end["stop_reason"], end.get("usage"), error)
        raise RuntimeError("the session was deleted")

    async def _queue(self, queue: Any) -> list[Any]:
        """Returns the queued messages that an event tells; a long list is fetched."""
        if isinstance(queue, dict):
            return (await self._http.send("GET", queue["$blob"])).json()
        return queue or []

    async def info(self) -> SessionDetail:
        """The session with its state, as the daemon has it now."""
        return (await self._http.send("GET", self._path)).json()

    async def update(self, patch: SessionPatch) -> SessionDetail:
        """Changes title, model, modes or labels."""
        return (await self._http.send("PATCH", self._path, body=patch, again=True)).json()

    async def reply(self, permission_id: str, reply: Literal["once", "always", "reject"], message: str | None = None):
        """Replies to a permission; `always` covers the same tool and pattern for the rest of the session.

        A reply does nothing if somebody else's has come first; the same holds for `answer` and `reject`.
        """
        body = {"reply": reply} if message is None else {"reply": reply, "message": message}
        await self._resolve("permissions", permission_id, "reply", body)

    async def answer(self, question_id: str, *answers: Sequence[str]) -> None:
        """Answers a question: one sequence per question, of labels of its options or of free text."""
        body = {"answers": [list(answer) for answer in answers]}
        await self._resolve("questions", question_id, "reply", body)

    async def reject(self, question_id: str) -> None:
        """Rejects a question."""
        await self._resolve("questions", question_id, "reject", None)

    async def unsend(self, message_id: str) -> None:
        """Removes a queued message."""
        path = f"{self._path}/messages/{quote(message_id, safe='')}"
        await self._http.send("DELETE", path, again=True, done=404)

    async def cancel(self, *, queue: Literal["keep", "drop"] = "keep") -> None:
        """Cancels the running turn; queued messages stay unless they are dropped."""
        await self._post("cancel", {"queue": queue})

    async def terminate(self) -> None:
        """Ends the agent's process and the session; a message starts it again."""
        await self._post("terminate", None)

    async def delete(self) -> None:
        """Removes the session with everything that it has."""
        await self._http.send("DELETE", self._path, again=True, done=404)

    async def _resolve(self, kind: str, request_id: str, verb: str, body: Any) -> None:
        for attempt in range(1, REPLIES + 1):
            try:
                await self._post(f"{kind}/{quote(request_id, safe='')}/{verb}", body, done=409)
                return
            except OmniglotError as error:
                if error.status != 409:
                    raise
                if not await self._is_open(request_id):
                    return
                if attempt == REPLIES:
                    raise
            await asyncio.sleep(backoff(attempt))

    async def _is_open(self, request_id: str) -> bool:
        pending = (await self.info())["pending"]
        return any(request_id in (one.get("permission_id"), one.get("question_id")) for one in pending)

    async def _post(self, verb: str, body: Any, *, headers: dict[str, str] | None = None, done: int | None = None):
        path = f"{self._path}/{verb}"
        return await self._http.send("POST", path, body=body, headers=headers, again=True, done=done)
