"""An agent in Python: it takes requests-<agent>, calls its operations, and answers to replies.

It keeps the agent's side of the protocol (docs/explanation/protocol.md):

- no side effect begins, and nothing is sent, from stopBy less the clock skew on (P25);
- every attempt hands the same key to the service, which must act once for it (P2);
- the reply echoes task, run, step, attempt and operation, and says how long the request waited
  in the queue (P3, P32);
- the request is deleted only after the reply was taken, and stays invisible while it is in hand.

It is for services of the grades "fenced" and "idempotent". One that knows no keys needs a ledger
besides, as functions/agent keeps one (P31).
"""

import base64
import hashlib
import json
import logging
import os
import signal
import threading
import time
from datetime import datetime, timezone

import boto3

log = logging.getLogger("agent")

SCHEMA = 1
MAX_OUTPUT = 48 * 1024  # bytes; a reply must fit into one message
MAX_TEXT = 500  # characters of an error
MAX_BATCH = 10  # messages of one receive, a limit of SQS
PAUSE = 1  # seconds after a failed receive


class Permanent(Exception):
    """No repetition can succeed: the step fails for good."""

    code = "refused"


class Retry(Exception):
    """It may succeed later. `after` is the wait that the service asked for, in seconds."""

    def __init__(self, message, after=0):
        super().__init__(message)
        self.after = after


def _milliseconds(text):
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def _now():
    return int(time.time() * 1000)


# The addresses of the queues of a deployed stack, whose names cannot be guessed.
ADDRESSES = ("STEPKEEPER_REQUESTS_URL", "STEPKEEPER_REPLIES_URL", "STEPKEEPER_QUARANTINE_URL")


def queue_urls(sqs, agent, env=os.environ):
    """The addresses of requests-<agent>, replies and quarantine: as the environment says, or looked
    up by their names, as beside `stepkeeper dev`."""
    given = {name: env.get(name, "").strip() for name in ADDRESSES}
    missing = [name for name in ADDRESSES if not given[name]]
    if not missing:
        return tuple(given.values())
    if len(missing) < len(ADDRESSES):
        raise SystemExit(f"{', '.join(missing)} not set, and others are; take all three from the outputs of the stack")
    prefix = env.get("STEPKEEPER_QUEUE_PREFIX", "")
    return tuple(sqs.get_queue_url(QueueName=prefix + q)["QueueUrl"] for q in ("requests-" + agent, "replies", "quarantine"))


class Agent:
    """operations: name -> function(input, key, deadline). The deadline is in seconds since 1970; a
    function is called by several threads at once. concurrency: requests in hand at the same time.
    visibility: how long one stays invisible, in seconds, renewed while it is in hand."""

    def __init__(self, name, operations, sqs=None, now=_now, concurrency=10, visibility=60):
        self.name, self.operations, self.now = name, operations, now
        self.sqs = sqs or boto3.client("sqs")  # a client is safe for threads
        self.requests, self.replies, self.quarantine = queue_urls(self.sqs, name)
        self.concurrency, self.visibility = concurrency, visibility
        self.stopping = False  # set by a signal, which must take no lock
        self.lock = threading.Condition()
        self.in_hand = set()  # receipts

    def run(self):
        """Works until stop() was called, by a signal for instance, and ends what is in hand."""
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

    def stop(self, *_):
        self.stopping = True

    def _receive(self):
        """Takes as many requests as there is room for, and hands each to a thread of its own."""
        with self.lock:
            if not self.lock.wait_for(lambda: len(self.in_hand) < self.concurrency, timeout=1):
                return
            room = self.concurrency - len(self.in_hand)
        try:
            got = self.sqs.receive_message(QueueUrl=self.requests, MaxNumberOfMessages=min(room, MAX_BATCH), WaitTimeSeconds=5, VisibilityTimeout=self.visibility)
        except Exception:
            log.exception("receiving failed; trying again")
            time.sleep(PAUSE)
            return
        for message in got.get("Messages", []):
            with self.lock:
                self.in_hand.add(message["ReceiptHandle"])
            threading.Thread(target=self._work, args=(message,)).start()

    def _work(self, message):
        try:
            if self.handle(message):
                self.sqs.delete_message(QueueUrl=self.requests, ReceiptHandle=message["ReceiptHandle"])
        except Exception:  # one bad message does not affect the others; this one comes again
            log.exception("message %s was not handled", message["MessageId"])
        finally:
            with self.lock:
                self.in_hand.discard(message["ReceiptHandle"])
                self.lock.notify_all()

    def _keep(self, ended):
        """Renews the visibility timeout of what is in hand."""
        while not ended.wait(self.visibility / 3):
            with self.lock:
                receipts = list(self.in_hand)
            for receipt in receipts:
                try:
                    self.sqs.change_message_visibility(QueueUrl=self.requests, ReceiptHandle=receipt, VisibilityTimeout=self.visibility)
                except Exception:  # it was finished meanwhile, or comes a second time, with the same key
                    log.warning("a request in hand could not be kept invisible", exc_info=True)

    def handle(self, message):
        """True when the message may be deleted."""
        received = self.now()
        try:
            request = json.loads(message["Body"])
            if request.get("schema", 0) > SCHEMA:
                return False  # another instance may know it
            stop_by = _milliseconds(request["stopBy"]) - request.get("clockSkew", 0)
            end = min(received + request["timeout"], stop_by)
            waited = max(0, received - _milliseconds(request["claimedAt"])) if request.get("claimedAt") else 0
            reply = {name: request[name] for name in ("task", "run", "step", "attempt", "operation")}
            name, key = request["name"], request["key"]
        except (ValueError, KeyError, TypeError, AttributeError) as why:
            self._quarantine(message, repr(why))
            return True
        if self.now() >= stop_by:
            log.info("task %s step %s came too late; dropped", request["task"], request["step"])
            return True
        reply.update(schema=SCHEMA, agent=self.name, waited=waited)
        reply.update(self._outcome(name, request.get("input"), key, end))
        if self.now() < stop_by:
            self.sqs.send_message(QueueUrl=self.replies, MessageBody=json.dumps(reply))
        return True

    def _outcome(self, name, data, key, end):
        try:
            if name not in self.operations:
                raise Retry(f"agent {self.name} has no operation {name}; deploy one that has it")
            output = self.operations[name](data, key, end / 1000)
            if len(json.dumps(output).encode()) > MAX_OUTPUT:
                raise Permanent(f"the operation was done, but its output is over {MAX_OUTPUT} bytes; answer a reference")
            return {"outcome": "done"} if output is None else {"outcome": "done", "output": output}
        except Permanent as why:
            return {"outcome": "failed", "error": {"code": why.code, "message": str(why)[:MAX_TEXT]}}
        except Exception as why:  # whatever is not marked is tried again
            after = int(getattr(why, "after", 0) * 1000)
            return {"outcome": "retry-later", "retryAfter": after, "error": {"code": "failed", "message": str(why)[:MAX_TEXT]}}

    def _quarantine(self, message, why):
        body = message["Body"].encode()
        self.sqs.send_message(
            QueueUrl=self.quarantine,
            MessageBody=json.dumps({
                "schema": SCHEMA,
                "queue": "requests-" + self.name,
                "id": message["MessageId"],
                "reason": why[:MAX_TEXT],
                "at": datetime.fromtimestamp(self.now() / 1000, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "sha256": hashlib.sha256(body).hexdigest(),
                "body": base64.b64encode(body[:30000]).decode(),
            }),
        )
        log.warning("message %s went to quarantine: %s", message["MessageId"], why)


# What follows is the example's own service: a coat check that remembers keys, as a real service
# behind an agent has to. A real agent would call it over the network, with a timeout that ends at
# the deadline.
_coats = {}
_desk = threading.Lock()


def hang(data, key, deadline):
    """do: one ticket for each key, however often it is asked for."""
    if not isinstance(data, dict) or "coat" not in data:
        raise Permanent("there is no coat in the input")
    with _desk:
        return {"ticket": _coats.setdefault(key, len(_coats) + 1)}


def give_back(data, key, deadline):
    """undo: succeeds also where nothing was hung."""
    with _desk:
        _coats.pop(key, None)


def main():
    logging.basicConfig(level=logging.INFO)
    agent = Agent("coats", {"hang": hang, "give-back": give_back})
    signal.signal(signal.SIGTERM, agent.stop)
    signal.signal(signal.SIGINT, agent.stop)
    log.info("the agent takes requests from %s", agent.requests)
    agent.run()


if __name__ == "__main__":
    main()
