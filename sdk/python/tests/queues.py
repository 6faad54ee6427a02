"""Queues and a table in memory, with what the package uses of boto3's clients."""

import json
import threading

NOON = 1_795_262_400_000  # 2026-11-21T12:00:00Z


class Queues:
    def __init__(self):
        self.sent = {"replies": [], "quarantine": [], "intake": []}
        self.waiting, self.wanted, self.deleted, self.hidden, self.fails = [], [], [], [], 0
        self.hidden_on = []  # the queues of hidden
        self.changed = threading.Condition()

    def get_queue_url(self, QueueName):
        return {"QueueUrl": QueueName}

    def send_message(self, QueueUrl, MessageBody):
        assert len(MessageBody.encode()) <= 65_536  # more is no message of Stepkeeper, and this raises for halves
        assert not set("\ufffe\uffff") & set(MessageBody)  # SQS does not take them
        with self.changed:
            if self.fails:
                self.fails -= 1
                raise OSError("the network is down")
            self.sent[QueueUrl].append(json.loads(MessageBody))
            self.changed.notify_all()

    def receive_message(self, QueueUrl, MaxNumberOfMessages, WaitTimeSeconds, **_):
        with self.changed:
            self.wanted.append(MaxNumberOfMessages)
            if self.fails:
                self.fails -= 1
                raise OSError("the network is down")
            if not self.waiting:
                self.changed.wait(0.01)
            taken, self.waiting = self.waiting[:MaxNumberOfMessages], self.waiting[MaxNumberOfMessages:]
            return {"Messages": taken} if taken else {}

    def delete_message(self, QueueUrl, ReceiptHandle):
        self._note(self.deleted, ReceiptHandle)

    def change_message_visibility(self, QueueUrl, ReceiptHandle, VisibilityTimeout):
        self.hidden_on.append(QueueUrl)
        self._note(self.hidden, (ReceiptHandle, VisibilityTimeout))

    def _note(self, where, what):
        with self.changed:
            where.append(what)
            self.changed.notify_all()

    def until(self, come):
        with self.changed:
            assert self.changed.wait_for(come, timeout=20)


class Table:
    """A DynamoDB table. `lost` writes are made, and their responses lost and repeated by the client."""

    class exceptions:
        class ConditionalCheckFailedException(Exception):
            pass

    def __init__(self):
        self.items, self.lost = {}, 0

    def get_item(self, TableName, Key, ConsistentRead):
        assert ConsistentRead
        item = self.items.get(Key["Key"]["S"])
        return {"Item": item} if item else {}

    def put_item(self, TableName, Item, ConditionExpression, ExpressionAttributeNames,
                 ExpressionAttributeValues=None):
        there = self.items.get(Item["Key"]["S"], {}).get("Version")
        want = ExpressionAttributeValues[":expected"] if ExpressionAttributeValues else None
        if there != want:
            raise self.exceptions.ConditionalCheckFailedException
        self.items[Item["Key"]["S"]] = Item
        if self.lost:
            self.lost -= 1
            raise self.exceptions.ConditionalCheckFailedException


def body(**change):
    request = {
        "schema": 1, "agent": "coats", "task": "o-1", "run": 0, "step": "hang", "attempt": 2,
        "operation": "do",
        "name": "hang", "grade": "idempotent", "key": "o-1/0/hang", "timeout": 10_000,
        "claimedAt": "2026-11-21T11:59:58.500Z", "stopBy": "2026-11-21T12:01:00.000Z", "clockSkew": 1000,
        "input": {"coat": "red"}}
    return json.dumps({k: v for k, v in (request | change).items() if v is not None})


def message(receipt="r", **change):
    return {"MessageId": "m-" + receipt, "ReceiptHandle": receipt, "Body": body(**change)}
