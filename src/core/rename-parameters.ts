import { propertiesOf } from "../schema/find-property.ts";
import type { AnyTool } from "./tool.ts";

/** What became of the parameters that were sent under other names. */
export interface Renamed {
  /** Names that no model was told, and what they were read as. */
  repairs: string[];
  /** Parameters that were sent twice, differently. */
  conflicts: string[];
}

/**
 * Gives declared aliases, and the names of dialects, their canonical names. The input is changed in place. A dialect's
 * name is no repair: a model was told it.
 */
export function renameParameters(tool: AnyTool, input: Record<string, unknown>): Renamed {
  const renamed: Renamed = { repairs: [], conflicts: [] };
  const schema = tool.parameters.jsonSchema;
  for (const [alias, name] of tool.parameterAliases) {
    if (!Object.hasOwn(input, alias) || propertiesOf(schema, schema).has(alias)) continue;
    if (!Object.hasOwn(input, name)) input[name] = input[alias];
    else if (input[name] !== input[alias]) {
      renamed.conflicts.push(`${alias}: the same as "${name}", which was given too; send one of them`);
    }
    delete input[alias];
    const isShown = Object.values(tool.dialects).some(({ parameters }) => parameters?.[name] === alias);
    if (!isShown) renamed.repairs.push(`${alias}: read as "${name}"`);
  }
  return renamed;
}
