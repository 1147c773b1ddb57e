import { z } from "zod";
import { Content, Count, Name, page, Text, Time, ToolResult } from "./basics.ts";
import { admin, approve, call, named, namedObject, objects, read } from "./contract.ts";
import { ToolAnnotations } from "./tools.ts";

export const McpServerState = z.enum([
  "connecting",
  "ready",
  "unavailable",
  "needs_sign_in",
  "needs_approval",
  "stopped",
]);
export type McpServerState = z.infer<typeof McpServerState>;

export const McpToolInfo = namedObject("McpToolInfo", {
  /** The server's own name of it. */
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  /** What the server says about it. Believed only if the server is `trusted`. */
  annotations: ToolAnnotations.optional(),
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
  /** Compared with haft.lock of the folder, if that names the server. `missing`: the file does not list the tool. */
  lock: z.enum(["same", "differs", "missing"]).optional(),
  /** Why it is not registered. */
  refused: z.string().optional(),
});
export type McpToolInfo = z.infer<typeof McpToolInfo>;

export const McpServerInfo = namedObject("McpServerInfo", {
  name: z.string(),
  state: McpServerState,
  /** Why it is not ready; while it connects again, the last failure. */
  error: z.string().optional(),
  failedAt: Time.optional(),
  /** The number of the current or next attempt to connect, after a failure. */
  attempt: Count.optional(),
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
});
export type McpServerInfo = z.infer<typeof McpServerInfo>;

/** A message between Haft and a server. */
export const McpProtocolEntry = namedObject("McpProtocolEntry", {
  /** Incremented by one. The server keeps the last 200. */
  number: Count,
  at: Time,
  direction: z.enum(["sent", "received"]),
  kind: z.enum(["request", "response", "error", "notification"]),
  /** Of a response: the method of its request. */
  method: z.string().optional(),
  /** Of a response: since its request. */
  durationMs: z.number().optional(),
  /** JSON without secrets, cut if it is long. */
  text: z.string(),
});
export type McpProtocolEntry = z.infer<typeof McpProtocolEntry>;

const words = z.record(Name, Text);
/** A new server: `command` or `url`. Variables such as `${TOKEN}` are read from the environment when it starts. */
export const McpServerRequest = namedObject("McpServerRequest", {
  command: Text.min(1).optional(),
  args: z.array(Text).max(200).optional(),
  env: words.optional(),
  /** The only hosts that the program may reach. Default: `all`. */
  network: z.union([z.enum(["all", "none"]), z.array(Name).max(100)]).optional(),
  /** False: the program runs with all rights of the user. Default: true. */
  sandbox: z.boolean().optional(),
  url: Text.min(1).optional(),
  type: z.enum(["http", "sse", "ws"]).optional(),
  headers: words.optional(),
});
export type McpServerRequest = z.infer<typeof McpServerRequest>;

/** A server as a person sees it before it is trusted. */
export const McpServerPreview = namedObject("McpServerPreview", {
  name: z.string(),
  transport: z.string(),
  /** The command line or the address, the names of its variables, and what it may do. */
  launch: z.string(),
  /** What could not be converted, and variables that are not set. */
  notes: z.array(z.string()),
  /** What the server of this name is now, if there is one. */
  replaces: z.string().optional(),
  isDisabled: z.boolean(),
});
export type McpServerPreview = z.infer<typeof McpServerPreview>;

/** A server in a configuration file of the folder. It is used after a person has trusted it. */
export const McpServerEntry = namedObject("McpServerEntry", {
  name: z.string(),
  file: z.string(),
  line: Count.optional(),
  /** What would run, with the values of secrets hidden. */
  what: z.string(),
  /** Of what would run. Trust is valid for this digest only. */
  digest: z.string(),
  isTrusted: z.boolean(),
  /** Whether it is in `.mcp.json`, which Haft writes. */
  canRemove: z.boolean(),
});
export type McpServerEntry = z.infer<typeof McpServerEntry>;

export const McpTrustRequest = namedObject("McpTrustRequest", { digest: Name });
export type McpTrustRequest = z.infer<typeof McpTrustRequest>;

/** The configuration of another client: a file of it, or its text. */
export const McpImportRequest = namedObject("McpImportRequest", {
  /** One of `GET /api/mcp-imports`. */
  file: z.string().max(4096).optional(),
  text: z.string().max(1_000_000).optional(),
});
export type McpImportRequest = z.infer<typeof McpImportRequest>;

export const McpImportChoice = named(
  "McpImportChoice",
  McpImportRequest.extend({
    names: z.array(Name).min(1).max(100),
    /** Names of servers in `.mcp.json` that are replaced. Without them, other settings under the same name are a conflict. */
    replace: z.array(Name).max(100).optional(),
    /** New names, by the names in the other client's configuration. */
    rename: z.record(z.string(), Name).optional(),
  }),
);
export type McpImportChoice = z.infer<typeof McpImportChoice>;

/** What becomes of one setting of another program. */
export const ImportedSetting = namedObject("ImportedSetting", {
  file: z.string(),
  line: Count.optional(),
  setting: z.string(),
  outcome: z.enum(["applied", "narrowed", "not_applied"]),
  reason: z.string(),
});

export const McpImportSource = namedObject("McpImportSource", {
  client: z.string(),
  file: z.string().optional(),
  servers: z.array(McpServerPreview),
  notes: z.array(z.string()),
  /** Every setting of the file. */
  imported: z.array(ImportedSetting).optional(),
});
export type McpImportSource = z.infer<typeof McpImportSource>;

export const McpActionRequest = namedObject("McpActionRequest", {
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
});
export type McpActionRequest = z.infer<typeof McpActionRequest>;

/** The address that the browser returned to after `sign_in`. */
export const McpSignInRequest = namedObject("McpSignInRequest", { callback: Text });
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
export const McpResourceList = namedObject("McpResourceList", {
  resources: z.array(McpResourceInfo),
  templates: z.array(McpTemplateInfo),
});
export type McpResourceList = z.infer<typeof McpResourceList>;

export const McpReadRequest = namedObject("McpReadRequest", { uri: z.string().min(1).max(4096) });
export type McpReadRequest = z.infer<typeof McpReadRequest>;

export const McpPromptInfo = namedObject("McpPromptInfo", {
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  arguments: objects({ name: z.string(), description: z.string().optional(), isRequired: z.boolean() }),
});
export type McpPromptInfo = z.infer<typeof McpPromptInfo>;

export const McpPromptRequest = namedObject("McpPromptRequest", {
  name: Name,
  arguments: z.record(z.string(), Text).optional(),
});
export type McpPromptRequest = z.infer<typeof McpPromptRequest>;

/** A prompt with its arguments filled in. The text is the server's and not trusted. */
export const McpPromptText = namedObject("McpPromptText", {
  description: z.string().optional(),
  messages: objects({ role: z.enum(["user", "assistant"]), content: Content }),
});
export type McpPromptText = z.infer<typeof McpPromptText>;

/** `haft.lock`: the definitions of the tools of MCP servers, and what starts the servers. */
export const McpLock = namedObject("McpLock", {
  version: z.literal(1),
  servers: objects({
    name: z.string(),
    /** Without values of variables. */
    launch: z.record(z.string(), z.unknown()),
    tools: objects({
      name: z.string(),
      /** SHA-256 of the canonical JSON of `definition`. */
      hash: z.string(),
      /** With `<date>` for dates and times in its descriptions. */
      definition: z.record(z.string(), z.unknown()),
    }),
  }),
});

export const McpLockNow = namedObject("McpLockNow", {
  lock: McpLock,
  /** Servers of the folder whose tools are not known now. */
  missing: objects({
    name: z.string(),
    state: z.enum([...McpServerState.options, "not_trusted"]),
    error: z.string().optional(),
  }),
});
export type McpLockNow = z.infer<typeof McpLockNow>;

const McpServerPage = page("McpServerPage", McpServerInfo);
const McpEntryPage = page("McpEntryPage", McpServerEntry);

export const mcp = {
  list: read("GET /api/mcp", { summary: "The MCP servers, with their state and tools", output: McpServerPage }),
  act: approve("POST /api/mcp/{server}", {
    summary: "Reconnect a server, start a sign-in, enable or disable a tool, approve a definition or a launch",
    body: McpActionRequest,
    output: McpServerInfo,
  }),
  finishSignIn: approve("POST /api/mcp", {
    summary: "Finish a sign-in with the address that the browser returned to",
    body: McpSignInRequest,
    output: McpServerInfo,
  }),
  protocol: read("GET /api/mcp/{server}/protocol", {
    summary: "The last messages between Haft and a server, oldest first",
    query: z.strictObject({ after: Count.optional().describe("Only messages with a higher number") }),
    output: page("McpProtocolPage", McpProtocolEntry),
  }),
  entries: read("GET /api/mcp-entries", {
    summary: "The servers in the configuration files of the folder, and whether a person has trusted them",
    output: McpEntryPage,
  }),
  preview: admin("POST /api/mcp/{server}/preview", {
    summary: "What a new server would run and may do; nothing is saved",
    body: McpServerRequest,
    output: McpServerPreview,
  }),
  add: admin("POST /api/mcp/{server}/add", {
    summary: "Write a server to .mcp.json, trust it, and connect it",
    body: McpServerRequest,
    output: McpServerInfo,
  }),
  trust: admin("POST /api/mcp/{server}/trust", {
    summary: "Trust a server of a configuration file as it was shown, and connect it",
    body: McpTrustRequest,
    output: McpServerInfo,
  }),
  remove: admin("DELETE /api/mcp/{server}", {
    summary: "Disconnect a server, and remove it from .mcp.json",
    output: McpEntryPage,
  }),
  importSources: admin("GET /api/mcp-imports", {
    summary: "Configuration files of other MCP clients on this machine, with their servers",
    output: page("McpImportSourcePage", McpImportSource),
  }),
  importPreview: admin("POST /api/mcp-imports/preview", {
    summary: "The servers in a configuration of another client; nothing is saved",
    body: McpImportRequest,
    output: McpImportSource,
  }),
  import: admin("POST /api/mcp-imports", {
    summary: "Write servers of another client's configuration to .mcp.json, trust and connect them",
    body: McpImportChoice,
    output: McpServerPage,
  }),
  lock: read("GET /api/mcp-lock", {
    summary: "What haft.lock would have now, for the servers that the files of the folder configure",
    output: McpLockNow,
  }),
  resources: read("GET /api/mcp/{server}/resources", {
    summary: "The resources and resource templates of a server",
    output: McpResourceList,
  }),
  read: call("POST /api/mcp/{server}/read", {
    summary: "Read a resource, as a call of the tool read_mcp_resource",
    body: McpReadRequest,
    output: ToolResult,
  }),
  prompts: read("GET /api/mcp/{server}/prompts", {
    summary: "The prompts of a server",
    output: page("McpPromptPage", McpPromptInfo),
  }),
  prompt: call("POST /api/mcp/{server}/prompt", {
    summary: "One prompt, with its arguments filled in by the server",
    body: McpPromptRequest,
    output: McpPromptText,
  }),
};
