import { textFormat } from "./format-table.ts";
import type { TextFormatName } from "./text-format.ts";
import { exampleInput } from "./example-input.ts";
import type { ToolTable } from "./tool-table.ts";

/** For the model: why a call could not be read, and how it should have been written. */
export function explainMalformed(tools: ToolTable) {
  const examples = new Map<string, string>();
  return (reason: string, name: string, format: TextFormatName): string => {
    const tool = name !== "" && name.length <= 80 ? name : (tools.names[0] ?? "tool_name");
    const key = `${format} ${tool}`;
    let example = examples.get(key);
    if (example === undefined) {
      example = textFormat(format).write([{ name: tool, input: exampleInput(tools.schemaOf(tool)) }]);
      examples.set(key, example);
    }
    return `The tool call could not be read: ${reason}. Send it again, whole, in this form:\n${example}`;
  };
}
