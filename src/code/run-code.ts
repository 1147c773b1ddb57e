import { distance } from "fastest-levenshtein";
import { type Caller, toCallData } from "../core/call.ts";
import { ToolCategory } from "../core/category.ts";
import { firstLine, text } from "../core/content.ts";
import { createTool } from "../core/create-tool.ts";
import { failureOf, isErrorCode, type ToolFailure } from "../core/error.ts";
import { callOf } from "../core/gate.ts";
import type { PendingResult, ToolOutput } from "../core/result.ts";
import type { AnyTool, ToolContext } from "../core/tool.ts";
import { isObject, type JsonSchema } from "../schema/json-schema.ts";
import { describeOutput, field } from "../schema/describe-output.ts";
import type { ProgramToRun } from "./code-runner.ts";
import type { CodeHost, ProgramError } from "./run-program.ts";

export interface RunCodeDependencies {
  runner: CodeRunner;
  /** Tools that this caller may use, the best match first. */
  search(query: string, caller: Caller): readonly AnyTool[];
  /** All tools that this caller may use. */
  visible(caller: Caller): readonly AnyTool[];
}

const MAX_CODE_LENGTH = 200_000;
/** Running time, without waiting for people. */
const TIMEOUT_MS = 300_000;
const MAX_FOUND = 10;

/** A tool in which a model writes a program that calls the other tools. */
export function createRunCodeTool({ runner, search, visible }: RunCodeDependencies) {
  return createTool({
    name: "run_code",
    title: "Run code",
    description: {
      short: "Runs a JavaScript or TypeScript program that calls tools; only what it returns is shown.",
      long:
        "Use it for many calls, loops, filters and joins: results stay in the program. Globals: `tools.NAME(input)` calls a tool " +
        "and returns a promise of its data, or of its text if it has no data; a failed call throws an error with `code` and `message`. " +
        '`await api.search("words")` finds tools, `await api.describe("name", …)` gives their TypeScript declarations. ' +
        "`console.log` prints. End with `return value`.",
      usageNotes: [
        "There is no file system, network, import or timer: call tools for those.",
        "Calls that need an approval ask the person as usual; the program waits for the answer.",
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
    // No schema library: the main entry imports this file.
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
          description: "Detected automatically if omitted",
        },
      },
      required: ["code"],
      additionalProperties: false,
    } as const,
    // The program itself has no effects. Each of its calls is checked by the gate.
    kind: "execute",
    permission: "auto",
    category: ToolCategory.CODE,
    tags: ["code", "program", "javascript", "typescript", "loop", "batch"],
    builtIn: {
      zh: { title: "运行代码", short: "运行会调用工具的 JavaScript 或 TypeScript 程序；只显示它返回的内容。" },
      isCore: true,
      usesOtherTools: true,
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({
      "value?": field.any("What the program returned"),
      output: field.list(field.text(), "What it printed"),
      calls: field.integer("How many calls it made"),
    }),
    // Its calls are recognised by their numbers, so none is made twice.
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
      const runs = callOf(context);
      const program = { call: { ...toCallData(runs), idempotencyKey: runs.stepKey }, source: code, language, runs };
      const end = await runner.run(program, host);
      return showEnd(end, code, visible(caller));
    },
  });
}

/** The time limit of the program is paused while a call waits for a person. */
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
        text(`The program waits for ${many}, and continues by itself after the answer. Do not run it again.`),
        ...printed.map((part) => text(part)),
      ],
      display: `Waits for ${many}.`,
      details: { approvals: end.approvals, output, calls },
      pending: { kind: end.kind, id },
    };
  }
  const error = failureFor(end.error, explainError(end.error, code, tools));
  return {
    content: [text([error.message, ...printed].join("\n\n"))],
    display: firstLine(error.message),
    details: { error: end.error, output, calls },
    error,
  };
}

function failureFor(
  { name, code, line, column }: Extract<CodeEnd, { status: "failed" }>["error"],
  message: string,
): ToolFailure {
  const errorCode = isErrorCode(code) ? code : name === "TimeoutError" ? "timeout" : "failed";
  return failureOf(errorCode, message, { name, data: line === undefined ? undefined : { line, column } });
}

function count(calls: number): string {
  return calls === 1 ? "1 call" : `${calls} calls`;
}

/** Runs programs whose only effect is to call tools. */
interface CodeRunner {
  /** If the same call is made again, a program that waits is resumed. */
  run(program: ProgramToRun, host: CodeHost): Promise<CodeEnd>;
}

interface CodeEndBase {
  /** What it printed. */
  output: readonly string[];
  /** How many calls it made. */
  calls: number;
}

type CodeEnd = CodeEndBase &
  (
    | { status: "done"; value: unknown }
    | { status: "failed"; error: { name: string; message: string; line?: number; column?: number; code?: string } }
    | { status: "waits"; approvals: readonly string[]; kind: PendingResult["pending"]["kind"] }
  );

/** The tools as TypeScript, as a program sees them. */
export function declareTools(tools: readonly AnyTool[]): string {
  return tools.map(declareTool).join("\n\n");
}

function declareTool(tool: AnyTool): string {
  const { parameters } = tool.getFunctionDeclaration();
  const lines = [tool.description.short, ...(tool.description.important ?? [])];
  const comment = `/** ${lines.join(" ").replaceAll("*/", "* /").replace(/\s+/g, " ")} */`;
  const name = /^[A-Za-z_$][\w$]*$/.test(tool.name) ? `tools.${tool.name}` : `tools[${JSON.stringify(tool.name)}]`;
  const output = tool.output ? typeOf(tool.output.jsonSchema, 0) : "unknown";
  return `${comment}\n${name}(input: ${typeOf(parameters, 0)}): Promise<${output}>`;
}

/** Deeply nested schemas are cut. */
const MAX_DEPTH = 6;

function typeOf(schema: unknown, depth: number): string {
  if (!isObject(schema) || depth > MAX_DEPTH) return "unknown";
  if ("const" in schema) return literal(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map(literal).join(" | ") || "never";
  const parts = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(parts)) return unique(parts.map((part) => typeOf(part, depth + 1))).join(" | ");
  if (Array.isArray(schema.type)) {
    return unique(schema.type.map((type) => typeOf({ ...schema, type }, depth))).join(" | ");
  }
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "number":
    case "integer":
      return "number";
    case "array":
      return arrayOf(typeOf(schema.items, depth + 1));
    default:
      return objectOf(schema, depth);
  }
}

function objectOf(schema: JsonSchema, depth: number): string {
  const properties = Object.entries(isObject(schema.properties) ? schema.properties : {});
  const required = new Set<unknown>(Array.isArray(schema.required) ? schema.required : []);
  if (properties.length === 0) {
    const rest = schema.additionalProperties;
    if (isObject(rest)) return `Record<string, ${typeOf(rest, depth + 1)}>`;
    // Without `additionalProperties` no other parameters are allowed.
    return schema.type === "object" ? (rest === true ? "Record<string, unknown>" : "{}") : "unknown";
  }
  const members = properties.map(([name, property]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    const description = isObject(property) && property.description ? ` /* ${shorten(property.description)} */` : "";
    return `${key}${required.has(name) ? "" : "?"}: ${typeOf(property, depth + 1)}${description}`;
  });
  return `{ ${members.join("; ")} }`;
}

function arrayOf(item: string): string {
  return /[ |]/.test(item) ? `Array<${item}>` : `${item}[]`;
}

function literal(value: unknown): string {
  return JSON.stringify(value) ?? "unknown";
}

function unique(types: readonly string[]): string[] {
  return [...new Set(types)];
}

function shorten(text: unknown): string {
  const line = String(text).replaceAll("*/", "* /").replace(/\s+/g, " ");
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}

const GLOBALS = ["tools", "api", "console"];
const UNAVAILABLE: Readonly<Record<string, string>> = {
  fetch: "There is no network in a program: call tools.http_get or tools.web_fetch.",
  require: "There are no modules in a program: everything is a tool.",
  process: "There is no process in a program: call tools.get_env for variables.",
  setTimeout: "There are no timers in a program: call tools.sleep.",
};

/** The error, its position, the source line and the probable fix. */
function explainError(error: ProgramError, code: string, tools: readonly AnyTool[]): string {
  const where = error.line === undefined ? "" : ` (line ${error.line}, column ${error.column ?? 1})`;
  const source = error.line === undefined ? undefined : code.split("\n")[error.line - 1]?.trim();
  const shown = source ? [`> ${source.length > 200 ? `${source.slice(0, 199)}…` : source}`] : [];
  const advice = adviceFor(error.message, tools);
  return [`${error.name}: ${error.message}${where}`, ...shown, ...(advice ? [advice] : [])].join("\n");
}

function adviceFor(message: string, tools: readonly AnyTool[]): string | undefined {
  const name = /^'?([\w$]+)'? is not defined/.exec(message)?.[1];
  if (name === undefined) return undefined;
  if (Object.hasOwn(UNAVAILABLE, name)) return UNAVAILABLE[name];
  const calls = tools.flatMap((tool) => [tool.name, ...tool.aliases]);
  const near = nearest(name, [...calls, ...GLOBALS]);
  if (near === undefined) return `Programs have tools, api and console. Find tools with api.search("…").`;
  return `Did you mean ${GLOBALS.includes(near) ? near : `tools.${near}(…)`}?`;
}

function nearest(name: string, names: readonly string[]): string | undefined {
  let best: { name: string; far: number } | undefined;
  for (const one of names) {
    const far = distance(name.toLowerCase(), one.toLowerCase());
    if (!best || far < best.far) best = { name: one, far };
  }
  return best && best.far <= Math.max(1, Math.floor(name.length / 3)) ? best.name : undefined;
}
