import { toolError } from "../core/error.ts";
import { isObject } from "../schema/json-schema.ts";
import type { Skill } from "./skill.ts";

const FRONT = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MAX_NAME_LENGTH = 64;
const MAX_DESCRIPTION_LENGTH = 1024;

/** A SKILL.md: YAML between two lines of dashes, then the instructions. Throws where it is none, and says why. */
export async function parseSkill(
  text: string,
  folder: string,
): Promise<Omit<Skill, "folder"> & { instructions: string }> {
  const front = FRONT.exec(text);
  if (!front) throw invalid("it does not begin with YAML between two lines of ---");
  const { parseDocument } = await import("yaml");
  const document = parseDocument(front[1]!, { stringKeys: true, prettyErrors: false });
  if (document.errors.length > 0) throw invalid(`its head is not valid YAML: ${document.errors[0]!.message}`);
  const head: unknown = document.toJS({ maxAliasCount: 10 });
  if (!isObject(head)) throw invalid("its head has no keys");
  const { name, description } = head;
  if (typeof name !== "string" || name.length > MAX_NAME_LENGTH || !NAME.test(name)) {
    throw invalid("`name` must be small letters, digits and single dashes, at most 64 of them");
  }
  if (name !== folder) throw invalid(`\`name\` is "${name}", but its folder is "${folder}"`);
  if (typeof description !== "string" || description.trim() === "" || description.length > MAX_DESCRIPTION_LENGTH) {
    throw invalid("`description` must say in 1 to 1024 characters what it does, and when to use it");
  }
  const allowedTools = readTools(head["allowed-tools"]);
  return {
    name,
    description: description.replace(/\s+/g, " ").trim(),
    ...(allowedTools.length > 0 ? { allowedTools } : {}),
    instructions: text.slice(front[0].length).trim(),
  };
}

/** `Read, Grep`, `Bash(git:*) Read`, or a list. What stands in brackets narrows nothing here: policy has rules for that. */
function readTools(value: unknown): string[] {
  const text = Array.isArray(value) ? value.join(" ") : typeof value === "string" ? value : "";
  return [...new Set(Array.from(text.matchAll(/([^\s,()]+)(?:\([^)]*\))?/g), ([, name]) => name!))];
}

function invalid(why: string): Error {
  return toolError("failed", `SKILL.md is not usable: ${why}`, { next: "Mend it, then load the skill again." });
}
