import { type Call, note, toolOf } from "../core/call.ts";
import { type ToolError, ToolValidationError } from "../core/error.ts";
import { formatIssues } from "../core/schema-issue.ts";
import { renameParameters } from "../core/rename-parameters.ts";
import type { Stage } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import { abortable } from "../core/until-aborted.ts";
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
      const input = acceptInput(call);
      if (tool.parameterAliases.size > 0) acceptNames(call, tool, input);
      const unknown = unknownOf(tool).find(input);
      const validation = tool.parameters.validate(input);
      if (validation instanceof Promise) {
        return abortable(
          call,
          validation.then((settled) => judge(call, tool, { input, unknown, validation: settled, repairs: [] })),
        );
      }
      if (validation.issues || unknown) return judge(call, tool, { input, unknown, validation, repairs: [] });
      call.accepted = input;
      call.input = validation.value;
      return undefined;
    },
  };
}

/** A repair may uncover the next: a list that was encoded twice, then the numbers in it that are text. */
const MAX_ROUNDS = 3;

interface Judged {
  input: Record<string, unknown>;
  unknown: string[] | undefined;
  validation: Validation<unknown>;
  /** What was mended so far, round by round. */
  repairs: readonly string[][];
}

function judge(call: Call, tool: AnyTool, judged: Judged): undefined | Promise<undefined> {
  const { input, unknown, validation, repairs } = judged;
  if (unknown) throw invalid(tool, unknown, validation.issues ?? []);
  if (!validation.issues) {
    call.accepted = input;
    call.input = validation.value;
    noteRepairs(call, repairs.flat());
    return undefined;
  }
  const more = repairs.length < MAX_ROUNDS ? repairInput(input, validation.issues, tool.parameters.jsonSchema) : [];
  if (more.length === 0) throw invalid(tool, [], validation.issues);
  const again = (settled: Validation<unknown>): undefined | Promise<undefined> =>
    judge(call, tool, {
      input,
      unknown: unknownOf(tool).find(input),
      validation: settled,
      repairs: [...repairs, more],
    });
  const revalidation = tool.parameters.validate(input);
  return revalidation instanceof Promise ? abortable(call, revalidation.then(again)) : again(revalidation);
}

function noteRepairs(call: Call, repairs: readonly string[]): void {
  if (repairs.length > 0) note(call, "repairs", [...((call.facts?.["repairs"] as string[]) ?? []), ...repairs]);
}

function acceptNames(call: Call, tool: AnyTool, input: Record<string, unknown>): void {
  const { repairs, conflicts } = renameParameters(tool, input);
  if (conflicts.length > 0) throw invalid(tool, conflicts, []);
  noteRepairs(call, repairs);
}

function unknownOf(tool: AnyTool): UnknownParameters {
  let check = unknownParameters.get(tool);
  if (!check)
    unknownParameters.set(
      tool,
      (check = new UnknownParameters(tool.parameters.jsonSchema, tool.parameterAliases.keys())),
    );
  return check;
}

function invalid(tool: AnyTool, problems: readonly string[], issues: readonly SchemaIssue[]): ToolError {
  // What the schema says of unknown parameters is said better by the search for them, which knows near names.
  const said =
    problems.length > 0 ? issues.filter(({ message }) => !message.startsWith("has the unknown propert")) : issues;
  const all = [...formatIssues(said), ...problems];
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
