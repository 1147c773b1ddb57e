import type { CallQuestion } from "../../core/gate.ts";
import { looseObject } from "zod/v4";
import type { ToolResult } from "../../core/result.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { mapContent } from "../providers/call-results.ts";
import type { FrameworkAnswer } from "./framework-calls.ts";
import {
  type AdapterOptions,
  type BridgedTool,
  bridgeToolkit,
  type FrameworkTools,
  resultText,
  unknownVersion,
} from "./toolkit-bridge.ts";

type ContentPart = { type: "text"; text: string } | { type: "image"; data: string; mimeType: string };

/** A tool of the SDK's in-process MCP server. */
interface ClaudeTool {
  name: string;
  description: string;
  inputSchema: never;
  annotations: { readOnlyHint: boolean };
  handler(input: unknown, extra: unknown): Promise<{ content: ContentPart[]; isError: boolean }>;
}

/** What the SDK says about a call that it asks about. */
interface AskedCall {
  toolUseID: string;
  signal: AbortSignal;
}

type Permission =
  | { behavior: "allow"; updatedInput?: Record<string, unknown> }
  | { behavior: "deny"; message: string; interrupt?: boolean };

type CanUseTool<Asked> = (
  toolName: string,
  input: Record<string, unknown>,
  options: Asked,
) => Promise<Permission | null>;

/** Options of the adapter besides the common ones. */
interface ClaudeOptions<Server, Asked> {
  /** From "@anthropic-ai/claude-agent-sdk". */
  createSdkMcpServer: (options: { name: string; tools: ClaudeTool[] }) => Server;
  /** Asks the program's own person. Default: the run waits until the question is answered in Haft. */
  canUseTool?: CanUseTool<Asked>;
  /** Of the MCP server. Default: "haft". */
  name?: string;
}

const PROFILE = {
  via: "Claude Agent SDK",
  adapter: "toClaudeAgentTools",
  versions: "Claude Agent SDK 0.3",
  keys: ["createSdkMcpServer", "canUseTool", "name"],
};

/**
 * For `query` of the Claude Agent SDK: spread the result into its options. The tools are an MCP server in this process, which
 * belongs to one query. A call that needs a person is asked about with the program's `canUseTool` and in Haft, and the first
 * answer counts.
 */
export function toClaudeAgentTools<Server extends object, Asked extends AskedCall>(
  toolkit: FrameworkTools,
  options: AdapterOptions & ClaudeOptions<Server, Asked>,
): { mcpServers: Record<string, Server>; canUseTool: CanUseTool<Asked> } {
  const { createSdkMcpServer, canUseTool: askProgram, name: server = "haft" } = options;
  const bridged = bridgeToolkit(toolkit, options, PROFILE);
  const byName = new Map(bridged.map((tool) => [`mcp__${server}__${tool.name}`, tool]));
  const answers = new Map<string, FrameworkAnswer>();
  const tools = bridged.map((tool) => toClaudeTool(tool, answers));
  // Otherwise a rule or mode of the SDK could allow a call without its question.
  const policies = tools.map(({ name }) => ({ name, permission_policy: "always_ask" }));
  return {
    mcpServers: { [server]: Object.assign(createSdkMcpServer({ name: server, tools }), { tools: policies }) },
    async canUseTool(toolName, input, asked) {
      const tool = byName.get(toolName);
      if (tool) return permit(tool, input, { asked, answers, ask: (given) => askProgram?.(toolName, input, given) });
      return (
        askProgram?.(toolName, input, asked) ?? {
          behavior: "deny",
          message: `Nobody can be asked about ${toolName}: toClaudeAgentTools was given no canUseTool.`,
        }
      );
    },
  };
}

interface Asking<Asked> {
  asked: Asked;
  /** The answers of the program, until the calls run. */
  answers: Map<string, FrameworkAnswer>;
  ask(asked: Asked): Promise<Permission | null> | undefined;
}

async function permit<Asked extends AskedCall>(
  tool: BridgedTool,
  input: Record<string, unknown>,
  { asked, answers, ask }: Asking<Asked>,
): Promise<Permission | null> {
  const call = { id: asked.toolUseID };
  const question = await tool.check(input, call);
  const allowed: Permission = { behavior: "allow", updatedInput: input };
  if (!question) return allowed;
  const stop = new AbortController();
  const signal = AbortSignal.any([asked.signal, stop.signal]);
  const shown = { ...asked, signal, decisionReason: reasonOf(question), approvalId: question.id };
  try {
    const inHaft = tool.wait(call, signal).then((answered) => ({ answered }));
    const inProgram = ask(shown)?.then((given) => ({ given }));
    // The one that loses is stopped.
    inHaft.catch(() => undefined);
    inProgram?.catch(() => undefined);
    const first = await Promise.race(inProgram ? [inHaft, inProgram] : [inHaft]);
    if ("answered" in first) {
      if (first.answered?.state === "approved") return allowed;
      return { behavior: "deny", message: first.answered?.note ?? `${tool.name} was not approved.` };
    }
    const { given } = first;
    if (given?.behavior === "deny") await tool.deny(call, { reason: given.message });
    if (given?.behavior !== "allow") return given;
    answers.set(asked.toolUseID, { approved: true, approvalId: question.id });
    // Without rules that the program may add: they would not apply in Haft.
    return { behavior: "allow", updatedInput: given.updatedInput ?? input };
  } finally {
    stop.abort();
  }
}

/** The program's yes is no second step: such a call is approved in Haft. */
function reasonOf({ reason, unseen, id }: CallQuestion): string {
  return unseen === undefined ? reason : `${reason} ${unseen} Approve it in Haft: haft approvals show ${id} --whole`;
}

function toClaudeTool(bridged: BridgedTool, answers: Map<string, FrameworkAnswer>): ClaudeTool {
  return {
    name: bridged.name,
    description: bridged.description,
    inputSchema: openObject(bridged.schema) as never,
    annotations: { readOnlyHint: bridged.tool.isReadOnly },
    async handler(input, extra) {
      const { signal, _meta } = extra as { signal?: AbortSignal; _meta?: Record<string, unknown> };
      const id = _meta?.["claudecode/toolUseId"];
      if (typeof id !== "string") throw unknownVersion(PROFILE, "it does not say which call it makes");
      const answer = answers.get(id);
      answers.delete(id);
      return show(await bridged.run(input, { id, signal, answer }));
    },
  };
}

/** An object that keeps every key, because the gate validates. The SDK shows `schema` to the model. */
function openObject(schema: JsonSchema): object {
  const open = looseObject({});
  open._zod.toJSONSchema = () => structuredClone(schema);
  return open;
}

function show(result: ToolResult): { content: ContentPart[]; isError: boolean } {
  const content = mapContent<ContentPart>(result.content, {
    text: (text) => ({ type: "text", text }),
    image: (data, mimeType) => ({ type: "image", data, mimeType }),
  });
  const isEmpty = content.length === 0;
  return {
    content: isEmpty ? [{ type: "text", text: resultText(result) }] : content,
    isError: result.status === "failed",
  };
}
