import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import type { JudgedCall, ParseRequest, playground, TextFormatInfo } from "../../contracts/playground.ts";
import type { ExplainRequest, Explanation } from "../../contracts/policy.ts";
import { declarationOf } from "../../core/definition.ts";
import { toFailure } from "../../core/error.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { AnyTool } from "../../core/tool.ts";
import { exampleInput } from "../../models/text/example-input.ts";
import { textFormat } from "../../models/text/format-table.ts";
import { formatToolResult } from "../../models/text/format-tool-result.ts";
import { TEXT_FORMATS } from "../../core/text-formats.ts";
import { type ParsedToolCall, parseToolCalls } from "../../models/text/tool-call-parser.ts";
import type { Haft } from "../../runtime.ts";
import type { CallSource } from "./recent-calls.ts";

export interface PlaygroundApiOptions {
  haft: Haft;
  history: CallSource;
  /** Omitted: calls are parsed and not judged. */
  explain?(request: ExplainRequest, user: string): Promise<Explanation>;
}

export function createPlaygroundApi(options: PlaygroundApiOptions): Handlers<typeof playground> {
  const { haft, history } = options;
  return {
    formats: () => ({ items: TEXT_FORMATS.map(exampleWith(haft.tools())) }),
    async parse({ body, identity }) {
      const { text, format = "auto", startsInReasoning = false } = body;
      const parsed = parseToolCalls(text, { format, startsInReasoning, tools: haft.tools() });
      return {
        ...parsed,
        calls: await Promise.all(
          parsed.calls.map(async (call) => ({ ...call, ...(await judge(call, body, identity.name, options)) })),
        ),
      };
    },
    async answer({ body: { callId, format = "xml" }, identity }) {
      const call = await history.find(callId, identity.name);
      if (!call?.result || "cut" in call.result.metadata) {
        throw new ApiError("not_found", "There is no result of such a call here", "Make the call, and wait for it.");
      }
      return { text: formatToolResult(call.toolName, call.result, { format, tools: haft.tools() }) };
    },
  };
}

function exampleWith(tools: readonly AnyTool[]) {
  const tool = tools.find(({ name }) => name === "read") ?? tools[0];
  const given = tool?.description.examples?.[0]?.input ?? (tool && exampleInput(declarationOf(tool).parameters));
  const call = { name: tool?.name ?? "tool_name", input: (given ?? {}) as Record<string, unknown> };
  return (name: TextFormatInfo["name"]): TextFormatInfo => ({ name, example: textFormat(name).write([call]) });
}

/** What would happen to the call. Nothing runs. */
async function judge(
  { name, input, failure, format }: ParsedToolCall,
  { mode, session }: ParseRequest,
  user: string,
  { haft, explain }: PlaygroundApiOptions,
): Promise<Pick<JudgedCall, "explanation" | "problem" | "answer">> {
  const tools = haft.tools();
  if (failure) return { answer: formatToolResult(name, { success: false, error: failure }, { format, tools }) };
  const tool = haft.registry.get(name);
  const names = tools.map((each) => each.name);
  // A tool that the policy hides does not exist.
  if (!tool || !names.includes(tool.name)) {
    return { problem: `There is no tool "${name}". ${didYouMean(name, names) ?? ""}`.trim() };
  }
  try {
    tool.build(input as never);
    return { explanation: await explain?.({ tool: name, input, mode, session }, user) };
  } catch (thrown) {
    return { problem: toFailure(thrown).message };
  }
}
