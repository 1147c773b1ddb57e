// A process that uses the library: takes orders as lines on stdin, and prints what it got. argv: the workspace, and how long
// a call waits for its approval in milliseconds (0: it does not wait).
import { createInterface } from "node:readline";
import type { ToolResult } from "../../../src/core/result.ts";
import { ToolError } from "../../../src/core/error.ts";
import { type AgentModel, createAgent } from "../../../src/agent.ts";
import { openHaft } from "../../../src/host.ts";

/** The input of `pay`. */
export interface Payment {
  item: string;
  /** How long it takes after its effect. */
  ms: number;
  /** Where the process dies that runs it. */
  dies?: string;
}

interface Asking {
  callId: string;
  session: string;
  input: Payment;
}

export type Order = { n: number } & (
  | ({ do: "ask" | "ask by program" | "ask by job" | "ask by session" | "follow session" } & Asking)
  | { do: "approve" | "deny" | "follow"; id: string }
);

/** `completed`, `pending`, or an error code; and the id of what it waits for. */
export interface Reply {
  n: number;
  said: string;
  text: string;
  pending?: { kind: string; id: string };
}

const [, , folder = ".", waitMs = "0"] = process.argv;

/** Makes the call that the message of the user names, and then says that it is done. */
const model: AgentModel = {
  id: "test/payer",
  async respond({ messages }) {
    const usage = { inputTokens: 1, outputTokens: 1 };
    const asked = messages.find(({ role }) => role === "user");
    const isFirst = !messages.some(({ role }) => role === "assistant");
    if (!isFirst || asked?.role !== "user" || typeof asked.content !== "string")
      return { parts: [{ type: "text", text: "done" }], usage, finish: "ended" };
    const { callId, input } = JSON.parse(asked.content) as { callId: string; input: Payment };
    return { parts: [{ type: "tool_call", callId, name: "pay", input }], usage, finish: "calls" };
  },
};

const host = await openHaft(folder, {
  approvalWaitMs: Number(waitMs) || false,
  onWarning: () => undefined,
  agentFor: (_session, runtime) => createAgent({ haft: runtime, model, name: "payer", systemPrompt: "" }),
});
const { haft } = host;
let startedSessions: Promise<void> | undefined;

/** What the session was told about its call: at once, or until it is no longer pending. */
async function askBySession({ session: key, callId, input }: Asking, isFinal: boolean): Promise<ToolResult> {
  if (!(await host.sessions.get(key))) await host.sessions.create({ key });
  await host.sessions.send(key, { id: "go", kind: "message", text: JSON.stringify({ callId, input }) });
  await (startedSessions ??= host.sessions.start());
  for (;;) {
    const history = await host.sessions.history(key);
    const told = history.flatMap(({ message, incoming }) =>
      incoming?.result ? [incoming.result] : message?.role === "tool" ? message.results : [],
    );
    const last = told.at(-1);
    if (last && (!isFinal || last.status !== "pending")) return last;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function execute(order: Order): Promise<ToolResult> {
  switch (order.do) {
    case "ask":
    case "ask by job": {
      const background = order.do === "ask by job" || undefined;
      return haft.execute("pay", order.input, { id: order.callId, caller: { session: order.session }, background });
    }
    case "ask by program": {
      const code = `return await tools.pay(${JSON.stringify(order.input)})`;
      return haft.execute("run_code", { code }, { id: order.callId, caller: { session: order.session } });
    }
    case "ask by session":
    case "follow session":
      return askBySession(order, order.do === "follow session");
    case "approve":
      return haft.approvals.approve(order.id, { by: "library" });
    case "deny":
      return haft.approvals.deny(order.id, "not now", { by: "library" });
    case "follow":
      return haft.approvals.follow(order.id);
  }
}

async function answer(order: Order): Promise<Reply> {
  try {
    let result = await execute(order);
    // The approved call became a job.
    if (result.status === "pending" && result.pending.kind === "job") result = await haft.jobs.wait(result.pending.id);
    const said = result.status === "failed" ? result.error.code : result.status;
    return {
      n: order.n,
      said,
      text: result.display,
      pending: result.status === "pending" ? result.pending : undefined,
    };
  } catch (error) {
    return { n: order.n, said: error instanceof ToolError ? error.code : "error", text: String(error) };
  }
}

process.stdout.write("ready\n");
for await (const line of createInterface({ input: process.stdin })) {
  void answer(JSON.parse(line) as Order).then((reply) => process.stdout.write(`${JSON.stringify(reply)}\n`));
}
await host.close();
