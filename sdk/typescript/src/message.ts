/** What an agent reads and writes: requests, calls, failures and outputs. */

export const SCHEMA = 1;
const MAX_BODY = 1 << 20; // characters of a message; SQS has no longer ones
const MAX_OUTPUT = 48 << 10; // bytes; a reply must fit into one message
const MAX_LEVELS = 64; // of nested values
export const MAX_TEXT = 500; // characters of an error

/** The message has a newer schema. Another instance of the agent may know it. */
export class Newer extends Error {}

/** The message cannot be read, and never will be. */
export class Unreadable extends Error {}

interface Details {
  code?: string; // a short stable word for programs, such as "card-declined"
  noEffect?: boolean; // this call provably had no effect and will have none: it was refused or never sent
  after?: number; // the wait in milliseconds that the service asked for
}

/**
 * An operation was not done. Its text goes to people and into the state store: it must hold no secrets and no
 * order data.
 */
export class Failure extends Error {
  readonly permanent: boolean = false;
  happened = false; // done, but its output cannot be kept
  code: string;
  readonly noEffect: boolean;
  readonly after: number;

  constructor(message: string, { code = "failed", noEffect = false, after = 0 }: Details = {}) {
    super(message);
    this.code = code;
    this.noEffect = noEffect;
    this.after = after;
  }
}

/** No repetition can succeed. The step fails for good. */
export class Permanent extends Failure {
  override readonly permanent = true;
}

/** A repetition may succeed. Any error that is no Failure counts as one. */
export class Later extends Failure {}

/** The service did nothing, because the step's condition is not met yet. It counts as no failure. */
export class NotYet extends Failure {
  constructor(message = "the service says: not yet", after = 0) {
    super(message, { code: "not-yet", noEffect: true, after });
  }
}

/** The service refused the agent's credentials and did nothing. It counts as no failure. */
export class Unauthorized extends Failure {
  constructor(message: string) {
    super(message, { code: "unauthorized", noEffect: true });
  }
}

/** Returns the Failure that an error stands for. */
export function classify(error: unknown): Failure {
  let failure: Failure;
  if (error instanceof Failure) {
    failure = error;
  } else {
    const name = error instanceof Error ? error.name : "";
    const text = (error instanceof Error && error.message) || name || String(error);
    failure = new Later(text, { code: /^(Abort|Timeout)Error$/.test(name) ? "timeout" : "failed" });
  }
  const claimsNoCall = ["not-yet", "unauthorized", "breaker-open"].includes(failure.code);
  if (claimsNoCall && !failure.permanent && !failure.noEffect) failure.code = "failed";
  failure.code = failure.code.replace(/[^!-~]/g, "-").slice(0, 64) || "failed";
  return failure;
}

/** One call of an operation. Hand `key` to the service in each call; an undo has the key of its do. */
export interface Call {
  readonly orderId: string;
  readonly run: number;
  readonly step: string;
  readonly attempt: number;
  readonly operation: "do" | "undo";
  readonly name: string;
  readonly grade: string;
  readonly key: string;
  readonly stopBy: number; // milliseconds since 1970; no side effect may begin or land after it
  readonly trace: string; // W3C traceparent
  readonly signal: AbortSignal; // aborted when the call must have ended
  /** Returns the milliseconds until the call must have ended. Never negative. */
  remaining(): number;
  /**
   * Reports that the operation of a step with a maxDuration still runs, which restarts its timeout. It may be
   * called at any rate, and does nothing for other steps. People see the note.
   */
  progress(percent?: number, note?: string): Promise<void>;
}

export interface Fact {
  fact: string;
  command: number;
}

/** A request. Its times are milliseconds since 1970. */
export interface Request {
  identity: { task: string; run: number; step: string; attempt: number; operation: "do" | "undo" };
  name: string;
  key: string;
  grade: string;
  timeout: number;
  maxDuration: number;
  long: boolean; // the call may take longer than its timeout while it reports progress
  claimedAt: number | undefined;
  stopBy: number;
  stop: number; // stopBy less the clock skew
  input: unknown;
  resolved: Fact | undefined;
  pointOfNoReturn: boolean;
  trace: string;
}

type Members = Record<string, unknown>;

/** Returns a request. Throws Newer or Unreadable. */
export function readRequest(body: string): Request {
  let m: Members;
  try {
    if (body.length > MAX_BODY) throw new Error("it is too long");
    m = JSON.parse(body) as Members;
  } catch (why) {
    throw new Unreadable(String(why));
  }
  if (typeof m !== "object" || m === null) throw new Unreadable("it is no JSON object");
  if (whole(m, "schema", 1) > SCHEMA) throw new Newer();
  const operation = text(m, "operation", /^(do|undo)$/) as "do" | "undo";
  const identity = {
    task: text(m, "task", /^[A-Za-z0-9._:~-]{1,128}$/), run: whole(m, "run", 0),
    step: text(m, "step", /^[a-z][a-z0-9-]{0,39}$/), attempt: whole(m, "attempt", 1), operation,
  };
  const timeout = whole(m, "timeout", 1), maxDuration = whole(m, "maxDuration", 0, 0);
  const stopBy = time(m, "stopBy");
  const resolved = m.resolved as Members | null | undefined;
  if (resolved) whole(resolved, "command", 0);
  const fault = fits(m, MAX_LEVELS + 1);
  if (fault) throw new Unreadable(fault);
  return {
    identity, name: text(m, "name"), key: text(m, "key"), grade: String(m.grade ?? ""), timeout, maxDuration,
    long: operation === "do" && maxDuration > timeout,
    claimedAt: m.claimedAt ? time(m, "claimedAt") : undefined,
    stopBy, stop: stopBy - whole(m, "clockSkew", 0, 0), input: m.input,
    resolved: (resolved as Fact | null | undefined) ?? undefined, pointOfNoReturn: m.pointOfNoReturn === true,
    trace: String(m.trace ?? ""),
  };
}

function whole(m: Members, name: string, least: number, otherwise?: number): number {
  const value = m[name] ?? otherwise;
  if (!Number.isSafeInteger(value) || (value as number) < least) {
    throw new Unreadable(`${name} must be a whole number of at least ${least}`);
  }
  return value as number;
}

function text(m: Members, name: string, pattern = /^[^]{1,1000}$/): string {
  const value = m[name];
  if (typeof value === "string" && pattern.test(value)) return value;
  throw new Unreadable(`${name} is missing or malformed`);
}

function time(m: Members, name: string): number {
  const at = Date.parse(text(m, name, /^\d{4}-\d\d-\d\d[Tt][\d:.]+([Zz]|[+-]\d\d:\d\d)$/).toUpperCase());
  if (Number.isNaN(at)) throw new Unreadable(`${name} is no time`);
  return at;
}

/** Returns why a value cannot be kept, or "". */
function fits(value: unknown, left: number): string {
  if (typeof value !== "object" || value === null) return "";
  if (left === 0) return `it has more than ${MAX_LEVELS} levels`;
  for (const member of Object.values(value)) {
    const fault = fits(member, left - 1);
    if (fault) return fault;
  }
  return "";
}

/** Returns an output as plain JSON. The failure is permanent, because the operation was done. */
export function encode(output: unknown): unknown {
  let fault: string;
  try {
    const json = JSON.stringify(output, (name, value: unknown) => {
      if (typeof value === "number" && !Number.isFinite(value)) throw new Error(`${name} is ${value}`);
      return value;
    });
    if (json === undefined) return undefined;
    const plain: unknown = JSON.parse(json);
    const size = Buffer.byteLength(json);
    fault = size > MAX_OUTPUT ? `it has ${size} bytes and the limit is ${MAX_OUTPUT}; return a reference`
      : fits(plain, MAX_LEVELS);
    if (!fault) return plain;
  } catch (why) {
    fault = String(why);
  }
  const failure = new Permanent(`the operation was done, but its output cannot be kept: ${fault}`,
    { code: "output" });
  failure.happened = true;
  throw failure;
}

/** Returns JSON in ASCII, which SQS takes whole. */
export function ascii(value: unknown): string {
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}
