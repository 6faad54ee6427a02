/**
 * The ledger of services that know no idempotency keys, and of points of no return (rules P31, P22a).
 *
 * An entry is claimed before the effect, and its outcome is stored after it. Each write is conditional on the
 * version of the entry, so that of two requests one finds the other's. A table has the form of the Go agents.
 */
import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { AttributeValue } from "@aws-sdk/client-dynamodb";

import type { Fact } from "./message.js";

/** The entry has changed since it was read. */
export class Conflict extends Error {}

export type State = "none" | "started" | "repeated" | "done" | "failed" | "later" | "undo-started" | "fenced";

export interface Entry {
  key: string;
  state: State;
  attempt: number; // the attempt that wrote the state
  command: number; // the operator's last command that was applied
  output: string; // JSON of what a done call returned
  code: string;
  message: string;
  version: number; // 0 if the entry does not exist
}

export interface Ledger {
  /** Returns the entry by a strongly consistent read; of one that does not exist, `absent(key)`. */
  entry(key: string): Promise<Entry>;
  /** Stores the entry with its version raised by one. Throws Conflict if another version is stored. */
  move(entry: Entry): Promise<void>;
}

function absent(key: string): Entry {
  return { key, state: "none", attempt: 0, command: 0, output: "", code: "", message: "", version: 0 };
}

/** A ledger in a DynamoDB table with the partition key Key, by name or ARN. */
export class DynamoLedger implements Ledger {
  private readonly client: Promise<{ send(command: object): Promise<unknown> }>;

  constructor(private readonly table: string, client?: { send(command: object): Promise<unknown> }) {
    this.client = client ? Promise.resolve(client) : import("@aws-sdk/client-dynamodb").then((sdk) =>
      new sdk.DynamoDBClient({
        maxAttempts: 2, requestHandler: { connectionTimeout: 1000, requestTimeout: 2000 },
      }));
  }

  private async item(key: string): Promise<Record<string, AttributeValue>> {
    const { GetItemCommand } = await import("@aws-sdk/client-dynamodb");
    const got = await (await this.client).send(
      new GetItemCommand({ TableName: this.table, Key: { Key: { S: key } }, ConsistentRead: true }));
    return (got as { Item?: Record<string, AttributeValue> }).Item ?? {};
  }

  async entry(key: string): Promise<Entry> {
    const item = await this.item(key);
    const text = (name: string) => item[name]?.S ?? Buffer.from(item[name]?.B ?? "").toString();
    const number = (name: string) => Number(item[name]?.N ?? 0);
    return {
      key, state: (text("State") || "none") as State, attempt: number("Attempt"), command: number("Command"),
      output: text("Output"), code: text("Code"), message: text("Message"), version: number("Version"),
    };
  }

  async move(entry: Entry): Promise<void> {
    const { PutItemCommand } = await import("@aws-sdk/client-dynamodb");
    const writer = randomUUID();
    const item: Record<string, AttributeValue> = {
      Key: { S: entry.key }, Version: { N: String(entry.version + 1) }, Writer: { B: Buffer.from(writer) },
    };
    for (const name of ["state", "attempt", "command", "output", "code", "message"] as const) {
      const value = entry[name], attribute = name[0]!.toUpperCase() + name.slice(1);
      if (value) item[attribute] = typeof value === "number" ? { N: String(value) } : { S: value };
    }
    const values = { ExpressionAttributeValues: { ":v": { N: String(entry.version) } } };
    try {
      await (await this.client).send(new PutItemCommand({
        TableName: this.table, Item: item, ExpressionAttributeNames: { "#version": "Version" },
        ConditionExpression: entry.version ? "#version = :v" : "attribute_not_exists(#version)",
        ...(entry.version ? values : {}),
      }));
    } catch (why) {
      if ((why as Error).name !== "ConditionalCheckFailedException") throw why;
      // The client may have repeated a write whose response was lost: then the entry is this one.
      const there = (await this.item(entry.key)).Writer?.B;
      if (Buffer.from(there ?? "").toString() !== writer) throw new Conflict(entry.key);
    }
  }
}

/**
 * A ledger in a folder that must survive the process. Each version of an entry is a file that is created
 * once, so that several processes can use the folder.
 */
export class FileLedger implements Ledger {
  constructor(private readonly folder: string) {}

  private of(key: string): string {
    return join(this.folder, createHash("sha256").update(key).digest("hex"));
  }

  async entry(key: string): Promise<Entry> {
    const files = await readdir(this.of(key)).catch((why: NodeJS.ErrnoException) => {
      if (why.code === "ENOENT") return [];
      throw why;
    });
    const version = Math.max(0, ...files.filter((name) => /^\d+$/.test(name)).map(Number));
    if (version === 0) return absent(key);
    return { ...(JSON.parse(await readFile(join(this.of(key), String(version)), "utf8")) as Entry), version };
  }

  async move(entry: Entry): Promise<void> {
    const folder = this.of(entry.key), draft = join(folder, randomUUID());
    await mkdir(folder, { recursive: true });
    await sync(draft, JSON.stringify(entry));
    try {
      await link(draft, join(folder, String(entry.version + 1)));
    } catch (why) {
      throw (why as NodeJS.ErrnoException).code === "EEXIST" ? new Conflict(entry.key) : why;
    } finally {
      await unlink(draft);
    }
    await sync(folder);
    if (entry.version === 0) await sync(this.folder);
  }
}

/** Writes a file, if text is given, and waits until the file or folder is on the disk. */
async function sync(path: string, text?: string): Promise<void> {
  const file = await open(path, text === undefined ? "r" : "wx");
  try {
    if (text !== undefined) await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** What a request may do: call the service, or repeat a reply, or stay silent because a call is in doubt. */
export type Act = "call" | "done" | "failed" | "in-doubt" | "silent";

/** The next entry, whether it must be stored, and a result. */
export interface Decision<T> {
  next: Entry;
  moved: boolean;
  result: T;
}

/** Applies a fact that the operator stated, once per command. */
function apply(e: Entry, attempt: number, fact: Fact | undefined): { e: Entry; moved: boolean } {
  if (!fact || fact.command <= e.command) return { e, moved: false };
  const applied = { ...e, command: fact.command, attempt, code: "", message: "" };
  if (fact.fact === "happened") return { e: { ...applied, state: "done" }, moved: true };
  return { e: { ...applied, state: "none", output: "" }, moved: true };
}

/** Decides what a request may do. The entry must be stored first. */
export function enter(entry: Entry, undo: boolean, attempt: number, fact: Fact | undefined,
  knowsKeys: boolean): Decision<Act> {
  const { e, moved } = apply(entry, attempt, fact), { state } = e;
  const stay = (result: Act) => ({ next: e, moved, result });
  const { key, command, version } = e;
  const to = (state: State, result: Act = "call") => (
    { next: { ...absent(key), state, attempt, command, version }, moved: true, result });
  const refused = state === "failed" || state === "later";
  if (undo) {
    if (state === "done") {
      return { next: { ...e, state: "undo-started", attempt }, moved: true, result: "call" };
    }
    if (state === "none" || refused) return to("fenced", "done");
    return stay(state === "fenced" ? "done" : "in-doubt");
  }
  if (state === "done") return stay("done");
  if (state === "fenced" || (refused && attempt <= e.attempt)) return stay("failed");
  if (state === "none" || refused) return to("started");
  const open = state === "started" || state === "repeated";
  return open && knowsKeys && attempt >= e.attempt ? to("repeated") : stay("silent");
}

export type Outcome = "happened" | "refused" | "withdrawn" | "unknown";

/** Decides the next entry for the outcome of a call. */
export function leave(e: Entry, undo: boolean, attempt: number, outcome: Outcome): Decision<undefined> {
  const known = outcome === "happened" || (e.attempt === attempt && outcome !== "unknown");
  const to = (change: Partial<Entry>) => (
    { next: { ...e, attempt, ...change }, moved: true, result: undefined });
  if (undo && e.state === "undo-started" && known) {
    return outcome === "happened" ? to({ state: "fenced", output: "" }) : to({ state: "done" });
  }
  if (!undo && outcome === "happened" && !["done", "undo-started", "fenced"].includes(e.state)) {
    return to({ state: "done", code: "", message: "" });
  }
  if (!undo && e.state === "started" && known && outcome !== "happened") {
    return to({ state: outcome === "refused" ? "failed" : "none" });
  }
  return { next: e, moved: false, result: undefined };
}

/**
 * Decides the next entry for a point of no return that had no effect. The result reports whether that is
 * proven; it is not if another call may still have its effect.
 */
export function refuse(entry: Entry, attempt: number, fact: Fact | undefined, began: boolean,
  permanent: boolean): Decision<boolean> {
  const { e } = apply(entry, attempt, fact);
  const refused = e.state === "failed" || e.state === "later";
  if (refused && attempt <= e.attempt) return { next: entry, moved: false, result: true };
  if (!refused && e.state !== "none" && !(e.state === "started" && began && e.attempt === attempt)) {
    return { next: entry, moved: false, result: false };
  }
  return { next: { ...e, state: permanent ? "failed" : "later", attempt }, moved: true, result: true };
}
