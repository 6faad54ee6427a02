// What an agent replies to a request, and how it polls and serves Lambda.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, test } from "node:test";

import { Agent, Later, NotYet, Permanent, Unauthorized } from "../src/index.js";
import { Bench, body, message, Queues, until } from "./queues.js";

beforeEach(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith("STEPKEEPER_")) delete process.env[name];
});

const repeated = { schema: 1, agent: "coats", task: "o-1", run: 0, step: "hang", attempt: 2, operation: "do",
  waited: 1500 };

test("a reply repeats the request", async () => {
  const bench = new Bench();
  assert.deepEqual(await bench.ask(), { ...repeated, outcome: "done", output: { ticket: 1 } });
  const call = bench.calls[0]!;
  assert.deepEqual([call.key, call.attempt, call.remaining()], ["o-1/0/hang", 2, 10_000]);
});

test("silence from stopBy less the skew", async () => {
  let bench = new Bench();
  bench.time += 59_000;
  const late = await bench.ask(); // it says only that the request came too late
  assert.deepEqual([late.outcome, late.error.code, late.noEffect], ["retry-later", "queue", undefined]);
  assert.equal(bench.calls.length, 0);
  assert.equal(await bench.agent.handle(body(), "m", undefined, 2), true); // an earlier handling may have called
  assert.deepEqual([bench.calls.length, bench.queues.sent.replies!.length], [0, 0]);
  bench = new Bench(() => bench.time += 59_000);
  assert.equal(await bench.ask(), undefined);
  assert.equal(bench.calls.length, 1);
});

test("the call ends before stopBy, and its signal says so", async () => {
  const bench = new Bench((call) => new Promise((_, reject) => {
    assert.equal(call.remaining(), 20);
    call.signal.addEventListener("abort", () => reject(call.signal.reason));
  }));
  bench.time += 58_980;
  assert.equal((await bench.ask()).error.code, "timeout");
});

test("failures", async () => {
  for (const [error, outcome, code, after] of [
    [new Permanent("no coat", { code: "no-coat" }), "failed", "no-coat", undefined],
    [new Later("closed", { after: 1500 }), "retry-later", "failed", 1500],
    [new Later("closed", { after: NaN }), "retry-later", "failed", 0],
    [new NotYet("not yet", 60_000), "retry-later", "not-yet", 60_000],
    [new Unauthorized("who?"), "retry-later", "unauthorized", 0],
    [new Later("it was called", { code: "unauthorized" }), "retry-later", "failed", 0],
    [new Error("boom"), "retry-later", "failed", 0],
    ["a string", "retry-later", "failed", 0],
    [Object.create(null), "retry-later", "failed", 0],
    [new Permanent("x", { code: "a\nb\u202e" }), "failed", "a b ", undefined],
    [new Permanent("x", { code: "überzogen" }), "failed", "überzogen", undefined],
    [new Permanent("x", { code: "é".repeat(40) }), "failed", "é".repeat(32), undefined],
  ] as const) {
    const reply = await new Bench(() => { throw error; }).ask();
    assert.deepEqual([reply.outcome, reply.error.code, reply.retryAfter], [outcome, code, after]);
  }
  const long = await new Bench(() => { throw new Later("x".repeat(9999), { code: "c".repeat(999) }); }).ask();
  assert.deepEqual([long.error.message.length, long.error.code.length], [500, 64]);
});

test("an output that cannot be kept is a permanent failure", async () => {
  const deep = JSON.parse("[".repeat(65) + "]".repeat(65));
  for (const [output, text] of [[{ a: NaN }, "a is NaN"], [1n, "BigInt"], [deep, "more than 64 levels"],
    [{ id: Promise.resolve(1) }, "id is a Promise"], [new Map([[1, 2]]), "it is a Map"],
    [{ n: "😀".slice(0, 1) }, "output.n: half of a surrogate pair"],
    [{ a: [{ "\ude00": 1 }] }, "output.a.0: half of a surrogate pair"]] as [unknown, string][]) {
    const bench = new Bench(() => output);
    const reply = await bench.ask();
    assert.deepEqual([reply.outcome, reply.error.code], ["failed", "output"]);
    assert.ok(reply.error.message.includes(text), reply.error.message);
    assert.equal((await bench.ask({ operation: "undo" })).outcome, "done"); // its output is not used
  }
});

test("the limit of an output is about its shortest form", async () => {
  for (const [content, size] of [["<", 1], ["&", 1], ["\u2028", 3], ["😀", 4], ["\x01", 6], ["\n", 2], ["я", 2],
    ["\x7f", 1], ["\uffff", 6], ["€", 3]] as [string, number][]) {
    const fits = content.repeat(Math.floor(((48 << 10) - 2) / size));
    const done = await new Bench(() => fits).ask();
    assert.deepEqual([done.outcome, done.output === fits], ["done", true]);
    const failed = await new Bench(() => fits + content).ask();
    assert.deepEqual([failed.outcome, failed.error.code], ["failed", "output-too-large"]);
  }
});

test("texts of errors hold whole characters", async () => {
  const reply = await new Bench(() => { throw new Later("x".repeat(499) + "😀"); }).ask();
  assert.equal(reply.error.message, "x".repeat(499) + "\ufffd");
});

const TOKEN = "0123abcd.MC9oYW5nL2FubkBleGFtcGxlLmNvbQ." + "A".repeat(22);
const hex = (before: string) => [...TOKEN].map((c) => before + c.charCodeAt(0).toString(16)).join("");

test("tokens for answers are neither sent, logged nor kept", async () => {
  const hidden: [string, string][] = [[TOKEN, "(token)"], [`see ${TOKEN}.`, "see (token)."],
    [TOKEN.slice(0, -9), "(token)"],
    [hex("%"), "(token)"], [hex("%25"), "(token)"], [hex("\\u00"), "(token)"], [hex("\\\\u00"), "(token)"],
    ["deadbeef.Mxdeadbeef." + TOKEN.slice(9), "deadbeef.Mx(token)"], ["\\u0001bcdefa." + TOKEN.slice(9), ""],
    ["deadbeef.MC9x.y", ""], ["version 12345678.1.2", ""]];
  for (const [text, want] of hidden) {
    const logged: unknown[] = [];
    const bench = new Bench(async (call) => {
      await call.progress(1, text);
      throw new Error(text);
    }, { log: (...line) => logged.push(...line) });
    assert.equal((await bench.ask({ maxDuration: 30_000 })).error.message, want || text);
    assert.equal(bench.queues.sent.replies![0].note, want || text);
    assert.equal(want !== "" && JSON.stringify(logged).includes(text), false);
  }
  assert.equal((await new Bench(() => { throw new Later("x", { code: TOKEN }); }).ask()).error.code, "(token)");
  const bench = new Bench();
  await bench.agent.handle(`{"schema":1,"x":"${TOKEN}"}`);
  const [kept] = bench.queues.sent.quarantine!;
  assert.equal(Buffer.from(kept.body, "base64").toString(), '{"schema":1,"x":"(token)"}');
});

test("a clock that is set gives a call no more time", async (t) => {
  const bench = new Bench();
  let time = bench.time;
  t.mock.method(Date, "now", () => time);
  const left: number[] = [];
  const agent = new Agent("coats", { sqs: bench.queues.sqs }).operation("hang", (_, call) => {
    time -= 3_600_000;
    left.push(call.remaining());
    time += 7_200_000; // as after a sleep of the machine
    left.push(call.remaining());
  });
  assert.equal(await agent.handle(body()), true);
  assert.ok(left[0]! > 0 && left[0]! <= 10_000 && left[1] === 0, String(left));
});

test("inputs that cannot be read, and operations that are not there", async () => {
  for (const input of [{}, null, [1]]) assert.equal((await new Bench().ask({ input })).error.code, "input");
  assert.equal((await new Bench().ask({ name: "press" })).error.code, "unknown-operation");
  assert.equal((await new Bench().ask({ grade: "plain" })).error.code, "no-ledger");
});

test("what cannot be read goes to quarantine", async () => {
  for (const text of ["", "[".repeat(100_000), "\ufeff" + body(), body() + " ".repeat(2 ** 20)]) {
    const bench = new Bench();
    assert.equal(await bench.agent.handle(text, "m-1"), true);
    const [kept] = bench.queues.sent.quarantine!;
    assert.deepEqual([kept.queue, kept.id, kept.at], ["requests-coats", "m-1", "2026-11-21T12:00:00.000Z"], text);
    assert.ok(kept.reason.length <= 500 && bench.calls.length === 0);
  }
});

test("it reads what the agents in Go read", async () => {
  const file = new URL("../../../../shared/message/testdata/read.txt", import.meta.url);
  const lines = readFileSync(file, "utf8").split("\n");
  const cases = [...lines.entries()].filter(([, line]) => line.startsWith("request "));
  assert.ok(cases.length > 80);
  for (const [i, line] of cases) {
    const bench = new Bench(), text = line.slice("request ".length), read = lines[i + 1]!;
    assert.equal(await bench.agent.handle(text), true);
    const got = [bench.queues.sent.quarantine!.length, bench.queues.sent.replies!.length];
    assert.deepEqual(got, read.startsWith("    error: ") ? [1, 0] : [0, 1], text);
  }
});

test("a newer schema and an unsent reply come again", async () => {
  const bench = new Bench();
  assert.equal(await bench.agent.handle(body({ schema: 2, task: null })), false);
  assert.deepEqual(bench.queues.sent, { replies: [], quarantine: [], intake: [] });
  bench.queues.fails = 1;
  assert.equal(await bench.agent.handle(body()), false);
});

test("progress restarts the timeout", async () => {
  const seen: number[] = [];
  const bench = new Bench(async (call) => {
    for (const [seconds, note] of [[1, "é".repeat(150)], [3, "too early"], [9, "two"], [8, ""]] as const) {
      await call.progress(150, note);
      bench.time += seconds * 1000;
      seen.push(call.remaining() / 1000);
    }
  });
  assert.equal(await bench.agent.handle(body({ maxDuration: 30_000 })), true);
  const reports = bench.queues.sent.replies!;
  assert.deepEqual(reports.map((r) => r.outcome), ["progress", "progress", "progress", "done"]);
  assert.deepEqual(seen, [9, 6, 1, 2]);
  assert.deepEqual(reports[0], { ...repeated, outcome: "progress", percent: 100, note: "é".repeat(100) });
  const cut: Bench = new Bench((call) => {
    cut.queues.fails = 1;
    return call.progress(1);
  });
  assert.equal((await cut.ask({ maxDuration: 30_000 })).outcome, "done"); // a report that cannot be sent ends nothing
  const short = new Bench((call) => call.progress(1));
  assert.equal((await short.ask()).outcome, "done");
  assert.equal(short.queues.sent.replies!.length, 0); // not a step with a maxDuration
});

const record = (receipt: string, received = 1, change = {}, queue = "shop-coats") => ({
  messageId: "m-" + receipt, receiptHandle: receipt, body: body(change),
  eventSourceARN: "arn:aws:sqs:eu-central-1:1:" + queue,
  attributes: { ApproximateReceiveCount: String(received) },
});
const context = (left: number) => ({ getRemainingTimeInMillis: () => left });

test("a batch on Lambda fails in part", async () => {
  process.env.STEPKEEPER_AGENT = "coats";
  process.env.STEPKEEPER_QUEUES = JSON.stringify(
    { "requests-coats": "requests", replies: "replies", quarantine: "quarantine" });
  const bench = new Bench();
  const event = { Records: [record("a"), record("b", 3, { schema: 2 }), record("c", 1, { key: "" })] };
  assert.deepEqual(await bench.agent.handler(event, context(10_000)),
    { batchItemFailures: [{ itemIdentifier: "m-b" }] });
  assert.deepEqual(bench.queues.hidden, [["b", 8]]);
  assert.deepEqual([bench.queues.sent.replies!.length, bench.queues.sent.quarantine!.length], [1, 1]);
  assert.equal(bench.calls[0]!.remaining(), 8000); // two seconds stay for the return of messages
  assert.deepEqual(await bench.agent.handler({}), { batchItemFailures: [] });
  assert.equal((await bench.agent.handler({ Records: [record("a")] }, context(1000))).batchItemFailures.length, 1);
  bench.time += 60_000;
  await bench.agent.handler({ Records: [record("again", 2)] }, context(10_000));
  assert.equal(bench.queues.sent.replies!.length, 1); // an earlier handling may have called
  await bench.agent.handler({ Records: [record("late")] }, context(10_000));
  assert.equal(bench.queues.sent.replies!.length, 2);
});

test("a request is returned to its queue", async () => {
  const at = "https://sqs/1/shop-";
  process.env.STEPKEEPER_QUEUES = JSON.stringify({ "requests-coats": at + "coats", replies: "replies",
    quarantine: "quarantine", "requests-coats-high": at + "coats-high" });
  const bench = new Bench(), newer = { schema: 2 };
  const event = { Records: [record("a", 1, newer), record("b", 1, newer, "shop-coats-high"),
    { ...record("c", 1, newer), eventSourceARN: undefined }] };
  assert.equal((await bench.agent.handler(event, context(10_000))).batchItemFailures.length, 3);
  assert.deepEqual(bench.queues.hidden.map(([receipt]) => receipt), ["a", "b", "c"]);
  assert.deepEqual(bench.queues.hiddenOn, [at + "coats", at + "coats-high", at + "coats"]);
});

test("the handler returns when no operation runs any more", async () => {
  let release = () => {}, ended = false;
  const bench = new Bench((call) => call.orderId === "o-2" ? new Promise<void>((resolve) => release = resolve) : null);
  const event = { Records: [record("a"), record("b", 1, { task: "o-2" }), record("c", 1, { key: "" }),
    record("d", 1, { schema: 2 })] };
  const answer = bench.agent.handler(event, context(2050)).finally(() => ended = true);
  // What is handled is deleted, and what is not comes again soon, also if Lambda ends the process now.
  await until(() => bench.queues.deleted.length === 2 && bench.queues.hidden.length === 2);
  assert.deepEqual([bench.queues.deleted.sort(), bench.queues.hidden.sort()], [["a", "c"], [["b", 2], ["d", 2]]]);
  assert.equal(ended, false);
  release();
  assert.deepEqual(await answer, { batchItemFailures: [{ itemIdentifier: "m-d" }] });
});

test("an agent finds its queues", async () => {
  process.env.STEPKEEPER_AGENT = "hats";
  process.env.STEPKEEPER_QUEUES = "{}";
  await assert.rejects(new Bench().agent.handler({}), /deployed as agent hats/);
  delete process.env.STEPKEEPER_QUEUES;
  process.env.STEPKEEPER_REQUESTS_URL = process.env.STEPKEEPER_REPLIES_URL = "https://sqs/1/x";
  await assert.rejects(new Bench().agent.handler({}), /STEPKEEPER_QUARANTINE_URL not set/);
  delete process.env.STEPKEEPER_REQUESTS_URL;
  delete process.env.STEPKEEPER_REPLIES_URL;
  process.env.STEPKEEPER_QUEUE_PREFIX = "x-";
  const bench = new Bench();
  bench.queues.sent["x-replies"] = [];
  await bench.agent.handle(body());
  assert.equal(bench.queues.sent["x-replies"].length, 1);
});

async function running(bench: Bench, waiting: object[], meanwhile: () => Promise<void>): Promise<void> {
  bench.queues.waiting = waiting;
  const ended = bench.agent.run();
  try {
    await meanwhile();
  } finally {
    bench.agent.stop();
    await ended;
  }
}

test("the poller handles several at once and no more", async () => {
  let inHand = 0, most = 0;
  const bench = new Bench(async () => {
    most = Math.max(most, ++inHand);
    await until(() => most === 3); // passes only when three are here
    inHand--;
  }, { concurrency: 3 });
  await running(bench, Array.from({ length: 9 }, (_, n) => message(String(n))),
    () => until(() => bench.queues.deleted.length === 9));
  assert.deepEqual([most, Math.max(...bench.queues.wanted)], [3, 3]);
});

test("the poller keeps requests invisible and finishes them", async () => {
  let goOn = false;
  const bench = new Bench(() => until(() => goOn), { visibility: 0.03 });
  await running(bench, [message("a")], async () => {
    await until(() => bench.queues.hidden.length > 1);
    bench.agent.stop();
    goOn = true;
  });
  assert.deepEqual([bench.queues.deleted, bench.queues.sent.replies![0].outcome], [["a"], "done"]);
});

test("the poller goes on after errors", async () => {
  const bench = new Bench(undefined, { concurrency: 1 });
  bench.queues.fails = 1;
  const newer = { ...message("a", { schema: 2 }), Attributes: { ApproximateReceiveCount: "2" } };
  await running(bench, [newer, message("b")], () => until(() => bench.queues.deleted[0] === "b"));
  assert.deepEqual(bench.queues.hidden, [["a", 4]]);
});

test("on Lambda run returns at once", async () => {
  process.env.AWS_LAMBDA_RUNTIME_API = "127.0.0.1:9001";
  try {
    await new Agent("coats", { sqs: new Queues().sqs }).run();
  } finally {
    delete process.env.AWS_LAMBDA_RUNTIME_API;
  }
});
