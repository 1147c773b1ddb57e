import type { McpServerOptions } from "./mcp-server-options.ts";

/** Clients give it to their model with every request, and some cut it: what a model cannot see from the tools. */
export function writeInstructions({ instructions, defers }: McpServerOptions): string {
  return [
    ...(instructions === undefined ? [] : [instructions.trim()]),
    "Calls pass Haft's gate: policy may refuse one, and a person may be asked first. A refusal is final; do not try it another way.",
    "A call that is pending has not run: make exactly the same call again once it was allowed.",
    ...(defers ? ["Not every tool is listed: where tool_search is, it finds the others, which are listed then."] : []),
    "Long output is cut in the middle; the result links to the whole (haft://output/…). haft://tools documents the tools.",
  ].join("\n");
}
