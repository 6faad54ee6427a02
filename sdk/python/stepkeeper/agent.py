"""The agent: it takes requests, calls its operations, and replies (docs/explanation/protocol.md)."""

import base64
import concurrent.futures
import hashlib
import inspect
import json
import logging
import os
import signal
import threading
import time
import typing
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import ledger as book
from .message import (MAX_TEXT, SCHEMA, Call, Failure, Later, Newer, Permanent, Unreadable, classify, encode,
                      read_request, typed, written)

log = logging.getLogger("stepkeeper")

LEDGER_TIME = 2000  # milliseconds of a handling for its ledger
RESERVE = 2000  # milliseconds of an invocation of Lambda for the return of unfinished messages
REPORT_EVERY = 40_000  # milliseconds between two reports of progress
MOVES = 8  # how often a lost conditional write is decided again
WAIT = 5  # seconds of a long poll
PAUSE = 1  # seconds after a failed receive
ADDRESSES = ("STEPKEEPER_REQUESTS_URL", "STEPKEEPER_REPLIES_URL", "STEPKEEPER_QUARANTINE_URL")
Operation = Callable[[Any, Call], Any]


class Agent:
    """An agent with its operations. Several threads call them at the same time.

    ledger: for plain services and points of no return. The default is the table STEPKEEPER_LEDGER, or a file
    in the folder STEPKEEPER_LEDGER_FOLDER.
    """

    def __init__(self, name: str, *, ledger: book.Ledger | None = None, concurrency: int = 10,
                 visibility: float = 30, sqs: Any = None,
                 now: Callable[[], int] = lambda: time.time_ns() // 1_000_000):
        self.name, self.ledger, self.now = name, ledger, now
        self.concurrency, self.visibility = concurrency, visibility
        self.operations: dict[str, Operation] = {}
        self.sqs, self.queues = sqs, ()  # set by _connect
        self.stopping = False  # set by a signal, which must take no lock
        self.lock, self.in_hand = threading.Condition(), set()  # receipts of requests in hand

    def operation(self, name: str) -> Callable[[Operation], Operation]:
        """Registers a function (input, call) -> output, whose input may be annotated with a dataclass."""
        def register(function: Operation) -> Operation:
            first = next(iter(inspect.signature(function).parameters))
            kind = typing.get_type_hints(function).get(first)

            def run(value: Any, call: Call) -> Any:
                try:
                    value = typed(kind, value)
                except (ValueError, TypeError) as why:
                    text = f"the input of {name} cannot be read: {why}"
                    raise Permanent(text, code="input", no_effect=True) from why
                return function(value, call)

            self.operations[name] = run
            return function
        return register

    def _connect(self) -> None:
        """Finds the queues and the ledger: as a deployment says, or by name, as beside `stepkeeper dev`."""
        with self.lock:
            if self.queues:
                return
            self.sqs = self.sqs or sqs_client(self.concurrency)
            env = {k: v.strip() for k, v in os.environ.items() if k.startswith("STEPKEEPER_") and v.strip()}
            if self.ledger is None and "STEPKEEPER_LEDGER" in env:
                self.ledger = book.DynamoLedger(env["STEPKEEPER_LEDGER"])
            elif self.ledger is None and "STEPKEEPER_LEDGER_FOLDER" in env:
                self.ledger = book.SQLiteLedger(env["STEPKEEPER_LEDGER_FOLDER"])
            names = ("requests-" + self.name, "replies", "quarantine")
            given = [env[a] for a in ADDRESSES if a in env]
            if "STEPKEEPER_QUEUES" in env:  # on Lambda
                if (deployed := env.get("STEPKEEPER_AGENT", self.name)) != self.name:
                    raise SystemExit(f"the program is agent {self.name!r}, deployed as agent {deployed!r}")
                urls = json.loads(env["STEPKEEPER_QUEUES"])
                given = [urls[name] for name in names]
            elif not given:
                given = [look_up(self.sqs, env.get("STEPKEEPER_QUEUE_PREFIX", "") + name) for name in names]
            if len(given) < len(names):
                missing = ", ".join(a for a in ADDRESSES if a not in env)
                raise SystemExit(f"{missing} not set, and others are; all three are outputs of the stack")
            self.queues = tuple(given)

    def handler(self, event: dict[str, Any], context: Any = None) -> dict[str, Any]:
        """Handles a batch of requests on Lambda. Those that must come again are its batchItemFailures."""
        self._connect()
        left = context.get_remaining_time_in_millis() if context is not None else 60_000
        end, records = self.now() + max(0, left - RESERVE), event.get("Records") or []
        pool = concurrent.futures.ThreadPoolExecutor(max(1, min(len(records), 50)))
        handled = [pool.submit(self._guarded, r["body"], r["messageId"], end) for r in records]
        done, _ = concurrent.futures.wait(handled, max(0, end - self.now()) / 1000)
        pool.shutdown(wait=False, cancel_futures=True)
        again = [r for r, f in zip(records, handled) if f not in done or not f.result()]
        for r in again:
            self._return(r["receiptHandle"], r.get("attributes", {}), left * 6 / 1000)
        return {"batchItemFailures": [{"itemIdentifier": r["messageId"]} for r in again]}

    def run(self) -> None:
        """Polls the queue until SIGTERM, SIGINT or stop(), and finishes the requests in hand."""
        self._connect()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self.stop)
        log.info("agent %s takes requests from %s", self.name, self.queues[0])
        ended = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(ended,))
        keeper.start()
        try:
            while not self.stopping:
                self._receive()
            with self.lock:
                self.lock.wait_for(lambda: not self.in_hand)
        finally:
            ended.set()
            keeper.join()

    def stop(self, *_: Any) -> None:
        """Makes run end."""
        self.stopping = True

    def _receive(self) -> None:
        with self.lock:
            if not self.lock.wait_for(lambda: len(self.in_hand) < self.concurrency, timeout=1):
                return
            room = min(10, self.concurrency - len(self.in_hand))
        try:
            got = self.sqs.receive_message(
                QueueUrl=self.queues[0], MaxNumberOfMessages=room, WaitTimeSeconds=WAIT,
                VisibilityTimeout=int(self.visibility), AttributeNames=["ApproximateReceiveCount"])
        except Exception:
            log.exception("receiving failed; trying again")
            time.sleep(PAUSE)
            return
        for message in got.get("Messages", []):
            with self.lock:
                self.in_hand.add(message["ReceiptHandle"])
            threading.Thread(target=self._work, args=(message,)).start()

    def _work(self, message: dict[str, Any]) -> None:
        receipt = message["ReceiptHandle"]
        handled = self._guarded(message["Body"], message["MessageId"])
        with self.lock:
            self.in_hand.discard(receipt)  # before it comes again, so that it is not hidden once more
            self.lock.notify_all()
        if not handled:
            self._return(receipt, message.get("Attributes", {}), self.visibility)
            return
        try:
            self.sqs.delete_message(QueueUrl=self.queues[0], ReceiptHandle=receipt)
        except Exception:
            log.warning("a handled request was not deleted; it comes again with its key", exc_info=True)

    def _keep(self, ended: threading.Event) -> None:
        """Keeps the requests in hand invisible."""
        while not ended.wait(self.visibility / 3):
            with self.lock:
                receipts = list(self.in_hand)
            for receipt in receipts:
                self._hide(receipt, self.visibility)

    def _return(self, receipt: str, attributes: dict[str, str], most: float) -> None:
        """Makes a message come again after 2 s, 4 s and so on, not only when its visibility timeout ends."""
        received = int(attributes.get("ApproximateReceiveCount", 1))
        self._hide(receipt, min(2 ** min(max(received, 1), 12), most))

    def _hide(self, receipt: str, seconds: float) -> None:
        try:
            self.sqs.change_message_visibility(QueueUrl=self.queues[0], ReceiptHandle=receipt,
                                               VisibilityTimeout=int(seconds))
        except Exception:
            log.warning("the time at which a request comes again could not be set", exc_info=True)

    def _guarded(self, body: str, message: str, end: int | None = None) -> bool:
        try:
            return self.handle(body, message, end)
        except Exception:  # one bad message does not affect the others; this one comes again
            log.exception("message %s was not handled; it is returned to the queue", message)
            return False

    def handle(self, body: str, message: str = "", end: int | None = None) -> bool:
        """Handles one request until `end`, and reports whether its message may be deleted."""
        self._connect()
        received = self.now()
        try:
            return _Handling(self, read_request(body), received, end).run()
        except Newer:
            log.warning("message %s has a newer schema; deploy the newer agent", message)
            return False
        except Unreadable as why:
            data = body.encode("utf-8", "replace")
            self.send(self.queues[2], {
                "schema": SCHEMA, "queue": "requests-" + self.name, "id": message, "at": written(self.now()),
                "reason": str(why)[:MAX_TEXT], "sha256": hashlib.sha256(data).hexdigest(),
                "body": base64.b64encode(data[:40_000]).decode()})
            log.warning("message %s went to quarantine: %.200s", message, why)
            return True

    def send(self, queue: str, body: dict[str, Any]) -> None:
        self.sqs.send_message(QueueUrl=queue, MessageBody=json.dumps(body))  # ASCII, which SQS takes whole


def sqs_client(concurrency: int = 10) -> Any:
    """Returns a client of SQS that gives up early enough for a request to come again."""
    import boto3
    from botocore.config import Config
    region = os.environ.get("AWS_REGION")  # which boto3 does not read
    return boto3.client("sqs", region_name=region, config=Config(
        connect_timeout=3, read_timeout=WAIT + 5, max_pool_connections=concurrency + 2,
        retries={"total_max_attempts": 2, "mode": "standard"}))


def look_up(sqs: Any, queue: str) -> str:
    """Returns the address of a queue."""
    try:
        return sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    except Exception as why:
        raise SystemExit(f"queue {queue} cannot be found: {why}\nfor `stepkeeper dev` on this machine set "
                         "AWS_ENDPOINT_URL_SQS=http://127.0.0.1:8377, and name its agent in agents.yaml; "
                         "queues of a stack are found by their addresses only") from why


class _Silent(Exception):
    """No reply may be sent, because a call is in doubt or its time is over."""


class _Handling:
    """The handling of one request."""

    def __init__(self, agent: Agent, request: dict[str, Any], received: int, end: int | None):
        self.agent, self.request, self.received, self.sent = agent, request, received, 0
        self.identity = {name: request[name] for name in ("task", "run", "step", "attempt", "operation")}
        self.undo, self.attempt = request["operation"] == "undo", request["attempt"]
        self.stop = request["stop"]
        self.plain = request.get("grade") == "plain"
        # A point of no return keeps a ledger, so that its refusal can be proven (P22a).
        self.pivot = request.get("pointOfNoReturn") is True and not self.undo and agent.ledger is not None
        self.limit = request["maxDuration"] if request["long"] else request["timeout"]
        book_time = LEDGER_TIME if self.plain or self.pivot else 0
        self.until = min(received + self.limit + book_time, self.stop, self.stop if end is None else end)
        self.began = self.no_effect = False

    def run(self) -> bool:
        agent, request, output, failure = self.agent, self.request, None, None
        if agent.now() >= self.stop:  # P25
            log.info("a request came after its stopBy; dropped: %s", self.identity)
            return True
        if agent.now() >= self.until:
            return False
        try:
            if request["name"] not in agent.operations:
                raise Later(f"agent {agent.name!r} has no operation {request['name']!r}; deploy one that has "
                            "it, or correct the workflow", code="unknown-operation", no_effect=True)
            if self.plain and agent.ledger is None:
                raise Later("the service is plain, and the agent has no ledger; set STEPKEEPER_LEDGER or "
                            "STEPKEEPER_LEDGER_FOLDER", code="no-ledger", no_effect=True)
            output = self._recorded() if self.plain or self.pivot else self._call()
        except _Silent:
            log.info("a call is in doubt, or its time is over; not answered: %s", self.identity)
            return True
        except Exception as error:
            if not isinstance(error, Failure):
                log.warning("an operation raised; it comes again: %s", self.identity, exc_info=True)
            failure = classify(error)
            self._prove(failure)
        return self._answer(output, failure)

    def _call(self) -> Any:
        agent, i, m = self.agent, self.identity, self.request
        self.sent = 0
        self.began_at = agent.now()
        output = agent.operations[m["name"]](m.get("input"), Call(
            *i.values(), m["name"], m.get("grade", ""), m["key"], m["stopBy"] / 1000, m.get("trace", ""),
            self._remaining, self._progress))
        return None if self.undo else encode(output)  # the output of an undo is not used (P24)

    def _remaining(self) -> float:
        end = min(self.until, self.began_at + self.limit)
        if self.request["long"]:
            end = min(end, (self.sent or self.began_at) + self.request["timeout"])
        return max(0, end - self.agent.now()) / 1000

    def _progress(self, percent: int, note: str) -> None:
        now, m = self.agent.now(), self.request
        if m["long"] and now < self.stop and now - self.sent >= min(REPORT_EVERY, m["timeout"] / 3):
            short = str(note).encode("utf-8", "replace")[:200].decode("utf-8", "ignore")
            percent = min(max(int(percent), 0), 100)
            try:
                self._send({"outcome": "progress", "percent": percent, "note": short})
                self.sent = now
            except Exception:  # a later report may be sent
                log.warning("progress could not be reported: %s", self.identity, exc_info=True)

    def _send(self, reply: dict[str, Any]) -> None:
        waited = max(0, self.received - (self.request["claimedAt"] or self.received))
        self.agent.send(self.agent.queues[1], {
            "schema": SCHEMA, "agent": self.agent.name, **self.identity, "waited": waited, **reply})

    def _answer(self, output: Any, failure: Failure | None) -> bool:
        if self.agent.now() >= self.stop:
            log.info("a request was finished after its stopBy; not answered: %s", self.identity)
            return True
        reply: dict[str, Any] = {"outcome": "done"}
        if failure is not None:
            reply = {"outcome": "failed" if failure.permanent else "retry-later",
                     "error": {"code": failure.code, "message": str(failure)[:MAX_TEXT]}}
            if not failure.permanent:
                reply["retryAfter"] = int(min(max(failure.after, 0), 1e6) * 1000)
            if self.no_effect:
                reply["noEffect"] = True
            log.info("a request failed: %s %s", self.identity, failure.code)
        elif output is not None:
            reply["output"] = output
        self._send(reply)
        return True

    def _recorded(self) -> Any:
        """Calls the operation by the ledger: at most one call in doubt or done for each key (P31)."""
        entry, act = self._enter()
        if act == book.DONE:
            return json.loads(entry.output) if entry.output and not self.undo else None
        if act == book.FAILED:
            self.no_effect = self.pivot
            if entry.state == "fenced":
                raise Permanent("the step has been undone; it is not done any more", code="fenced")
            kind = Later if entry.state == "later" else Permanent
            raise kind(entry.message, code=entry.code, no_effect=True)
        if act == book.IN_DOUBT:
            raise Permanent("a call to this plain service was begun, and whether it happened is not known; "
                            "find out and resolve it", code="in-doubt")
        if act == book.SILENT:
            raise _Silent
        self.began = self.pivot
        if self._insufficient():
            self._leave("withdrawn")
            raise _Silent
        try:
            output = self._call()
        except Exception as error:
            failure = classify(error)
            if not self.pivot or failure.happened and self.plain:
                self._leave("happened" if failure.happened else "unknown" if not failure.no_effect else
                            "refused" if failure.permanent else "withdrawn", failure=failure)
            raise
        if self.plain:
            self._leave("happened", output)
        return output

    def _insufficient(self) -> bool:
        """Reports whether the time is too short. An interrupted call of a plain service is in doubt."""
        now, m = self.agent.now(), self.request
        if now >= self.until:
            return True
        if not self.plain or not m["claimedAt"]:
            return False
        allowed = m["stopBy"] - m["claimedAt"] - m["timeout"]
        return allowed > 2 * (m["stopBy"] - self.stop) and now + m["timeout"] > m["stopBy"]

    def _enter(self) -> tuple[book.Entry, str]:
        m, knows_keys = self.request, self.pivot and not self.plain
        try:
            return self._move(
                lambda e: book.enter(e, self.undo, self.attempt, m.get("resolved"), knows_keys))
        except Exception as why:
            raise Later(f"the agent could not use its ledger, so the service was not called: {why!r}",
                        code="ledger", no_effect=True) from why

    def _move(self, decide: Callable[[book.Entry], tuple[book.Entry, bool, Any]]) -> tuple[Any, Any]:
        """Stores the entry that decide returns, and decides again if another request was faster."""
        for _ in range(MOVES):
            following, moved, result = decide(self.agent.ledger.entry(self.request["key"]))
            try:
                if moved:
                    self.agent.ledger.move(following)
                return following, result
            except book.Conflict:
                continue
        raise book.Conflict(f"lost {MOVES} times in a row")

    def _leave(self, outcome: str, output: Any = None, failure: Failure | None = None) -> None:
        """Stores the outcome of the call. If that fails the entry stays in doubt, which is safe."""
        def decide(e: book.Entry) -> tuple[book.Entry, bool, None]:
            e, moved = book.leave(e, self.undo, self.attempt, outcome)
            if e.state == "done" and output is not None:
                e = replace(e, output=json.dumps(output))
            if e.state == "none" and self.pivot:
                e = replace(e, state="later", code="ledger", message="the time was too short for a call")
            if e.state == "failed" and failure is not None:
                e = replace(e, code=failure.code, message=str(failure)[:MAX_TEXT])
            return e, moved, None

        try:
            if outcome != "unknown":
                self._move(decide)
        except Exception:
            log.exception("the outcome of a call could not be stored; it is in doubt: %s", self.identity)

    def _prove(self, failure: Failure) -> None:
        """Stores that a point of no return has had no effect, before its reply says so (P22a)."""
        if not self.pivot or not failure.no_effect or self.no_effect:
            return

        def decide(e: book.Entry) -> tuple[book.Entry, bool, bool]:
            e, moved, proven = book.refuse(
                e, self.attempt, self.request.get("resolved"), self.began, failure.permanent)
            if moved:
                e = replace(e, code=failure.code, message=str(failure)[:MAX_TEXT])
            return e, moved, proven

        try:
            self.no_effect = self._move(decide)[1]
        except Exception:
            log.exception("a refusal could not be stored, so it is not proven: %s", self.identity)
