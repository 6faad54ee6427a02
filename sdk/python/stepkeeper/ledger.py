"""The ledger of services that do not recognise idempotency keys, and of points of no return (P31, P22a).

An entry is claimed before the effect, and its outcome is stored after it. Each write is conditional on the
version of the entry, so that one of two requests finds the other's write.
The table has the form of the Go agents.
"""

import os
import secrets
import sqlite3
import threading
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import boto3
from botocore.config import Config

from .message import Failure, Later, Permanent

WAIT = 5  # seconds of a long poll


class Conflict(Exception):
    """The entry has changed since it was read."""


@dataclass(frozen=True)
class Entry:
    key: str
    state: str = "none"  # none, started, repeated, done, failed, later, undo-started, fenced
    attempt: int = 0  # the attempt that wrote the state
    command: int = 0  # the operator's last command that was applied
    output: str = ""  # JSON output of a call that was done
    code: str = ""
    message: str = ""
    version: int = 0  # 0 if the entry does not exist


class Ledger(Protocol):
    def entry(self, key: str) -> Entry:
        """Returns the entry by a strongly consistent read."""

    def move(self, entry: Entry) -> None:
        """Stores the entry with its version raised by one. Raises Conflict if another version is stored."""


def aws_client(service: str, connections: int = 10, read_timeout: float = WAIT + 5) -> Any:
    """Returns a client of the SDK that gives up early enough for a request to come again.

    For an endpoint on this machine it has placeholders for a missing Region and missing credentials.
    """
    env = os.environ.get
    endpoint = env(f"AWS_ENDPOINT_URL_{service.upper()}") or env("AWS_ENDPOINT_URL") or ""
    found = {"region_name": env("AWS_REGION")}  # which boto3 does not read
    if urlsplit(endpoint).hostname in ("127.0.0.1", "::1", "localhost"):
        found["region_name"] = env("AWS_REGION") or env("AWS_DEFAULT_REGION") or "us-east-1"
        if not env("AWS_ACCESS_KEY_ID") and not env("AWS_PROFILE"):
            found |= {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
    return boto3.client(service, **found, config=Config(
        connect_timeout=2, read_timeout=read_timeout, max_pool_connections=connections,
        retries={"total_max_attempts": 2, "mode": "standard"}))


_FIELDS = ("state", "attempt", "command", "output", "code", "message")


class DynamoLedger:
    """A ledger in a DynamoDB table with the partition key Key, by name or ARN."""

    def __init__(self, table: str, client: Any = None):
        self.table, self.client = table, client or aws_client("dynamodb", read_timeout=2)

    def _item(self, key: str) -> dict[str, Any]:
        got = self.client.get_item(TableName=self.table, Key={"Key": {"S": key}}, ConsistentRead=True)
        return got.get("Item", {})

    def entry(self, key: str) -> Entry:
        item = {name: value.get("S") or value.get("N") or value.get("B", b"").decode("utf-8", "replace")
                for name, value in self._item(key).items()}
        return Entry(key, item.get("State") or "none", int(item.get("Attempt", 0)),
                     int(item.get("Command", 0)), item.get("Output", ""), item.get("Code", ""),
                     item.get("Message", ""), int(item.get("Version", 0)))

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
        values = *astuple(replace(entry, version=entry.version + 1)), entry.version, entry.key
        with self.lock:
            written = self.db.execute(
                "REPLACE INTO ledger SELECT ?,?,?,?,?,?,?,?"
                " WHERE ? = coalesce((SELECT version FROM ledger WHERE key=?), 0)", values).rowcount
        if written != 1:
            raise Conflict(entry.key)


class Silent(Exception):
    """No reply may be sent, because a call is in doubt or its time is over."""


REFUSED = ("failed", "later")


def _apply(e: Entry, attempt: int, fact: dict[str, Any] | None) -> Entry:
    """Applies a fact that the operator stated, once per command."""
    if not fact or fact["command"] <= e.command:
        return e
    e = replace(e, state="done", command=fact["command"], attempt=attempt, code="", message="")
    return e if fact.get("fact") == "happened" else replace(e, state="none", output="")


def enter(e: Entry, undo: bool, attempt: int, fact: dict[str, Any] | None,
          knows_keys: bool) -> tuple[Entry, str | Exception]:
    """Returns the next entry for a request, and what the request does once the entry is stored.

    It makes a "call", repeats that the call was "done", or ends with the exception. An entry that needs no
    write is returned itself.
    """
    e = _apply(e, attempt, fact)
    started = Entry(e.key, "started", attempt, e.command, version=e.version)
    if undo:
        if e.state == "done":
            return replace(e, state="undo-started", attempt=attempt), "call"
        if e.state in ("none", *REFUSED):
            return replace(started, state="fenced"), "done"
        return e, "done" if e.state == "fenced" else Permanent(
            "a call to this plain service was begun, and whether it happened is not known; "
            "find out and resolve it", code="in-doubt")
    if e.state == "done":
        return e, "done"
    if e.state == "fenced":
        return e, Permanent("the step has been undone; it is not done any more", code="fenced")
    if e.state in REFUSED and attempt <= e.attempt:
        kind = Later if e.state == "later" else Permanent
        return e, kind(e.message, code=e.code, no_effect=True)
    if e.state in ("none", *REFUSED):
        return started, "call"
    if e.state in ("started", "repeated") and knows_keys and attempt >= e.attempt:
        return replace(started, state="repeated"), "call"
    return e, Silent()


def leave(e: Entry, undo: bool, attempt: int, failure: Failure | None, output: str) -> Entry:
    """Returns the next entry for the outcome of a call, which is unknown after a failure with an effect."""
    happened = failure is None or failure.happened
    known = happened or failure.no_effect and e.attempt == attempt
    if undo and e.state == "undo-started" and known:
        return replace(e, state="fenced", output="", attempt=attempt) if happened else (
            replace(e, state="done", attempt=attempt))
    if not undo and happened and e.state not in ("done", "undo-started", "fenced"):
        return replace(e, state="done", attempt=attempt, code="", message="", output=output)
    if not undo and not happened and known and e.state == "started":
        return _failed(e, failure) if failure.permanent else replace(e, state="none")
    return e


def refuse(e: Entry, attempt: int, fact: dict[str, Any] | None, began: bool,
           failure: Failure) -> tuple[Entry, bool]:
    """Returns the next entry for a point of no return that had no effect, and whether that is proven.

    It is not proven if another call may still have its effect.
    """
    after = _apply(e, attempt, fact)
    if after.state in REFUSED and attempt <= after.attempt:
        return e, True
    mine = after.state == "started" and began and after.attempt == attempt
    if after.state not in ("none", *REFUSED) and not mine:
        return e, False
    return _failed(replace(after, attempt=attempt), failure), True


def _failed(e: Entry, failure: Failure) -> Entry:
    return replace(e, state="failed" if failure.permanent else "later", code=failure.code,
                   message=failure.text())
