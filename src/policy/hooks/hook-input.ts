import { type Call, toolOf } from "../../core/call.ts";
import { textOf } from "../../core/content.ts";
import type { ToolResult } from "../../core/result.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { HookEvent } from "./hook-settings.ts";
import { claudeNameOf } from "./match-hook.ts";

/** What a hook reads, in the words of Claude Code. */
export interface HookInput {
  session_id: string;
  /** Empty: conversations are not kept in files here. */
  transcript_path: string;
  cwd: string;
  permission_mode: string;
  hook_event_name: HookEvent;
  tool_name: string;
  tool_input: Record<string, unknown>;
  tool_use_id: string;
  tool_response?: Record<string, unknown>;
}

export function hookInputOf(call: Call, event: HookEvent, cwd: string, result?: ToolResult): HookInput {
  const tool = toolOf(call);
  return {
    session_id: call.caller.session ?? "",
    transcript_path: "",
    cwd,
    permission_mode: call.options.mode ?? "default",
    hook_event_name: event,
    tool_name: claudeNameOf(tool),
    tool_input: inClaudeWords(tool, call.accepted),
    tool_use_id: call.id,
    ...(result ? { tool_response: responseOf(result) } : {}),
  };
}

function inClaudeWords(tool: AnyTool, accepted: unknown): Record<string, unknown> {
  const names = tool.dialects["claude"]?.parameters ?? {};
  const entries = Object.entries((accepted ?? {}) as Record<string, unknown>);
  return Object.fromEntries(entries.map(([name, value]) => [Object.hasOwn(names, name) ? names[name]! : name, value]));
}

/** What the tool gives to programs (`stdout`, `exitCode`, …), whether it worked, and what the model would read. */
function responseOf(result: ToolResult): Record<string, unknown> {
  const { details } = result;
  const isObject = typeof details === "object" && details !== null && !Array.isArray(details);
  return {
    ...(isObject ? details : details === undefined ? {} : { details }),
    success: result.success,
    content: textOf(result.content),
    ...(result.status === "failed" ? { error: result.error.message } : {}),
  };
}
