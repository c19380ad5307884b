"""Requests to the daemon: its problems as errors, and another try where one cannot do harm."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import httpx

from .types import ProblemDetails

ATTEMPTS = 12

FIRST_ATTEMPTS = 5
"""How often a connection is tried where no daemon has ever answered: it is down, not away for a moment."""


class OmniglotError(Exception):
    """A refusal of the daemon."""

    def __init__(self, status: int, problem: ProblemDetails) -> None:
        detail = problem.get("detail") or problem["title"]
        hint = problem.get("hint")
        super().__init__(f"{detail}; {hint}" if hint else detail)
        self.status = status
        self.problem = problem

    @property
    def type(self) -> str:
        """The kind of problem, such as `session_not_found`."""
        return self.problem["type"].rsplit(":", 1)[-1]


def refusal(response: httpx.Response) -> OmniglotError:
    """Makes an error of an answer that has been read."""
    status = response.status_code
    try:
        problem = response.json()
    except ValueError:
        problem = None
    if not (isinstance(problem, dict) and "type" in problem and "title" in problem):
        problem = {"type": "about:blank", "title": f"HTTP {status}", "status": status, "detail": response.text[:200]}
    return OmniglotError(status, problem)  # type: ignore[arg-type]


def is_transient(status: int) -> bool:
    """Whether the daemon asks for another try: it has not done anything yet."""
    return status in (429, 503)


def retry_after(response: httpx.Response) -> float | None:
    value = response.headers.get("retry-after", "")
    return float(value) if value.isdigit() else None


def backoff(attempt: int) -> float:
    """The time before another try: longer each time, at most 5 s, and different for each client."""
    return min(5.0, 0.05 * 2 ** min(attempt, 10)) * random.uniform(0.5, 1)


class Http:
    def __init__(self, client: httpx.AsyncClient, silence: float) -> None:
        self.client = client
        self.silence = silence
        self.has_answered = False

    def give_up_unheard(self, error: httpx.TransportError, attempt: int) -> None:
        """Raises when nobody listens at the address and nobody ever did: another try would not help."""
        if isinstance(error, httpx.ConnectError) and not self.has_answered and attempt >= FIRST_ATTEMPTS:
            advice = "`omniglot daemon start` starts one"
            url = str(self.client.base_url).rstrip("/")
            raise httpx.ConnectError(f"no daemon answers at {url}; {advice}") from error

    async def send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        headers: dict[str, str] | None = None,
        params: dict[str, Any] | None = None,
        again: bool | None = None,
        done: int | None = None,
    ) -> httpx.Response:
        """Sends a request until it is answered; a refusal is raised.

        `again`: whether sending it twice does the same as once. `done`: the status that says, after a cut, that an
        earlier try has been carried out.
        """
        is_cut, attempt = False, 0
        while True:
            wait = None
            try:
                response = await self.client.request(method, path, json=body, headers=headers, params=params)
                self.has_answered = True
                if response.is_success or (is_cut and response.status_code == done):
                    return response
                if not is_transient(response.status_code) or attempt >= ATTEMPTS:
                    raise refusal(response)
                wait = retry_after(response)
            except httpx.TransportError as error:
                is_tried_again = method == "GET" if again is None else again
                self.give_up_unheard(error, attempt if is_tried_again else FIRST_ATTEMPTS)
                if not is_tried_again or attempt >= ATTEMPTS:
                    raise
                is_cut = True
            await asyncio.sleep(backoff(attempt) if wait is None else wait)
            attempt += 1
