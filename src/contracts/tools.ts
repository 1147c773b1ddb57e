import { z } from "zod";
import { TAINT_LABELS } from "../core/call-summary.ts";
import { JsonObject, page, ToolKind, ToolNumbers, ToolPermission, Verdict } from "./basics.ts";
import { call, namedObject, objects, read } from "./contract.ts";

export const ToolOrigin = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("builtin") }),
  z.strictObject({ type: z.literal("own") }),
  z.strictObject({ type: z.literal("mcp"), server: z.string() }),
  z.strictObject({ type: z.literal("plugin"), plugin: z.string() }),
  z.strictObject({ type: z.literal("client"), client: z.string(), user: z.string().optional() }),
]);

export const ToolDescription = z.strictObject({
  short: z.string(),
  long: z.string().optional(),
  usageNotes: z.array(z.string()).optional(),
  important: z.array(z.string()).optional(),
  examples: objects({ input: z.unknown(), description: z.string().optional() }).optional(),
});

export const TaintLabel = z.enum(TAINT_LABELS);

/** What an MCP server says about a tool. */
export const ToolAnnotations = z.strictObject({
  readOnly: z.boolean().optional(),
  destructive: z.boolean().optional(),
  idempotent: z.boolean().optional(),
  openWorld: z.boolean().optional(),
});
export type ToolAnnotations = z.infer<typeof ToolAnnotations>;

export const ToolInfo = namedObject("ToolInfo", {
  name: z.string(),
  title: z.string(),
  description: ToolDescription,
  /** The texts of a built-in tool in other languages. */
  translations: z.strictObject({ zh: z.strictObject({ title: z.string(), short: z.string() }) }).optional(),
  kind: ToolKind,
  category: z.string(),
  tags: z.array(z.string()),
  aliases: z.array(z.string()),
  version: z.string(),
  mode: z.enum(["inline", "background"]),
  /** The tool's own default. Omitted if it depends on the input. */
  permission: ToolPermission.optional(),
  labels: z.array(TaintLabel),
  /** What its arguments decide, by path: as its schema and the configuration say, else derived from their names. */
  authority: z.record(z.string(), z.string()),
  /** Who makes a field of its results, by path, as far as anybody says. `*`: every other field. */
  trust: z.record(z.string(), z.string()),
  groups: z.array(z.string()),
  origin: ToolOrigin,
  /** Of an MCP tool. `isTrusted`: the policy believes them; otherwise they are only shown. */
  annotations: ToolAnnotations.extend({ isTrusted: z.boolean() }).optional(),
  parameters: JsonObject,
  output: JsonObject.optional(),
  limits: z.strictObject({
    timeoutMs: z.number().optional(),
    maxConcurrent: z.number().optional(),
    maxResultBytes: z.number().optional(),
  }),
  /** What the policy decides before the input is known. */
  verdict: Verdict.optional(),
  statistics: ToolNumbers.optional(),
});
export type ToolInfo = z.infer<typeof ToolInfo>;

export const tools = {
  list: read("GET /api/tools", {
    summary: "The tools that the policy of this server allows",
    query: z.strictObject({
      search: z.string().optional().describe("Best matches first"),
      group: z.string().optional().describe("`group:fs`, a category, or an origin"),
      kind: ToolKind.optional().describe("Only of this kind"),
    }),
    output: page("ToolPage", ToolInfo),
  }),
  forget: call("DELETE /api/tools/learned", {
    summary: "Forget what tool search has learned from your calls",
    query: z.strictObject({ tool: z.string().optional().describe("Only about this tool") }),
    output: z.strictObject({ tools: z.number().int().describe("How many tools it was about") }),
  }),
  get: read("GET /api/tools/{name}", { summary: "One tool, by any of its names", output: ToolInfo }),
};
