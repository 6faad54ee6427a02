"""Submits, cancels, answers and follows orders of the workflow purchase over HTTP, with the standard library alone.

docs/how-to/http-orders.md has the workflow. Every call can be repeated, so `call` repeats it until the server responds.
"""

import json
import time
import urllib.error
import urllib.request

SERVER = "http://127.0.0.1:8377"


def call(path, body=None):
    """Posts a body, or gets the path if there is none."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(SERVER + path, data, {"Content-Type": "application/json"})
    for _ in range(10):
        try:
            with urllib.request.urlopen(request, timeout=70) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503):
                raise ValueError(json.load(error)["detail"]) from error
            time.sleep(float(error.headers.get("Retry-After", 1)))
        except OSError:  # no connection, or it broke
            time.sleep(1)
    raise TimeoutError(f"{SERVER}{path} does not respond")


def follow(order):
    """Yields each version of an order until it has ended."""
    with urllib.request.urlopen(f"{SERVER}/v1/orders/{order}/events", timeout=70) as lines:
        for line in lines:
            if line.startswith(b"data: "):
                task = json.loads(line[len(b"data: "):])
                yield task
                if task["ended"]:
                    return


for order in ["b-1", "b-2"]:
    call("/v1/orders", {"schema": 1, "orderId": order, "workflow": "purchase", "order": {"amount": 120}})
call("/v1/orders/b-2/cancel", {"by": "ann", "reason": "she changed her mind", "id": "cancel-b-2"})
print("b-2", call("/v1/orders/b-2?wait=30s")["state"])

for question in call("/v1/approvals")["approvals"]:
    if question["orderId"] == "b-1":
        call("/v1/orders/b-1/answers", {
            "step": question["step"], "run": question["run"], "round": question["round"],
            "value": "yes", "by": "ann", "id": "approval-b-1",
        })
call("/v1/orders/b-1/answers", {"event": "payment-settled", "value": {"status": "ok"}, "by": "bank", "id": "evt-b-1"})
for task in follow("b-1"):
    state = task["state"]
print("b-1", state)

try:
    call("/v1/orders/b-1/cancel", {"by": "ann", "reason": "too late", "id": "cancel-b-1"})
except ValueError as refusal:
    print("refused:", refusal)
