import type { SchemaSource } from "../schema/infer.ts";
import { createTool } from "./create-tool.ts";
import type { Update } from "./event.ts";
import type { ToolConfig } from "./tool-config.ts";
import type { AnyTool, ToolContext, ToolOrigin } from "./tool.ts";

/** A tool in the words of seed 003: its code takes the call's id first, then the input, a signal and a listener. */
export interface AgentTool extends Omit<ToolConfig<SchemaSource, SchemaSource, unknown>, "execute" | "run"> {
  name: string;
  execute(toolCallId: string, params: never, signal?: AbortSignal, onUpdate?: (update: Update) => void): unknown;
}

export function fromAgentTool({ execute, ...config }: AgentTool, origin: ToolOrigin = { type: "own" }): AnyTool {
  return createTool({
    ...config,
    origin,
    run: (input: unknown, context: ToolContext) =>
      execute(context.callId, input as never, context.signal, (update) => context.update(update)),
  } as ToolConfig<SchemaSource, SchemaSource, unknown>);
}
