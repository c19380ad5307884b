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


async def too_late(session, reader: Reader) -> None:
    """A reply does nothing when another one has come first."""
    await session.reply(last(reader.events, "permission.requested")["data"]["permission_id"], "reject")
    await session.answer(last(reader.events, "question.requested")["data"]["question_id"], ["Red"])
    await session.reject(last(reader.events, "question.requested")["data"]["question_id"])


async def removed_from_the_queue(session, uncut, reader: Reader) -> None:
    """A prompt whose message is removed fails; one that waits is answered."""

    async def queued(prompting, text: str):
        begun = len(reader.events)
        prompt = asyncio.create_task(prompting.prompt(text))
        await reader.until(lambda events: any(event["data"].get("queue") for event in events[begun:]))
        shown = [event["data"]["queue"] for event in reader.events[begun:] if event["data"].get("queue")]
        return prompt, shown[-1]

    begun = len(reader.events)
    await session.send("[[silence]]")
    await reader.until(lambda events: last(events[begun:], "turn.started"))
    # A list of more than 16 KiB is not in the event itself, and our network never lets so much through.
    for prompting, text in [(session, "[[text:1]]"), (uncut, "[[text:1]] " + "x" * 20_000)]:
        prompt, queue = await queued(prompting, text)
        assert isinstance(queue, list) == (prompting is session), queue
        await session.unsend((await uncut._queue(queue))[0]["message_id"])
        try:
            await prompt
        except RuntimeError as error:
            assert str(error) == "the message was removed from the queue", error
        else:
            raise AssertionError("the prompt was answered")
    prompt, _ = await queued(session, "[[text:2]]")
    await session.cancel()
    assert (await prompt).stop_reason == "end_turn"
    await reader.until(lambda events: sum(event["type"] == "turn.ended" for event in events) == 7)


async def follows_all(client: Omniglot) -> None:
    """The stream of all sessions begins now, keeps to its filters, tells deletions, and goes on elsewhere."""
    connected, deleted = asyncio.Event(), asyncio.Queue()
    filters = {"labels": {"test": "all"}, "types": ["turn.started", "turn.ended"]}
    stream = client.events(**filters, on_caught_up=connected.set, on_deleted=deleted.put_nowait)
    reader = Reader(stream)
    await connected.wait()
    labels = [{"test": "all"}, {"test": "all", "more": "yes"}, {"test": "other"}]
    sessions = [await client.sessions.create(agent="mock", labels=one) for one in labels]
    cursors = []
    for turn in (1, 2):
        for session in sessions:
            await session.prompt("[[text:8]]")
        await reader.until(lambda events: len(events) >= 4 * turn)
        cursors.append(stream.cursor)
    assert [event["type"] for event in reader.events] == ["turn.started", "turn.ended"] * 4, reader.events
    ids = [session.id for session in sessions]
    assert [ids.index(event["session_id"]) for event in reader.events] == [0, 0, 1, 1] * 2, reader.events
    later = Reader(client.events(**filters, after=cursors[0], agent="mock"))
    await later.until(lambda events: len(events) >= 4)
    assert later.events == reader.events[4:], "another stream goes on after a cursor"
    await sessions[0].delete()
    assert await deleted.get() == ids[0]
    for task in (reader.task, later.task):
        task.cancel()
    await refused(Reader(client.events(after="other.1")).task, 410, "gone")
    for session in sessions[1:]:
        await session.delete()


async def play(client: Omniglot, settings: dict) -> None:
    direct, token = settings["direct"], settings["token"]
    session = await client.sessions.create(agent="mock", title="Cut", labels={"test": "sdk", "of": "one, two"})
    reader = Reader(session.events())
    everything = Reader(client.events(after=0, deltas=True, labels={"test": "sdk", "of": "one, two"}))
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

    await too_late(session, reader)
    async with Omniglot(direct, token) as uncut:
        await removed_from_the_queue(session, uncut.sessions.open(session.id), reader)

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
    await everything.until(lambda events: len(events) >= len(whole))
    assert everything.events == whole, "the stream of all sessions has it, too"
    everything.task.cancel()
    assert (await session.info())["state"]["title"] == "Cut"
    assert [info["sessionId"] for info in await client.sessions.list(labels={"test": "sdk", "of": "one, two"})] == [session.id]

    middle = whole[len(whole) // 2]["sequence"]
    ends = [event for event in whole if event["type"] == "turn.ended" and event["sequence"] > middle]
    later = Reader(session.events(after=middle, types=["turn.ended"]))
    await later.until(lambda events: len(events) >= len(ends))
    assert later.events == ends

    await follows_all(client)

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
