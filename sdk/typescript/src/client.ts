/** The client of an application: it sends orders to the intake queue and reads their statuses. */
import { SQS } from "@aws-sdk/client-sqs";

import { address, queues } from "./agent.js";
import { check, MAX_LEVELS, SCHEMA, shortest } from "./message.js";

const MAX_ORDER = 65_536; // bytes of a submission

export interface Submission {
  workflow: string;
  orderId: string; // a repeated submission with the same ID and content is the same order
  order: unknown;
  replyTo?: string; // logical name of the application's queue for statuses, from the deployment's list
  priority?: "normal" | "high";
  deadline?: Date;
}

/** A status of an order. It can come twice and in any order; a higher seq is later. */
export type Status = { status: string; orderId: string; seq?: number; [member: string]: unknown };

export class Client {
  private readonly sqs = this.options.sqs ?? queues();

  /** The queues are named by their address from a stack's outputs, or their name in `stepkeeper dev`. */
  constructor(private readonly options: { intake?: string; statuses?: string; sqs?: SQS } = {}) {}

  /** Sends an order to the intake queue. */
  async submit({ orderId, order, ...others }: Submission): Promise<void> {
    if (!/^(?!\.\.?$)[A-Za-z0-9._:][A-Za-z0-9._:-]{0,127}$/.test(orderId)) {
      throw new RangeError(`${JSON.stringify(orderId.slice(0, 140))} is no order ID: letters, digits and `
        + ". _ : -, at most 128");
    }
    const MessageBody = shortest({ ...others, schema: SCHEMA, orderId, order });
    check(JSON.parse(MessageBody), MAX_LEVELS + 1, "submission");
    if (order === undefined || order === null || Buffer.byteLength(MessageBody) > MAX_ORDER) {
      throw new RangeError(`order ${orderId} must have a value and at most ${MAX_ORDER} bytes`);
    }
    const QueueUrl = await address(this.sqs, this.options.intake ?? "intake");
    await this.sqs.sendMessage({ QueueUrl, MessageBody });
  }

  /** Yields the statuses of the application's queue. Deletes each one when the next is requested. */
  async *statuses(signal?: AbortSignal): AsyncGenerator<Status, void, undefined> {
    const QueueUrl = await address(this.sqs, this.options.statuses ?? "");
    const command = { QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 20 };
    while (!signal?.aborted) {
      const got = await this.sqs.receiveMessage(command, { abortSignal: signal }).catch((why) =>
        signal?.aborted ? undefined : Promise.reject(why));
      for (const { Body, ReceiptHandle } of got?.Messages ?? []) {
        const status = await read(Body!).catch(() => null);
        if (status?.schema !== SCHEMA) continue; // messages of another schema stay in the queue
        yield status;
        await this.sqs.deleteMessage({ QueueUrl, ReceiptHandle });
      }
    }
  }
}

const read = async (body: string) => JSON.parse(body) as Status | null;
