import { type CallIn, toolOf } from "../core/call.ts";
import type { Stage } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import { propertiesOf } from "../schema/schema-properties.ts";
import { isObject } from "../schema/json-schema.ts";

/** How much a tool returns, if it offers the choice: only what the next step needs, or everything. */
export type ResponseLength = "concise" | "detailed";

/** Many MCP servers use the second name. */
const NAMES = ["response", "response_format"];

/** Sets the runtime's default, if it has one, if a call has no value. A tool offers the choice in its schema. */
export function preferResponse(wishNow: () => ResponseLength | undefined): Stage {
  return {
    name: "response",
    compile(tool) {
      return wishNow() === undefined || findParameter(tool) === undefined ? {} : { enter: this.enter };
    },
    enter(call: CallIn<"response">) {
      const wish = wishNow();
      if (wish === undefined) return;
      const name = findParameter(toolOf(call));
      const { input } = call;
      if (name === undefined || !isObject(input) || Object.hasOwn(input, name)) return;
      call.input = { ...input, [name]: wish };
    },
  };
}

function findParameter(tool: AnyTool): string | undefined {
  const schema = tool.parameters.jsonSchema;
  const properties = propertiesOf(schema, schema);
  return NAMES.find((name) => isChoice(properties.get(name)?.["enum"]));
}

function isChoice(values: unknown): boolean {
  return Array.isArray(values) && values.length === 2 && values.includes("concise") && values.includes("detailed");
}
