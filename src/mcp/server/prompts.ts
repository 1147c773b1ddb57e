import { randomBytes } from "node:crypto";
import type { GetPromptResult, InputRequiredResult } from "@modelcontextprotocol/server";
import { type McpCall, resultOf } from "./mcp-call.ts";
import type { McpConnection, McpService } from "./mcp-service.ts";
import { findPrompt } from "./resources.ts";
import type { Round } from "./round.ts";

const METHOD = "prompts/get";
const INPUT_MS = 600_000;

export async function getPrompt(
  { name, arguments: given = {} }: { name: string; arguments?: Record<string, string> },
  round: Round,
  { identity }: McpConnection,
  { sdk, options, states, calls, clock }: McpService,
): Promise<GetPromptResult | InputRequiredResult> {
  const invalid = (message: string) => new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message);
  const prompt = await findPrompt(options.prompts, name, identity);
  if (!prompt) throw invalid(`There is no prompt "${name}".`);
  const missing = prompt.arguments?.find((argument) => argument.required && given[argument.name] === undefined);
  if (missing) throw invalid(`The prompt "${name}" needs the argument "${missing.name}".`);

  const binding = { owner: identity.id, method: METHOD, params: [name, given] };
  const call = round.state === undefined ? create() : restore(round.state);
  const leave = call.enter(round);
  try {
    if (round.state === undefined) {
      call.start(async () => ({ kind: "result", result: await prompt.get(given, call) }));
    } else call.answer(round.responses);
    const state = await call.reach();
    if (state.is === "ended") return resultOf(state.outcome);
    const need = state.is === "task" ? undefined : state.needs[0];
    if (need?.kind !== "inputs") throw new Error("A prompt needs only inputs.");
    const until = clock.now() + INPUT_MS;
    calls.suspend(call, { until });
    return sdk.inputRequired({
      inputRequests: need.requests,
      requestState: states.seal({ id: call.id, until }, binding),
    });
  } finally {
    leave();
  }

  function create(): McpCall<GetPromptResult> {
    return calls.create(`prompt_${randomBytes(12).toString("base64url")}`, identity.id);
  }

  function restore(text: string): McpCall<GetPromptResult> {
    const state = states.open(text, binding);
    const found = state && calls.get<GetPromptResult>(state.id);
    if (!found) throw invalid("Invalid or expired requestState");
    return found;
  }
}
