import { posix } from "node:path";
import { errorMessage, toolError } from "../../core/error.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { Files } from "../../io/files/files.ts";
import { isObject } from "../../schema/json-schema.ts";

/** A folder with skills, one folder each. If two skills have the same name, the one from the first location is used. */
interface SkillLocation {
  files: Files;
  path: string;
}

/** The folders in a project that other agents use too. */
export const PROJECT_SKILL_FOLDERS = [".agents/skills", ".claude/skills"];

const FILE = "SKILL.md";
const MAX_BYTES = 256 * 1024;
const MAX_LISTED = 100;

interface SkillFolder {
  location: SkillLocation;
  path: string;
}

type FoundSkill = Skill & SkillFolder & { instructions: string };

/** Reads the folders each time, so new skills are found. */
export function createSkillLibrary(locations: readonly SkillLocation[]): SkillLibrary {
  return {
    async list() {
      const { found, problems } = await findAll();
      return { skills: [...found.values()].map(toSkill), problems };
    },
    async load(name) {
      const skill = await find(name);
      const listed = await listFiles(skill, "");
      return { ...toSkill(skill), instructions: skill.instructions, files: listed.filter((file) => file !== FILE) };
    },
    async read(name, file) {
      const skill = await find(name);
      const path = posix.normalize(file);
      if (posix.isAbsolute(path) || path.startsWith("..")) {
        throw toolError("path_denied", `"${file}" is outside the skill "${name}"`, {
          next: "Name a file in its folder, with a path relative to it.",
        });
      }
      const { bytes } = await skill.location.files.readWhole(posix.join(skill.path, path), { maxBytes: MAX_BYTES });
      return bytes.toString("utf8");
    },
  };

  async function find(name: string): Promise<FoundSkill> {
    const { found } = await findAll();
    const skill = found.get(name);
    if (skill) return skill;
    const names = [...found.keys()];
    throw toolError("invalid_input", `There is no skill "${name}"`, {
      next: didYouMean(name, names) ?? (names.length > 0 ? `Skills: ${names.join(", ")}.` : "There are no skills."),
      data: { names },
    });
  }

  async function findAll(): Promise<{ found: Map<string, FoundSkill>; problems: string[] }> {
    const found: FoundSkill[] = [];
    const problems: string[] = [];
    for (const location of locations) {
      for (const folder of await foldersIn(location)) {
        const path = posix.join(location.path, folder);
        try {
          const { bytes } = await location.files.readWhole(posix.join(path, FILE), { maxBytes: MAX_BYTES });
          const skill = await parseSkill(bytes.toString("utf8"), folder);
          if (found.some(({ name }) => name === skill.name)) continue;
          found.push({ ...skill, folder: path, location, path });
        } catch (error) {
          problems.push(`${path}: ${errorMessage(error)}`);
        }
      }
    }
    found.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { found: new Map(found.map((skill) => [skill.name, skill])), problems };
  }
}

async function foldersIn({ files, path }: SkillLocation): Promise<string[]> {
  try {
    const entries = await files.listDirectory(path);
    return entries.filter(({ type }) => type === "directory").map(({ name }) => name);
  } catch {
    // Usually the folder does not exist.
    return [];
  }
}

async function listFiles(skill: SkillFolder, below: string): Promise<string[]> {
  const names: string[] = [];
  for (const { name, type } of await skill.location.files.listDirectory(posix.join(skill.path, below))) {
    const file = posix.join(below, name);
    if (type === "directory" && below.split("/").length < 3) names.push(...(await listFiles(skill, file)));
    else if (type === "file") names.push(file);
    if (names.length >= MAX_LISTED) break;
  }
  return names.slice(0, MAX_LISTED);
}

function toSkill({ name, description, allowedTools, folder }: FoundSkill): Skill {
  return { name, description, folder, allowedTools };
}

const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MAX_NAME_LENGTH = 64;
const MAX_DESCRIPTION_LENGTH = 1024;

/** Parses a SKILL.md: YAML front matter, then the instructions. Throws with the reason if it is invalid. */
async function parseSkill(text: string, folder: string): Promise<Omit<Skill, "folder"> & { instructions: string }> {
  const [frontMatter, yaml] = FRONT_MATTER.exec(text) ?? [];
  if (frontMatter === undefined || yaml === undefined) {
    throw invalid("it does not start with YAML between two lines of ---");
  }
  const { parseDocument } = await import("yaml");
  const document = parseDocument(yaml, { stringKeys: true, prettyErrors: false });
  const [yamlError] = document.errors;
  if (yamlError) throw invalid(`its front matter is not valid YAML: ${yamlError.message}`);
  const head: unknown = document.toJS({ maxAliasCount: 10 });
  if (!isObject(head)) throw invalid("its front matter has no keys");
  const { name, description } = head;
  if (typeof name !== "string" || name.length > MAX_NAME_LENGTH || !NAME.test(name)) {
    throw invalid("`name` must have lowercase letters, digits and single dashes, at most 64 characters");
  }
  if (name !== folder) throw invalid(`\`name\` is "${name}", but its folder is "${folder}"`);
  if (typeof description !== "string" || description.trim() === "" || description.length > MAX_DESCRIPTION_LENGTH) {
    throw invalid("`description` must describe in 1 to 1024 characters what it does and when to use it");
  }
  const allowedTools = readTools(head["allowed-tools"]);
  return {
    name,
    description: description.replace(/\s+/g, " ").trim(),
    allowedTools: allowedTools.length > 0 ? allowedTools : undefined,
    instructions: text.slice(frontMatter.length).trim(),
  };
}

/** `Read, Grep`, `Bash(git:*) Read`, or a list. Conditions in brackets are ignored: rules of the policy do that. */
function readTools(value: unknown): string[] {
  const text = Array.isArray(value) ? value.join(" ") : typeof value === "string" ? value : "";
  return [...new Set(Array.from(text.matchAll(/([^\s,()]+)(?:\([^)]*\))?/g), ([, name = ""]) => name))];
}

function invalid(reason: string): Error {
  return toolError("failed", `SKILL.md is not usable: ${reason}`, { next: "Fix it, then load the skill again." });
}

/** Instructions for a kind of task, in a folder with a SKILL.md. The prompt lists them; the model loads them on demand. */
export interface Skill {
  name: string;
  description: string;
  /** The only tools that the agent may use with the skill. If omitted, all tools. */
  allowedTools?: readonly string[];
  /** The path of its folder for the model. */
  folder: string;
}

/** The available skills. */
export interface SkillLibrary {
  /** Sorted by name, with the problems of invalid skills. */
  list(): Promise<{ skills: Skill[]; problems: string[] }>;
  /** The complete instructions. Rejects with the names of all skills if there is no such skill. */
  load(name: string): Promise<Skill & { instructions: string; files: string[] }>;
  /** Reads a file in the folder of the skill. */
  read(name: string, file: string): Promise<string>;
}
