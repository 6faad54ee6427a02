// What a client sends and reads.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../src/index.js";
import { Queues } from "./queues.js";

test("an order is sent", async () => {
  const queues = new Queues();
  await new Client({ sqs: queues.sqs }).submit({
    workflow: "cloakroom", orderId: "o-1", order: { coat: "rød" }, replyTo: "shop", priority: "high",
    deadline: new Date("2026-11-21T12:00:00Z"),
  });
  assert.deepEqual(queues.sent.intake, [{
    schema: 1, orderId: "o-1", workflow: "cloakroom", order: { coat: "rød" }, replyTo: "shop", priority: "high",
    deadline: "2026-11-21T12:00:00.000Z",
  }]);
});

test("what would be refused is not sent", async () => {
  const queues = new Queues();
  for (const [orderId, order] of [["a b", 1], ["..", 1], ["", 1], ["x".repeat(129), 1], ["o", null],
    ["o", undefined], ["o", "x".repeat(70_000)]] as [string, unknown][]) {
    await assert.rejects(new Client({ sqs: queues.sqs }).submit({ workflow: "cloakroom", orderId, order }), RangeError);
  }
  await assert.rejects(new Client({ sqs: queues.sqs }).submit({ workflow: "cloakroom", orderId: "o",
    order: { n: "\ud83d" } }), /submission.order.n: half of a surrogate pair/);
  assert.deepEqual(queues.sent.intake, []);
});

test("the limit of an order is about its shortest form", async () => {
  const empty = JSON.stringify({ workflow: "cloakroom", schema: 1, orderId: "o", order: "" }).length;
  for (const [content, size] of [["<", 1], ["\u2028", 3], ["😀", 4], ["\x01", 6], ["я", 2], ["\uffff", 6]] as
    [string, number][]) {
    const queues = new Queues(), client = new Client({ sqs: queues.sqs });
    const fits = content.repeat(Math.floor((65_536 - empty) / size));
    await client.submit({ workflow: "cloakroom", orderId: "o", order: fits });
    assert.equal((queues.sent.intake![0] as { order: string }).order, fits);
    await assert.rejects(client.submit({ workflow: "cloakroom", orderId: "o", order: fits + content }), RangeError);
  }
});

test("statuses are deleted once they are handled", async () => {
  const queues = new Queues(), end = new AbortController(), seen: string[] = [];
  queues.waiting = [{ schema: 1, status: "started" }, { schema: 2 }, { schema: 1, status: "completed" }]
    .map((body, n) => ({ ReceiptHandle: String(n), Body: JSON.stringify(body) }));
  queues.waiting.splice(1, 0, { ReceiptHandle: "x", Body: "{" });
  for await (const status of new Client({ statuses: "https://sqs/1/shop", sqs: queues.sqs }).statuses(end.signal)) {
    if (seen.length === 0) assert.deepEqual(queues.deleted, []);
    seen.push(status.status);
    if (status.status === "completed") end.abort();
  }
  assert.deepEqual([seen, queues.deleted], [["started", "completed"], ["0", "2"]]);
});
