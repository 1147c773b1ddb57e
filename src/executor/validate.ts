import { type Call, note, toolOf } from "../core/call.ts";
import { type ToolError, ToolValidationError } from "../core/error.ts";
import { formatIssues } from "../core/schema-issue.ts";
import type { Stage } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import { propertiesOf, typesOf } from "../schema/find-property.ts";
import type { SchemaIssue, Validation } from "../schema/schema.ts";
import { acceptInput } from "./accept-input.ts";
import { repairInput } from "./repair-input.ts";
import { UnknownParameters } from "./unknown-parameters.ts";

const unknownParameters = new WeakMap<AnyTool, UnknownParameters>();

/** Turns what was sent into what the tool declared, or says everything that is wrong with it. */
export function validate(): Stage {
  return {
    name: "validate",
    enter(call) {
      const tool = toolOf(call);
      const { input, repair } = acceptInput(call.input);
      const repairs = repair === undefined ? undefined : [repair];
      const renamed = renameParameters(tool, input, repairs);
      const unknown = unknownOf(tool).find(input);
      const validation = tool.parameters.validate(input);
      if (validation instanceof Promise) {
        return validation.then((settled) => judge(call, tool, input, unknown, settled, renamed));
      }
      return judge(call, tool, input, unknown, validation, renamed);
    },
  };
}

function judge(
  call: Call,
  tool: AnyTool,
  input: Record<string, unknown>,
  unknown: string[] | undefined,
  validation: Validation<unknown>,
  repairs: string[] | undefined,
): undefined | Promise<undefined> {
  if (!validation.issues && !unknown) {
    call.accepted = input;
    call.input = validation.value;
    if (repairs) note(call, "repairs", repairs);
    return undefined;
  }
  if (unknown || !validation.issues) throw invalid(tool, unknown ?? [], validation.issues ?? []);
  const mended = repairInput(input, validation.issues, tool.parameters.jsonSchema);
  if (mended.length === 0) throw invalid(tool, [], validation.issues);
  const accept = (again: Validation<unknown>): undefined => {
    if (again.issues) throw invalid(tool, [], again.issues);
    call.accepted = input;
    call.input = again.value;
    note(call, "repairs", [...(repairs ?? []), ...mended]);
    return undefined;
  };
  const again = tool.parameters.validate(input);
  return again instanceof Promise ? again.then(accept) : accept(again);
}

/** Parameter names of other dialects, and declared aliases, become the canonical ones. */
function renameParameters(
  tool: AnyTool,
  input: Record<string, unknown>,
  repairs: string[] | undefined,
): string[] | undefined {
  if (tool.parameterAliases.size === 0) return repairs;
  for (const [alias, name] of tool.parameterAliases) {
    if (!Object.hasOwn(input, alias) || propertiesOf(tool.parameters.jsonSchema, tool.parameters.jsonSchema).has(alias)) {
      continue;
    }
    if (Object.hasOwn(input, name)) {
      if (input[name] !== input[alias]) {
        throw invalid(tool, [`${alias}: the same as "${name}", which was given too; send one of them`], []);
      }
    } else input[name] = input[alias];
    delete input[alias];
  }
  return repairs;
}

function unknownOf(tool: AnyTool): UnknownParameters {
  let check = unknownParameters.get(tool);
  if (!check) unknownParameters.set(tool, (check = new UnknownParameters(tool.parameters.jsonSchema)));
  return check;
}

function invalid(tool: AnyTool, problems: readonly string[], issues: readonly SchemaIssue[]): ToolError {
  const all = [...formatIssues(issues), ...problems];
  return new ToolValidationError(tool.name, { issues: all }, `${all.join("\n")}\n${expected(tool)}`);
}

/** One line that says what the tool takes: enough to mend most calls. */
function expected(tool: AnyTool): string {
  const schema = tool.parameters.jsonSchema;
  const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  const parameters = Array.from(propertiesOf(schema, schema), ([name, property]) => {
    const types = [...typesOf(schema, property)];
    const type = types.length > 3 ? "any" : types.join(" or ");
    return `${name}${required.includes(name) ? "" : "?"}: ${type}`;
  });
  return `"${tool.name}" takes { ${parameters.join(", ")} }. Correct the call and send it again.`;
}

