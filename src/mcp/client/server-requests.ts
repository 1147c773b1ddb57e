import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import type {
  Client,
  ClientCapabilities,
  CreateMessageRequest,
  CreateMessageResult,
  InputRequest,
} from "@modelcontextprotocol/client";
import { toolError } from "../../core/error.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { TASKS } from "../task-protocol.ts";
import { readSecureUrl } from "./transports.ts";
import { shownText } from "./tool-definition.ts";
import { toUsableSchema } from "./server-schemas.ts";

/** A question of a server to a person. Its text is data: hidden characters are made visible. */
export type ElicitationRequest = (
  | { mode: "form"; server: string; message: string; schema: JsonSchema }
  | { mode: "url"; server: string; message: string; url: URL }
) & { callIds?: readonly string[] };

export type ElicitationAnswer =
  | { action: "accept"; content?: Record<string, string | number | boolean | string[]> }
  | { action: "decline" | "cancel" };

/** Asks the person. A form must not contain secrets. Show the complete address of a page before it is opened. */
export type AnswerElicitation = (request: ElicitationRequest, signal: AbortSignal) => Promise<ElicitationAnswer>;

type Sample = (request: CreateMessageRequest["params"], signal: AbortSignal) => Promise<CreateMessageResult>;

export interface ServerAnswers {
  /** If omitted, servers cannot ask a person. */
  answerElicitation?: AnswerElicitation;
  /** If omitted, servers cannot use a model. */
  sample?: Sample;
  /** The folder that servers are given as a root. If omitted, they are given none. */
  root?: string;
}

const MAX_MESSAGE_LENGTH = 4000;

/** The declared capabilities. The SDK rejects requests for others. */
export function capabilitiesOf({ answerElicitation, sample, root }: ServerAnswers): ClientCapabilities {
  return {
    elicitation: answerElicitation ? { form: { applyDefaults: true }, url: {} } : undefined,
    sampling: sample ? {} : undefined,
    roots: root === undefined ? undefined : {},
    extensions: { [TASKS]: {} },
  };
}

export function answerServer(client: Client, server: string, { answerElicitation, sample, root }: ServerAnswers): void {
  if (answerElicitation) {
    client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) =>
      elicit(params, server, answerElicitation, mcpReq.signal),
    );
  }
  if (sample)
    client.setRequestHandler("sampling/createMessage", ({ params }, { mcpReq }) => sample(params, mcpReq.signal));
  if (root !== undefined) client.setRequestHandler("roots/list", () => rootsAt(root));
}

/** Answers a request from a task. Requests that cannot be answered are declined. */
export async function answerRequest(
  request: InputRequest,
  server: string,
  { answerElicitation, sample, root }: ServerAnswers,
  signal: AbortSignal,
): Promise<object> {
  switch (request.method) {
    case "elicitation/create":
      if (!answerElicitation) return { action: "decline" };
      return elicit(request.params, server, answerElicitation, signal);
    case "sampling/createMessage":
      if (!sample) throw toolError("denied", `MCP server "${server}" may not use a model`);
      return sample(request.params, signal);
    case "roots/list":
      return root === undefined ? { roots: [] } : rootsAt(root);
  }
}

function rootsAt(folder: string) {
  return { roots: [{ uri: pathToFileURL(folder).href, name: basename(folder) }] };
}

interface ElicitationParameters {
  mode?: string;
  message: string;
  url?: string;
  requestedSchema?: unknown;
}

export async function elicit(
  parameters: ElicitationParameters,
  server: string,
  answer: AnswerElicitation,
  signal: AbortSignal,
): Promise<ElicitationAnswer> {
  const message = shownText(parameters.message, MAX_MESSAGE_LENGTH);
  if (parameters.mode === "url") {
    const url = readSecureUrl(parameters.url ?? "", `The page that MCP server "${server}" wants to open`);
    const { action } = await answer({ mode: "url", server, message, url }, signal);
    return { action };
  }
  const schema = toUsableSchema(parameters.requestedSchema);
  const answered = await answer({ mode: "form", server, message, schema: schema.jsonSchema }, signal);
  if (answered.action !== "accept") return { action: answered.action };
  const checked = await schema.validate(answered.content ?? {});
  // Content that does not match the form is not an answer.
  return checked.issues ? { action: "cancel" } : { action: "accept", content: checked.value as never };
}
