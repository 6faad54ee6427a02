"""The client of an application: it sends orders to the intake queue and reads their statuses."""

import json
import re
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from .agent import address
from .ledger import WAIT, aws_client
from .message import MAX_LEVELS, SCHEMA, check, shortest, unique, written

MAX_ORDER = 65_536  # bytes of a submission


class Client:
    """intake, statuses: queues, by their address from a stack's outputs or their name in `stepkeeper dev`."""

    def __init__(self, intake: str = "intake", statuses: str = "", sqs: Any = None):
        self.sqs = sqs or aws_client("sqs")
        self.intake, self.queue = address(self.sqs, intake), address(self.sqs, statuses)

    def submit(self, workflow: str, order_id: str, order: Any, *, reply_to: str = "", priority: str = "",
               deadline: datetime | None = None) -> None:
        """Sends an order. It may be repeated: the same ID with the same content is the same order.

        reply_to: the logical name of the application's queue for statuses, from the deployment's list.
        """
        if not re.fullmatch(r"(?!\.\.?$)[A-Za-z0-9._:][A-Za-z0-9._:-]{0,127}", order_id):
            raise ValueError(f"{order_id!r:.140} is no order ID: letters, digits and . _ : -, at most 128")
        body = {"schema": SCHEMA, "orderId": order_id, "workflow": workflow, "order": order}
        if deadline is not None:
            body["deadline"] = written(int(deadline.timestamp() * 1000))
        body |= {name: value for name, value in (("replyTo", reply_to), ("priority", priority)) if value}
        text = shortest(body)
        check(json.loads(text, object_pairs_hook=unique), MAX_LEVELS + 1, "submission")
        if order is None or len(text.encode()) > MAX_ORDER:
            raise ValueError(f"order {order_id} must have a value and at most {MAX_ORDER} bytes")
        self.sqs.send_message(QueueUrl=self.intake, MessageBody=text)

    def statuses(self, seconds: float = float("inf")) -> Iterator[dict[str, Any]]:
        """Yields the statuses of the application's queue. Deletes each one when the next is requested.

        They can come twice and in any order; a higher `seq` is later.
        """
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            got = self.sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10,
                                           WaitTimeSeconds=int(min(WAIT, left)))
            for message in got.get("Messages", []):
                try:
                    status = json.loads(message["Body"])
                except (ValueError, RecursionError):
                    continue  # no status
                if isinstance(status, dict) and status.get("schema") == SCHEMA:  # others stay in the queue
                    yield status
                    self.sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=message["ReceiptHandle"])
