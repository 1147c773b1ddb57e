import { posix } from "node:path";
import { toolError } from "../../core/error.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { Files } from "../../io/files/files.ts";
import { isObject } from "../../schema/json-schema.ts";

/** A place where skills lie, each in a folder of its own. Of two skills with one name the first place's counts. */
export interface SkillLocation {
  files: Files;
  path: string;
}

/** Below a project, under the names that other agents know. */
export const PROJECT_SKILL_FOLDERS = [".agents/skills", ".claude/skills"];

const FILE = "SKILL.md";
const MAX_BYTES = 256 * 1024;
const MAX_LISTED = 100;

type Found = Skill & { location: SkillLocation; path: string; instructions: string };

/** Read again each time: a skill that was just written is there. */
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
        throw toolError("path_denied", `"${file}" is outside of the skill "${name}"`, {
          next: "Name a file of its folder, relative to it.",
        });
      }
      const { bytes } = await skill.location.files.readWhole(posix.join(skill.path, path), { maxBytes: MAX_BYTES });
      return bytes.toString("utf8");
    },
  };

  async function find(name: string): Promise<Found> {
    const { found } = await findAll();
    const skill = found.get(name);
    if (skill) return skill;
    const names = [...found.keys()];
    throw toolError("invalid_input", `There is no skill "${name}"`, {
      next: didYouMean(name, names) ?? (names.length > 0 ? `There are: ${names.join(", ")}.` : "There are no skills."),
      data: { names },
    });
  }

  async function findAll(): Promise<{ found: Map<string, Found>; problems: string[] }> {
    const found: Found[] = [];
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
          problems.push(`${path}: ${(error as Error).message}`);
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
    // Most places have none.
    return [];
  }
}

async function listFiles({ location, path }: Found, below: string): Promise<string[]> {
  const names: string[] = [];
  for (const { name, type } of await location.files.listDirectory(posix.join(path, below))) {
    const file = posix.join(below, name);
    if (type === "directory" && below.split("/").length < 3)
      names.push(...(await listFiles({ location, path } as Found, file)));
    else if (type === "file") names.push(file);
    if (names.length >= MAX_LISTED) break;
  }
  return names.slice(0, MAX_LISTED);
}

function toSkill({ name, description, allowedTools, folder }: Found): Skill {
  return { name, description, folder, allowedTools };
}

const FRONT = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MAX_NAME_LENGTH = 64;
const MAX_DESCRIPTION_LENGTH = 1024;

/** A SKILL.md: YAML between two lines of dashes, then the instructions. Throws where it is none, and says why. */
async function parseSkill(text: string, folder: string): Promise<Omit<Skill, "folder"> & { instructions: string }> {
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
    allowedTools: allowedTools.length > 0 ? allowedTools : undefined,
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

/** Instructions for a kind of task, in a folder with a SKILL.md: named in the prompt, read when they are needed. */
export interface Skill {
  name: string;
  description: string;
  /** While it is used, no other tools exist for the agent. All of them where absent. */
  allowedTools?: readonly string[];
  /** Where it lies, as a model should see it. */
  folder: string;
}

/** The skills that there are. */
export interface SkillLibrary {
  /** Sorted by name; what is wrong with others, in words for a person. */
  list(): Promise<{ skills: Skill[]; problems: string[] }>;
  /** The whole instructions. Fails where there is no such skill, naming those there are. */
  load(name: string): Promise<Skill & { instructions: string; files: string[] }>;
  /** A file of the skill's folder. */
  read(name: string, file: string): Promise<string>;
}
