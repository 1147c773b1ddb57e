import { z } from "zod";
import { AUTHORITIES, FIELD_TRUSTS, PROVENANCE_MODES, TAINT_LABELS } from "../core/call-summary.ts";

// The one definition of a configuration. Validation, the types and the published JSON Schema come from it.

/** An object of which every key may be left out. */
const section = <Fields extends z.ZodRawShape>(fields: Fields) => z.strictObject(fields).partial();
const atLeast = (min: number) => z.number().int().min(min);
const int = (min: number, max: number) => atLeast(min).max(max);
const texts = z.array(z.string());
const milliseconds = int(1, 2_147_483_647);
const count = atLeast(1);
const named = <T extends z.ZodType>(value: T) => z.record(z.string().min(1), value);

const policyKeys = {
  profile: z.string().describe("minimal, coding, messaging, full, or one of `profiles`"),
  allow: texts.describe("Tools, group:… and * patterns; no other tool exists"),
  alsoAllow: texts.describe("Added to what the profile allows"),
  deny: texts.describe("Tools that do not exist here; overrides every allow"),
};
const policy = section(policyKeys);

const confinedNetwork = z
  .union([z.enum(["all", "none"]), texts])
  .describe("all, none, or the only hosts that it may reach. Default: all");
const furtherReads = texts.describe("Further files and folders that it may read; ~ is the home folder");
const furtherWrites = texts.describe("Files and folders that it may write");
const isConfined = "False: it runs unconfined, with all rights of the user. Default: true";

/** Entries of other clients are accepted as they are. Their reader reports fields that it does not know. */
const mcpServer = z.looseObject({
  type: z.string().optional().describe("stdio, http, sse or ws; inferred if absent"),
  command: z.string().optional(),
  args: texts.optional(),
  env: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
  cwd: z.string().optional(),
  url: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  headersHelper: z.string().optional().describe("A command that prints headers as JSON"),
  enabled: z.boolean().optional(),
  includeTools: texts.optional(),
  excludeTools: texts.optional(),
  timeout: milliseconds.optional(),
  trust: z.boolean().optional(),
  network: confinedNetwork.optional(),
  read: furtherReads.optional(),
  write: furtherWrites.optional(),
  // Editors have an object of this name, which their reader reports.
  sandbox: z
    .union([z.boolean(), z.looseObject({})])
    .optional()
    .describe(isConfined),
});
const mcpServers = z.union([
  z.array(z.intersection(z.looseObject({ name: z.string().min(1) }), mcpServer)),
  named(mcpServer),
]);

const providerName = z.enum(["tavily", "google", "bing", "duckduckgo", "bocha", "brave", "searxng"]);
const searchProvider = {
  apiKey: z.string().describe("Best as a variable, ${NAME}"),
  endpoint: z.string().describe("The address of your own searxng, or another address of a provider"),
  engineId: z.string().describe("For google: the id of the search engine"),
};
const webSearch = section({
  provider: providerName.describe("The search provider"),
  ...searchProvider,
  maxResults: count,
  fallbacks: z
    .array(section(searchProvider).extend({ provider: providerName }))
    .describe("Tried in this order if the first one fails"),
});

const channel = z.strictObject({
  type: z
    .string()
    .min(1)
    .describe("console, webhook, slack, discord, telegram, email, desktop, or a type that your own program adds"),
  enabled: z.boolean().optional(),
  targets: named(z.string()).optional().describe("The only targets: a name for each, with its address, id or URL"),
  token: z.string().optional().describe("Of a bot; best as a variable, ${NAME}"),
  endpoint: z.string().optional().describe("Another address of the service, such as your own server"),
  headers: z.record(z.string(), z.string()).optional().describe("Headers of each webhook request"),
  host: z.string().optional().describe("Of the mail server"),
  port: int(1, 65_535).optional(),
  secure: z.boolean().optional().describe("TLS from the first byte (port 465)"),
  allowInsecure: z.boolean().optional().describe("Send mail and password to the mail server without encryption"),
  user: z.string().optional(),
  password: z.string().optional().describe("Best as a variable, ${NAME}"),
  from: z.string().optional().describe("The sender's address"),
  options: z.record(z.string(), z.unknown()).optional().describe("For channel types that your own program adds"),
});

const network = section({
  exceptions: texts.describe("Private hosts, addresses and ranges that web tools may reach"),
  hosts: texts.describe("The only hosts that web tools may reach"),
  proxyResolvesNames: z.boolean().describe("Let the proxy of the environment resolve names. It is then trusted"),
});

const browser = section({
  enabled: z.boolean().describe("Whether there is a browser tool. Default: true"),
  executable: z.string().min(1).describe("Absolute path of the Chromium to use. Default: the installed one"),
  confined: z.boolean().describe("Whether the browser confines its own processes. Default: true, except for root"),
  downloads: z.string().min(1).describe("The folder of the workspace for downloads. Default: downloads"),
});

const sandbox = section({
  tools: policy,
  mode: z
    .enum(["auto", "required", "off"])
    .describe("auto: commands are confined if this machine can do it; required: no command runs if it cannot"),
  autoAllow: z.boolean().describe("Commands that stay in the sandbox run without asking"),
  allowedHosts: texts.describe("Hosts that confined commands may reach, such as registry.example.com"),
  memoryMb: count.describe("Per process, and without approval in all. Default: 4096"),
  processes: count.describe("At the same time. Default: 512"),
  previewMs: int(0, 25_000).describe(
    "How long a command may run before its approval, in a copy, to show its effects. 0: never. Default: 10000",
  ),
});

const tools = section({
  timeout: milliseconds.describe("How long a call may run, in milliseconds"),
  maxConcurrent: count.describe("How many calls run at the same time"),
  allowedPaths: texts.describe("Same as workspace.allowedPaths"),
  webSearch: webSearch.describe("How web_search searches"),
  mcpServers: mcpServers,
  ...policyKeys,
  byProvider: named(policy).describe("For a provider, or provider/model"),
});

const mode = z.enum(["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]);

const permissions = section({
  allow: texts.describe("Rules such as Bash(git diff:*): these calls run without asking"),
  ask: texts,
  deny: texts.describe("Overrides every allow, in every mode"),
  limits: z
    .array(
      section({
        tools: z.union([z.string(), texts]).describe("Names, groups, kinds and patterns, as in deny"),
        models: z
          .union([z.string(), texts])
          .describe("Instead of tools: requests of agents to models, such as anthropic/* or *"),
        calls: count.describe("The most calls"),
        sum: z
          .record(z.string(), z.number().positive())
          .describe("By unit, the most of what tools name as their amount; of models tokens and USD"),
        per: z.enum(["minute", "hour", "day"]).describe("In any minute, hour or day. Default: ever"),
        each: z.enum(["user", "session", "agent"]).describe("Whom it counts apart. Default: all together"),
        then: z.enum(["ask", "deny", "wait"]).describe("What becomes of a call beyond it. Default: deny"),
      }),
    )
    .describe("How many calls, and how much, there may be. The limits of all files hold"),
  defaultMode: mode,
  defaultPermission: z
    .enum(["auto", "confirm"])
    .describe(
      "auto: tools of your own and of plugins that do not say what they do run without asking. Default: confirm",
    ),
  disableBypassPermissionsMode: z.literal("disable"),
  tests: z
    .array(
      z.strictObject({
        name: z.string().optional(),
        tool: z.string().min(1),
        input: z.unknown().optional(),
        mode: mode.optional(),
        expect: z.enum(["allow", "ask", "deny"]),
      }),
    )
    .describe("Examples with the expected decision"),
});

const hookKeys = {
  timeout: z.number().positive().optional().describe("In seconds"),
  onFailure: z
    .enum(["block", "ignore"])
    .optional()
    .describe("What happens to the call if the hook is missing or fails"),
  statusMessage: z.string().optional(),
};
const hook = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("command"),
    command: z.string().min(1),
    args: texts.optional(),
    network: confinedNetwork.optional(),
    read: furtherReads.optional(),
    write: furtherWrites.optional(),
    sandbox: z.boolean().optional().describe(isConfined),
    ...hookKeys,
  }),
  z.strictObject({
    type: z.literal("http"),
    url: z.string().min(1),
    headers: z.record(z.string(), z.string()).optional(),
    allowedEnvVars: texts.optional(),
    ...hookKeys,
  }),
]);
const hookGroups = z.array(z.strictObject({ matcher: z.string().optional(), hooks: z.array(hook) }));

const plugin = z.union([
  z.string().min(1),
  z.strictObject({
    from: z.string().min(1).describe("A path, or the name of an installed package"),
    enabled: z.boolean().optional(),
    tools: texts.optional().describe("The tools it may register"),
    inProcess: z
      .boolean()
      .optional()
      .describe("Run its code in the process of Haft, which it can then end or freeze. Default: a process of its own"),
    memoryMb: atLeast(16).optional().describe("Max heap of its own process, in megabytes. Default: 512"),
  }),
]);

const workspace = section({
  allowedPaths: texts.describe("What may be read and written. Default: the workspace"),
  readOnlyPaths: texts,
  denyGlobs: texts.describe("Neither read nor written, in addition to the default rules"),
  permitGlobs: texts.describe("Exceptions from all deny rules"),
  unrestricted: z.boolean().describe("Allow the whole file system; deny rules still apply"),
  requireReadBeforeEdit: z.boolean(),
  maxReadBytes: count,
  diagnostics: z
    .boolean()
    .describe("Whether language servers report the errors of a file after an edit. Default: true"),
  folderInstructions: z
    .boolean()
    .describe("Whether AGENTS.md of a folder is given with the first read of a file below it. Default: true"),
});

const languageServer = z.strictObject({
  command: z.string().min(1).describe("Speaks the Language Server Protocol on its standard input and output"),
  args: texts.optional(),
  extensions: texts.describe("The files that it checks, such as .py"),
});

const limits = section({
  networkTimeout: milliseconds.describe("As tools.timeout, for tools that use the network"),
  maxTimeout: milliseconds.describe("The upper limit for tools and callers"),
  grace: atLeast(0).describe(
    "How long the result of a stopped tool is waited for, if it may have had an effect. Default: 2000",
  ),
  maxConcurrentByKind: section({ readonly: count, write: count, execute: count }),
  maxWaiting: atLeast(0).describe("How many calls may wait to start"),
  maxWait: milliseconds.describe("How long a call may wait to start"),
  maxResultBytes: count,
  maxResultTokens: count.describe("Max tokens of one result"),
  response: z.enum(["concise", "detailed"]).describe("How detailed the results of tools are that offer both"),
});

const mcp = section({
  profile: z.string().describe("The profile whose tools MCP clients get"),
  tools: texts.describe(
    "The tools, group:… and * patterns that MCP clients get. Default: group:fs, exec, process, and the tools that are not built in",
  ),
});

const toolSearch = section({
  enabled: z.boolean().describe("Whether a model searches for tools if there are too many to show. Default: true"),
  budget: count.describe("Max tokens of the tool definitions for a model. Default: 20000"),
  core: texts.describe("Tools, group:… and * patterns that are always shown, up to half of the budget"),
  mcp: z.boolean().describe("Whether the same limit applies to clients of the MCP server"),
  learnFrom: z
    .enum(["searches", "messages", "nothing"])
    .describe(
      "What ranks a tool higher for the same user after a successful call: the search that found it, also the user's message (its text is stored, with secrets masked), or nothing. Default: messages; searches if the store is PostgreSQL",
    ),
});

const server = section({
  host: z.string().min(1),
  port: int(0, 65_535),
  grace: atLeast(0).describe("How long running calls and jobs have when the server ends. Default: 10000"),
  token: z.string().min(1),
  allowedHosts: texts,
  allowedOrigins: texts,
  limits: section({
    connections: count.describe("Max open connections; requests on further ones get 503. Default: 5000"),
    maxWaitingPerCaller: count.describe(
      "Max requests of one token that wait while the server is busy; further ones get 429. Default: 1000",
    ),
    maxWaiting: count.describe("The same for all tokens together. Default: 5000"),
    maxWaitMs: count.describe("How long a request waits before it gets 503 or 429. Default: 10000"),
  }),
});

const agentKeys = {
  model: z.string().min(1).describe("provider/name, such as ollama/qwen3 or anthropic/claude-sonnet-4-5"),
  baseUrl: z.string().min(1).describe("Of a server that speaks the OpenAI chat protocol"),
  apiKey: z.string().describe("Best as a variable, ${NAME}. Default: the variable PROVIDER_API_KEY"),
  format: z.string().describe("For a model without function calling: how it writes calls as text, such as xml"),
  dialect: z.string().describe("The tool names for the model: snake, claude, codex, gemini or openclaw"),
  instructions: z.string().describe("The purpose of the agent, at the start of its system prompt"),
  maxOutputTokens: count,
  temperature: z.number().min(0).max(2),
  prices: z
    .strictObject({ input: z.number().min(0), output: z.number().min(0) })
    .describe("US dollars per million tokens"),
  limits: section({ steps: count, tokens: count, costUsd: z.number().positive() }).describe("What one run may use"),
};
const agent = section({
  ...agentKeys,
  projectFile: z.boolean().describe("Whether AGENTS.md and CLAUDE.md of the workspace are read. Default: true"),
});
const namedAgent = section({
  ...agentKeys,
  tools: policy,
  description: z.string().describe("What it is good at, for agents that may call it"),
  toolkit: texts.describe("The only tools that it has: names, group:… and * patterns"),
});

const provenance = section({
  mode: z
    .enum(PROVENANCE_MODES)
    .describe(
      "After text of others was read. off: only the labels of tools ask. note: the record says what would have asked. ask: values that nobody vouches for ask. strict: you must have named each value yourself. Default: ask",
    ),
  tools: named(
    section({
      labels: z.array(z.enum(TAINT_LABELS)).describe("Added to the tool's own labels"),
      results: named(z.enum(FIELD_TRUSTS)).describe(
        "Who makes a field of its results, by name: service, own (the user's data), others. *: all other fields",
      ),
      arguments: named(z.enum(AUTHORITIES)).describe("What an argument decides, by name"),
    }),
  ).describe("Tools by name, group or * pattern"),
});

export const configSchema = section({
  $schema: z.string(),
  tools: tools,
  profiles: named(texts).describe("Your own profiles, for tools.profile"),
  agent: agent.describe("The agent of haft run, haft chat and sessions"),
  agents: named(namedAgent).describe("Agents by name: their tools and descriptions"),
  sandbox: sandbox.describe("How commands are confined, and which tools exist for sandboxed callers"),
  subagents: section({ tools: policy, byDepth: z.record(z.string().regex(/^[1-9]\d?$/), policy) }),
  permissions: permissions,
  hooks: section({
    PreToolUse: hookGroups,
    PermissionRequest: hookGroups,
    PostToolUse: hookGroups,
  }),
  mcpServers: mcpServers,
  servers: named(mcpServer).describe("MCP servers under the key that VS Code uses"),
  inputs: z.array(z.looseObject({ id: z.string() })).describe("The values of ${input:id} in servers"),
  plugins: z.array(plugin),
  workspace: workspace,
  languageServers: named(languageServer).describe(
    "Programs that check changed files, besides the TypeScript of the workspace. They run confined",
  ),
  limits: limits,
  mcp: mcp.describe("What clients of the MCP server get"),
  toolSearch: z
    .union([z.boolean(), toolSearch])
    .describe("How many tool definitions a model gets; it finds the others with tool_search. false: it gets all"),
  network: network.describe("What the web tools may reach. Default: public addresses"),
  browser: browser.describe("The browser tool, which also shows pages that need JavaScript to web_fetch"),
  store: section({
    url: z.string().min(1),
    retention: section({
      auditDays: atLeast(1).describe("How long audit entries are kept. Default: 90"),
      maxMb: atLeast(64).describe("If the store is larger, the oldest audit entries are deleted. Default: 2048"),
      sessionDays: atLeast(1).describe("How long unused sessions are kept. Default: 180"),
      outputDays: atLeast(1).describe("How long the whole text of a result is kept that was too long. Default: 7"),
      archives: z
        .boolean()
        .describe("Write audit entries to files in the state folder before they are deleted. Default: false"),
    }),
  }),
  jobs: section({
    redisUrl: z.string().min(1).describe("Where jobs are queued. Default: the database of the store"),
    concurrency: int(1, 1000).describe("How many jobs one process runs at a time"),
  }),
  server: server,
  approvals: section({
    waitMs: atLeast(0).describe(
      "How long a call waits for its answer before it returns pending; the question stays open",
    ),
    expireMs: milliseconds.describe("When an unanswered approval expires"),
    maxOpenPerUser: atLeast(1).describe("Pending approvals of one user. Default: 1000"),
    maxOpenPerSession: atLeast(1).describe("Pending approvals of one session. Default: 200"),
    replayMs: milliseconds.describe(
      "How long the result of a call is kept for a caller that repeats its id. Default: 7 days",
    ),
    grants: section({
      maxMinutes: z.number().min(1).describe("How long a grant may last; then each must say it. Default: 30 days"),
      maxUses: atLeast(1).describe("How many calls a grant may allow; then each must say it. Default: 10000"),
      maxBudget: z
        .record(z.string(), z.number().positive())
        .describe("By unit, such as EUR: how much a grant may allow, and in no other unit. Default: no cap"),
    }).describe("The most that a grant may have. More is refused"),
    webhook: z.strictObject({
      url: z.url({ protocol: /^https?$/ }).describe("Gets a POST with JSON when a call waits for a person"),
      headers: z.record(z.string(), z.string()).optional().describe("Headers of the request, such as authorization"),
      details: z
        .boolean()
        .optional()
        .describe("Send the subject, the reason and the session too. Default: only the tool and the risk"),
    }),
  }),
  provenance: provenance.describe("Which calls ask because nobody vouches for a value, and labels of tools"),
  sessions: section({
    visibility: z
      .enum(["tree", "all"])
      .describe("tree: a session sees itself and those that it spawned; all: every session of the store"),
    maxDepth: int(0, 10).describe("How deep sessions may spawn sessions. Default: 3"),
    maxChildren: int(0, 1000).describe("How many children of a session may work at the same time. Default: 8"),
  }),
  artifacts: section({
    keepOutputs: z.boolean().describe("Keep outputs that are too long for a result as artifacts instead of files"),
  }),
  audit: section({ enabled: z.boolean(), redact: texts.describe("More names of secrets") }),
  message: section({ channels: named(channel) }).describe("The channels of the message tool"),
  import: section({
    claude: z
      .boolean()
      .describe("Whether .claude/settings.json, .claude/agents and .claude/commands are read. Default: true"),
    codex: z.boolean().describe("Whether .codex/config.toml is read. Default: true"),
    gemini: z.boolean().describe("Whether .gemini/settings.json is read. Default: true"),
    opencode: z.boolean().describe("Whether opencode.json is read. Default: true"),
    mcp: z
      .union([z.boolean(), texts])
      .describe("Files whose MCP servers are used: true, false, or a list. Default: .mcp.json"),
  }),
});

/** The configuration file as it may be written. */
export type HaftConfig = z.infer<typeof configSchema>;
export type HookSettings = NonNullable<HaftConfig["hooks"]>;
export type PermissionTest = NonNullable<z.infer<typeof permissions>["tests"]>[number];

/** The schema for editors. A variable, such as `${PORT}`, is also accepted for numbers and booleans. */
export function configJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(configSchema, {
    io: "input",
    reused: "ref",
    override({ jsonSchema }) {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      const { type, description: _description, $ref: _shared, ...rest } = jsonSchema;
      if (type !== "number" && type !== "integer" && type !== "boolean") return;
      for (const key of Object.keys(rest)) delete (jsonSchema as Record<string, unknown>)[key];
      delete jsonSchema.type;
      delete jsonSchema.$ref;
      jsonSchema.anyOf = [
        { type, ...rest },
        { type: "string", pattern: String.raw`\$\{[A-Za-z_]\w*(:-[^}]*)?\}` },
      ];
    },
  });
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Configuration of Haft",
    ...schema,
  };
}
