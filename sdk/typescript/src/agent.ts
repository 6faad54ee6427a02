/** The agent: it takes requests, calls its operations, and replies (docs/explanation/protocol.md). */
import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { SQS, type Message } from "@aws-sdk/client-sqs";

import { Conflict, DynamoLedger, enter, FileLedger, leave, refuse, Silent,
  type Entry, type Ledger } from "./ledger.js";
import { about, classify, encode, Later, MAX_RAW, Newer, Permanent, readable, readRequest, redact, SCHEMA, shortest,
  textOf, type Call, type Failure, type Request } from "./message.js";

const LEDGER_TIME = 2000; // milliseconds of a handling for its ledger
const RESERVE = 2000; // milliseconds of an invocation of Lambda for the return of unfinished messages
const REPORT_EVERY = 40_000; // milliseconds between two reports of progress
const MOVES = 8; // number of times that a lost conditional write is decided again
const SEND = 5000; // milliseconds for one message
const PAUSE = 1000; // milliseconds after a failed receive
const MAX_TIMER = 2 ** 31 - 1; // milliseconds; a longer timer fires at once
const ADDRESSES = ["STEPKEEPER_REQUESTS_URL", "STEPKEEPER_REPLIES_URL", "STEPKEEPER_QUARANTINE_URL"];

export interface AgentOptions {
  // for plain services; default the table STEPKEEPER_LEDGER, or the folder STEPKEEPER_LEDGER_FOLDER
  ledger?: Ledger;
  concurrency?: number; // requests that are handled at the same time; default 10
  visibility?: number; // seconds that a request stays invisible, renewed while it is handled; default 30
  sqs?: SQS;
  now?: () => number;
  log?: (text: string, ...error: unknown[]) => void; // default console.error; it gets IDs and never bodies
}

/** The parts of an event of Lambda that the handler reads. */
export interface SqsEvent {
  Records?: {
    messageId: string; receiptHandle: string; body: string; eventSourceARN?: string; attributes?: Attributes;
  }[];
}

type Attributes = { ApproximateReceiveCount?: string };
type Operation = (input: unknown, call: Call) => unknown;

/** An agent with its operations. */
export class Agent {
  readonly operations = new Map<string, Operation>();
  private connected: ReturnType<Agent["find"]> | undefined;
  private readonly stopping = new AbortController();
  private readonly inHand = new Set<Promise<void>>();
  private readonly sqs = this.options.sqs ?? queues();
  ledger = this.options.ledger;
  readonly now = this.options.now ?? Date.now;
  readonly ticks = this.options.now ?? (() => performance.now()); // for durations, in which a clock may be set
  readonly log = this.options.log ?? console.error;

  constructor(readonly name: string, private readonly options: AgentOptions = {}) {}

  /** Adds an operation. `read` turns the JSON input into In, and throws if it does not fit. */
  operation<In, Out>(name: string, run: (input: In, call: Call) => Promise<Out> | Out,
    read: (input: unknown) => In = (input) => input as In): this {
    const parse = async (input: unknown) => read(input);
    this.operations.set(name, async (input, call) => run(await parse(input).catch((why) => {
      throw new Permanent(`the input of ${name} cannot be read: ${why}`, { code: "input", noEffect: true });
    }), call));
    return this;
  }

  /** Finds the queues and the ledger by a deployment's variables or, for `stepkeeper dev`, by name. */
  private connect() {
    return this.connected ??= this.find();
  }

  private async find() {
    const env = (name: string) => process.env[name]?.trim() || undefined;
    const table = env("STEPKEEPER_LEDGER"), folder = env("STEPKEEPER_LEDGER_FOLDER");
    this.ledger ??= table ? new DynamoLedger(table) : folder ? new FileLedger(folder) : undefined;
    const names = ["requests-" + this.name, "replies", "quarantine"], deployed = env("STEPKEEPER_QUEUES");
    let urls = ADDRESSES.map(env);
    const sources = new Map<string, string>(); // on Lambda the addresses of all queues, by the names in their ARNs
    if (deployed) { // on Lambda
      const name = env("STEPKEEPER_AGENT") ?? this.name;
      if (name !== this.name) throw new Error(`the program is agent ${this.name}, deployed as agent ${name}`);
      const all = JSON.parse(deployed) as Record<string, string>;
      urls = names.map((queue) => all[queue]);
      for (const url of Object.values(all)) sources.set(url.slice(url.lastIndexOf("/") + 1), url);
    } else if (urls.every((url) => !url)) {
      const prefix = env("STEPKEEPER_QUEUE_PREFIX") ?? "";
      urls = await Promise.all(names.map((queue) => address(this.sqs, prefix + queue)));
    }
    const [requests, replies, quarantine] = urls;
    if (requests && replies && quarantine) return { requests, replies, quarantine, sources };
    const missing = ADDRESSES.filter((_, i) => !urls[i]).join(", ");
    throw new Error(`${missing} not set, and others are; all three are outputs of the stack`);
  }

  /**
   * Handles a batch of requests on Lambda. Those that must come again are its batchItemFailures. It returns only
   * when no operation runs any more. Otherwise Lambda would freeze the process, and continue the operation with a
   * later batch, when its time is over (P25). If an operation does not end, Lambda ends the process.
   */
  readonly handler = async (event: SqsEvent, context?: { getRemainingTimeInMillis(): number }) => {
    const { requests, sources } = await this.connect();
    const left = context?.getRemainingTimeInMillis() ?? 60_000, records = event.Records ?? [];
    const time = Math.max(0, left - RESERVE), end = this.ticks() + time, timer = new AbortController();
    const handled = records.map((r) => this.handle(r.body, r.messageId, end, received(r.attributes)));
    const over = pause(time, undefined, { signal: timer.signal }).catch(() => undefined);
    const inTime = await Promise.all(handled.map((h) => Promise.race([h, over])));
    timer.abort();
    const late = inTime.filter((h) => h === undefined).length;
    await Promise.all(records.map(async (r, i) => {
      // An agent may have a second queue, for high priority (P46).
      const queue = sources.get(r.eventSourceARN?.split(":").at(-1) ?? "") ?? requests;
      if (!inTime[i]) return this.returned(queue, r.receiptHandle, received(r.attributes), left * 6 / 1000);
      if (late > 0) return this.delete(queue, r.receiptHandle); // an ended process deletes none of the messages
    }));
    this.measure(inTime.filter((h) => !h).length);
    if (late > 0) {
      this.log(`${late} operations did not end when their time was over; Lambda ends the process if they go on`);
    }
    const results = await Promise.all(handled);
    return { batchItemFailures: records.filter((_, i) => !results[i]).map((r) => ({ itemIdentifier: r.messageId })) };
  };

  /** Writes the metric of returned requests to the log, in CloudWatch's embedded metric format. */
  private measure(returned: number) {
    const deployment = process.env.STEPKEEPER_STACK;
    if (!returned || !deployment) return;
    const metric = { Namespace: "Stepkeeper", Dimensions: [["Deployment", "Function"]],
      Metrics: [{ Name: "Returned", Unit: "Count" }] };
    // Lambda wraps the lines of console.log, so that CloudWatch would find no metric in them.
    process.stdout.write(JSON.stringify({ _aws: { Timestamp: this.now(), CloudWatchMetrics: [metric] },
      Deployment: deployment, Function: this.name, Returned: returned }) + "\n");
  }

  /**
   * Polls the queue until SIGTERM, SIGINT or stop(), and finishes the running requests. On Lambda it returns
   * at once, because Lambda calls the handler.
   */
  async run(): Promise<void> {
    if (process.env.AWS_LAMBDA_RUNTIME_API) return;
    const { requests } = await this.connect();
    process.once("SIGTERM", this.stop).once("SIGINT", this.stop);
    this.log(`agent ${this.name} takes requests from ${requests}`);
    while (!this.stopping.signal.aborted) await this.receive(requests);
    await Promise.all(this.inHand);
    process.off("SIGTERM", this.stop).off("SIGINT", this.stop);
  }

  /** Ends run. */
  readonly stop = () => this.stopping.abort();

  private async receive(requests: string): Promise<void> {
    const { concurrency = 10, visibility = 30 } = this.options, room = concurrency - this.inHand.size;
    if (room <= 0) return void await Promise.race(this.inHand);
    try {
      const got = await this.sqs.receiveMessage({
        QueueUrl: requests, MaxNumberOfMessages: Math.min(10, room), WaitTimeSeconds: 20,
        VisibilityTimeout: Math.floor(visibility), MessageSystemAttributeNames: ["ApproximateReceiveCount"],
      }, { abortSignal: this.stopping.signal });
      for (const message of got.Messages ?? []) {
        const work = this.work(requests, message, visibility).finally(() => this.inHand.delete(work));
        this.inHand.add(work);
      }
    } catch (why) {
      if (this.stopping.signal.aborted) return;
      this.log("receiving failed; trying again", why);
      await pause(PAUSE, undefined, { signal: this.stopping.signal }).catch(() => {});
    }
  }

  private async work(requests: string, message: Message, visibility: number): Promise<void> {
    const receipt = message.ReceiptHandle!, times = received(message.Attributes);
    const keeper = setInterval(() => void this.hide(requests, receipt, visibility), visibility * 1000 / 3);
    const handled = await this.handle(message.Body!, message.MessageId, undefined, times);
    clearInterval(keeper);
    await (handled ? this.delete(requests, receipt) : this.returned(requests, receipt, times, visibility));
  }

  private async delete(QueueUrl: string, ReceiptHandle: string): Promise<void> {
    await this.sqs.deleteMessage({ QueueUrl, ReceiptHandle }).catch((why) =>
      this.log("a handled request was not deleted; it comes again with its key", why));
  }

  /** Makes a message come again after 2 s, 4 s and so on, not only when its visibility timeout ends. */
  private returned(queue: string, receipt: string, times: number, most: number): Promise<void> {
    return this.hide(queue, receipt, Math.min(2 ** Math.min(Math.max(times, 1), 12), most));
  }

  private async hide(QueueUrl: string, ReceiptHandle: string, seconds: number): Promise<void> {
    const VisibilityTimeout = Math.floor(seconds);
    await this.sqs.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout }).catch((why) =>
      this.log("the time at which a request comes again could not be set", why));
  }

  /**
   * Handles one request until `end` of `ticks`, and reports whether its message may be deleted. `times` is how
   * often the message was received.
   */
  async handle(body: string, message = "", end?: number, times = 1): Promise<boolean> {
    try {
      const { replies, quarantine } = await this.connect(), received = this.now();
      const read = async () => readRequest(body);
      const request = await read().catch((why) => this.quarantine(quarantine, body, message, why));
      return !request || await new Handling(this, replies, request, received, end, times).run();
    } catch (why) { // one bad message does not affect the others; this one comes again
      this.log(`message ${message} was not handled; it is returned to the queue`, why);
      return false;
    }
  }

  /** Sends a message that no agent can read to quarantine. */
  private async quarantine(url: string, body: string, id: string, why: Error): Promise<void> {
    if (why instanceof Newer) throw why;
    const reason = readable(why.message);
    await this.send(url, {
      schema: SCHEMA, queue: "requests-" + this.name, id, reason, at: new Date(this.now()).toISOString(),
      body: Buffer.from(redact(body.slice(0, MAX_RAW))).subarray(0, 40_000).toString("base64"),
      sha256: createHash("sha256").update(body).digest("hex"),
    });
    this.log(`message ${id} went to quarantine: ${reason}`);
  }

  async send(queue: string, body: object, within = SEND): Promise<void> {
    await this.sqs.sendMessage({ QueueUrl: queue, MessageBody: shortest(body) },
      { abortSignal: AbortSignal.timeout(Math.max(1, Math.min(within, SEND))) });
  }
}

/** Returns how often a message was received. */
function received(attributes?: Attributes): number {
  return Number(attributes?.ApproximateReceiveCount ?? 1);
}

/**
 * Returns a client of SQS whose calls time out early enough for a request to come again. For an endpoint on this
 * machine it has placeholders for a missing Region and missing credentials.
 */
export function queues(): SQS {
  const env = process.env, endpoint = env.AWS_ENDPOINT_URL_SQS || env.AWS_ENDPOINT_URL || "";
  const local = /^https?:\/\/(127\.0\.0\.1|localhost|\[::1\])(:|\/|$)/.test(endpoint);
  return new SQS({
    maxAttempts: 2, requestHandler: { connectionTimeout: 3000, requestTimeout: 25_000 },
    ...local && !env.AWS_REGION && { region: "us-east-1" },
    ...local && !env.AWS_ACCESS_KEY_ID && !env.AWS_PROFILE && {
      credentials: { accessKeyId: "local", secretAccessKey: "local" },
    },
  });
}

/** Returns the address of a queue, which may be given as its name. */
export async function address(sqs: SQS, queue: string): Promise<string> {
  if (queue.includes("://")) return queue;
  const found = await sqs.getQueueUrl({ QueueName: queue }).catch((why) => {
    throw new Error(`queue ${queue} cannot be found: ${why.message || why}\n`
      + "for `stepkeeper dev` on this machine set AWS_ENDPOINT_URL_SQS=http://127.0.0.1:8377, and name its "
      + "agent in agents.yaml; queues of a stack are found by their addresses only", { cause: why });
  });
  return found.QueueUrl!;
}

/** The handling of one request. */
class Handling {
  private readonly plain = this.request.grade === "plain";
  // A point of no return keeps a ledger, so that its refusal can be proven (P22a).
  private readonly pivot = this.request.pointOfNoReturn && !this.request.undo && !!this.agent.ledger;
  private readonly until = Math.min(this.end, this.agent.ticks() + Math.min(this.request.stop - this.received,
    this.request.limit + (this.plain || this.pivot ? LEDGER_TIME : 0)));
  private claimed = false; // the ledger records that the call of a point of no return begins
  private noEffect = false;

  constructor(private readonly agent: Agent, private readonly replies: string,
    private readonly request: Request, private readonly received: number, private readonly end = Infinity,
    private readonly times = 1) {}

  async run(): Promise<boolean> {
    const { agent, request: r } = this;
    if (agent.now() >= r.stop && this.times > 1) { // an earlier handling may have called
      this.log("a request came again after its stopBy; dropped");
      return true;
    }
    if (agent.now() >= r.stop) { // P25; the reply says only that the request waited too long (P32)
      this.log("a request came after its stopBy; not called");
      const message = `the request waited in the queue of agent ${agent.name} past its stopBy`;
      await this.reply({ outcome: "retry-later", error: { code: "queue", message } }, SEND);
      return true;
    }
    if (agent.ticks() >= this.until) return false;
    const reply = await this.done().catch((why) => this.failed(why));
    if (!reply) this.log("a call is in doubt, or its time is over; not answered");
    else if (agent.now() < r.stop) await this.reply(reply);
    else this.log("a request was finished after its stopBy; not answered");
    return true;
  }

  /** Does the request, and returns the reply. */
  private async done(): Promise<object> {
    const { agent, request: { name } } = this;
    if (!agent.operations.has(name)) {
      throw new Later(`agent ${agent.name} has no operation ${name}; deploy one that has it, or correct `
        + "the workflow", { code: "unknown-operation", noEffect: true });
    }
    if (this.plain && !agent.ledger) {
      throw new Later("the service is plain, and the agent has no ledger; set STEPKEEPER_LEDGER or "
        + "STEPKEEPER_LEDGER_FOLDER", { code: "no-ledger", noEffect: true });
    }
    const output = this.plain || this.pivot ? await this.recorded() : await this.call();
    return { outcome: "done", output };
  }

  /** Returns the reply for a failure, or undefined if there may be no reply. */
  private async failed(why: unknown): Promise<object | undefined> {
    if (why instanceof Silent) return undefined;
    const failure = classify(why), error = about(failure);
    // Other members of an error may be those of a call, such as its headers.
    const trace = why === failure ? [] : [redact((why instanceof Error && why.stack || textOf(why)).slice(0, MAX_RAW))];
    this.log("a request failed: " + failure.code, ...trace);
    if (this.pivot && failure.noEffect && !this.noEffect) await this.prove(failure);
    const noEffect = this.noEffect || undefined;
    if (failure.permanent) return { outcome: "failed", error, noEffect };
    const retryAfter = Math.trunc(Math.min(Math.max(failure.after, 0), 1e9)) || 0;
    return { outcome: "retry-later", error, retryAfter, noEffect };
  }

  private log(text: string, ...error: unknown[]): void {
    this.agent.log(`${text}: ${JSON.stringify(this.request.identity)}`, ...error);
  }

  private async call(): Promise<unknown> {
    const { agent, request: r } = this, { name, grade, key, stopBy, trace } = r;
    const { task: orderId, ...identity } = r.identity, began = agent.ticks();
    const ending = new AbortController(), over = new DOMException("the time is over", "TimeoutError");
    let sent = 0, timer: NodeJS.Timeout | undefined; // the time of the last report of progress
    const remaining = () => { // the time while the machine sleeps counts only by the clock
      const end = Math.min(this.until, began + r.limit, (sent || began) + r.timeout);
      return Math.max(0, Math.min(end - agent.ticks(), r.stop - agent.now()));
    };
    const watch = () => { // aborts the signal when the time is over
      clearTimeout(timer);
      timer = setTimeout(() => ending.abort(over), Math.min(remaining(), MAX_TIMER));
    };
    const progress = async (share = 0, text = "") => {
      const now = agent.ticks(), before = sent;
      if (!r.long || agent.now() >= r.stop || before && now - before < Math.min(REPORT_EVERY, r.timeout / 3)) return;
      sent = now;
      const bytes = Buffer.from(redact(String(text).slice(0, MAX_RAW))).subarray(0, 200);
      const note = new TextDecoder().decode(bytes, { stream: true });
      const percent = Math.min(Math.max(Math.trunc(share) || 0, 0), 100);
      await this.reply({ outcome: "progress", percent, note }).then(watch, (why) => {
        sent = before; // this report was not sent; a later one may succeed
        this.log("progress could not be reported", why);
      });
    };
    watch();
    try {
      const output = await agent.operations.get(name)!(r.input, {
        ...identity, orderId, name, grade, key, stopBy, trace, signal: ending.signal, remaining, progress,
      });
      return r.undo ? undefined : encode(output); // the output of an undo is not used (P24)
    } finally {
      clearTimeout(timer);
    }
  }

  private reply(members: object, within = this.request.stop - this.agent.now()): Promise<void> {
    const { agent, request: r, received } = this, waited = Math.max(0, received - (r.claimedAt ?? received));
    const body = { schema: SCHEMA, agent: agent.name, ...r.identity, waited, ...members };
    return agent.send(this.replies, body, within);
  }

  /** Calls the operation by the ledger: at most one call in doubt or done for each key (P31). */
  private async recorded(): Promise<unknown> {
    const { request: r, plain, pivot } = this;
    const [entry, act] = await this.move((e) => enter(e, r, pivot && !plain)).catch((why) => {
      throw new Later(`the agent could not use its ledger, so the service was not called: ${why}`,
        { code: "ledger", noEffect: true });
    });
    if (act === "done") return entry.output && !r.undo ? JSON.parse(entry.output) : undefined;
    if (act !== "call") {
      this.noEffect = pivot;
      throw act;
    }
    this.claimed = pivot;
    const now = this.agent.now();
    const slack = r.stopBy - (r.claimedAt ?? r.stopBy) - r.timeout; // negative if the claim's time is unknown
    const late = now + r.timeout > r.stopBy && slack > 2 * (r.stopBy - r.stop);
    // An interrupted call of a plain service is in doubt.
    if (now >= r.stop || this.agent.ticks() >= this.until || (plain && late)) {
      const failure = new Later("the time was too short for a call", { code: "ledger", noEffect: true });
      await (pivot ? this.prove(failure) : this.leave(failure));
      throw new Silent();
    }
    const output = await this.call().catch(async (why) => {
      const failure = classify(why);
      if (!pivot || (failure.happened && plain)) await this.leave(failure);
      throw why;
    });
    if (plain) await this.leave(undefined, output);
    return output;
  }

  /** Stores the entry that decide returns, and decides again if another request was faster. */
  private async move<T>(decide: (e: Entry) => [Entry, T]): Promise<[Entry, T]> {
    const ledger = this.agent.ledger!;
    for (let i = 0; i < MOVES; i++) {
      const before = await ledger.entry(this.request.key), [after, result] = decide(before);
      try {
        if (after !== before) await ledger.move(after);
        return [after, result];
      } catch (why) {
        if (!(why instanceof Conflict)) throw why;
      }
    }
    throw new Conflict(`lost ${MOVES} times in a row`);
  }

  /** Stores the outcome of the call. If that fails the entry stays in doubt, which is safe. */
  private async leave(failure: Failure | undefined, output?: unknown): Promise<void> {
    const kept = output === undefined ? "" : redact(JSON.stringify(output));
    await this.move((e) => [leave(e, this.request, failure, kept), undefined]).catch((why) =>
      this.log("the outcome of a call could not be stored; it is in doubt", why));
  }

  /** Stores that a point of no return has had no effect, before its reply claims it (P22a). */
  private async prove(failure: Failure): Promise<void> {
    await this.move((e) => refuse(e, this.request, this.claimed, failure)).then(
      ([, proven]) => this.noEffect = proven,
      (why) => this.log("a refusal could not be stored, so it is not proven", why));
  }
}
