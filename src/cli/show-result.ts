import type { Content } from "../core/content.ts";
import type { ToolResult } from "../core/result.ts";
import { exitCodeOf } from "./exit-code.ts";
import { type Output, safe, safeLine } from "./output.ts";

/** Shows what came of a call, and answers the exit code that says the same. */
export function showResult(result: ToolResult, output: Output, { raw = false } = {}): number {
  if (output.format !== "text") output.data(result, () => []);
  else if (raw) output.raw(result.content.map(rawText).join("\n"));
  else if (result.status !== "pending") output.lines(contentLines(result));
  const { warnings = [], repairs = [], spill } = result.metadata;
  for (const warning of warnings) output.warn(safeLine(warning));
  if (repairs.length > 0) output.info(output.paintStderr("dim", `input mended: ${safeLine(repairs.join("; "))}`));
  if (spill)
    output.info(output.paintStderr("dim", `the whole output, ${spill.bytes} bytes, lies in ${safeLine(spill.ref)}`));
  if (output.format !== "text") return exitCodeOf(result);
  if (result.status === "failed") {
    output.notice(
      `${output.paintStderr("red", `${safeLine(result.toolName)} failed`)} (${result.error.code}): ${safe(result.error.message)}`,
    );
  }
  if (result.status === "pending") showPending(result, output);
  return exitCodeOf(result);
}

function showPending({ pending: { kind, id }, toolName }: ToolResult & { status: "pending" }, output: Output): void {
  const shown = safeLine(id);
  output.notice(
    `${output.paintStderr("yellow", `${safeLine(toolName)} waits`)} for ${kind === "approval" ? "an approval" : `a ${kind}`}: ${shown}`,
  );
  if (kind === "job") {
    output.notice(`  haft jobs show ${shown}   what comes of it`);
    output.notice("  haft worker   runs it, where no server of this folder does");
  }
  if (kind !== "approval") return;
  output.notice(`  haft approvals show ${shown}      what exactly would run`);
  output.notice(`  haft approvals approve ${shown}   yes, and run it`);
  output.notice(`  haft approvals deny ${shown}      no`);
}

function contentLines(result: ToolResult): string[] {
  const shown = result.content.map((block) => safe(textOfBlock(block))).filter((text) => text !== "");
  // A failed tool's message is told on stderr; said twice it would be read twice.
  if (result.status === "failed") return shown.filter((text) => text !== safe(result.error.message));
  return shown;
}

export function textOfBlock(block: Content): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type}, ${block.mimeType}, ${sizeOf(block.data)} bytes; --json has it]`;
    case "resource":
      return block.resource.text ?? `[${block.resource.mimeType ?? "data"} ${block.resource.uri}; --json has it]`;
    case "resource_link":
      return `${block.title ?? block.name}: ${block.uri}`;
  }
}

function rawText(block: Content): string {
  return block.type === "text" ? block.text : "";
}

function sizeOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}
