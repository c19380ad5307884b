"""Reads the streams of a daemon whose session `damaged` has an event that cannot be read."""

import asyncio
import os

from omniglot_sdk import DamagedError, Omniglot, OmniglotError


async def read(stream) -> tuple[list[str], Exception | None]:
    """Reads to the end; returns the places of the events, and what the loop raises."""
    places = []
    try:
        async for event in stream:
            places.append(f"{event['session_id']} {event['sequence']}")
    except (DamagedError, OmniglotError, EOFError) as error:
        return places, error
    return places, None


def stop() -> None:
    raise EOFError


async def main() -> None:
    async with Omniglot(os.environ["OMNIGLOT_URL"], os.environ["OMNIGLOT_TOKEN"]) as client:
        session = client.sessions.open("damaged")
        for options in [{}, {"after": 2}, {"types": ["session.started", "turn.ended"]}]:
            _, error = await read(session.events(**options))
            assert isinstance(error, OmniglotError) and error.status == 500, error
            assert "event 5 of session damaged" in str(error), error
        places, _ = await read(session.events())
        assert places == [f"damaged {sequence}" for sequence in range(1, 5)], places

        stream = client.events(after=0, deltas=True)
        begun, error = await read(stream)
        assert isinstance(error, DamagedError), error
        assert error.damage == {"session_id": "damaged", "sequence": 5}, error
        damages: list[dict] = []
        everything, _ = await read(client.events(after=0, deltas=True, on_damaged=damages.append, on_caught_up=stop))
        assert damages == [error.damage], damages
        rest, _ = await read(client.events(after=stream.cursor, deltas=True, on_caught_up=stop))
        assert everything == begun + rest, "it goes on after the damage"
        assert "damaged 4" in everything and "damaged 5" not in everything and "whole 5" in everything, everything
        await session.delete()
    print("all done", flush=True)


asyncio.run(main())
