import { z } from "zod";
import { AUTHORITIES, FIELD_TRUSTS, PROVENANCE_MODES } from "../core/call-summary.ts";

// The one definition of a configuration. Validation, the types and the published JSON Schema come from it.

const texts = z.array(z.string());
const milliseconds = z.number().int().min(1).max(2_147_483_647);
const count = z.number().int().min(1);
const named = <T extends z.ZodType>(value: T) => z.record(z.string().min(1), value);

const policyKeys = {
  profile: z.string().optional().describe("minimal, coding, messaging, full, or one of `profiles`"),
  allow: texts.optional().describe("Tools, group:… and * patterns; no other tool exists"),
  alsoAllow: texts.optional().describe("Added to what the profile allows"),
  deny: texts.optional().describe("Tools that do not exist here; overrides every allow"),
};
const policy = z.strictObject(policyKeys);

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
  apiKey: z.string().optional().describe("Best as a variable, ${NAME}"),
  endpoint: z.string().optional().describe("The address of your own searxng, or another address of a provider"),
  engineId: z.string().optional().describe("For google: the id of the search engine"),
};
const webSearch = z.strictObject({
  provider: providerName.optional().describe("The search provider"),
  ...searchProvider,
  maxResults: count.optional(),
  fallbacks: z
    .array(z.strictObject({ provider: providerName, ...searchProvider }))
    .optional()
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
  port: z.number().int().min(1).max(65_535).optional(),
  secure: z.boolean().optional().describe("TLS from the first byte (port 465)"),
  allowInsecure: z.boolean().optional().describe("Send mail and password to the mail server without encryption"),
  user: z.string().optional(),
  password: z.string().optional().describe("Best as a variable, ${NAME}"),
  from: z.string().optional().describe("The sender's address"),
  options: z.record(z.string(), z.unknown()).optional().describe("For channel types that your own program adds"),
});

const network = z.strictObject({
  exceptions: texts.optional().describe("Private hosts, addresses and ranges that web tools may reach"),
  hosts: texts.optional().describe("The only hosts that web tools may reach"),
  proxyResolvesNames: z
    .boolean()
    .optional()
    .describe("Let the proxy of the environment resolve names. It is then trusted"),
});

const browser = z.strictObject({
  enabled: z.boolean().optional().describe("Whether there is a browser tool. Default: true"),
  executable: z.string().min(1).optional().describe("Absolute path of the Chromium to use. Default: the installed one"),
  confined: z
    .boolean()
    .optional()
    .describe("Whether the browser confines its own processes. Default: true, except for root"),
  downloads: z.string().min(1).optional().describe("The folder of the workspace for downloads. Default: downloads"),
});

const sandbox = z.strictObject({
  tools: policy.optional(),
  mode: z
    .enum(["auto", "required", "off"])
    .optional()
    .describe("auto: commands are confined if this machine can do it; required: no command runs if it cannot"),
  autoAllow: z.boolean().optional().describe("Commands that stay in the sandbox run without asking"),
  allowedHosts: texts.optional().describe("Hosts that confined commands may reach, such as registry.example.com"),
  memoryMb: count.optional().describe("Per process, and without approval in all. Default: 4096"),
  processes: count.optional().describe("At the same time. Default: 512"),
  previewMs: z
    .number()
    .int()
    .min(0)
    .max(25_000)
    .optional()
    .describe(
      "How long a command may run before its approval, in a copy, to show its effects. 0: never. Default: 10000",
    ),
});

const tools = z.strictObject({
  timeout: milliseconds.optional().describe("How long a call may run, in milliseconds"),
  maxConcurrent: count.optional().describe("How many calls run at the same time"),
  allowedPaths: texts.optional().describe("Same as workspace.allowedPaths"),
  webSearch: webSearch.optional().describe("How web_search searches"),
  mcpServers: mcpServers.optional(),
  ...policyKeys,
  byProvider: named(policy).optional().describe("For a provider, or provider/model"),
});

const mode = z.enum(["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]);

const permissions = z.strictObject({
  allow: texts.optional().describe("Rules such as Bash(git diff:*): these calls run without asking"),
  ask: texts.optional(),
  deny: texts.optional().describe("Overrides every allow, in every mode"),
  limits: z
    .array(
      z.strictObject({
        tools: z.union([z.string(), texts]).optional().describe("Names, groups, kinds and patterns, as in deny"),
        models: z
          .union([z.string(), texts])
          .optional()
          .describe("Instead of tools: requests of agents to models, such as anthropic/* or *"),
        calls: count.optional().describe("The most calls"),
        sum: z
          .record(z.string(), z.number().positive())
          .optional()
          .describe("By unit, the most of what tools name as their amount; of models tokens and USD"),
        per: z.enum(["minute", "hour", "day"]).optional().describe("In any minute, hour or day. Default: ever"),
        each: z.enum(["user", "session", "agent"]).optional().describe("Whom it counts apart. Default: all together"),
        then: z.enum(["ask", "deny", "wait"]).optional().describe("What becomes of a call beyond it. Default: deny"),
      }),
    )
    .optional()
    .describe("How many calls, and how much, there may be. The limits of all files hold"),
  defaultMode: mode.optional(),
  defaultPermission: z
    .enum(["auto", "confirm"])
    .optional()
    .describe(
      "auto: tools of your own and of plugins that do not say what they do run without asking. Default: confirm",
    ),
  disableBypassPermissionsMode: z.literal("disable").optional(),
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
    .optional()
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
    memoryMb: z.number().int().min(16).optional().describe("Max heap of its own process, in megabytes. Default: 512"),
  }),
]);

const workspace = z.strictObject({
  allowedPaths: texts.optional().describe("What may be read and written. Default: the workspace"),
  readOnlyPaths: texts.optional(),
  denyGlobs: texts.optional().describe("Neither read nor written, in addition to the default rules"),
  permitGlobs: texts.optional().describe("Exceptions from all deny rules"),
  unrestricted: z.boolean().optional().describe("Allow the whole file system; deny rules still apply"),
  requireReadBeforeEdit: z.boolean().optional(),
  maxReadBytes: count.optional(),
  diagnostics: z
    .boolean()
    .optional()
    .describe("Whether language servers report the errors of a file after an edit. Default: true"),
  folderInstructions: z
    .boolean()
    .optional()
    .describe("Whether AGENTS.md of a folder is given with the first read of a file below it. Default: true"),
});

const languageServer = z.strictObject({
  command: z.string().min(1).describe("Speaks the Language Server Protocol on its standard input and output"),
  args: texts.optional(),
  extensions: texts.describe("The files that it checks, such as .py"),
});

const limits = z.strictObject({
  networkTimeout: milliseconds.optional().describe("As tools.timeout, for tools that use the network"),
  maxTimeout: milliseconds.optional().describe("The upper limit for tools and callers"),
  grace: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe("How long the result of a stopped tool is waited for, if it may have had an effect. Default: 2000"),
  maxConcurrentByKind: z
    .strictObject({ readonly: count.optional(), write: count.optional(), execute: count.optional() })
    .optional(),
  maxWaiting: z.number().int().min(0).optional().describe("How many calls may wait to start"),
  maxWait: milliseconds.optional().describe("How long a call may wait to start"),
  maxResultBytes: count.optional(),
  maxResultTokens: count.optional().describe("Max tokens of one result"),
  response: z
    .enum(["concise", "detailed"])
    .optional()
    .describe("How detailed the results of tools are that offer both"),
});

const mcp = z.strictObject({
  profile: z.string().optional().describe("The profile whose tools MCP clients get"),
  tools: texts
    .optional()
    .describe(
      "The tools, group:… and * patterns that MCP clients get. Default: group:fs, exec, process, and the tools that are not built in",
    ),
});

const toolSearch = z.strictObject({
  enabled: z
    .boolean()
    .optional()
    .describe("Whether a model searches for tools if there are too many to show. Default: true"),
  budget: count.optional().describe("Max tokens of the tool definitions for a model. Default: 20000"),
  core: texts.optional().describe("Tools, group:… and * patterns that are always shown, up to half of the budget"),
  mcp: z.boolean().optional().describe("Whether the same limit applies to clients of the MCP server"),
  learnFrom: z
    .enum(["searches", "messages", "nothing"])
    .optional()
    .describe(
      "What ranks a tool higher for the same user after a successful call: the search that found it, also the user's message (its text is stored, with secrets masked), or nothing. Default: messages; searches if the store is PostgreSQL",
    ),
});

const server = z.strictObject({
  host: z.string().min(1).optional(),
  port: z.number().int().min(0).max(65_535).optional(),
  grace: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe("How long running calls and jobs have when the server ends. Default: 10000"),
  token: z.string().min(1).optional(),
  allowedHosts: texts.optional(),
  allowedOrigins: texts.optional(),
  limits: z
    .strictObject({
      connections: count.optional().describe("Max open connections; requests on further ones get 503. Default: 5000"),
      maxWaitingPerCaller: count
        .optional()
        .describe("Max requests of one token that wait while the server is busy; further ones get 429. Default: 1000"),
      maxWaiting: count.optional().describe("The same for all tokens together. Default: 5000"),
      maxWaitMs: count.optional().describe("How long a request waits before it gets 503 or 429. Default: 10000"),
    })
    .optional(),
});

const agentKeys = {
  model: z.string().min(1).optional().describe("provider/name, such as ollama/qwen3 or anthropic/claude-sonnet-4-5"),
  baseUrl: z.string().min(1).optional().describe("Of a server that speaks the OpenAI chat protocol"),
  apiKey: z.string().optional().describe("Best as a variable, ${NAME}. Default: the variable PROVIDER_API_KEY"),
  format: z
    .string()
    .optional()
    .describe("For a model without function calling: how it writes calls as text, such as xml"),
  dialect: z.string().optional().describe("The tool names for the model: snake, claude, codex, gemini or openclaw"),
  instructions: z.string().optional().describe("The purpose of the agent, at the start of its system prompt"),
  maxOutputTokens: count.optional(),
  temperature: z.number().min(0).max(2).optional(),
  prices: z
    .strictObject({ input: z.number().min(0), output: z.number().min(0) })
    .optional()
    .describe("US dollars per million tokens"),
  limits: z
    .strictObject({ steps: count.optional(), tokens: count.optional(), costUsd: z.number().positive().optional() })
    .optional()
    .describe("What one run may use"),
};
const agent = z.strictObject({
  ...agentKeys,
  projectFile: z
    .boolean()
    .optional()
    .describe("Whether AGENTS.md and CLAUDE.md of the workspace are read. Default: true"),
});
const namedAgent = z.strictObject({
  ...agentKeys,
  tools: policy.optional(),
  description: z.string().optional().describe("What it is good at, for agents that may call it"),
  toolkit: texts.optional().describe("The only tools that it has: names, group:… and * patterns"),
});

const provenance = z.strictObject({
  mode: z
    .enum(PROVENANCE_MODES)
    .optional()
    .describe(
      "After text of others was read. off: only the labels of tools ask. note: the record says what would have asked. ask: values that nobody vouches for ask. strict: you must have named each value yourself. Default: ask",
    ),
  tools: named(
    z.strictObject({
      labels: z
        .array(z.enum(["untrusted_input", "sensitive_data", "outside_effect"]))
        .optional()
        .describe("Added to the tool's own labels"),
      results: named(z.enum(FIELD_TRUSTS))
        .optional()
        .describe(
          "Who makes a field of its results, by name: service, own (the user's data), others. *: all other fields",
        ),
      arguments: named(z.enum(AUTHORITIES)).optional().describe("What an argument decides, by name"),
    }),
  )
    .optional()
    .describe("Tools by name, group or * pattern"),
});

export const configSchema = z.strictObject({
  $schema: z.string().optional(),
  tools: tools.optional(),
  profiles: named(texts).optional().describe("Your own profiles, for tools.profile"),
  agent: agent.optional().describe("The agent of haft run, haft chat and sessions"),
  agents: named(namedAgent).optional().describe("Agents by name: their tools and descriptions"),
  sandbox: sandbox.optional().describe("How commands are confined, and which tools exist for sandboxed callers"),
  subagents: z
    .strictObject({ tools: policy.optional(), byDepth: z.record(z.string().regex(/^[1-9]\d?$/), policy).optional() })
    .optional(),
  permissions: permissions.optional(),
  hooks: z
    .strictObject({
      PreToolUse: hookGroups.optional(),
      PermissionRequest: hookGroups.optional(),
      PostToolUse: hookGroups.optional(),
    })
    .optional(),
  mcpServers: mcpServers.optional(),
  servers: named(mcpServer).optional().describe("MCP servers under the key that VS Code uses"),
  inputs: z
    .array(z.looseObject({ id: z.string() }))
    .optional()
    .describe("The values of ${input:id} in servers"),
  plugins: z.array(plugin).optional(),
  workspace: workspace.optional(),
  languageServers: named(languageServer)
    .optional()
    .describe("Programs that check changed files, besides the TypeScript of the workspace. They run confined"),
  limits: limits.optional(),
  mcp: mcp.optional().describe("What clients of the MCP server get"),
  toolSearch: z
    .union([z.boolean(), toolSearch])
    .optional()
    .describe("How many tool definitions a model gets; it finds the others with tool_search. false: it gets all"),
  network: network.optional().describe("What the web tools may reach. Default: public addresses"),
  browser: browser.optional().describe("The browser tool, which also shows pages that need JavaScript to web_fetch"),
  store: z
    .strictObject({
      url: z.string().min(1).optional(),
      retention: z
        .strictObject({
          auditDays: z.number().int().min(1).optional().describe("How long audit entries are kept. Default: 90"),
          maxMb: z
            .number()
            .int()
            .min(64)
            .optional()
            .describe("If the store is larger, the oldest audit entries are deleted. Default: 2048"),
          sessionDays: z.number().int().min(1).optional().describe("How long unused sessions are kept. Default: 180"),
          outputDays: z
            .number()
            .int()
            .min(1)
            .optional()
            .describe("How long the whole text of a result is kept that was too long. Default: 7"),
          archives: z
            .boolean()
            .optional()
            .describe("Write audit entries to files in the state folder before they are deleted. Default: false"),
        })
        .optional(),
    })
    .optional(),
  jobs: z
    .strictObject({
      redisUrl: z.string().min(1).optional().describe("Where jobs are queued. Default: the database of the store"),
      concurrency: z.number().int().min(1).max(1000).optional().describe("How many jobs one process runs at a time"),
    })
    .optional(),
  server: server.optional(),
  approvals: z
    .strictObject({
      waitMs: z.number().int().min(0).optional().describe("How long a call waits for its answer"),
      expireMs: milliseconds.optional().describe("When an unanswered approval expires"),
      maxOpenPerUser: z.number().int().min(1).optional().describe("Pending approvals of one user. Default: 1000"),
      maxOpenPerSession: z.number().int().min(1).optional().describe("Pending approvals of one session. Default: 200"),
      replayMs: milliseconds
        .optional()
        .describe("How long the result of a call is kept for a caller that repeats its id. Default: 7 days"),
      grants: z
        .strictObject({
          maxMinutes: z
            .number()
            .min(1)
            .optional()
            .describe("How long a grant may last; then each must say it. Default: 30 days"),
          maxUses: z
            .number()
            .int()
            .min(1)
            .optional()
            .describe("How many calls a grant may allow; then each must say it. Default: 10000"),
          maxBudget: z
            .record(z.string(), z.number().positive())
            .optional()
            .describe("By unit, such as EUR: how much a grant may allow, and in no other unit. Default: no cap"),
        })
        .optional()
        .describe("The most that a grant may have. More is refused"),
      webhook: z
        .strictObject({
          url: z.url({ protocol: /^https?$/ }).describe("Gets a POST with JSON when a call waits for a person"),
          headers: z
            .record(z.string(), z.string())
            .optional()
            .describe("Headers of the request, such as authorization"),
          details: z
            .boolean()
            .optional()
            .describe("Send the subject, the reason and the session too. Default: only the tool and the risk"),
        })
        .optional(),
    })
    .optional(),
  provenance: provenance.optional().describe("Which calls ask because nobody vouches for a value, and labels of tools"),
  sessions: z
    .strictObject({
      visibility: z
        .enum(["tree", "all"])
        .optional()
        .describe("tree: a session sees itself and those that it spawned; all: every session of the store"),
      maxDepth: z.number().int().min(0).max(10).optional().describe("How deep sessions may spawn sessions. Default: 3"),
      maxChildren: z
        .number()
        .int()
        .min(0)
        .max(1000)
        .optional()
        .describe("How many children of a session may work at the same time. Default: 8"),
    })
    .optional(),
  artifacts: z
    .strictObject({
      keepOutputs: z
        .boolean()
        .optional()
        .describe("Keep outputs that are too long for a result as artifacts instead of files"),
    })
    .optional(),
  audit: z
    .strictObject({ enabled: z.boolean().optional(), redact: texts.optional().describe("More names of secrets") })
    .optional(),
  message: z
    .strictObject({ channels: named(channel).optional() })
    .optional()
    .describe("The channels of the message tool"),
  import: z
    .strictObject({
      claude: z
        .boolean()
        .optional()
        .describe("Whether .claude/settings.json, .claude/agents and .claude/commands are read. Default: true"),
      codex: z.boolean().optional().describe("Whether .codex/config.toml is read. Default: true"),
      gemini: z.boolean().optional().describe("Whether .gemini/settings.json is read. Default: true"),
      opencode: z.boolean().optional().describe("Whether opencode.json is read. Default: true"),
      mcp: z
        .union([z.boolean(), texts])
        .optional()
        .describe("Files whose MCP servers are used: true, false, or a list. Default: .mcp.json"),
    })
    .optional(),
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
      const { type, description: _description, ...rest } = jsonSchema;
      if (type !== "number" && type !== "integer" && type !== "boolean") return;
      for (const key of Object.keys(rest)) delete (jsonSchema as Record<string, unknown>)[key];
      delete jsonSchema.type;
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
