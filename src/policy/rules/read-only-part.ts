import type { CommandPart } from "../../core/signature.ts";
import type { Subject } from "./subject.ts";

/** Whether a part of a command needs no rule: the tool itself says of it, alone, that it need not ask. */
export function isReadOnlyPart({ forms: [written] }: CommandPart, { tool, input, command }: Subject): boolean {
  const fields = input as Record<string, unknown>;
  const parameter = Object.keys(fields).find((name) => fields[name] === command?.text);
  if (parameter === undefined || written === undefined) return false;
  return tool.permission({ ...fields, [parameter]: written.text }) === "auto";
}
