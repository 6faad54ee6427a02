"""What a client sends and reads."""

import json
from datetime import datetime, timezone

import pytest
from queues import Queues

from stepkeeper import Client


def test_an_order_is_sent():
    queues = Queues()
    Client(sqs=queues).submit("cloakroom", "o-1", {"coat": "rød"}, reply_to="shop", priority="high",
                              deadline=datetime(2026, 11, 21, 12, tzinfo=timezone.utc))
    assert queues.sent["intake"] == [{
        "schema": 1, "orderId": "o-1", "workflow": "cloakroom", "order": {"coat": "rød"}, "replyTo": "shop",
        "priority": "high", "deadline": "2026-11-21T12:00:00.000Z"}]


@pytest.mark.parametrize("order_id, order", [
    ("a b", 1), ("..", 1), ("", 1), ("x" * 129, 1), ("o", None), ("o", "x" * 70_000), ("o", float("inf")),
    ("o", {"n": "\ud83d"}), ("o", {"1": 1, 1: 2})])
def test_what_would_be_refused_is_not_sent(order_id, order):
    queues = Queues()
    with pytest.raises(ValueError):
        Client(sqs=queues).submit("cloakroom", order_id, order)
    assert queues.sent["intake"] == []


@pytest.mark.parametrize("content, size", {"<": 1, "\u2028": 3, "😀": 4, "\x01": 6, "я": 2, "\uffff": 6}.items())
def test_the_limit_of_an_order_is_about_its_shortest_form(content, size):
    queues, client = Queues(), None
    client = Client(sqs=queues)
    empty = len('{"schema":1,"orderId":"o","workflow":"cloakroom","order":""}')
    fits = content * ((65_536 - empty) // size)
    client.submit("cloakroom", "o", fits)
    assert queues.sent["intake"][0]["order"] == fits
    with pytest.raises(ValueError):
        client.submit("cloakroom", "o", fits + content)


def test_statuses_are_deleted_once_they_are_handled():
    queues = Queues()
    bodies = [{"schema": 1, "status": "started"}, {"schema": 2}, {"schema": 1, "status": "completed"}]
    queues.waiting = [{"ReceiptHandle": str(n), "Body": json.dumps(b)} for n, b in enumerate(bodies)]
    queues.waiting.insert(1, {"ReceiptHandle": "x", "Body": "{"})
    read = Client(statuses="https://sqs/1/shop", sqs=queues).statuses(0.2)
    assert next(read)["status"] == "started" and queues.deleted == []
    assert [s["status"] for s in read] == ["completed"] and queues.deleted == ["0", "2"]
