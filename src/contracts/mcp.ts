import { z } from "zod";
import { Content, Count, Name, page, Text, Time, ToolResult } from "./basics.ts";
import { endpoint, named } from "./contract.ts";

export const McpServerState = z.enum([
  "connecting",
  "ready",
  "unavailable",
  "needs_sign_in",
  "needs_approval",
  "stopped",
]);
export type McpServerState = z.infer<typeof McpServerState>;

export const McpToolInfo = named(
  "McpToolInfo",
  z.strictObject({
    /** The server's own name of it. */
    name: z.string(),
    /** The name in the registry. */
    exposedName: z.string().optional(),
    isAvailable: z.boolean(),
    isEnabled: z.boolean(),
    /** `new`: nobody has reviewed the definition. `changed`: it differs from the approved one. */
    review: z.enum(["approved", "new", "changed"]).optional(),
    /** Of the current definition. An approval is valid for this hash only. */
    hash: z.string().optional(),
    /** From the approved definition to the current one. */
    difference: z.string().optional(),
    /** Why it is not registered. */
    refused: z.string().optional(),
  }),
);
export type McpToolInfo = z.infer<typeof McpToolInfo>;

export const McpServerInfo = named(
  "McpServerInfo",
  z.strictObject({
    name: z.string(),
    state: McpServerState,
    error: z.string().optional(),
    nextTryAt: Time.optional(),
    transport: z.string(),
    /** Whether the transport was detected instead of configured. */
    inferred: z.boolean(),
    era: z.enum(["legacy", "modern"]).optional(),
    protocolVersion: z.string().optional(),
    server: z.strictObject({ name: z.string(), version: z.string() }).optional(),
    instructions: z.string().optional(),
    /** Of the last list of tools. */
    latencyMs: z.number().optional(),
    /** Of the current command line. An approval is valid for this hash only. */
    launchHash: z.string().optional(),
    /** The command line or the address, the names of its variables, and what it may do. */
    launch: z.string().optional(),
    tools: z.array(McpToolInfo),
    stderr: z.array(z.string()),
    /** The last protocol errors without consequences, and their number. */
    faults: z.array(z.string()),
    faultCount: Count,
    log: z.array(z.string()),
    trusted: z.boolean(),
    origin: z.string().optional(),
    /** Where a person signs in. */
    signInPage: z.string().optional(),
  }),
);
export type McpServerInfo = z.infer<typeof McpServerInfo>;

export const McpActionRequest = named(
  "McpActionRequest",
  z.strictObject({
    action: z.enum([
      "reconnect",
      "disconnect",
      "sign_in",
      "approve_launch",
      "approve_tool",
      "enable_tool",
      "disable_tool",
    ]),
    /** The server's own name of the tool, for actions on a tool. */
    tool: Name.optional(),
    /** For an approval: the `hash` of the tool or the `launchHash` of the server that the person saw. */
    hash: Name.optional(),
  }),
);
export type McpActionRequest = z.infer<typeof McpActionRequest>;

/** The address that the browser returned to after `sign_in`. */
export const McpSignInRequest = named("McpSignInRequest", z.strictObject({ callback: Text }));
export type McpSignInRequest = z.infer<typeof McpSignInRequest>;

const described = {
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  mimeType: z.string().optional(),
};
export const McpResourceInfo = z.strictObject({ uri: z.string(), ...described, size: z.number().optional() });
export type McpResourceInfo = z.infer<typeof McpResourceInfo>;
export const McpTemplateInfo = z.strictObject({ uriTemplate: z.string(), ...described });
export type McpTemplateInfo = z.infer<typeof McpTemplateInfo>;
export const McpResourceList = named(
  "McpResourceList",
  z.strictObject({ resources: z.array(McpResourceInfo), templates: z.array(McpTemplateInfo) }),
);
export type McpResourceList = z.infer<typeof McpResourceList>;

export const McpReadRequest = named("McpReadRequest", z.strictObject({ uri: z.string().min(1).max(4096) }));
export type McpReadRequest = z.infer<typeof McpReadRequest>;

export const McpPromptInfo = named(
  "McpPromptInfo",
  z.strictObject({
    name: z.string(),
    title: z.string().optional(),
    description: z.string().optional(),
    arguments: z.array(
      z.strictObject({ name: z.string(), description: z.string().optional(), isRequired: z.boolean() }),
    ),
  }),
);
export type McpPromptInfo = z.infer<typeof McpPromptInfo>;

export const McpPromptRequest = named(
  "McpPromptRequest",
  z.strictObject({ name: Name, arguments: z.record(z.string(), Text).optional() }),
);
export type McpPromptRequest = z.infer<typeof McpPromptRequest>;

/** A prompt with its arguments filled in. The text is the server's and not trusted. */
export const McpPromptText = named(
  "McpPromptText",
  z.strictObject({
    description: z.string().optional(),
    messages: z.array(z.strictObject({ role: z.enum(["user", "assistant"]), content: Content })),
  }),
);
export type McpPromptText = z.infer<typeof McpPromptText>;

export const mcp = {
  list: endpoint("GET /api/mcp", {
    summary: "The MCP servers, with their state and tools",
    scope: "read",
    output: page("McpServerPage", McpServerInfo),
  }),
  act: endpoint("POST /api/mcp/{server}", {
    summary: "Reconnect a server, start a sign-in, enable or disable a tool, approve a definition or a launch",
    scope: "approve",
    body: McpActionRequest,
    output: McpServerInfo,
  }),
  finishSignIn: endpoint("POST /api/mcp", {
    summary: "Finish a sign-in with the address that the browser returned to",
    scope: "approve",
    body: McpSignInRequest,
    output: McpServerInfo,
  }),
  resources: endpoint("GET /api/mcp/{server}/resources", {
    summary: "The resources and resource templates of a server",
    scope: "read",
    output: McpResourceList,
  }),
  read: endpoint("POST /api/mcp/{server}/read", {
    summary: "Read a resource, as a call of the tool read_mcp_resource",
    scope: "call",
    body: McpReadRequest,
    output: ToolResult,
  }),
  prompts: endpoint("GET /api/mcp/{server}/prompts", {
    summary: "The prompts of a server",
    scope: "read",
    output: page("McpPromptPage", McpPromptInfo),
  }),
  prompt: endpoint("POST /api/mcp/{server}/prompt", {
    summary: "One prompt, with its arguments filled in by the server",
    scope: "call",
    body: McpPromptRequest,
    output: McpPromptText,
  }),
};
