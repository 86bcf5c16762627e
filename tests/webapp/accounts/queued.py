"""Reads the tasks that were sent to the broker of this process."""

from __future__ import annotations

from typing import Any

from workers.app import SUPERVISION, app


def queued_tasks(name: str) -> list[list[Any]]:
    """The arguments of the queued tasks with this name, which are taken out; other tasks are dropped."""
    found = []
    with app.connection_for_read() as connection, connection.SimpleQueue(SUPERVISION) as queue:
        while True:
            try:
                message = queue.get(block=False)
            except queue.Empty:
                return found
            message.ack()
            if message.headers["task"] == name:
                found.append(message.payload[0])
