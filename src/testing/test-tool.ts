import type { CallOptions } from "../core/call.ts";
import { validatedInput } from "../core/create-tool.ts";
import { canonicalJson } from "../core/json.ts";
import { ERROR_CODES } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { AnyTool } from "../core/tool.ts";
import { propertiesOf } from "../schema/schema-properties.ts";
import { createHaft, type HaftOptions } from "../runtime.ts";

export interface TestToolOptions {
  /** Inputs that must work, besides the tool's own examples. Without any, what needs one is not checked. */
  inputs?: readonly unknown[];
  /** Inputs that must be refused. */
  badInputs?: readonly unknown[];
  call?: CallOptions;
  runtime?: HaftOptions;
}

/** One thing that was checked. */
export interface ToolCheck {
  /** What was checked. */
  name: string;
  /** Whether it holds. */
  ok: boolean;
  /** What is wrong. */
  why?: string;
}

/**
 * Runs the contract of a tool in a new runtime, approving what asks. Throws with everything that does not
 * hold; returns what was checked. Works in any test runner: `await testTool(myTool)`.
 */
export async function testTool(tool: AnyTool, options: TestToolOptions = {}): Promise<ToolCheck[]> {
  const checks: ToolCheck[] = [];
  const check = async (name: string, setRef: () => Promise<string | undefined> | string | undefined): Promise<void> => {
    try {
      const why = await setRef();
      checks.push(why === undefined ? { name, ok: true } : { name, ok: false, why });
    } catch (error) {
      checks.push({ name, ok: false, why: `threw ${error instanceof Error ? error.message : String(error)}` });
    }
  };
  const inputs = [...(tool.description.examples ?? []).map(({ input }) => input), ...(options.inputs ?? [])];
  const call = (input: unknown, more: CallOptions = {}): Promise<ToolResult> => {
    const haft = createHaft({
      ...options.runtime,
      tools: [tool],
      approver: async () => ({ approved: true, by: "testTool" }),
    });
    return haft.execute(tool.name, input, { ...options.call, ...more });
  };

  await check("its name is one that every provider takes", () =>
    /^[A-Za-z0-9_-]{1,64}$/.test(tool.name) ? undefined : `"${tool.name}" is not: letters, digits, _ and -, at most 64`,
  );
  await check("it and its parameters are described", () => undescribed(tool));
  await check("an unknown parameter is refused with a result", async () =>
    refusedAsInvalid(await call({ ...firstObject(inputs), no_such_parameter_: 1 }), tool),
  );
  await check("input that is not an object is refused with a result", async () =>
    refusedAsInvalid(await call([1, 2, 3]), tool),
  );
  for (const [i, input] of (options.badInputs ?? []).entries()) {
    await check(`bad input ${i + 1} is refused with a result`, async () => refusedAsInvalid(await call(input), tool));
  }
  for (const [i, input] of inputs.entries()) {
    const which = `input ${i + 1}`;
    await check(`${which}: what policy asks of it is the same each time`, () => steady(tool, input));
    await check(`${which}: a call that was aborted before does not run`, async () => {
      const result = await call(input, { signal: AbortSignal.abort() });
      return result.status === "failed" && result.error.code === "cancelled" ? undefined : `it ended ${result.status}`;
    });
    await check(`${which}: it completes with plain data and something to read`, async () =>
      complete(await call(input)),
    );
  }
  const broken = checks.filter(({ ok }) => !ok);
  if (broken.length > 0) {
    const list = broken.map(({ name, why }) => `- ${name}: ${why}`).join("\n");
    throw new Error(`Tool "${tool.name}" breaks its contract:\n${list}`);
  }
  return checks;
}

function undescribed(tool: AnyTool): string | undefined {
  if (tool.description.short.trim().length < 10) return "its description says too little for a model to choose it";
  const schema = tool.parameters.jsonSchema;
  const silent = Array.from(propertiesOf(schema, schema)).filter(
    ([, { description }]) => typeof description !== "string",
  );
  return silent.length === 0 ? undefined : `no description for: ${silent.map(([name]) => name).join(", ")}`;
}

function refusedAsInvalid(result: ToolResult, tool: AnyTool): string | undefined {
  if (result.status !== "failed") return `it ended ${result.status}`;
  if (result.error.code !== "invalid_input") return `it failed with ${result.error.code} instead of invalid_input`;
  return result.content.length > 0 ? undefined : `"${tool.name}" returns nothing to the model`;
}

async function steady(tool: AnyTool, raw: unknown): Promise<string | undefined> {
  const params = (await validatedInput(tool, raw)) as never;
  const ask = async (): Promise<string> => {
    const permission = await tool.permission(params);
    const signature = await tool.signature?.(params);
    return canonicalJson([permission, signature, tool.rule?.(params), await tool.locks?.(params)]);
  };
  return (await ask()) === (await ask())
    ? undefined
    : "permission, signature, rule or locks differ between two askings";
}

function complete(result: ToolResult): string | undefined {
  if (result.status === "pending") return undefined;
  if (result.status === "failed") {
    return result.error.code in ERROR_CODES
      ? `it failed: ${result.error.message}`
      : `unknown code ${result.error.code}`;
  }
  if (canonicalJson(result) !== canonicalJson(JSON.parse(JSON.stringify(result))))
    return "its result is not plain JSON";
  return result.content.length > 0 ? undefined : "it returns nothing to the model";
}

function firstObject(inputs: readonly unknown[]): object {
  const found = inputs.find((input) => typeof input === "object" && input !== null && !Array.isArray(input));
  return (found as object | undefined) ?? {};
}
