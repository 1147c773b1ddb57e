import { createTool } from "../../core/create-tool.ts";
import type { AnyTool, ToolContext, ToolKind } from "../../core/tool.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { SchemaSource } from "../../schema/infer.ts";

/** The part of an AI SDK tool that matters here. */
export interface AISDKToolLike {
  description?: unknown;
  title?: string;
  inputSchema?: unknown;
  // The SDK types each tool's input on its own; what arrives was checked against that tool's schema.
  execute?: ((input: never, options: never) => unknown) | undefined;
}

/**
 * Tools of the AI SDK as tools of Haft, to be registered. They say nothing of what they change, so that each is taken for
 * one that executes, unless `kinds` knows better.
 */
export function fromAISDKTools(
  tools: Readonly<Record<string, AISDKToolLike>>,
  options: { kinds?: Readonly<Record<string, ToolKind>> } = {},
): AnyTool[] {
  return Object.entries(tools).map(([name, tool]) => {
    const { execute, description, inputSchema, title } = tool;
    if (!execute)
      throw new TypeError(`Tool "${name}" has no execute function: only tools that run here can be taken in.`);
    const run = execute as (input: unknown, context: object) => unknown;
    const kinds = options.kinds ?? {};
    return createTool({
      name,
      description: typeof description === "string" && description !== "" ? description : name,
      ...(title === undefined ? {} : { title }),
      ...(Object.hasOwn(kinds, name) ? { kind: kinds[name]! } : {}),
      parameters: schemaOf(inputSchema),
      run: async (input: unknown, { callId, signal }: ToolContext) => {
        const output = run(input, { toolCallId: callId, abortSignal: signal, messages: [], context: {} });
        return isAsyncIterable(output) ? lastOf(output) : output;
      },
    });
  });
}

/** The SDK's own schemas hold JSON Schema; all others are libraries that Haft knows. */
function schemaOf(schema: unknown): SchemaSource {
  const given = typeof schema === "function" ? (schema as () => unknown)() : schema;
  if (isObject(given) && Symbol.for("vercel.ai.schema") in given && isObject(given["jsonSchema"])) {
    return given["jsonSchema"] as SchemaSource;
  }
  return (given ?? []) as SchemaSource;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** What is yielded before the last is preliminary. */
async function lastOf(outputs: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const output of outputs) last = output;
  return last;
}
