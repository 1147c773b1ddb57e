import { declarationOf } from "../../core/definition.ts";
import { type DialectName, isTool } from "../../core/tool.ts";
import { propertiesOf, typesOf } from "../../schema/schema-properties.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import { exampleInput, INPUT_FORM } from "./example-input.ts";
import { textFormat } from "./format-table.ts";
import { rememberPrompt } from "./format-tool-result.ts";
import type { TextFormatName } from "../../core/text-formats.ts";
import type { ToolLike } from "./text-format.ts";

export interface ToolInstructionOptions {
  /** The format in which the model should write its calls. Default: `xml`. */
  format?: TextFormatName;
  /** The dialect for the names of tools and parameters. */
  dialect?: DialectName;
}

/** Describes the tools, and how to call them, to a model without function calling. */
export function writeToolInstructions(tools: Iterable<ToolLike>, options: ToolInstructionOptions = {}): string {
  const { format = "xml" } = options;
  const shown = [...tools];
  rememberPrompt(shown.flatMap(namesOf(options.dialect)), format);
  const described = shown.map((tool) => describeTool(tool, options));
  if (described.length === 0) return "";
  const notes = [...COMMON_NOTES, ...(textFormat(format).notes ?? [])].map((note) => `- ${note}`);
  return ["## Available tools", ...described, ["## Notes", ...notes].join("\n")].join("\n\n");
}

/** A result may be reported under the name of the tool or under the name in the prompt. */
const namesOf = (dialect: DialectName | undefined) => (tool: ToolLike) =>
  isTool(tool) ? [tool.name, ...tool.aliases, declarationOf(tool, dialect).name] : [tool.name];

const COMMON_NOTES = [
  "Call a tool exactly in the form that is shown with it, outside code blocks.",
  "Give every required parameter. Leave out optional ones that you do not need.",
  "For several calls, write them one after the other.",
  "After your calls, stop. The results come in the next message; never write a result yourself.",
];

function describeTool(tool: ToolLike, { format = "xml", dialect }: ToolInstructionOptions): string {
  const { name, description = "", parameters = {} } = isTool(tool) ? declarationOf(tool, dialect) : tool;
  const example = isTool(tool) && dialect === undefined ? tool.description.examples?.[0]?.input : undefined;
  const input = isObject(example) ? example : exampleInput(parameters);
  return [
    `### ${name}`,
    `Description: ${description}`,
    ...describeParameters(parameters),
    // Without values that satisfy the schema, the model still has to see the form of a call.
    input ? "Example:" : "Form of a call:",
    textFormat(format).write([{ name, input: input ?? INPUT_FORM }]),
  ].join("\n");
}

function describeParameters(schema: JsonSchema): string[] {
  const properties = [...propertiesOf(schema, schema)];
  if (properties.length === 0) return ["Parameters: none"];
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  return [
    "Parameters:",
    ...properties.flatMap(([name, property]) => {
      const need = required.has(name) ? "required" : "optional";
      const text = typeof property["description"] === "string" ? ` - ${indented(property["description"])}` : "";
      const lines = [`  - ${name}: ${typeText(schema, property)} (${need})${text}`];
      if (Array.isArray(property["enum"])) lines.push(`    One of: ${property["enum"].map(plain).join(", ")}`);
      if (property["default"] !== undefined) lines.push(`    Default: ${plain(property["default"])}`);
      return lines;
    }),
  ];
}

function typeText(root: JsonSchema, property: JsonSchema): string {
  const types = [...typesOf(root, property)];
  return types.length === 0 || types.length >= 6 ? "any" : types.join(" or ");
}

function plain(value: unknown): string {
  return typeof value === "string" ? indented(value) : JSON.stringify(value);
}

/** Indents the lines after the first below their parameter. */
function indented(text: string): string {
  return text.replaceAll("\n", "\n    ");
}
