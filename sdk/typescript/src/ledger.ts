/**
 * The ledger of services that do not recognise idempotency keys, and of points of no return (P31, P22a).
 *
 * An entry is claimed before the effect, and its outcome is stored after it. Each write is conditional on the
 * version of the entry, so that one of two requests finds the other's write.
 * A table has the form of the Go agents.
 */
import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AttributeValue, DynamoDB } from "@aws-sdk/client-dynamodb";

import { about, Later, Permanent, type Failure, type Request } from "./message.js";

/** The entry has changed since it was read. */
export class Conflict extends Error {}

export type State = "none" | "started" | "repeated" | "done" | "failed" | "later" | "undo-started" | "fenced";

const ABSENT = {
  state: "none" as State,
  attempt: 0, // the attempt that wrote the state
  command: 0, // the operator's last command that was applied
  output: "", // JSON output of a call that was done
  code: "",
  message: "",
  version: 0, // 0 if the entry does not exist
};

export type Entry = typeof ABSENT & { key: string };

export interface Ledger {
  /** Returns the entry by a strongly consistent read. A missing entry has the state "none". */
  entry(key: string): Promise<Entry>;
  /** Stores the entry with its version raised by one. Throws Conflict if another version is stored. */
  move(entry: Entry): Promise<void>;
}

/** A ledger in a DynamoDB table with the partition key Key, by name or ARN. */
export class DynamoLedger implements Ledger {
  constructor(private readonly table: string, private client?: DynamoDB) {}

  private async open(): Promise<DynamoDB> {
    const requestHandler = { connectionTimeout: 1000, requestTimeout: 2000 };
    const { DynamoDB } = await import("@aws-sdk/client-dynamodb");
    return this.client ??= new DynamoDB({ maxAttempts: 2, requestHandler });
  }

  private async item(key: string): Promise<Record<string, AttributeValue>> {
    const command = { TableName: this.table, Key: { Key: { S: key } }, ConsistentRead: true };
    return (await (await this.open()).getItem(command)).Item ?? {};
  }

  async entry(key: string): Promise<Entry> {
    const entry: Record<string, unknown> = { ...ABSENT, key };
    for (const [name, { S, N, B }] of Object.entries(await this.item(key))) {
      const field = name.toLowerCase(), value = N ? Number(N) : S ?? Buffer.from(B ?? "").toString();
      if (value && field in entry) entry[field] = value;
    }
    return entry as Entry;
  }

  async move(entry: Entry): Promise<void> {
    const client = await this.open(), writer = randomUUID();
    const Item: Record<string, AttributeValue> = { Writer: { B: Buffer.from(writer) } };
    for (const [name, value] of Object.entries({ ...entry, version: entry.version + 1 })) {
      const attribute = name[0]!.toUpperCase() + name.slice(1);
      if (value) Item[attribute] = typeof value === "number" ? { N: String(value) } : { S: value };
    }
    await client.putItem({
      TableName: this.table, Item, ExpressionAttributeNames: { "#version": "Version" },
      ConditionExpression: entry.version ? "#version = :v" : "attribute_not_exists(#version)",
      ...(entry.version ? { ExpressionAttributeValues: { ":v": { N: String(entry.version) } } } : {}),
    }).catch(async (why) => {
      if (why.name !== "ConditionalCheckFailedException") throw why;
      // The client may have repeated a write whose response was lost: then the entry is this one.
      const there = (await this.item(entry.key)).Writer?.B;
      if (Buffer.from(there ?? "").toString() !== writer) throw new Conflict(entry.key);
    });
  }
}

/**
 * A ledger in a folder that must survive the process. Each version of an entry is a file that is created
 * once, so that several processes can use the folder.
 */
export class FileLedger implements Ledger {
  constructor(private readonly folder: string) {}

  private async of(key: string): Promise<string> {
    const folder = join(this.folder, createHash("sha256").update(key).digest("hex"));
    await mkdir(folder, { recursive: true });
    return folder;
  }

  async entry(key: string): Promise<Entry> {
    const folder = await this.of(key), names = await readdir(folder);
    const version = Math.max(0, ...names.filter((name) => /^\d+$/.test(name)).map(Number));
    const text = version ? await readFile(join(folder, String(version)), "utf8") : "{}";
    return { ...ABSENT, ...JSON.parse(text) as Partial<Entry>, key, version };
  }

  async move(entry: Entry): Promise<void> {
    const folder = await this.of(entry.key), draft = join(folder, randomUUID());
    await writeFile(draft, JSON.stringify(entry), { flush: true });
    await link(draft, join(folder, String(entry.version + 1))).catch((why) => {
      throw why.code === "EEXIST" ? new Conflict(entry.key) : why;
    }).finally(() => unlink(draft));
    for (const changed of [folder, this.folder]) { // the folders' entries must be on the disk too
      const file = await open(changed);
      await file.sync().finally(() => file.close());
    }
  }
}

/** No reply may be sent, because a call is in doubt or its time is over. */
export class Silent extends Error {}

const IN_DOUBT = new Permanent("a call to this plain service was begun, and whether it happened is not "
  + "known; find out and resolve it", { code: "in-doubt" });
const FENCED = new Permanent("the step has been undone; it is not done any more", { code: "fenced" });

const refused = (e: Entry) => e.state === "failed" || e.state === "later";

/** Applies a fact that the operator stated, once per command. */
function apply(e: Entry, { resolved, identity: { attempt } }: Request): Entry {
  if (!resolved || resolved.command <= e.command) return e;
  const applied: Entry = { ...e, state: "done", command: resolved.command, attempt, code: "", message: "" };
  return resolved.fact === "happened" ? applied : { ...applied, state: "none", output: "" };
}

/**
 * Returns the next entry for a request, and what the request does once the entry is stored: it calls the
 * service, repeats that the call was done, or ends with the error. An entry that needs no write is returned
 * itself.
 */
export function enter(before: Entry, r: Request, knowsKeys: boolean): [Entry, "call" | "done" | Error] {
  const e = apply(before, r), { state, key, command, version } = e, { attempt } = r.identity;
  const to = (next: State): Entry => ({ ...ABSENT, key, command, version, attempt, state: next });
  if (r.undo) {
    if (state === "done") return [{ ...e, state: "undo-started", attempt }, "call"];
    if (state === "none" || refused(e)) return [to("fenced"), "done"];
    return [e, state === "fenced" ? "done" : IN_DOUBT];
  }
  if (state === "done") return [e, "done"];
  if (state === "fenced") return [e, FENCED];
  if (refused(e) && attempt <= e.attempt) {
    const kind = state === "later" ? Later : Permanent;
    return [e, new kind(e.message, { code: e.code, noEffect: true })];
  }
  if (state === "none" || refused(e)) return [to("started"), "call"];
  const open = state === "started" || state === "repeated";
  return open && knowsKeys && attempt >= e.attempt ? [to("repeated"), "call"] : [e, new Silent()];
}

/** Returns the next entry for the outcome of a call, which is unknown after a failure with an effect. */
export function leave(e: Entry, r: Request, failure: Failure | undefined, output: string): Entry {
  const { attempt } = r.identity, happened = !failure || failure.happened;
  const known = happened || (failure.noEffect && e.attempt === attempt);
  if (r.undo && e.state === "undo-started" && known) {
    return happened ? { ...e, state: "fenced", output: "", attempt } : { ...e, state: "done", attempt };
  }
  if (!r.undo && happened && !["done", "undo-started", "fenced"].includes(e.state)) {
    return { ...e, state: "done", attempt, code: "", message: "", output };
  }
  if (r.undo || happened || !known || e.state !== "started") return e;
  return failure.permanent ? { ...e, state: "failed", ...about(failure) } : { ...e, state: "none" };
}

/**
 * Returns the next entry for a point of no return that had no effect, and whether that is proven. It is not
 * proven if another call may still have its effect.
 */
export function refuse(before: Entry, r: Request, began: boolean, failure: Failure): [Entry, boolean] {
  const e = apply(before, r), { attempt } = r.identity;
  if (refused(e) && attempt <= e.attempt) return [before, true];
  const mine = e.state === "started" && began && e.attempt === attempt;
  if (!refused(e) && e.state !== "none" && !mine) return [before, false];
  return [{ ...e, state: failure.permanent ? "failed" : "later", attempt, ...about(failure) }, true];
}
