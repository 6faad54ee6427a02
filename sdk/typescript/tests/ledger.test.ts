// The ledger of plain services and points of no return, in each of its stores.
import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";

import { Conflict, DynamoLedger, FileLedger, Later, Permanent, type Entry, type Ledger } from "../src/index.js";
import { Bench, Table } from "./queues.js";

const entry = (change: Partial<Entry>): Entry => ({
  key: "k", state: "none", attempt: 0, command: 0, output: "", code: "", message: "", version: 0, ...change,
});

class Plain extends Bench {
  error: Error | undefined;

  constructor(readonly ledger: Ledger) {
    super(() => {
      if (this.error) throw this.error;
      return { ticket: this.calls.length };
    }, { ledger });
  }

  plain(operation = "do", attempt = 1, change = {}) {
    return this.ask({ grade: "plain", operation, attempt, ...change });
  }

  async state() {
    return (await this.ledger.entry("o-1/0/hang")).state;
  }

  made() {
    return this.calls.map((call) => call.operation).join(" ");
  }
}

const folder = () => mkdtemp(join(tmpdir(), "stepkeeper-ledger-"));

for (const [name, open] of Object.entries({
  dynamo: async () => new DynamoLedger("table", new Table().client),
  files: async () => new FileLedger(await folder()),
})) {
  describe(name, () => {
    const trial = (what: string, run: (bench: Plain) => Promise<void>) =>
      test(what, async () => run(new Plain(await open())));

    trial("a ledger writes on condition", async ({ ledger }) => {
      assert.deepEqual(await ledger.entry("k"), entry({}));
      const first = entry({ state: "started", attempt: 3, command: 4, output: "{}", code: "c", message: "m" });
      await ledger.move(first);
      const kept = await ledger.entry("k");
      assert.deepEqual(kept, { ...first, version: 1 });
      await assert.rejects(ledger.move(first), Conflict);
      await ledger.move(kept);
      await assert.rejects(ledger.move(kept), Conflict);
      assert.equal((await ledger.entry("k")).version, 2);
    });

    trial("a ledger keeps no token for an answer", async (bench) => {
      const token = "0123abcd.MC9oYW5nL2FubkBleGFtcGxlLmNvbQ." + "A".repeat(22);
      bench.agent.operation("hang", () => ({ [token]: [`\u0001 ${token}`] }));
      await bench.plain();
      assert.deepEqual((await bench.plain()).output, { "(token)": ["\u0001 (token)"] });
    });

    trial("one call for a key", async (bench) => {
      for (const attempt of [1, 1, 2]) assert.deepEqual((await bench.plain("do", attempt)).output, { ticket: 1 });
      for (const attempt of [3, 3, 4]) assert.equal((await bench.plain("undo", attempt)).outcome, "done");
      assert.equal((await bench.plain()).error.code, "fenced");
      assert.deepEqual([bench.made(), await bench.state()], ["do undo", "fenced"]);
    });

    trial("requests at the same time", async (bench) => {
      await Promise.all(Array.from({ length: 5 }, () => bench.plain()));
      assert.equal(bench.made(), "do");
    });

    trial("a call in doubt is not repeated until the operator states a fact", async (bench) => {
      bench.error = new Error("the connection broke");
      assert.equal((await bench.plain()).outcome, "retry-later");
      assert.equal(await bench.plain("do", 2), undefined);
      assert.equal((await bench.plain("undo", 3)).error.code, "in-doubt");
      assert.deepEqual([bench.made(), await bench.state()], ["do", "started"]);
      bench.error = undefined;
      for (const attempt of [4, 5]) {
        const resolved = { fact: "not-happened", command: 1 };
        assert.deepEqual((await bench.plain("do", attempt, { resolved })).output, { ticket: 2 });
      }
      await bench.plain("undo", 6, { resolved: { fact: "happened", command: 2 } });
      assert.equal(bench.made(), "do do undo");
    });

    trial("a refusal without effect", async (bench) => {
      bench.error = new Permanent("no room", { code: "full", noEffect: true });
      for (let i = 0; i < 2; i++) {
        assert.deepEqual((await bench.plain()).error, { code: "full", message: "no room" });
      }
      assert.equal(await bench.state(), "failed");
      bench.error = new Later("closed", { noEffect: true });
      assert.equal((await bench.plain("do", 2)).outcome, "retry-later");
      assert.equal(await bench.state(), "none");
      bench.error = undefined;
      assert.equal((await bench.plain("do", 2)).outcome, "done");
      assert.equal(bench.made(), "do do do");
    });

    trial("an undo before its do calls nothing", async (bench) => {
      assert.equal((await bench.plain("undo", 2)).outcome, "done");
      assert.equal((await bench.plain()).outcome, "failed");
      assert.equal(bench.made(), "");
    });

    trial("a done call whose output is too large stays done", async (bench) => {
      bench.agent.operation("hang", () => "x".repeat(100_000));
      assert.equal((await bench.plain()).error.code, "output-too-large");
      assert.equal(await bench.state(), "done");
    });

    trial("too little time for a plain call", async (bench) => {
      bench.time += 55_000;
      assert.equal(await bench.plain(), undefined);
      assert.deepEqual([bench.made(), await bench.state()], ["", "none"]);
    });

    trial("a ledger that fails calls nothing", async (bench) => {
      bench.ledger.entry = async () => { throw new Error("down"); };
      assert.equal((await bench.plain()).error.code, "ledger");
      assert.equal(bench.made(), "");
    });

    const pivot = { pointOfNoReturn: true, grade: "idempotent" };

    trial("a refused point of no return is proven", async (bench) => {
      bench.error = new Permanent("no", { noEffect: true });
      for (let i = 0; i < 2; i++) {
        const reply = await bench.plain("do", 1, pivot);
        assert.deepEqual([reply.outcome, reply.noEffect], ["failed", true]);
      }
      bench.error = new Later("busy", { noEffect: true });
      for (let i = 0; i < 2; i++) assert.equal((await bench.plain("do", 2, pivot)).outcome, "retry-later");
      assert.deepEqual([bench.made(), await bench.state()], ["do do", "later"]);
      bench.error = undefined;
      assert.equal((await bench.plain("do", 3, pivot)).outcome, "done");
    });

    trial("a repeated point of no return proves nothing", async (bench) => {
      bench.error = new Error("the connection broke");
      assert.equal((await bench.plain("do", 1, pivot)).noEffect, undefined);
      bench.error = new Permanent("no", { noEffect: true });
      assert.equal((await bench.plain("do", 2, pivot)).noEffect, undefined);
      assert.deepEqual([bench.made(), await bench.state()], ["do do", "repeated"]);
    });

    trial("an unknown point of no return is proven without a call", async (bench) => {
      assert.equal((await bench.plain("do", 1, { ...pivot, name: "press" })).noEffect, true);
      assert.equal(await bench.state(), "later");
    });
  });
}

test("a repeated write of its own is no conflict", async () => {
  const table = new Table();
  table.lost = 1;
  await new DynamoLedger("table", table.client).move(entry({ state: "started" }));
  assert.equal((await new DynamoLedger("table", table.client).entry("k")).version, 1);
});

test("a ledger of files lasts, and is shared", async () => {
  const place = await folder();
  await new FileLedger(place).move(entry({ state: "done" }));
  assert.equal((await new FileLedger(place).entry("k")).state, "done");
  await assert.rejects(new FileLedger(place).move(entry({ state: "started" })), Conflict);
});
