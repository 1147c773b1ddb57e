import type { CallAuthority } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { declarationOf } from "../../core/definition.ts";
import { firstLine } from "../../core/first-line.ts";
import type { AnyTool } from "../../core/tool.ts";
import { TOOL_SEARCH } from "./defer-tools.ts";
import { compactDeclaration } from "./compact-declaration.ts";

/** The tools that exist for one call: what policy and permission leave its caller, before anything is ranked. */
export interface SearchedTools {
  search(query: string, limit: number): readonly AnyTool[];
  get(name: string): AnyTool | undefined;
  /** Names that a wrong one may have meant. */
  nearest(name: string): readonly string[];
}

export interface ToolSearchDependencies {
  toolsFor(authority: CallAuthority): SearchedTools;
  /** Shows these to the caller's conversation from now on. */
  load(authority: CallAuthority, names: readonly string[]): void;
}

const SELECT = "select:";
const MAX_FOUND = 20;
const USUALLY_FOUND = 5;

/** Finds tools among those that are not shown, and loads them for this conversation. */
export function createToolSearchTool({ toolsFor, load }: ToolSearchDependencies) {
  return createTool({
    name: TOOL_SEARCH,
    title: "Search tools",
    description: {
      short: "Finds tools that you are not shown, and loads them: they can be called from your next step on.",
      long:
        "You see only some of the tools that exist. Search before you say that something cannot be done. Use words for what " +
        "the tool does, to what, and in which service; or `select:name,other_name` where you know the names.",
      examples: [
        { input: { query: "create an issue in the bug tracker" } },
        { input: { query: "select:calendar_list_events,calendar_create_event" }, description: "by name" },
      ],
    },
    // No schema library: the front door of the package imports this.
    parameters: {
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, maxLength: 1000, description: "Words, or select:name,…" },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: MAX_FOUND,
          description: `How many to load at most; ${USUALLY_FOUND} unless said`,
        },
        response: {
          enum: ["concise", "detailed"],
          description: "concise: a line each (unless said); detailed: with their parameters",
        },
      },
      required: ["query"],
      additionalProperties: false,
    } as const,
    kind: "readonly",
    permission: "auto",
    category: ToolCategory.AGENT,
    tags: ["tools", "discovery", "load"],
    origin: { type: "builtin" },
    run({ query, limit = USUALLY_FOUND, response = "concise" }, { authority }) {
      const tools = toolsFor(authority);
      const isSelection = query.trimStart().toLowerCase().startsWith(SELECT);
      const { found, missing } = isSelection
        ? select(query.trimStart().slice(SELECT.length), tools)
        : { found: searchOthers(query, limit, tools), missing: [] };
      const names = found.map(({ name }) => name);
      if (names.length > 0) load(authority, names);
      return {
        content: [text([...showFound(found, response), ...missing].join("\n"))],
        display: names.length === 0 ? "Found no tool" : firstLine(`Loaded ${names.join(", ")}`),
        details: { tools: found.map((tool) => ({ name: tool.name, description: firstLine(tool.description.short) })) },
        // What whoever shows tools to the model goes by; they listen to built-in tools alone.
        metadata: { loadedTools: names },
      };
    },
  });
}

function searchOthers(query: string, limit: number, tools: SearchedTools): AnyTool[] {
  const found = tools.search(query, limit + 1).filter(({ name }) => name !== TOOL_SEARCH);
  return found.slice(0, limit);
}

function select(list: string, tools: SearchedTools): { found: AnyTool[]; missing: string[] } {
  const found = new Set<AnyTool>();
  const missing: string[] = [];
  const names = list.split(",").map((name) => name.trim());
  for (const name of names.filter((each) => each !== "").slice(0, MAX_FOUND)) {
    const tool = tools.get(name);
    if (tool) found.add(tool);
    else missing.push(notThere(name, tools.nearest(name)));
  }
  return { found: [...found], missing };
}

function notThere(name: string, near: readonly string[]): string {
  const instead = near.length > 0 ? `Did you mean ${near.join(", ")}?` : "Search with words for what it does.";
  return `There is no tool ${JSON.stringify(firstLine(name))}. ${instead}`;
}

function showFound(found: readonly AnyTool[], response: "concise" | "detailed"): string[] {
  if (found.length === 0) {
    return ["No tool was found. Try other words: what it does, to what, and in which service. It may also not exist."];
  }
  const many =
    found.length === 1
      ? "1 tool was loaded; call it by its name:"
      : `${found.length} tools were loaded; call them by name:`;
  return [many, ...found.map((tool) => (response === "detailed" ? showWhole(tool) : showLine(tool)))];
}

function showLine(tool: AnyTool): string {
  return `- ${tool.name}: ${compactDeclaration(tool).description}`;
}

function showWhole(tool: AnyTool): string {
  const { name, description, parameters } = declarationOf(tool);
  return `- ${name}: ${description}\n  parameters: ${JSON.stringify(parameters)}`;
}
