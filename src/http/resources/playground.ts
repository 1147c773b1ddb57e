import { declarationOf } from "../../core/definition.ts";
import { toFailure } from "../../core/error.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { AnyTool } from "../../core/tool.ts";
import { exampleInput, textFormat } from "../../models/text/format-table.ts";
import { formatToolResult } from "../../models/text/format-tool-result.ts";
import { TEXT_FORMATS } from "../../models/text/text-format.ts";
import { type ParsedToolCall, parseToolCalls } from "../../models/text/tool-call-parser.ts";
import type { ApiContext } from "../door.ts";
import { HttpError } from "../door-error.ts";
import { json, type Resource, route } from "../route.ts";
import type { AnswerText, JudgedCall, Page, ParsedAnswer, ParseRequest, TextFormatInfo } from "../wire.ts";

export const playground: Resource<ApiContext> = {
  path: "/api/playground",
  routes: (api) => [
    route("GET /api/playground", {
      summary: "The formats in which models write calls as text, each with an example",
      scope: "read",
      answers: "TextFormatPage",
      handle: () => json({ items: TEXT_FORMATS.map(exampleWith(api.haft.tools())) } satisfies Page<TextFormatInfo>),
    }),
    route("POST /api/playground", {
      summary: "The calls in a model's text, and what would happen to each; nothing runs",
      scope: "read",
      body: "ParseRequest",
      answers: "ParsedAnswer",
      async handle({ body, identity }) {
        const { text, format = "auto", startsInReasoning = false } = body;
        const parsed = parseToolCalls(text, { format, startsInReasoning, tools: api.haft.tools() });
        const calls: JudgedCall[] = [];
        for (const call of parsed.calls) calls.push({ ...call, ...(await judge(call, body, api, identity.name)) });
        return json({ ...parsed, calls } satisfies ParsedAnswer);
      },
    }),
    route("POST /api/playground/answer", {
      summary: "The result of a call as text for the model",
      scope: "read",
      body: "AnswerTextRequest",
      answers: "AnswerText",
      handle({ body: { callId, format = "xml" }, identity }) {
        const call = api.recentCalls.find(callId, identity.name);
        if (!call?.result) {
          throw new HttpError("not_found", "No result of such a call is kept here", "Make the call, and wait for it.");
        }
        const text = formatToolResult(call.toolName, call.result, { format, tools: api.haft.tools() });
        return json({ text } satisfies AnswerText);
      },
    }),
  ],
};

function exampleWith(tools: readonly AnyTool[]) {
  const tool = tools.find(({ name }) => name === "read") ?? tools[0];
  const given = tool?.description.examples?.[0]?.input ?? (tool && exampleInput(declarationOf(tool).parameters));
  const call = { name: tool?.name ?? "tool_name", input: (given ?? {}) as Record<string, unknown> };
  return (name: TextFormatInfo["name"]): TextFormatInfo => ({ name, example: textFormat(name).write([call]) });
}

type Judgement = Pick<JudgedCall, "explanation" | "problem" | "answer">;

/** What the gate would say, as far as that can be told without making the call. */
async function judge(
  { name, input, failure, format }: ParsedToolCall,
  { mode, session }: ParseRequest,
  { haft, parts: { policy } }: ApiContext,
  user: string,
): Promise<Judgement> {
  const tools = haft.tools();
  if (failure) return { answer: formatToolResult(name, { success: false, error: failure }, { format, tools }) };
  const tool = haft.registry.get(name);
  // What policy hides is not there.
  if (!tool || !tools.some((each) => each.name === tool.name)) {
    const names = tools.map((each) => each.name);
    return { problem: `There is no tool "${name}". ${didYouMean(name, names) ?? ""}`.trim() };
  }
  try {
    tool.build(input as never);
    if (!policy) return {};
    const requested = { tool: name, input, mode, session };
    return { explanation: await policy.explain(requested, user) };
  } catch (thrown) {
    return { problem: toFailure(thrown).message };
  }
}
