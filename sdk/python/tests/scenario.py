"""A whole session over a network that cuts every connection at random points.

The test in Rust tells addresses and token after our first line; we write `restart`, and are told the new address.
"""

import asyncio
import json
import sys

import httpx
from omniglot_sdk import Omniglot, OmniglotError


def told() -> dict:
    return json.loads(sys.stdin.readline())


async def restart() -> str:
    print("restart", flush=True)
    return (await asyncio.to_thread(told))["direct"]


class Reader:
    """Reads a stream in the background."""

    def __init__(self, stream) -> None:
        self.stream, self.events, self.news = stream, [], asyncio.Condition()
        self.task = asyncio.create_task(self.read())

    async def read(self) -> None:
        async for event in self.stream:
            async with self.news:
                self.events.append(event)
                self.news.notify_all()

    async def until(self, fits):
        async with self.news:
            await self.news.wait_for(lambda: fits(self.events))


async def refused(call, status: int, kind: str) -> None:
    try:
        await call
    except OmniglotError as error:
        assert (error.status, error.type) == (status, kind), error
    else:
        raise AssertionError(f"not refused with {status}")


async def history(direct: str, token: str, session: str) -> list[dict]:
    events: list[dict] = []
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {token}"}, trust_env=False) as http:
        while True:
            after = events[-1]["sequence"] if events else 0
            page = (await http.get(f"{direct}/v1/sessions/{session}/events", params={"offset": after})).json()
            events += page["events"]
            if not page["hasMore"]:
                return events


def last(events: list[dict], kind: str) -> dict | None:
    return next((event for event in reversed(events) if event["type"] == kind), None)


async def play(client: Omniglot, settings: dict) -> None:
    direct, token = settings["direct"], settings["token"]
    session = await client.sessions.create(agent="mock", title="Cut", labels={"test": "sdk"})
    reader = Reader(session.events())
    for _ in range(4):
        answer = await session.prompt("[[text:60]]")
        assert (len(answer.text.split()), answer.stop_reason) == (60, "end_turn"), answer

    await session.send("[[permission]] [[question:one]]")
    await reader.until(lambda events: last(events, "permission.requested"))
    await session.reply(last(reader.events, "permission.requested")["data"]["permission_id"], "once")
    await reader.until(lambda events: last(events, "question.requested"))
    await session.answer(last(reader.events, "question.requested")["data"]["question_id"], ["Blue"])
    await reader.until(lambda events: last(events, "question.resolved"))
    assert last(reader.events, "permission.resolved")["data"]["status"] == "accept"
    # More may follow the end of the turn before anybody looks.
    await reader.until(lambda events: sum(event["type"] == "turn.ended" for event in events) == 5)

    begun = len(reader.events)
    assert (await session.send("[[reasoning]] [[silence]]")).delivery == "started"
    await reader.until(lambda events: last(events[begun:], "item.completed"))
    direct = await restart()
    await reader.until(lambda events: last(events[begun:], "turn.ended"))
    assert last(reader.events, "turn.ended")["data"]["metadata"]["stop_reason"] == "error"
    assert (await session.prompt("[[text:5]]")).stop_reason == "end_turn"

    whole = await history(direct, token, session.id)
    await reader.until(lambda events: len(events) >= len(whole))
    assert reader.events == whole, "the stream is the log"
    assert (await session.info())["state"]["title"] == "Cut"
    assert [info["sessionId"] for info in await client.sessions.list(labels={"test": "sdk"})] == [session.id]

    middle = whole[len(whole) // 2]["sequence"]
    ends = [event for event in whole if event["type"] == "turn.ended" and event["sequence"] > middle]
    later = Reader(session.events(after=middle, types=["turn.ended"]))
    await later.until(lambda events: len(events) >= len(ends))
    assert later.events == ends

    cursor = reader.stream.cursor
    await session.delete()
    await asyncio.gather(reader.task, later.task)
    await refused(client.sessions.get(session.id), 404, "session_not_found")
    await refused(client.sessions.create(agent="nosuch"), 400, "unsupported_agent")
    while True:
        try:
            await client.sessions.create(agent="mock", id=session.id)
            break
        except httpx.TransportError:
            # A request with an id of one's own is not sent again after a cut: the caller decides.
            continue
        except OmniglotError as error:
            assert error.status == 409, error
            break
    await refused(Reader(session.events(after=cursor)).task, 410, "gone")
    print(f"all done: {len(whole)} events", flush=True)


async def main() -> None:
    print("ready", flush=True)
    settings = told()
    async with Omniglot(settings["proxied"], settings["token"], silence=1, timeout=3) as client:
        await play(client, settings)


asyncio.run(main())
