import type { CallToolResult, GetPromptResult, InputRequiredResult, Server } from "@modelcontextprotocol/server";
import { TASKS } from "../task-protocol.ts";
import { callTool } from "./call-tool.ts";
import { forwardChanges, type McpConnection, type McpService } from "./mcp-service.ts";
import { readRound } from "./open-requests.ts";
import { getPrompt } from "./prompts.ts";
import { completeArgument, listResources, listTemplates, readResource } from "./resources.ts";
import type { McpServerOptions } from "./server-options.ts";
import { serveTasks } from "./tasks.ts";

/** How long a client may keep a list; it is told when it changes. */
const LIST_MS = 30_000;
const LISTED = { ttlMs: LIST_MS, cacheScope: "private" } as const;

/**
 * The protocol's side of one connection, or of one request where there are no connections. The SDK's low-level server:
 * its high-level one would convert every schema again for each request.
 */
export function createMcpServer(service: McpService, connection: McpConnection, era: "legacy" | "modern"): Server {
  const { sdk, clock, options, sources, toolCatalog } = service;
  const { serverInfo = { name: "haft", title: "Haft", version: "0.1.0" }, prompts } = options;
  const who = { ...connection.identity, session: connection.session };
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

  server.setRequestHandler("tools/list", () => ({ tools: toolCatalog.listFor(connection.session) }));
  server.setRequestHandler("tools/call", async ({ params }, context): Promise<CallToolResult | InputRequiredResult> => {
    const answer = await callTool(params, readRound(context, server, clock), connection, service);
    if (sdk.isInputRequiredResult(answer)) return answer;
    const result = answer as CallToolResult;
    // Only what is structured is written differently in the older era.
    return result.structuredContent === undefined
      ? result
      : server.projectCallToolResult(result, toolCatalog.find(params.name)?.output?.jsonSchema);
  });

  if (hasTasks) serveTasks(server, connection, service);

  const watched = new Set<string>();
  server.setRequestHandler("resources/list", async () => ({ resources: await listResources(sources, who) }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: listTemplates(sources) }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => readResource(sources, { uri, who, sdk }));
  server.setRequestHandler("resources/subscribe", ({ params: { uri } }) => (watched.add(uri), {}));
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => (watched.delete(uri), {}));
  server.setRequestHandler("completion/complete", ({ params }) => completeArgument(params, { sources, prompts, who }));

  if (prompts) {
    server.setRequestHandler("prompts/list", async () => ({
      prompts: (await prompts.list(who)).map(({ name, title, description, arguments: all = [] }) => ({
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

/** Clients give it to their model with every request, and some cut it: what a model cannot see from the tools. */
function writeInstructions({ instructions, defers }: McpServerOptions): string {
  return [
    ...(instructions === undefined ? [] : [instructions.trim()]),
    "Calls pass Haft's gate: policy may refuse one, and a person may be asked first. A refusal is final; do not try it another way.",
    "A call that is pending has not run: make exactly the same call again once it was allowed.",
    ...(defers ? ["Not every tool is listed: where tool_search is, it finds the others, which are listed then."] : []),
    "Long output is cut in the middle; the result links to the whole (haft://output/…). haft://tools documents the tools.",
  ].join("\n");
}
