/** The client of an application: it sends orders to the intake queue and reads their statuses. */
import { DeleteMessageCommand, ReceiveMessageCommand, SendMessageCommand,
  type ReceiveMessageResult } from "@aws-sdk/client-sqs";

import { lookUp, sqsClient, type Sender } from "./agent.js";
import { ascii, SCHEMA } from "./message.js";

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
export interface Status {
  status: string;
  orderId: string;
  seq?: number;
  [member: string]: unknown;
}

export class Client {
  private readonly sqs: Sender;

  /** The queues are named by their address from a stack's outputs, or their name in `stepkeeper dev`. */
  constructor(private readonly options: { intake?: string; statuses?: string; sqs?: Sender } = {}) {
    this.sqs = options.sqs ?? sqsClient();
  }

  private async address(queue: string): Promise<string> {
    return queue.includes("://") ? queue : lookUp(this.sqs, queue);
  }

  /** Sends an order to the intake queue. */
  async submit({ workflow, orderId, order, replyTo, priority, deadline }: Submission): Promise<void> {
    if (!/^(?!\.\.?$)[A-Za-z0-9._:][A-Za-z0-9._:-]{0,127}$/.test(orderId)) {
      throw new RangeError(`${JSON.stringify(orderId.slice(0, 140))} is no order ID: letters, digits and `
        + ". _ : -, at most 128");
    }
    const end = deadline?.toISOString();
    const body = ascii({ schema: SCHEMA, orderId, workflow, order, replyTo, priority, deadline: end });
    if (order === undefined || order === null || body.length > MAX_ORDER) {
      throw new RangeError(`order ${orderId} must have a value and at most ${MAX_ORDER} bytes`);
    }
    await this.sqs.send(new SendMessageCommand({
      QueueUrl: await this.address(this.options.intake ?? "intake"), MessageBody: body,
    }));
  }

  /** Yields the statuses of the application's queue. One is deleted when the next is asked for. */
  async *statuses(signal?: AbortSignal): AsyncGenerator<Status, void, undefined> {
    const QueueUrl = await this.address(this.options.statuses ?? "");
    while (!signal?.aborted) {
      let got: ReceiveMessageResult;
      try {
        const command = new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 20 });
        got = await this.sqs.send(command, { abortSignal: signal }) as ReceiveMessageResult;
      } catch (why) {
        if (signal?.aborted) return;
        throw why;
      }
      for (const message of got.Messages ?? []) {
        const status = JSON.parse(message.Body!) as Status | null;
        if (status?.schema !== SCHEMA) continue; // others stay in the queue
        yield status;
        await this.sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle }));
      }
    }
  }
}
