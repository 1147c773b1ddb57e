import type { InferOutput, SchemaSource } from "../schema/infer.ts";
import { createTool, type ToolConfig, type ToolOf } from "./create-tool.ts";
import { textOf } from "./content.ts";
import { failureOf, failureText, toFailure, toolError } from "./error.ts";
import type { ToolOutput, ToolResult } from "./result.ts";
import type { ToolContext } from "./tool.ts";

/** One step of a chain: a tool, and how its input is made. Default input: the details of the previous step. */
export interface ChainStep<ChainInput = unknown> {
  /** The name of the tool. */
  tool: string;
  // A method: its parameter is bivariant, and one function can run steps of chains with other inputs.
  /** Its input, made from the results so far. */
  input?(previous: ToolResult | undefined, chainInput: ChainInput, results: readonly ToolResult[]): unknown;
}

type ChainConfig<P extends SchemaSource> = Omit<ToolConfig<P, SchemaSource, unknown>, "run" | "execute"> & {
  steps: readonly ChainStep<InferOutput<P>>[];
};

/**
 * A chain of tools is itself a tool. Each step goes through the gate as a nested call; the first that does not complete
 * ends the chain, and the result names the step. Repeated under the same call id, it continues there.
 */
export function createChain<const P extends SchemaSource>({
  steps,
  ...config
}: ChainConfig<P>): ToolOf<P, SchemaSource, Promise<ToolOutput>> {
  if (steps.length === 0) throw new TypeError(`Chain "${config.name}" needs at least one step.`);
  // The chain itself only makes calls, and each of them is judged.
  const isSilent = config.permission === undefined && config.needsApproval === undefined;
  return createTool({
    ...config,
    needsApproval: isSilent ? false : config.needsApproval,
    run: (input: unknown, context: ToolContext) => runSteps(steps, input, context),
  } as ToolConfig<P, SchemaSource, Promise<ToolOutput>>);
}

async function runSteps(steps: readonly ChainStep[], input: unknown, context: ToolContext): Promise<ToolOutput> {
  const results: ToolResult[] = [];
  for (const [index, step] of steps.entries()) {
    const result = await context.call(step.tool, inputOf(step, `${index + 1} of ${steps.length}`, input, results));
    results.push(result);
    if (result.status !== "completed") return stopped(steps, index, result);
    context.update({ progress: { done: index + 1, total: steps.length, message: step.tool } });
  }
  const last = results.at(-1)!;
  return { content: last.content, details: last.details, display: last.display, metadata: { steps: steps.length } };
}

function inputOf(step: ChainStep, location: string, chainInput: unknown, results: readonly ToolResult[]): unknown {
  const previous = results.at(-1);
  if (!step.input) return previous ? previous.details : chainInput;
  try {
    return step.input(previous, chainInput, results);
  } catch (cause) {
    throw toolError(
      "failed",
      `The input of step ${location} (${step.tool}) could not be made: ${toFailure(cause).message}`,
      {
        cause,
      },
    );
  }
}

function stopped(steps: readonly ChainStep[], index: number, result: ToolResult): ToolOutput {
  const where = `Step ${index + 1} of ${steps.length} (${steps[index]!.tool})`;
  const metadata = { stoppedAt: index + 1, steps: steps.length };
  if (result.status === "pending") {
    const content = `${where} is pending: ${textOf(result.content)} Make the same call again afterwards to continue from there.`;
    return { content, pending: result.pending, metadata };
  }
  if (result.status === "completed") throw new Error("A completed step does not stop a chain.");
  const { code, message, next } = result.error;
  const data = { step: index + 1, tool: steps[index]!.tool };
  const error = failureOf(code, `${where} failed: ${message}`, { next, data });
  return { content: failureText(error), details: result.details, error, metadata };
}
