"""The ledger of services that know no idempotency keys, and of points of no return (rules P31, P22a).

An entry is claimed before the effect, and its outcome is stored after it. Each write is conditional on the
version of the entry, so that of two requests one finds the other's. The table has the form of the Go agents.
"""

import contextlib
import os
import secrets
import sqlite3
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol


class Conflict(Exception):
    """The entry has changed since it was read."""


@dataclass(frozen=True)
class Entry:
    key: str
    state: str = "none"  # none, started, repeated, done, failed, later, undo-started, fenced
    attempt: int = 0  # the attempt that wrote the state
    command: int = 0  # the operator's last command that was applied
    output: str = ""  # JSON of what a done call returned
    code: str = ""
    message: str = ""
    version: int = 0  # 0 if the entry does not exist


class Ledger(Protocol):
    def entry(self, key: str) -> Entry:
        """Returns the entry by a strongly consistent read."""

    def move(self, entry: Entry) -> None:
        """Stores the entry with its version raised by one. Raises Conflict if another version is stored."""


_FIELDS = ("state", "attempt", "command", "output", "code", "message")


class DynamoLedger:
    """A ledger in a DynamoDB table with the partition key Key, by name or ARN."""

    def __init__(self, table: str, client: Any = None):
        if client is None:
            import boto3
            from botocore.config import Config
            client = boto3.client("dynamodb", region_name=os.environ.get("AWS_REGION"), config=Config(
                connect_timeout=1, read_timeout=2, retries={"total_max_attempts": 2, "mode": "standard"}))
        self.table, self.client = table, client

    def _item(self, key: str) -> dict[str, Any]:
        got = self.client.get_item(TableName=self.table, Key={"Key": {"S": key}}, ConsistentRead=True)
        return got.get("Item", {})

    def entry(self, key: str) -> Entry:
        item = self._item(key)

        def text(name: str) -> str:
            value = item.get(name, {})
            return value.get("S") or value.get("B", b"").decode("utf-8", "replace")

        def number(name: str) -> int:
            return int(item.get(name, {}).get("N", 0))

        return Entry(key, text("State") or "none", number("Attempt"), number("Command"), text("Output"),
                     text("Code"), text("Message"), number("Version"))

    def move(self, entry: Entry) -> None:
        writer = secrets.token_bytes(12)
        item: dict[str, Any] = {"Key": {"S": entry.key}, "Version": {"N": str(entry.version + 1)},
                                "Writer": {"B": writer}}
        for name in _FIELDS:
            if value := getattr(entry, name):
                item[name.capitalize()] = {"N": str(value)} if isinstance(value, int) else {"S": value}
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(#version)"}
        if entry.version:
            condition = {"ConditionExpression": "#version = :expected",
                         "ExpressionAttributeValues": {":expected": {"N": str(entry.version)}}}
        try:
            self.client.put_item(TableName=self.table, Item=item, **condition,
                                 ExpressionAttributeNames={"#version": "Version"})
        except self.client.exceptions.ConditionalCheckFailedException:
            # The client may have repeated a write whose response was lost: then the entry is this one.
            if self._item(entry.key).get("Writer", {}).get("B") != writer:
                raise Conflict(entry.key) from None


class SQLiteLedger:
    """A ledger in an SQLite file in a folder that must survive the process."""

    def __init__(self, folder: str | os.PathLike[str]):
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.lock = threading.Lock()
        self.db = sqlite3.connect(Path(folder, "ledger.db"), timeout=2, check_same_thread=False,
                                  isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        self.db.execute("CREATE TABLE IF NOT EXISTS ledger(key TEXT PRIMARY KEY, state TEXT, attempt INTEGER,"
                        " command INTEGER, output TEXT, code TEXT, message TEXT, version INTEGER)")

    def entry(self, key: str) -> Entry:
        with self.lock:
            row = self.db.execute("SELECT * FROM ledger WHERE key=?", (key,)).fetchone()
        return Entry(*row) if row else Entry(key)

    def move(self, entry: Entry) -> None:
        values = [getattr(entry, name) for name in _FIELDS] + [entry.version + 1, entry.key]
        write = ("INSERT INTO ledger(state,attempt,command,output,code,message,version,key)"
                 " VALUES(?,?,?,?,?,?,?,?)")
        if entry.version:
            values.append(entry.version)
            write = ("UPDATE ledger SET state=?,attempt=?,command=?,output=?,code=?,message=?,version=?"
                     " WHERE key=? AND version=?")
        with self.lock, contextlib.suppress(sqlite3.IntegrityError):  # it exists already
            if self.db.execute(write, values).rowcount == 1:
                return
        raise Conflict(entry.key)


# What a request may do: call the service, or repeat a reply, or stay silent because a call is in doubt.
CALL, DONE, FAILED, IN_DOUBT, SILENT = "call", "done", "failed", "in-doubt", "silent"

# A move is the next entry and whether it must be stored.
Move = tuple[Entry, bool]


def _apply(e: Entry, attempt: int, fact: dict[str, Any] | None) -> Move:
    """Applies a fact that the operator stated, once per command."""
    if not fact or fact["command"] <= e.command:
        return e, False
    e = replace(e, command=fact["command"], attempt=attempt, code="", message="")
    if fact.get("fact") == "happened":
        return replace(e, state="done"), True
    return replace(e, state="none", output=""), True


def enter(e: Entry, undo: bool, attempt: int, fact: dict[str, Any] | None,
          knows_keys: bool) -> tuple[Entry, bool, str]:
    """Returns the next entry for a request, whether it must be stored first, and what the request may do."""
    e, moved = _apply(e, attempt, fact)
    if undo:
        if e.state in ("none", "failed", "later"):
            return Entry(e.key, "fenced", attempt, e.command, version=e.version), True, DONE
        if e.state == "fenced":
            return e, moved, DONE
        if e.state == "done":
            return replace(e, state="undo-started", attempt=attempt), True, CALL
        return e, moved, IN_DOUBT
    started = Entry(e.key, "started", attempt, e.command, version=e.version)
    if e.state == "done":
        return e, moved, DONE
    if e.state == "fenced" or e.state in ("failed", "later") and attempt <= e.attempt:
        return e, moved, FAILED
    if e.state in ("none", "failed", "later"):
        return started, True, CALL
    if e.state in ("started", "repeated") and knows_keys and attempt >= e.attempt:
        return replace(started, state="repeated"), True, CALL
    return e, moved, SILENT


def leave(e: Entry, undo: bool, attempt: int, outcome: str) -> Move:
    """Returns the next entry for an outcome of a call: happened, refused, withdrawn or unknown."""
    mine = e.attempt == attempt
    if undo:
        if e.state != "undo-started" or outcome == "unknown" or outcome != "happened" and not mine:
            return e, False
        if outcome == "happened":
            return replace(e, state="fenced", output="", attempt=attempt), True
        return replace(e, state="done", attempt=attempt), True
    if outcome == "happened" and e.state not in ("done", "undo-started", "fenced"):
        return replace(e, state="done", attempt=attempt, code="", message=""), True
    if e.state == "started" and mine and outcome in ("refused", "withdrawn"):
        return replace(e, state="failed" if outcome == "refused" else "none"), True
    return e, False


def refuse(e: Entry, attempt: int, fact: dict[str, Any] | None, began: bool,
           permanent: bool) -> tuple[Entry, bool, bool]:
    """Returns the next entry for a point of no return that had no effect, whether it must be stored, and
    whether that is proven. It is not if another call may still have its effect."""
    after, _ = _apply(e, attempt, fact)
    if after.state in ("failed", "later") and attempt <= after.attempt:
        return e, False, True
    if after.state not in ("none", "failed", "later") and not (
            after.state == "started" and began and after.attempt == attempt):
        return e, False, False
    return replace(after, state="failed" if permanent else "later", attempt=attempt), True, True
