"""The client of an Omniglot daemon."""

from .client import Agents, Omniglot, Sessions
from .http import OmniglotError
from .session import Answer, Sent, Session
from .stream import AllEventStream, DamagedError, EventStream

__all__ = [
    "Agents",
    "AllEventStream",
    "Answer",
    "DamagedError",
    "EventStream",
    "Omniglot",
    "OmniglotError",
    "Sent",
    "Session",
    "Sessions",
]
