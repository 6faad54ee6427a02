"""Sends an order beside `stepkeeper dev`, and reads its statuses until it is completed."""

from stepkeeper import Client

client = Client(statuses="status-shop")
client.submit("cloakroom", "o-1", {"coat": "red"}, reply_to="shop")
for status in client.statuses(50):
    if status["status"] == "completed":
        break
else:
    raise SystemExit("the order was not completed")
