"""The client of an Omniglot daemon."""

from .client import Agents, Omniglot, Sessions
from .http import OmniglotError
from .session import Answer, Sent, Session
from .stream import EventStream

__all__ = ["Agents", "Answer", "EventStream", "Omniglot", "OmniglotError", "Sent", "Session", "Sessions"]
