import { createHash } from "node:crypto";
import type { Tool as ToolDefinition } from "@modelcontextprotocol/server";
import type { CallOptions, ToolScope } from "../../core/call.ts";
import { declarationOf, descriptionText } from "../../core/definition.ts";
import type { ToolResult } from "../../core/result.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { COMMON_RULES, toPortableSchema } from "../../schema/portable-schema.ts";
import type { McpResourceSource } from "./resources.ts";
import { runtimeGateOf } from "../../core/gate.ts";
import type { McpRuntime, McpServerOptions } from "./server-options.ts";

/** What the gate lets pass at most, and a word about what was cut. */
const DEFAULT_RESULT_CHARACTERS = 60_000;

type DescribeOptions = Pick<McpServerOptions, "dialect" | "portable" | "hints">;

/** A tool as clients are told of it. */
function describeTool(tool: AnyTool, options: DescribeOptions): ToolDefinition {
  const { portable = (schema) => toPortableSchema(schema, COMMON_RULES).schema } = options;
  const { name, description, parameters } = declarationOf(tool, options.dialect);
  return {
    name: toPortableName(name),
    title: tool.title,
    description,
    inputSchema: portable(parameters) as ToolDefinition["inputSchema"],
    outputSchema: tool.output ? withoutDialect(tool.output.jsonSchema) : undefined,
    annotations: {
      title: tool.title,
      readOnlyHint: tool.isReadOnly,
      // Absent would mean the same; a client that shows them need not know that.
      destructiveHint: !tool.isReadOnly,
      idempotentHint: tool.isReadOnly || tool.idempotent,
      openWorldHint: isOpenWorld(tool),
    },
    _meta: {
      // So that Claude Code does not cut again what the gate has bounded.
      "anthropic/maxResultSizeChars": tool.limits.maxResultBytes ?? DEFAULT_RESULT_CHARACTERS,
      ...options.hints?.(tool),
    },
  };
}

/** A command reaches what its program reaches; of the others the labels say it. */
function isOpenWorld({ kind, labels, origin }: AnyTool): boolean {
  const isLabelled = labels.includes("untrusted_input") || labels.includes("outside_effect");
  return kind === "execute" || isLabelled || origin.type === "mcp";
}

/** Older clients know no other dialect than their own, and fail at the name of another. */
function withoutDialect({ $schema: _, ...schema }: JsonSchema): ToolDefinition["outputSchema"] {
  return schema as ToolDefinition["outputSchema"];
}

/** Cursor drops tools whose name is longer than 60 characters together with the server's; model APIs take these characters. */
const PORTABLE = /^[A-Za-z0-9_-]{1,40}$/;
const MAX_KEPT = 31;

/** The name under which clients are told of a tool: its own, where every client can take it. */
export function toPortableName(name: string): string {
  if (PORTABLE.test(name)) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_KEPT)}_${hash}`;
}

/** Whether a name may have been made here of another one. */
export function isMadePortable(name: string): boolean {
  return /_[0-9a-f]{8}$/.test(name) && PORTABLE.test(name);
}

/** The tools that clients of this server are shown, and may call. */
export class McpToolCatalog {
  readonly #runtime: McpRuntime;
  readonly #options: McpServerOptions;
  readonly #scope: ToolScope | undefined;
  /** Of each tool once: schemas are dear to convert, and are the same at every request. */
  readonly #definitions = new WeakMap<AnyTool, ToolDefinition>();

  constructor(runtime: McpRuntime, options: McpServerOptions) {
    this.#runtime = runtime;
    this.#options = options;
    const { shows } = options;
    this.#scope = shows && {
      get: (name) => {
        const tool = runtime.registry.get(name);
        return tool && shows(tool) ? tool : undefined;
      },
      names: () => this.#tools().map(({ name }) => name),
      refusal: (name) => `Tool "${name}" not found`,
    };
  }

  /** What one session lists: all, or where that is too much, a part of it. */
  listFor(session: string): ToolDefinition[] {
    if (!this.#options.defers) return this.definitions();
    const { tools } = this.#runtime.shownTools({ among: this.#tools(), caller: { session } });
    return tools.map((tool) => this.#definitionOf(tool));
  }

  /** In the same order each time, so that clients can keep them. */
  definitions(): ToolDefinition[] {
    return this.#tools()
      .map((tool) => this.#definitionOf(tool))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  find(shownName: string): AnyTool | undefined {
    const tool = (this.#scope ?? this.#runtime.registry).get(this.nameOf(shownName));
    return tool && this.#tools().includes(tool) ? tool : undefined;
  }

  call(shownName: string, input: unknown, options: CallOptions): Promise<ToolResult> {
    const name = this.nameOf(shownName);
    if (this.#scope) return runtimeGateOf(this.#runtime).execute(name, input, options, { scope: this.#scope });
    return this.#runtime.execute(name, input, options);
  }

  /** Under which the gate knows it: names that clients could not take were made portable. */
  nameOf(shownName: string): string {
    if (!isMadePortable(shownName) || this.#runtime.registry.get(shownName)) return shownName;
    const { dialect } = this.#options;
    const tool = this.#tools().find((each) => toPortableName(declarationOf(each, dialect).name) === shownName);
    return tool?.name ?? shownName;
  }

  #tools(): AnyTool[] {
    const { shows, call } = this.#options;
    // What one user's client brings is not for the others, who are shown the same shelf.
    const tools = this.#runtime
      .tools(call?.mode === undefined ? {} : { mode: call.mode })
      .filter(({ origin }) => origin.type !== "client" || origin.user === undefined);
    return shows ? tools.filter((tool) => shows(tool)) : tools;
  }

  #definitionOf(tool: AnyTool): ToolDefinition {
    let definition = this.#definitions.get(tool);
    if (!definition) this.#definitions.set(tool, (definition = describeTool(tool, this.#options)));
    return definition;
  }
}

const INDEX = "haft://tools";
const TEMPLATE = `${INDEX}/{name}`;

/** The documentation of the tools that a client is shown: a page for all, and one for each. */
export function createToolPages(toolCatalog: McpToolCatalog): McpResourceSource {
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
        description: "What a tool does, takes and gives, and whether it changes things",
        mimeType: "text/markdown",
      },
    ],
    read(uri) {
      if (uri === INDEX) return { mimeType: "text/markdown", text: indexPage(toolCatalog) };
      if (!uri.startsWith(`${INDEX}/`)) return undefined;
      const tool = toolCatalog.find(decode(uri.slice(INDEX.length + 1)));
      return tool && { mimeType: "text/markdown", text: toolPage(tool) };
    },
    valuesOf: (template, argument) =>
      template === TEMPLATE && argument === "name" ? toolCatalog.definitions().map(({ name }) => name) : undefined,
  };
}

function indexPage(toolCatalog: McpToolCatalog): string {
  const lines = toolCatalog
    .definitions()
    .map(({ name }) => `- \`${name}\`: ${toolCatalog.find(name)?.description.short ?? ""}`);
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
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
