import { descriptionText } from "../../core/description.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { McpResourceSource } from "./mcp-resource.ts";
import type { McpToolCatalog } from "./tool-shelf.ts";

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
