import { toolError, type ToolError } from "../core/error.ts";
import type { BoundBatchCall } from "../core/gate.ts";
import type { ToolResult } from "../core/result.ts";
import type { AnyTool } from "../core/tool.ts";

export interface BatchHost {
  toolOf(name: string): AnyTool | undefined;
  /** If `refusal` is given, the call is answered with it and recorded, but does not run. */
  execute(call: BoundBatchCall, refusal?: ToolError): Promise<ToolResult>;
}

/** Runs a batch: a call waits for the calls that its tool depends on, the rest run at once. Results are in call order. */
export function orderBatch(calls: readonly BoundBatchCall[], host: BatchHost): Promise<ToolResult[]> {
  const tools = calls.map((call) => host.toolOf(call.name));
  if (!tools.some((tool) => tool && tool.dependsOn.length > 0)) {
    return Promise.all(calls.map((call) => host.execute(call)));
  }
  const names = calls.map((call, index) => tools[index]?.name ?? call.name);
  const positionsOf = new Map<string, number[]>();
  for (const [index, name] of names.entries()) {
    const positions = positionsOf.get(name);
    if (positions) positions.push(index);
    else positionsOf.set(name, [index]);
  }
  const dependencies = tools.map((tool) => {
    const wanted = new Set(tool?.dependsOn.map((name) => host.toolOf(name)?.name ?? name));
    return Array.from(wanted).flatMap((name) => positionsOf.get(name) ?? []);
  });
  const inCycle = findCycles(dependencies);
  const running: Promise<ToolResult>[] = [];
  const start = (index: number): Promise<ToolResult> => (running[index] ??= run(index));
  const run = async (index: number): Promise<ToolResult> => {
    const call = calls[index]!;
    if (inCycle.has(index)) return host.execute(call, cyclic(names[index]!));
    const before = await Promise.all(dependencies[index]!.map(start));
    const broken = before.find(({ status }) => status !== "completed");
    return host.execute(call, broken ? dependencyFailed(broken) : undefined);
  };
  return Promise.all(calls.map((_, index) => start(index)));
}

/** Calls whose dependencies form a cycle. */
function findCycles(dependencies: readonly (readonly number[])[]): Set<number> {
  const cyclic = new Set<number>();
  dependencies.forEach((_, origin) => {
    const seen = new Set<number>();
    const open = [...dependencies[origin]!];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next === origin) {
        cyclic.add(origin);
        break;
      }
      if (!seen.has(next)) {
        seen.add(next);
        open.push(...dependencies[next]!);
      }
    }
  });
  return cyclic;
}

function cyclic(name: string): ToolError {
  return toolError("dependency_failed", `Tool "${name}" depends on itself through other calls of this batch`, {
    next: "Call these tools one after the other instead.",
  });
}

function dependencyFailed(broken: ToolResult): ToolError {
  return toolError(
    "dependency_failed",
    `Not run, because "${broken.toolName}" (call ${broken.callId}) did not succeed`,
    {
      next: "Correct that call, then repeat this one.",
      data: { callId: broken.callId, toolName: broken.toolName, status: broken.status },
    },
  );
}
