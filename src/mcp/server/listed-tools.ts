import { createHash } from "node:crypto";
import type { Tool as ToolDefinition } from "@modelcontextprotocol/server";
import { attempt } from "../../core/error.ts";
import type { Caller, CallOptions, ToolScope } from "../../core/call.ts";
import { declarationOf, descriptionText } from "../../core/definition.ts";
import type { ToolResult } from "../../core/result.ts";
import type { AnyTool } from "../../core/tool.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import { COMMON_RULES, toPortableSchema } from "../../schema/portable-schema.ts";
import { runtimeGateOf } from "../../core/gate.ts";
import type { McpResourceSource, McpRuntime, McpServerOptions } from "./server-options.ts";

/** The limit of the gate plus the note about truncation. */
const DEFAULT_RESULT_CHARACTERS = 60_000;

type DescribeOptions = Pick<McpServerOptions, "dialect" | "portable" | "hints">;

/** Parameters that built-in tools accept and that models hardly need: they are not listed. */
const UNLISTED: Readonly<Record<string, readonly string[]>> = {
  ask_user: ["header", "free_text"],
  edit: ["reason"],
  exec: ["requires_approval"],
  grep: ["before", "after", "case_sensitive", "line_numbers", "max_per_file"],
  list_files: ["ignore", "respect_gitignore"],
  process: ["bracketed", "column"],
  read: ["encoding"],
  read_many: ["respect_gitignore"],
  write: ["encoding"],
};

/** Their schemas say what an example would show. */
const WITHOUT_EXAMPLES: ReadonlySet<string> = new Set(
  "delete_file exec get_file_info glob list_files move_file process read read_many write".split(" "),
);

/** The definition of a tool for clients. */
function describeTool(tool: AnyTool, options: DescribeOptions): ToolDefinition {
  const { portable = (schema) => toPortableSchema(schema, COMMON_RULES).schema } = options;
  const { name, description, parameters } = declarationOf(tool, options.dialect);
  const isOurs = tool.origin.type === "builtin";
  return {
    name: toPortableName(name),
    title: tool.title,
    // Examples come last.
    description:
      isOurs && WITHOUT_EXAMPLES.has(tool.name) ? description.replace(/\n\nExamples:\n[^]*$/, "") : description,
    inputSchema: portable(
      isOurs ? shortened(parameters, UNLISTED[tool.name]) : parameters,
    ) as ToolDefinition["inputSchema"],
    outputSchema: tool.output ? withoutDialect(tool.output.jsonSchema) : undefined,
    annotations: {
      title: tool.title,
      readOnlyHint: tool.isReadOnly,
      // The same as the default, but some clients show only explicit hints.
      destructiveHint: !tool.isReadOnly,
      idempotentHint: tool.isReadOnly || tool.idempotent,
      openWorldHint: isOpenWorld(tool),
    },
    _meta: {
      // Prevents Claude Code from truncating what the gate has already bounded.
      "anthropic/maxResultSizeChars": tool.limits.maxResultBytes ?? DEFAULT_RESULT_CHARACTERS,
      ...options.hints?.(tool),
    },
  };
}

/** Without what tells a model nothing, such as limits that nobody reaches. The tool's own schema checks the input. */
function shortened(schema: JsonSchema, unlisted: readonly string[] = []): JsonSchema {
  const parts = Object.entries(schema).flatMap(([key, value]) => {
    if (key === "properties" && isObject(value)) {
      const listed = Object.entries(value).filter(([name]) => !unlisted.includes(name));
      return [[key, Object.fromEntries(listed.map(([name, each]) => [name, inner(each)]))]];
    }
    if (key === "items" || key === "additionalProperties") return [[key, inner(value)]];
    return saysNothing(key, value) ? [] : [[key, value]];
  });
  return Object.fromEntries(parts) as JsonSchema;

  function inner(value: unknown): unknown {
    return isObject(value) ? shortened(value, unlisted) : value;
  }
}

const FAR = 100_000;

function saysNothing(key: string, value: unknown): boolean {
  if (key === "minLength" || key === "minimum" || key === "minItems") return Number(value) <= 1;
  if (key === "maximum" || key === "maxLength") return Number(value) >= FAR;
  return key === "default" && value === false;
}

/** Commands can reach anything. For other tools the labels decide. */
function isOpenWorld({ kind, labels, origin }: AnyTool): boolean {
  const isLabelled = labels.includes("untrusted_input") || labels.includes("outside_effect");
  return kind === "execute" || isLabelled || origin.type === "mcp";
}

/**
 * These clients show their model the structured content instead of the text. Built-in tools write the text for models: without it
 * there are no line numbers, no limits and no images.
 */
const SHOWS_ONLY_DATA = /^(?:claude.?code|codex|opencode|cursor)/i;

/** These clients do not read annotations. The others ask, or run calls at the same time, by them. */
const IGNORES_ANNOTATIONS = /^(?:opencode|cline|roo)/i;

/** The schema of the structured content that this client gets from a tool, if it gets any. */
export function outputSchemaFor(tool: AnyTool | undefined, clientName: string): JsonSchema | undefined {
  return tool?.origin.type === "builtin" && SHOWS_ONLY_DATA.test(clientName) ? undefined : tool?.output?.jsonSchema;
}

/** Older clients reject schemas with an unknown `$schema`. */
function withoutDialect({ $schema: _, ...schema }: JsonSchema): ToolDefinition["outputSchema"] {
  return schema as ToolDefinition["outputSchema"];
}

/** Cursor drops tools if server and tool name together exceed 60 characters. Model APIs accept only these characters. */
const PORTABLE_NAME = /^[A-Za-z0-9_-]{1,40}$/;
const MAX_PREFIX_LENGTH = 31;

/** The name of a tool for clients: its own name if every client accepts it. */
function toPortableName(name: string): string {
  if (PORTABLE_NAME.test(name)) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_PREFIX_LENGTH)}_${hash}`;
}

/** Whether `toPortableName` may have created the name. */
function mayBeShortened(name: string): boolean {
  return /_[0-9a-f]{8}$/.test(name) && PORTABLE_NAME.test(name);
}

/** The tools that clients of this server can see and call. */
export class ServedTools {
  readonly #runtime: McpRuntime;
  readonly #options: McpServerOptions;
  readonly #scope: ToolScope | undefined;
  /** Cached, because converting schemas is expensive. */
  readonly #definitions = new WeakMap<AnyTool, ToolDefinition>();

  constructor(runtime: McpRuntime, options: McpServerOptions) {
    this.#runtime = runtime;
    this.#options = options;
    const { shows } = options;
    this.#scope = shows && {
      get: (name) => {
        const tool = runtime.tools.registry.get(name);
        return tool && shows(tool) ? tool : undefined;
      },
      names: () => this.#tools().map(({ name }) => name),
      refusal: (name) => `Tool "${name}" not found`,
    };
  }

  /** The tools that one session lists: all, or a part if there are too many. */
  async listFor(caller: Pick<Caller, "session" | "user">, clientName: string): Promise<ToolDefinition[]> {
    if (this.#options.defers) await this.#runtime.tools.readUse?.(caller);
    const all = this.#tools();
    const tools = this.#options.defers
      ? this.#runtime.tools.shown({ among: all, caller }).tools
      : all.toSorted((a, b) => byName(this.#definitionOf(a), this.#definitionOf(b)));
    return tools.map((tool) => {
      const { outputSchema, annotations, ...definition } = this.#definitionOf(tool);
      return {
        ...definition,
        outputSchema: outputSchemaFor(tool, clientName) && outputSchema,
        annotations: IGNORES_ANNOTATIONS.test(clientName) ? undefined : annotations,
      };
    });
  }

  /** Always in the same order, so clients can cache them. */
  definitions(): ToolDefinition[] {
    return this.#tools()
      .map((tool) => this.#definitionOf(tool))
      .sort(byName);
  }

  find(shownName: string): AnyTool | undefined {
    const tool = (this.#scope ?? this.#runtime.tools.registry).get(this.nameOf(shownName));
    return tool && this.#tools().includes(tool) ? tool : undefined;
  }

  call(shownName: string, input: unknown, options: CallOptions): Promise<ToolResult> {
    const name = this.nameOf(shownName);
    if (this.#scope) return runtimeGateOf(this.#runtime).execute(name, input, options, { scope: this.#scope });
    return this.#runtime.execute(name, input, options);
  }

  /** The name in the registry for a name that a client was given. */
  nameOf(shownName: string): string {
    if (!mayBeShortened(shownName) || this.#runtime.tools.registry.get(shownName)) return shownName;
    const { dialect } = this.#options;
    const tool = this.#tools().find((each) => toPortableName(declarationOf(each, dialect).name) === shownName);
    return tool?.name ?? shownName;
  }

  #tools(): AnyTool[] {
    const { shows, call } = this.#options;
    // Client tools of a user are not for other users, and all clients share this list.
    const tools = this.#runtime.tools
      .list({ mode: call?.mode })
      .filter(({ origin }) => origin.type !== "client" || origin.user === undefined);
    return shows ? tools.filter((tool) => shows(tool)) : tools;
  }

  #definitionOf(tool: AnyTool): ToolDefinition {
    let definition = this.#definitions.get(tool);
    if (!definition) this.#definitions.set(tool, (definition = describeTool(tool, this.#options)));
    return definition;
  }
}

function byName(a: ToolDefinition, b: ToolDefinition): number {
  return a.name < b.name ? -1 : 1;
}

const INDEX = "haft://tools";
const TEMPLATE = `${INDEX}/{name}`;

/** The documentation of the served tools: an index page, and one page per tool. */
export function createToolPages(tools: ServedTools): McpResourceSource {
  return {
    list: () => [
      {
        uri: INDEX,
        name: "tools",
        title: "Tools of this server",
        description: "Every tool with one line about it",
        mimeType: "text/markdown",
      },
    ],
    templates: [
      {
        uriTemplate: TEMPLATE,
        name: "tool",
        title: "Documentation of a tool",
        description: "What a tool does, its input and output, and whether it changes things",
        mimeType: "text/markdown",
      },
    ],
    read(uri) {
      if (uri === INDEX) return { mimeType: "text/markdown", text: indexPage(tools) };
      if (!uri.startsWith(`${INDEX}/`)) return undefined;
      const tool = tools.find(decode(uri.slice(INDEX.length + 1)));
      return tool && { mimeType: "text/markdown", text: toolPage(tool) };
    },
    valuesOf: (template, argument) =>
      template === TEMPLATE && argument === "name" ? tools.definitions().map(({ name }) => name) : undefined,
  };
}

function indexPage(tools: ServedTools): string {
  const lines = tools.definitions().map(({ name }) => `- \`${name}\`: ${tools.find(name)?.description.short ?? ""}`);
  return ["# Tools", "", ...lines, ""].join("\n");
}

const KINDS: Record<AnyTool["kind"], string> = {
  readonly: "It only reads.",
  write: "It changes things.",
  execute: "It runs programs, which may do anything.",
};

function toolPage(tool: AnyTool): string {
  const schema = (title: string, json: unknown): string =>
    `## ${title}\n\n\`\`\`json\n${JSON.stringify(json, undefined, 2)}\n\`\`\``;
  const parts = [
    `# ${tool.title} (\`${tool.name}\`)`,
    descriptionText(tool.description),
    `${KINDS[tool.kind]} Category: ${tool.category}. Version: ${tool.version}.`,
    ...(tool.aliases.length > 0 ? [`Also called: ${tool.aliases.map((alias) => `\`${alias}\``).join(", ")}.`] : []),
    schema("Input", tool.parameters.jsonSchema),
    ...(tool.output ? [schema("Output", tool.output.jsonSchema)] : []),
  ];
  return `${parts.join("\n\n")}\n`;
}

function decode(text: string): string {
  return attempt(() => decodeURIComponent(text), text);
}
