import type { ToolInfo } from "../http/wire.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { type Output, safe, safeLine, type Style } from "./output.ts";
import { showColumns } from "./show-columns.ts";

const KIND_STYLE: Readonly<Record<string, Style>> = { readonly: "green", write: "yellow", execute: "red" };

export function showToolList(tools: readonly ToolInfo[], { paint, columns }: Output): string[] {
  const rows = tools.map(({ name, kind, description, verdict }) => [
    safeLine(name),
    kind,
    `${verdict && verdict.decision !== "allow" ? `(${verdict.decision}) ` : ""}${safeLine(description.short)}`,
  ]);
  const styleOf = (cell: string, column: number): Style | undefined => (column === 1 ? KIND_STYLE[cell] : undefined);
  return showColumns(rows, { paint, styles: ["bold"], styleOf, columns });
}

export function showTool(tool: ToolInfo, { paint }: Output): string[] {
  const { name, kind, category, aliases, description, parameters, origin, permission, verdict } = tool;
  const facts = [
    ["kind", kind],
    ["category", safeLine(category)],
    ...(aliases.length > 0 ? [["also called", aliases.map(safeLine).join(", ")]] : []),
    ...(permission ? [["permission", permission]] : []),
    ...(verdict ? [["policy", `${verdict.decision}: ${safeLine(verdict.reason)}`]] : []),
    [
      "from",
      "server" in origin
        ? `MCP server ${safeLine(origin.server)}`
        : "plugin" in origin
          ? `plugin ${safeLine(origin.plugin)}`
          : origin.type,
    ],
  ];
  return [
    `${paint("bold", safeLine(name))}  ${safe(description.short)}`,
    ...(description.long ? ["", safe(description.long)] : []),
    ...[...(description.usageNotes ?? []), ...(description.important ?? [])].map((note) => `- ${safe(note)}`),
    "",
    ...showExamples(tool, paint),
    paint("bold", "Parameters"),
    ...showParameters(parameters, paint),
    "",
    ...showColumns(
      facts.map(([what, value]) => [`  ${what}`, value!]),
      { paint, styles: ["dim"] },
    ),
  ];
}

function showExamples({ name, description: { examples = [] } }: ToolInfo, paint: Output["paint"]): string[] {
  const lines = examples.flatMap(({ input, description }) => [
    ...(description ? [`  ${paint("dim", `# ${safeLine(description)}`)}`] : []),
    `  ${paint("cyan", `haft tools call ${safeLine(name)} ${wordsOf(input)}`.trimEnd())}`,
  ]);
  return lines.length === 0 ? [] : [...lines, ""];
}

/** An input as it is typed at a shell. */
function wordsOf(input: unknown): string {
  return Object.entries(Object(input) as object)
    .map(([key, value]) =>
      quote(
        typeof value === "string" && !value.startsWith("@") ? `${key}=${value}` : `${key}:=${JSON.stringify(value)}`,
      ),
    )
    .map(safeLine)
    .join(" ");
}

function quote(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function showParameters(schema: JsonSchema, paint: Output["paint"]): string[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, unknown>;
    required?: readonly string[];
  };
  const rows = Object.entries(properties).map(([name, property]) => {
    const { type, description = "", enum: allowed, default: fallback } = Object(property) as Record<string, unknown>;
    const about = [
      typeof description === "string" ? description.split("\n")[0]! : "",
      Array.isArray(allowed) ? `One of: ${allowed.map(String).join(", ")}` : "",
      fallback === undefined ? "" : `Default: ${JSON.stringify(fallback)}`,
    ];
    const isNeeded = required.includes(name);
    return [
      `  ${safeLine(name)}`,
      `${[type ?? "any"].flat().join("|")}${isNeeded ? "" : "?"}`,
      safeLine(about.filter(Boolean).join(" ")),
    ];
  });
  return rows.length === 0 ? ["  none"] : showColumns(rows, { paint, styles: ["cyan", "dim"] });
}
