import { randomBytes } from "node:crypto";
import type { GetPromptResult, InputRequiredResult, Server } from "@modelcontextprotocol/server";
import { VERSION } from "../../core/telemetry/version.ts";
import { TASKS } from "../task-protocol.ts";
import { answerToolCall } from "./call-tool.ts";
import { forwardChanges, type McpConnection, type McpService } from "./mcp-service.ts";
import { completeArgument, findPrompt, listResources, listTemplates, readResource } from "./resources.ts";
import { readRound, type Round } from "./round.ts";
import type { McpServerOptions } from "./server-options.ts";
import { serveTasks } from "./tasks.ts";
import { type McpCall, resultOf } from "./mcp-call.ts";

/** How long a client may cache a list. It is notified of changes. */
const LIST_MS = 30_000;
const LISTED = { ttlMs: LIST_MS, cacheScope: "private" } as const;

/** The server of one connection or request. Low-level, because the SDK's high-level one converts schemas each time. */
export function createMcpServer(service: McpService, connection: McpConnection, era: "legacy" | "modern"): Server {
  const { sdk, clock, options, sources, tools } = service;
  const { serverInfo = { name: "haft", title: "Haft", version: VERSION }, prompts } = options;
  const identity = { ...connection.identity, session: connection.session };
  const hasTasks = era === "modern" && service.runtime.jobs !== undefined;
  const server = new sdk.Server(serverInfo, {
    capabilities: {
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      prompts: prompts ? { listChanged: true } : undefined,
      completions: {},
      extensions: hasTasks ? { [TASKS]: {} } : undefined,
      logging: {},
    },
    instructions: writeInstructions(options),
    cacheHints: {
      "tools/list": LISTED,
      "prompts/list": LISTED,
      "resources/list": { ttlMs: 0, cacheScope: "private" },
      "resources/templates/list": LISTED,
      "resources/read": { ttlMs: 0, cacheScope: "private" },
      "server/discover": LISTED,
    },
    inputRequired: { legacyShim: false },
  });
  server.onerror = (error) => options.onError?.(error);

  server.setRequestHandler("tools/list", async (_request, context) => {
    await service.listable();
    const { clientName } = readRound(context, server, clock);
    return { tools: await tools.listFor({ session: connection.session, user: identity.name }, clientName) };
  });
  server.setRequestHandler("tools/call", ({ params }, context) =>
    answerToolCall(params, { round: readRound(context, server, clock), server, connection, service }),
  );

  if (hasTasks) serveTasks(server, connection, service);

  const watched = new Set<string>();
  server.setRequestHandler("resources/list", async () => ({ resources: await listResources(sources, identity) }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: listTemplates(sources) }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => readResource(sources, { uri, identity, sdk }));
  server.setRequestHandler("resources/subscribe", ({ params: { uri } }) => (watched.add(uri), {}));
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => (watched.delete(uri), {}));
  server.setRequestHandler("completion/complete", ({ params }) =>
    completeArgument(params, { sources, prompts, identity }),
  );

  if (prompts) {
    server.setRequestHandler("prompts/list", async () => ({
      prompts: (await prompts.list(identity)).map(({ name, title, description, arguments: all = [] }) => ({
        name,
        title,
        description,
        arguments: all.map(({ values: _, ...argument }) => argument),
      })),
    }));
    server.setRequestHandler("prompts/get", ({ params }, context): Promise<GetPromptResult | InputRequiredResult> =>
      getPrompt(params, readRound(context, server, clock), connection, service),
    );
  }
  if (era === "legacy") forwardChanges(service, server, { session: connection.session, watched });
  return server;
}

/** Clients send it to their model with every request, and some truncate it, so it has only what the tools do not show. */
function writeInstructions({ instructions, defers }: McpServerOptions): string {
  return [
    ...(instructions === undefined ? [] : [instructions.trim()]),
    "Calls pass Haft's gate: policy may deny one, and a person may be asked first. A denial is final; do not try it another way.",
    "A call that is pending has not run: make exactly the same call again after it was approved.",
    ...(defers
      ? ["Not every tool is listed: tool_search, if listed, finds the others, and then they are listed."]
      : []),
    "Long output is truncated in the middle; the result links to the full output (haft://output/…). haft://tools documents the tools.",
  ].join("\n");
}

const METHOD = "prompts/get";
const INPUT_MS = 600_000;

async function getPrompt(
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
