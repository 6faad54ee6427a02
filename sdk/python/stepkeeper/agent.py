"""The agent: it takes requests, calls its operations, and replies (docs/explanation/protocol.md)."""

import base64
import contextlib
import dataclasses
import hashlib
import inspect
import json
import logging
import math
import os
import signal
import threading
import time
import traceback
import typing
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

from . import ledger as book
from .message import (MAX_RAW, SCHEMA, Call, Failure, Later, Permanent, Unreadable, classify, encode, readable,
                      read_request, redact, shortest, written)

log = logging.getLogger("stepkeeper")

LEDGER_TIME = 2000  # milliseconds of a handling for its ledger
RESERVE = 2000  # milliseconds of an invocation of Lambda for the return of unfinished messages
REPORT_EVERY = 40_000  # milliseconds between two reports of progress
MOVES = 8  # number of times that a lost conditional write is decided again
PAUSE = 1  # seconds after a failed receive
ADDRESSES = ("STEPKEEPER_REQUESTS_URL", "STEPKEEPER_REPLIES_URL", "STEPKEEPER_QUARANTINE_URL")
LEDGERS = {"STEPKEEPER_LEDGER": book.DynamoLedger, "STEPKEEPER_LEDGER_FOLDER": book.SQLiteLedger}
Operation = Callable[[Any, Call], Any]


class Agent:
    """An agent with its operations. Several threads call them at the same time.

    ledger: for plain services and points of no return. The default is the table STEPKEEPER_LEDGER, or a file
    in the folder STEPKEEPER_LEDGER_FOLDER.
    """

    def __init__(self, name: str, *, ledger: book.Ledger | None = None, concurrency: int = 10,
                 visibility: float = 30, sqs: Any = None,
                 now: Callable[[], int] | None = None):
        self.name, self.ledger = name, ledger
        self.now = now or (lambda: time.time_ns() // 1_000_000)
        self.ticks = now or (lambda: time.monotonic_ns() // 1_000_000)  # for durations, in which a clock may be set
        self.concurrency, self.visibility = concurrency, visibility
        self.operations: dict[str, Operation] = {}
        self.sqs, self.queues = sqs, ()  # set by _connect
        self.sources: dict[str, str] = {}  # on Lambda the addresses of all queues, by the names in their ARNs
        self.stopping = False  # set by a signal, which must take no lock
        self.lock, self.in_hand = threading.Lock(), {}  # the poller's requests by their receipts

    def operation(self, name: str) -> Callable[[Operation], Operation]:
        """Registers a function (input, call) -> output, whose input may be annotated with a dataclass."""
        def register(function: Operation) -> Operation:
            if inspect.iscoroutinefunction(function):  # a call would only make a coroutine, which nobody runs
                raise TypeError(f"operation {name} is async; write it with def, because a thread calls it")
            if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
                raise TypeError(f"operation {name} has a yield, so that a call would run nothing; write return")
            signature = inspect.signature(function)
            try:
                signature.bind(None, None)
            except TypeError as why:
                raise TypeError(f"operation {name} must take an input and a call: {why}") from why
            first = next(iter(signature.parameters))
            kind = typing.get_type_hints(function).get(first)

            def run(value: Any, call: Call) -> Any:
                try:
                    if dataclasses.is_dataclass(kind):
                        value = kind(**({} if value is None else value))
                except Exception as why:  # such as a field that is unknown or missing, or of __post_init__
                    text = f"the input of {name} cannot be read: {why}"
                    raise Permanent(text, code="input", no_effect=True) from why
                return function(value, call)

            self.operations[name] = run
            return function
        return register

    def _connect(self) -> None:
        """Finds the queues and the ledger by a deployment's variables or, for `stepkeeper dev`, by name."""
        with self.lock:
            if self.queues:
                return
            self.sqs = self.sqs or book.aws_client("sqs", self.concurrency + 2)
            env = {k: v.strip() for k, v in os.environ.items() if k.startswith("STEPKEEPER_") and v.strip()}
            for variable, kind in LEDGERS.items():
                if self.ledger is None and variable in env:
                    self.ledger = kind(env[variable])
            names = ("requests-" + self.name, "replies", "quarantine")
            given = [env.get(variable) for variable in ADDRESSES]
            if "STEPKEEPER_QUEUES" in env:  # on Lambda
                if (deployed := env.get("STEPKEEPER_AGENT", self.name)) != self.name:
                    raise RuntimeError(f"the program is agent {self.name!r}, deployed as agent {deployed!r}")
                urls = json.loads(env["STEPKEEPER_QUEUES"])
                given = [urls[name] for name in names]
                self.sources = {url.rpartition("/")[2]: url for url in urls.values()}
            elif not any(given):
                given = [address(self.sqs, env.get("STEPKEEPER_QUEUE_PREFIX", "") + name) for name in names]
            if missing := ", ".join(name for name, url in zip(ADDRESSES, given) if not url):
                raise RuntimeError(f"{missing} not set, and others are; all three are outputs of the stack")
            self.queues = tuple(given)

    def handler(self, event: dict[str, Any], context: Any = None) -> dict[str, Any]:
        """Handles a batch of requests on Lambda. Those that must come again are its batchItemFailures.

        It returns only when no operation runs any more. Otherwise Lambda would freeze the process, and continue
        the operation with a later batch, when its time is over (P25). If an operation does not end, Lambda ends
        the process.
        """
        self._connect()
        left = context.get_remaining_time_in_millis() if context is not None else 60_000
        end, records = self.ticks() + max(0, left - RESERVE), event.get("Records") or []
        pool = ThreadPoolExecutor(max(1, min(len(records), 50)))
        handled = [pool.submit(self.handle, r["body"], r["messageId"], end, _received(r.get("attributes")))
                   for r in records]
        pool.shutdown(wait=False)
        _, late = wait(handled, max(0, end - self.ticks()) / 1000)
        returned = 0
        for r, f in zip(records, handled):
            if f in late or not f.result():
                returned += 1
                self._return(self._source(r), r["receiptHandle"], _received(r.get("attributes")), left * 6 / 1000)
            elif late:  # if Lambda ends the process, it deletes none of the messages
                self._delete(self._source(r), r["receiptHandle"])
        self._measure(returned)
        if late:
            log.error("%d operations did not end when their time was over; Lambda ends the process if they go on",
                      len(late))
        return {"batchItemFailures": [{"itemIdentifier": r["messageId"]}
                                      for r, f in zip(records, handled) if not f.result()]}

    def _source(self, record: dict[str, Any]) -> str:
        """Returns the queue of a record. An agent may have a second queue, for high priority (P46)."""
        return self.sources.get(record.get("eventSourceARN", "").rpartition(":")[2], self.queues[0])

    def _measure(self, returned: int) -> None:
        """Writes the metric of returned requests to the log, in CloudWatch's embedded metric format."""
        if returned and (deployment := os.environ.get("STEPKEEPER_STACK")):
            metric = {"Namespace": "Stepkeeper", "Dimensions": [["Deployment", "Function"]],
                      "Metrics": [{"Name": "Returned", "Unit": "Count"}]}
            print(json.dumps({"_aws": {"Timestamp": self.now(), "CloudWatchMetrics": [metric]},
                              "Deployment": deployment, "Function": self.name, "Returned": returned}), flush=True)

    def run(self) -> None:
        """Polls the queue until SIGTERM, SIGINT or stop(), and finishes the running requests."""
        self._connect()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self.stop)
        log.info("agent %s takes requests from %s", self.name, self.queues[0])
        ended = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(ended,))
        keeper.start()
        try:
            with ThreadPoolExecutor(self.concurrency) as pool:  # waits for its requests
                while not self.stopping:
                    self._receive(pool)
        finally:
            ended.set()
            keeper.join()

    def stop(self, *_: Any) -> None:
        """Ends run."""
        self.stopping = True

    def _receive(self, pool: ThreadPoolExecutor) -> None:
        in_hand = list(self.in_hand.values())
        if (room := self.concurrency - len(in_hand)) <= 0:
            wait(in_hand, timeout=1, return_when=FIRST_COMPLETED)
            return
        try:
            got = self.sqs.receive_message(
                QueueUrl=self.queues[0], MaxNumberOfMessages=min(10, room), WaitTimeSeconds=book.WAIT,
                VisibilityTimeout=int(self.visibility), AttributeNames=["ApproximateReceiveCount"])
        except Exception:
            log.exception("receiving failed; trying again")
            time.sleep(PAUSE)
            return
        for message in got.get("Messages", []):
            with self.lock:  # so that _work finds its receipt
                self.in_hand[message["ReceiptHandle"]] = pool.submit(self._work, message)

    def _work(self, message: dict[str, Any]) -> None:
        receipt, times = message["ReceiptHandle"], _received(message.get("Attributes"))
        handled = self.handle(message["Body"], message["MessageId"], None, times)
        with self.lock:
            self.in_hand.pop(receipt, None)  # before it comes again, so that it is not hidden once more
        if handled:
            self._delete(self.queues[0], receipt)
        else:
            self._return(self.queues[0], receipt, times, self.visibility)

    def _delete(self, queue: str, receipt: str) -> None:
        try:
            self.sqs.delete_message(QueueUrl=queue, ReceiptHandle=receipt)
        except Exception:
            log.warning("a handled request was not deleted; it comes again with its key", exc_info=True)

    def _keep(self, ended: threading.Event) -> None:
        """Keeps the running requests invisible."""
        while not ended.wait(self.visibility / 3):
            for receipt in list(self.in_hand):
                self._hide(self.queues[0], receipt, self.visibility)

    def _return(self, queue: str, receipt: str, times: int, most: float) -> None:
        """Makes a message come again after 2 s, 4 s and so on, not only when its visibility timeout ends."""
        self._hide(queue, receipt, min(2 ** min(max(times, 1), 12), most))

    def _hide(self, queue: str, receipt: str, seconds: float) -> None:
        try:
            self.sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=receipt,
                                               VisibilityTimeout=int(seconds))
        except Exception:
            log.warning("the time at which a request comes again could not be set", exc_info=True)

    def handle(self, body: str, message: str = "", end: int | None = None, times: int = 1) -> bool:
        """Handles one request until `end` of `ticks`, and reports whether its message may be deleted.

        `times` is how often the message was received.
        """
        try:
            self._connect()
            received = self.now()
            try:
                return _Handling(self, read_request(body), received, end, times).run()
            except Unreadable as why:
                data = body.encode("utf-8", "replace")
                self.send(self.queues[2], {
                    "schema": SCHEMA, "queue": "requests-" + self.name, "id": message,
                    "at": written(received), "reason": readable(str(why)),
                    "sha256": hashlib.sha256(data).hexdigest(),
                    "body": base64.b64encode(redact(body[:MAX_RAW]).encode("utf-8", "replace")[:40_000]).decode()})
                log.warning("message %s went to quarantine: %.200s", message, readable(str(why)))
                return True
        except BaseException:  # an operation that exits does not affect other requests; this one comes again
            log.exception("message %s was not handled; it is returned to the queue", message)
            return False

    def send(self, queue: str, body: dict[str, Any]) -> None:
        self.sqs.send_message(QueueUrl=queue, MessageBody=shortest(body))


def _received(attributes: dict[str, str] | None) -> int:
    """Returns how often a message was received."""
    return int((attributes or {}).get("ApproximateReceiveCount", 1))


def address(sqs: Any, queue: str) -> str:
    """Returns the address of a queue, which may be given as its name."""
    try:
        return queue if not queue or "://" in queue else sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    except Exception as why:
        raise RuntimeError(
            f"queue {queue} cannot be found: {why}\nfor `stepkeeper dev` on this machine set "
            "AWS_ENDPOINT_URL_SQS=http://127.0.0.1:8377, and name its agent in agents.yaml; "
            "queues of a stack are found by their addresses only") from why


class _Handling:
    """The handling of one request."""

    def __init__(self, agent: Agent, request: dict[str, Any], received: int, end: int | None, times: int):
        self.agent, self.request, self.received, self.times = agent, request, received, times
        self.identity = {name: request[name] for name in ("task", "run", "step", "attempt", "operation")}
        self.undo, self.attempt, self.stop = request["undo"], request["attempt"], request["stop"]
        self.plain = request["grade"] == "plain"
        # A point of no return keeps a ledger, so that its refusal can be proven (P22a).
        self.pivot = request["pointOfNoReturn"] is True and not self.undo and agent.ledger is not None
        book_time = LEDGER_TIME if self.plain or self.pivot else 0
        now = agent.ticks()
        self.until = min(now + request["limit"] + book_time, now + self.stop - received, end or math.inf)
        self.began = self.no_effect = False
        self.began_at = self.sent = 0  # when the call began, and when progress was last reported

    def run(self) -> bool:
        agent, request = self.agent, self.request
        if agent.now() >= self.stop and self.times > 1:  # an earlier handling may have called
            log.info("a request came again after its stopBy; dropped: %s", self.identity)
            return True
        if agent.now() >= self.stop:  # P25; the reply says only that the request waited too long (P32)
            log.info("a request came after its stopBy; not called: %s", self.identity)
            self._send({"outcome": "retry-later", "error": {"code": "queue", "message":
                        f"the request waited in the queue of agent {agent.name!r} past its stopBy"}})
            return True
        if agent.ticks() >= self.until:
            return False
        try:
            if request["name"] not in agent.operations:
                raise Later(f"agent {agent.name!r} has no operation {request['name']!r}; deploy one that has "
                            "it, or correct the workflow", code="unknown-operation", no_effect=True)
            if self.plain and agent.ledger is None:
                raise Later(f"the service is plain, and the agent has no ledger; set {' or '.join(LEDGERS)}",
                            code="no-ledger", no_effect=True)
            output = self._recorded() if self.plain or self.pivot else self._call()
            reply = {"outcome": "done"} if output is None else {"outcome": "done", "output": output}
        except book.Silent:
            log.info("a call is in doubt, or its time is over; not answered: %s", self.identity)
            return True
        except Exception as error:
            reply = self._failed(error)
        if agent.now() < self.stop:
            self._send(reply)
        else:
            log.info("a request was finished after its stopBy; not answered: %s", self.identity)
        return True

    def _failed(self, error: Exception) -> dict[str, Any]:
        """Returns the reply for a failure."""
        failure = classify(error)
        level = logging.INFO if failure is error else logging.WARNING
        trace = "" if failure is error else "\n" + redact("".join(traceback.format_exception(error))[-MAX_RAW:])
        log.log(level, "a request failed: %s %s%s", self.identity, failure.code, trace)
        if self.pivot and failure.no_effect and not self.no_effect:
            self._prove(failure)
        reply = {"outcome": "failed" if failure.permanent else "retry-later",
                 "error": {"code": failure.code, "message": failure.text()}}
        if not failure.permanent:
            reply["retryAfter"] = int(failure.after * 1000)
        return reply | {"noEffect": True} if self.no_effect else reply

    def _call(self) -> Any:
        i, m = self.identity, self.request
        self.began_at, self.sent = self.agent.ticks(), 0
        output = self.agent.operations[m["name"]](m["input"], Call(
            *i.values(), m["name"], m["grade"], m["key"], m["stopBy"] / 1000, m["trace"],
            self._remaining, self._progress))
        return None if self.undo else encode(output)  # the output of an undo is not used (P24)

    def _remaining(self) -> float:
        m, before = self.request, self.sent or self.began_at
        end = min(self.until, self.began_at + m["limit"], before + m["timeout"])
        # The time while the machine sleeps counts only by the clock.
        return max(0, min(end - self.agent.ticks(), self.stop - self.agent.now())) / 1000

    def _progress(self, percent: float = 0, note: str = "") -> None:
        now, m = self.agent.ticks(), self.request
        soon = self.sent and now - self.sent < min(REPORT_EVERY, m["timeout"] / 3)
        if m["long"] and not soon and self.agent.now() < self.stop:
            try:
                short = redact(str(note)[:MAX_RAW]).encode("utf-8", "replace")[:200].decode("utf-8", "ignore")
                percent = min(max(int(percent), 0), 100)
                self._send({"outcome": "progress", "percent": percent, "note": short})
                self.sent = now
            except Exception:  # a later report may be sent
                log.warning("progress could not be reported: %s", self.identity, exc_info=True)

    def _send(self, reply: dict[str, Any]) -> None:
        waited = max(0, self.received - (self.request["claimedAt"] or self.received))
        self.agent.send(self.agent.queues[1], {
            "schema": SCHEMA, "agent": self.agent.name, **self.identity, "waited": waited, **reply})

    def _recorded(self) -> Any:
        """Calls the operation by the ledger: at most one call in doubt or done for each key (P31)."""
        fact, knows_keys = self.request["resolved"], self.pivot and not self.plain
        try:
            entry, act = self._move(lambda e: book.enter(e, self.undo, self.attempt, fact, knows_keys))
        except Exception as why:
            raise Later(f"the agent could not use its ledger, so the service was not called: {why!r}",
                        code="ledger", no_effect=True) from why
        if act == "done":
            return json.loads(entry.output) if entry.output and not self.undo else None
        if act != "call":
            self.no_effect = self.pivot
            raise act
        self.began = self.pivot
        if self._insufficient():
            (self._prove if self.pivot else self._leave)(
                Later("the time was too short for a call", code="ledger", no_effect=True))
            raise book.Silent
        try:
            output = self._call()
        except Exception as error:
            failure = classify(error)
            if not self.pivot or failure.happened and self.plain:
                self._leave(failure)
            raise
        if self.plain:
            self._leave(None, output)
        return output

    def _insufficient(self) -> bool:
        """Reports whether the time is too short. An interrupted call of a plain service is in doubt."""
        now, m = self.agent.now(), self.request
        late = self.plain and m["claimedAt"] and now + m["timeout"] > m["stopBy"]
        return now >= self.stop or self.agent.ticks() >= self.until or bool(
            late and m["stopBy"] - m["claimedAt"] - m["timeout"] > 2 * (m["stopBy"] - self.stop))

    def _move(self, decide: Callable[[book.Entry], tuple[book.Entry, Any]]) -> tuple[book.Entry, Any]:
        """Stores the entry that decide returns, and decides again if another request was faster."""
        for _ in range(MOVES):
            before = self.agent.ledger.entry(self.request["key"])
            after, result = decide(before)
            with contextlib.suppress(book.Conflict):
                if after is not before:
                    self.agent.ledger.move(after)
                return after, result
        raise book.Conflict(f"lost {MOVES} times in a row")

    def _leave(self, failure: Failure | None, output: Any = None) -> None:
        """Stores the outcome of the call. If that fails the entry stays in doubt, which is safe."""
        kept = "" if output is None else redact(json.dumps(output))
        try:
            self._move(lambda e: (book.leave(e, self.undo, self.attempt, failure, kept), None))
        except Exception:
            log.exception("the outcome of a call could not be stored; it is in doubt: %s", self.identity)

    def _prove(self, failure: Failure) -> None:
        """Stores that a point of no return has had no effect, before its reply claims it (P22a)."""
        fact = self.request["resolved"]
        try:
            _, self.no_effect = self._move(
                lambda e: book.refuse(e, self.attempt, fact, self.began, failure))
        except Exception:
            log.exception("a refusal could not be stored, so it is not proven: %s", self.identity)
