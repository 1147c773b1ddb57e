import type { Caller } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { failureOf, isErrorCode, type ToolFailure } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { AnyTool, ToolContext } from "../../core/tool.ts";
import type { CodeEnd, CodeRunner } from "./code-runner.ts";
import { declareTools } from "./declare-tools.ts";
import { explainError } from "./explain-error.ts";

export interface RunCodeDependencies {
  runner: CodeRunner;
  /** What this caller may use, best first. */
  search(query: string, caller: Caller): readonly AnyTool[];
  /** All that this caller may use. */
  visible(caller: Caller): readonly AnyTool[];
}

const MAX_CODE_LENGTH = 200_000;
/** Of running, without the time in which a person thinks. */
const TIMEOUT_MS = 300_000;
const MAX_FOUND = 10;

/** One tool in which a model writes a program against all the others. */
export function createRunCodeTool({ runner, search, visible }: RunCodeDependencies) {
  return createTool({
    name: "run_code",
    title: "Run code",
    description: {
      short: "Runs a JavaScript or TypeScript program that calls tools; only what it returns is shown.",
      long:
        "Use it for many calls, loops, filters and joins: results stay in the program. Globals: `tools.NAME(input)` calls a tool " +
        "and gives a promise of its data, or of its text where it has no data; a failed call throws an error with `code` and `message`. " +
        '`await api.search("words")` finds tools, `await api.describe("name", …)` gives their TypeScript declarations. ' +
        "`console.log` prints. End with `return value`.",
      usageNotes: [
        "There is no file system, network, import or timer: call tools for those.",
        "Calls that must be permitted by a person are asked for as always; the program waits for the answer.",
        "Several calls at once: await Promise.all([…]).",
      ],
      examples: [
        {
          input: {
            code: 'const files = await api.describe("grep", "read");\nreturn files;',
          },
          description: "see how tools are called",
        },
      ],
    },
    // No schema library: the front door of the package imports this.
    parameters: {
      type: "object",
      properties: {
        code: {
          type: "string",
          minLength: 1,
          maxLength: MAX_CODE_LENGTH,
          description: "The body of an async function; `return` gives its value",
        },
        language: {
          enum: ["javascript", "typescript"],
          description: "Found out by itself where absent",
        },
      },
      required: ["code"],
      additionalProperties: false,
    } as const,
    // It does nothing by itself, but nobody knows beforehand what its calls do; each of those is judged for itself.
    kind: "execute",
    permission: "auto",
    category: ToolCategory.CODE,
    tags: ["code", "program", "javascript", "typescript", "loop", "batch"],
    origin: { type: "builtin" },
    // Its calls are known again by their numbers: what was done is not done twice.
    idempotent: true,
    limits: { timeoutMs: TIMEOUT_MS },
    async run({ code, language }, context) {
      const { caller } = context;
      const host = {
        signal: context.signal,
        call: (step: number, name: string, input: unknown, onApprovalRequested: (id: string) => Promise<void>) =>
          callWithPausedTimeLimit(context, { step, name, input, onApprovalRequested }),
        search: (query: string) =>
          search(query, caller)
            .filter(({ name }) => name !== "run_code")
            .slice(0, MAX_FOUND)
            .map(({ name, description }) => ({ name, description: description.short })),
        describe: (names: readonly string[]) => describe(names, visible(caller)),
        print: (line: string) => context.update({ content: [text(`${line}\n`)] }),
      };
      const program = { call: context.toContinuation(), source: code, ...(language ? { language } : {}) };
      const end = await runner.run(program, host);
      return showEnd(end, code, visible(caller));
    },
  });
}

/** While a person thinks about one of its calls, the program's own time stands still. */
async function callWithPausedTimeLimit(
  context: ToolContext,
  {
    step,
    name,
    input,
    onApprovalRequested,
  }: { step: number; name: string; input: unknown; onApprovalRequested: (id: string) => Promise<void> },
) {
  let resume: (() => void) | undefined;
  try {
    return await context.call(name, input, {
      step,
      onApprovalRequested: async (approvalId) => {
        resume ??= context.pauseTimeLimit();
        await onApprovalRequested(approvalId);
      },
    });
  } finally {
    resume?.();
  }
}

function describe(names: readonly string[], tools: readonly AnyTool[]): string {
  const known = new Map(tools.flatMap((tool) => [tool.name, ...tool.aliases].map((name) => [name, tool] as const)));
  const found = names.flatMap((name) => known.get(name) ?? []);
  const missing = names.filter((name) => !known.has(name));
  const notes = missing.map((name) => `// There is no tool "${name}". Find its name with api.search("${name}").`);
  return [declareTools(found), ...notes].filter((part) => part !== "").join("\n\n");
}

function showEnd(end: CodeEnd, code: string, tools: readonly AnyTool[]): ToolOutput {
  const { output, calls } = end;
  const printed = output.length > 0 ? [`Printed:\n${output.join("\n")}`] : [];
  if (end.status === "done") {
    const shown = typeof end.value === "string" ? end.value : (JSON.stringify(end.value, null, 2) ?? "null");
    return {
      content: [text([shown, ...printed].join("\n\n"))],
      display: `The program made ${count(calls)} and ended.`,
      details: { value: end.value, output, calls },
    };
  }
  if (end.status === "waits") {
    const id = end.approvals[0] ?? "";
    const many = end.approvals.length === 1 ? "a person" : `a person, about ${end.approvals.length} calls`;
    return {
      content: [
        text(`The program waits for ${many}, and goes on by itself after the answer. Do not run it again.`),
        ...printed.map((part) => text(part)),
      ],
      display: `Waits for ${many}.`,
      details: { approvals: end.approvals, output, calls },
      pending: { kind: "approval", id },
    };
  }
  const error = failureFor(end.error, explainError(end.error, code, tools));
  return {
    content: [text([error.message, ...printed].join("\n\n"))],
    display: error.message.split("\n")[0]!,
    details: { error: end.error, output, calls },
    error,
  };
}

function failureFor(
  { name, code, line, column }: Extract<CodeEnd, { status: "failed" }>["error"],
  message: string,
): ToolFailure {
  const known = isErrorCode(code) ? code : name === "TimeoutError" ? "timeout" : "failed";
  return { ...failureOf(known, message, name), ...(line === undefined ? {} : { data: { line, column } }) };
}

function count(calls: number): string {
  return calls === 1 ? "1 call" : `${calls} calls`;
}
