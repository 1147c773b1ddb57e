import { setImmediate } from "node:timers/promises";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import type { JudgedCall, ParseRequest, playground, TextFormatInfo } from "../../contracts/playground.ts";
import type { ExplainRequest, Explanation } from "../../contracts/policy.ts";
import { validatedInput } from "../../core/create-tool.ts";
import { declarationOf } from "../../core/definition.ts";
import { toFailure } from "../../core/error.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { AnyTool } from "../../core/tool.ts";
import { exampleInput } from "../../models/text/example-input.ts";
import { textFormat } from "../../models/text/format-table.ts";
import { formatToolResult } from "../../models/text/format-tool-result.ts";
import { TEXT_FORMATS } from "../../core/text-formats.ts";
import {
  type ParsedToolCall,
  type ParsedText,
  TextParser,
  type ToolCallParserOptions,
} from "../../models/text/tool-call-parser.ts";
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
    formats: () => ({ items: TEXT_FORMATS.map(exampleWith(haft.tools.list())) }),
    async parse({ body, identity }) {
      const { text, format = "auto", startsInReasoning = false } = body;
      const parsed = await parseInSlices(text, { format, startsInReasoning, tools: haft.tools.list() });
      const calls: JudgedCall[] = [];
      for (const [at, call] of parsed.calls.slice(0, MAX_CALLS).entries()) {
        if (at % CALLS_PER_TURN === CALLS_PER_TURN - 1) await setImmediate();
        calls.push({ ...call, ...(await judge(call, body, identity.name, options)) });
      }
      const isCut = parsed.calls.length > MAX_CALLS;
      const cut = `The text has ${parsed.calls.length} calls. The first ${MAX_CALLS} are shown.`;
      return { ...parsed, calls, warnings: isCut ? [cut, ...parsed.warnings] : parsed.warnings };
    },
    async answer({ body: { callId, format = "xml" }, identity }) {
      const call = await history.find(callId, identity.name);
      if (!call?.result || "cut" in call.result.metadata) {
        throw new ApiError("not_found", "There is no result of such a call here", "Make the call, and wait for it.");
      }
      return { text: formatToolResult(call.toolName, call.result, { format, tools: haft.tools.list() }) };
    },
  };
}

/** Anybody may paste a long text: others get their turn while it is read. */
const CHARACTERS_PER_TURN = 2000;
const CALLS_PER_TURN = 10;
const MAX_CALLS = 200;

async function parseInSlices(text: string, options: ToolCallParserOptions): Promise<ParsedText> {
  const parser = new TextParser(options, { streams: false });
  for (let at = 0; at < text.length; at += CHARACTERS_PER_TURN) {
    if (at > 0) await setImmediate();
    parser.push(text.slice(at, at + CHARACTERS_PER_TURN));
  }
  parser.end();
  return parser.result;
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
  const tools = haft.tools.list();
  if (failure) return { answer: formatToolResult(name, { success: false, error: failure }, { format, tools }) };
  const tool = haft.tools.registry.get(name);
  const names = tools.map((each) => each.name);
  // A tool that the policy hides does not exist.
  if (!tool || !names.includes(tool.name)) {
    return { problem: `There is no tool "${name}". ${didYouMean(name, names) ?? ""}`.trim() };
  }
  try {
    await validatedInput(tool, input);
    return { explanation: await explain?.({ tool: name, input, mode, session }, user) };
  } catch (thrown) {
    return { problem: toFailure(thrown).message };
  }
}
