/**
 * Agents and clients of Stepkeeper in TypeScript.
 *
 * An agent wraps one remote service. It takes requests from its queue, calls the service, and replies:
 *
 *     const agent = new Agent("coats");
 *     agent.operation("hang", async (order: Coat, call) => service.hang(order, call.key, call.signal));
 *     export const handler = agent.handler; // on Lambda
 *     await agent.run();                    // anywhere else; on Lambda it returns at once
 */
export { Agent, type AgentOptions, type SqsEvent } from "./agent.js";
export { Client, type Status, type Submission } from "./client.js";
export { Conflict, DynamoLedger, FileLedger, type Entry, type Ledger } from "./ledger.js";
export { Failure, Later, NotYet, Permanent, Unauthorized, type Call } from "./message.js";
