// Calls a tool through the MCP server of a runtime, as a client that cannot show forms.
import type { CallOptions, ToolResult } from "haft";
import type { TestHaft } from "haft/testing";
import { connectDirectly, connectV2, serveOverHttp } from "./serve-haft.ts";

interface Called {
  haft: TestHaft;
  name: string;
  input: unknown;
  options: CallOptions;
}

type Client = Awaited<ReturnType<typeof connectV2>>;

export function callOverMcpConnection(called: Called): Promise<ToolResult> {
  return call(called, (serving) => connectDirectly(called.haft, { era: "legacy" }, serving));
}

export function callOverMcpHttp(called: Called): Promise<ToolResult> {
  return call(called, async (serving) => connectV2((await serveOverHttp(called.haft, serving)).url, { as: "caller" }));
}

/** What a client may try to say about a call. */
function metaOf(options: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(options).flatMap(([name, value]) => [
      [`haft/${name}`, value],
      [name, value],
    ]),
  );
}

const ENDINGS = ["tool_call_completed", "tool_call_failed", "tool_call_pending"];

async function call(
  { haft, name, input, options: { mode, policy, id: _id, caller: _caller, signal: _signal, ...others } }: Called,
  connect: (serving: { call: CallOptions }) => Promise<Client>,
): Promise<ToolResult> {
  const client = await connect({ call: { mode, policy } });
  let answer: { _meta?: Record<string, unknown> } | undefined;
  const answered = client
    .callTool({ name, arguments: input as Record<string, unknown>, _meta: metaOf(others) })
    .then((result) => (answer = result));
  // A call that needs an approval waits for a while, and then returns pending. The preview before it takes real time.
  for (
    let turn = 0;
    !(await Promise.race([answered, new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 20))]));
    turn++
  ) {
    const isAsked = haft.recorded.all.some(({ type }) => type === "permission_requested");
    if (isAsked || turn > 500) await haft.clock.advance(50_000);
  }
  // The client gets the result in MCP's format. The event has the result of the gate.
  const callId = answer?._meta?.["haft/callId"];
  const ending = haft.recorded.all.findLast(
    (event) => "callId" in event && event.callId === callId && ENDINGS.includes(event.type),
  );
  if (!ending || !("result" in ending) || !ending.result)
    throw new Error(`No ending was told of ${JSON.stringify(answer)}`);
  return ending.result;
}
