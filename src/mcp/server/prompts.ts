import { randomBytes } from "node:crypto";
import type { GetPromptResult, InputRequiredResult } from "@modelcontextprotocol/server";
import type { MaybePromise } from "../../core/stage.ts";
import type { McpConnection, McpService } from "./mcp-service.ts";
import { OpenRequest, type Round } from "./open-requests.ts";
import { findPrompt } from "./resources.ts";
import type { McpClientPeer, McpIdentity } from "./server-options.ts";

const METHOD = "prompts/get";
const INPUT_MS = 600_000;

export async function getPrompt(
  { name, arguments: given = {} }: { name: string; arguments?: Record<string, string> },
  round: Round,
  { identity }: McpConnection,
  { sdk, options, states, suspended, clock }: McpService,
): Promise<GetPromptResult | InputRequiredResult> {
  const invalid = (message: string) => new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message);
  const prompt = await findPrompt(options.prompts, name, identity);
  if (!prompt) throw invalid(`There is no prompt "${name}".`);
  const missing = prompt.arguments?.find((argument) => argument.required && given[argument.name] === undefined);
  if (missing) throw invalid(`The prompt "${name}" needs the argument "${missing.name}".`);

  const binding = { owner: identity.id, method: METHOD, params: [name, given] };
  const request = round.state === undefined ? start(prompt) : restore(round.state);
  const leave = request.enter(round);
  try {
    request.answer(round.responses);
    const end = await request.next();
    if (end.kind === "result") return end.result;
    if (end.kind === "question") throw new Error("A prompt needs no permission.");
    const until = clock.now() + INPUT_MS;
    suspended.add(request, { owner: identity.id, suspendedFor: "inputs", ms: INPUT_MS });
    return sdk.inputRequired({
      inputRequests: end.requests,
      requestState: states.seal({ id: request.id, until }, binding),
    });
  } finally {
    leave();
  }

  function start({ get }: McpPrompt): OpenRequest<GetPromptResult> {
    const open = new OpenRequest<GetPromptResult>(`prompt_${randomBytes(12).toString("base64url")}`, round);
    open.serve(async () => get(given, open));
    return open;
  }

  function restore(text: string): OpenRequest<GetPromptResult> {
    const state = states.open(text, binding);
    const open = state && suspended.take<GetPromptResult>(state.id, identity.id);
    if (!open?.isFirst) throw invalid("Invalid or expired requestState");
    return open.request;
  }
}

interface McpPromptArgument {
  name: string;
  description?: string;
  required?: boolean;
  /** The possible values, for completion in clients. */
  values?: readonly string[];
}

export interface McpPrompt {
  name: string;
  title?: string;
  description?: string;
  arguments?: readonly McpPromptArgument[];
  get(args: Readonly<Record<string, string>>, client: McpClientPeer): MaybePromise<GetPromptResult>;
}

export interface McpPromptSource {
  list(identity: McpIdentity): MaybePromise<readonly McpPrompt[]>;
  onChanged?(listener: () => void): () => void;
}
