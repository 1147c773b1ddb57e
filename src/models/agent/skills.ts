import { posix } from "node:path";
import type { CallPolicy } from "../../core/call.ts";
import { errorMessage, toolError } from "../../core/error.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import { disarmText, oneLine } from "../../core/untrusted-text.ts";
import type { Files } from "../../io/files/files.ts";
import { type FrontMatter, readFrontMatter } from "../../io/files/front-matter.ts";

/** A folder of skills (folders) or commands (Markdown files). Of two with one name, the first location's is used. */
interface SkillLocation {
  files: Files;
  path: string;
  /** Default: skills. */
  holds?: "skills" | "commands";
}

/** The folders in a project that other agents use too. */
export const PROJECT_SKILL_FOLDERS = [".agents/skills", ".claude/skills"];
export const PROJECT_COMMAND_FOLDER = ".claude/commands";

/** Tools that an agent keeps while a skill narrows its tools. */
export const CONTROL_TOOLS = ["skill", "stop_response", "cli_response"];

const FILE = "SKILL.md";
const MAX_BYTES = 256 * 1024;
const MAX_LISTED = 100;

interface SkillFolder {
  location: SkillLocation;
  path: string;
}

type ParsedSkill = Omit<Skill, "folder"> & Pick<FoundSkill, "instructions" | "isForModelsOnly" | "notes" | "warning">;

interface FoundSkill extends Skill, SkillFolder {
  instructions: string;
  /** People cannot call it. */
  isForModelsOnly?: boolean;
  /** What of its file has another effect here than elsewhere, or none. */
  notes: SkillNote[];
  warning?: string;
}

/** Reads the folders each time, so new skills are found. */
export function createSkillLibrary(locations: readonly SkillLocation[]): SkillLibrary {
  return {
    async list() {
      const { found, files } = await findAll();
      const problems = files.flatMap(({ path, problem }) => (problem === undefined ? [] : [`${path}: ${problem}`]));
      return { skills: [...found.values()].map(toSkill), problems };
    },
    async files() {
      return (await findAll()).files;
    },
    async load(name, { byPerson = false } = {}) {
      const skill = await find(name);
      if (!byPerson) requireForModels(skill);
      const listed = skill.isCommand ? [] : await listFiles(skill, "");
      return { ...toSkill(skill), instructions: skill.instructions, files: listed.filter((file) => file !== FILE) };
    },
    async readCommand(text) {
      const [, name, given = ""] = /^\/([^\s/]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
      const skill = name === undefined ? undefined : (await findAll()).found.get(name);
      if (!skill || skill.isForModelsOnly) return undefined;
      const { allowedTools, instructions } = skill;
      return {
        text: fillIn(instructions, given.trim()),
        policy: allowedTools && [{ allow: [...allowedTools, ...CONTROL_TOOLS] }],
      };
    },
    async read(name, file) {
      const skill = await find(name);
      requireForModels(skill);
      const path = posix.normalize(file);
      if (skill.isCommand) {
        throw toolError("path_not_found", `The command "${name}" has no files`, { next: "Load it without `file`." });
      }
      if (posix.isAbsolute(path) || path.startsWith("..")) {
        throw toolError("path_denied", `"${file}" is outside the skill "${name}"`, {
          next: "Name a file in its folder, with a path relative to it.",
        });
      }
      // Read as a file, it would not restrict the tools.
      if (path === FILE) {
        throw toolError("invalid_input", `${FILE} is the skill itself`, { next: "Load it without `file`." });
      }
      const { bytes } = await filesOf(skill).readWhole(posix.join(skill.path, path), { maxBytes: MAX_BYTES });
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

  async function findAll(): Promise<{ found: Map<string, FoundSkill>; files: SkillFile[] }> {
    const found: FoundSkill[] = [];
    const files: SkillFile[] = [];
    for (const location of locations) {
      const isCommands = location.holds === "commands";
      for (const entry of isCommands ? await commandsIn(location) : await foldersIn(location)) {
        const path = posix.join(location.path, entry);
        const file = posix.join(location.files.policy.workspace, isCommands ? path : posix.join(path, FILE));
        try {
          const { bytes } = await filesOf({ location, path }).readWhole(file, { maxBytes: MAX_BYTES });
          const text = bytes.toString("utf8");
          const parsed = isCommands ? await parseCommand(text, entry) : await parseSkill(text, entry);
          const { warning, name, notes } = parsed;
          const problem = warning === undefined ? undefined : `${warning}. It is loaded.`;
          const other = found.find((each) => each.name === name);
          files.push({ path, file, name, problem, notes, isCommand: isCommands, shadowedBy: other?.path });
          if (!other) found.push({ ...parsed, folder: path, location, path });
        } catch (error) {
          files.push({ path, file, problem: errorMessage(error), notes: [], isCommand: isCommands });
        }
      }
    }
    found.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { found: new Map(found.map((skill) => [skill.name, skill])), files };
  }
}

/** A link that leads out of the skill's folder is not followed. */
function filesOf({ location: { files }, path }: SkillFolder): Files {
  return files.narrow([posix.join(files.policy.workspace, path)]);
}

function requireForModels({ name, isForPeopleOnly }: Skill): void {
  if (!isForPeopleOnly) return;
  throw toolError("denied", `"${name}" is for people: its file has disable-model-invocation`, {
    next: "Only the user can call it.",
  });
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

/** The Markdown files, also in folders: `git/commit.md`. */
async function commandsIn(location: SkillLocation, below = ""): Promise<string[]> {
  const names: string[] = [];
  try {
    for (const { name, type } of await location.files.listDirectory(posix.join(location.path, below))) {
      const entry = posix.join(below, name);
      if (type === "directory" && below.split("/").length < 3) names.push(...(await commandsIn(location, entry)));
      else if (type === "file" && name.endsWith(".md")) names.push(entry);
    }
  } catch {
    // Usually the folder does not exist.
  }
  return names.slice(0, MAX_LISTED);
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

function toSkill({ name, description, allowedTools, folder, isCommand, isForPeopleOnly }: FoundSkill): Skill {
  const skill: Skill = { name, description, folder, allowedTools };
  if (isCommand) skill.isCommand = true;
  if (isForPeopleOnly) skill.isForPeopleOnly = true;
  return skill;
}

const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MAX_NAME_LENGTH = 64;
const MAX_DESCRIPTION_LENGTH = 1024;

/** Parses a SKILL.md: YAML front matter, then the instructions. Throws with the reason if it is invalid. */
async function parseSkill(text: string, folder: string): Promise<ParsedSkill> {
  const { head, body, warning } = await frontMatterOf(text);
  if (head === undefined) throw invalid("it does not start with YAML between two lines of ---");
  const { name, description } = head;
  if (typeof name !== "string" || name.length > MAX_NAME_LENGTH || !NAME.test(name)) {
    throw invalid("`name` must have lowercase letters, digits and single dashes, at most 64 characters");
  }
  if (name !== folder) throw invalid(`\`name\` is "${name}", but its folder is "${folder}"`);
  if (typeof description !== "string" || description.trim() === "" || description.length > MAX_DESCRIPTION_LENGTH) {
    throw invalid("`description` must describe in 1 to 1024 characters what it does and when to use it");
  }
  return { ...commonFields(head, body), name, description: oneLine(description), instructions: body, warning };
}

/** Parses a command of Claude Code: `git/commit.md` is the command `/git:commit`. */
async function parseCommand(text: string, file: string): Promise<ParsedSkill> {
  const { head = {}, body, warning } = await frontMatterOf(text);
  const name = file.replace(/\.md$/, "").replaceAll("/", ":");
  if (/\s/.test(name)) throw invalid("its name has blanks");
  if (disarmText(name) !== name) throw invalid("its name has hidden or control characters, or markup of prompts");
  if (body === "") throw invalid("it is empty");
  const described = typeof head["description"] === "string" ? head["description"] : (body.split("\n")[0] ?? "");
  const description = oneLine(described).slice(0, MAX_DESCRIPTION_LENGTH);
  return { ...commonFields(head, body), name, description, instructions: body, warning, isCommand: true };
}

async function frontMatterOf(text: string): Promise<FrontMatter> {
  try {
    return await readFrontMatter(text);
  } catch (error) {
    throw invalid(errorMessage(error));
  }
}

/** Keys that have effect here, or say something to people only. */
const KNOWN_KEYS = new Set(
  "name description allowed-tools disable-model-invocation user-invocable license compatibility metadata version".split(
    " ",
  ),
);

function commonFields(head: Readonly<Record<string, unknown>>, body: string) {
  const given = head["allowed-tools"] ?? undefined;
  const allowedTools = readTools(given);
  if (given !== undefined && allowedTools.length === 0) throw invalid("`allowed-tools` names no tool");
  const isForPeopleOnly = isSet(head["disable-model-invocation"]);
  const notes = Object.keys(head)
    .filter((key) => !KNOWN_KEYS.has(key))
    .map((key): SkillNote => ({ key, outcome: "not_applied", reason: "Haft has no such setting for skills." }));
  if (allowedTools.length > 0) {
    const reason = "The agent has only these tools until its turn ends. Calls that need approval still need it.";
    notes.push({ key: "allowed-tools", outcome: "narrowed", reason });
  }
  if (isForPeopleOnly) {
    notes.push({ key: "disable-model-invocation", outcome: "narrowed", reason: "Only people can call it." });
  }
  if (/(?:^|\s)!`[^`]+`/.test(body)) {
    const reason = "Commands in the text are not run. The agent can run them as calls.";
    notes.push({ key: "!`command`", outcome: "not_applied", reason });
  }
  return {
    allowedTools: allowedTools.length > 0 ? allowedTools : undefined,
    isForPeopleOnly: isForPeopleOnly || undefined,
    isForModelsOnly: head["user-invocable"] === false || undefined,
    notes,
  };
}

/** Of a key that restricts: `yes` and `"true"` are texts in YAML, but mean true. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && !/^(?:false|no|off)$/i.test(String(value));
}

/** `$ARGUMENTS` is everything that the person wrote, `$1` its first word. Without either, it follows the instructions. */
function fillIn(instructions: string, given: string): string {
  const words = Array.from(
    given.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g),
    (found) => found[1] ?? found[2] ?? found[3] ?? "",
  );
  let isUsed = false;
  const text = instructions.replace(/\$(?:ARGUMENTS\b|([1-9]))/g, (_whole, place?: string) => {
    isUsed = true;
    return place === undefined ? given : (words[Number(place) - 1] ?? "");
  });
  return isUsed || given === "" ? text : `${text}\n\nARGUMENTS: ${given}`;
}

/** `Read, Grep`, `Bash(git:*) Read`, or a list. Conditions in brackets are ignored: rules of the policy do that. */
function readTools(value: unknown): string[] {
  const text = Array.isArray(value) ? value.join(" ") : typeof value === "string" ? value : "";
  return [...new Set(Array.from(text.matchAll(/([^\s,()]+)(?:\([^()]*\))?/g), ([, name = ""]) => name))];
}

function invalid(reason: string): Error {
  return toolError("failed", `It is not usable: ${reason}`, { next: "Fix it, then load it again." });
}

/** Instructions for a kind of task, in a folder with a SKILL.md. The prompt lists them; the model loads them on demand. */
export interface Skill {
  name: string;
  description: string;
  /** The only tools that the agent may use with the skill. If omitted, all tools. */
  allowedTools?: readonly string[];
  /** The path of its folder for the model. */
  folder: string;
  /** A command of Claude Code: one file, which a person calls as `/name`. */
  isCommand?: boolean;
  /** A model cannot load it. */
  isForPeopleOnly?: boolean;
}

/** What becomes of one setting in the file of a skill. */
export interface SkillNote {
  key: string;
  outcome: "narrowed" | "not_applied";
  reason: string;
}

/** A file of a skill or command, and what became of it. */
export interface SkillFile {
  /** Relative to its location. */
  path: string;
  /** Absolute. */
  file: string;
  isCommand: boolean;
  /** Undefined if it is not loaded. */
  name?: string;
  /** Why it is not loaded, or what to correct. */
  problem?: string;
  notes: readonly SkillNote[];
  /** Another one of this name, which is used. */
  shadowedBy?: string;
}

/** The available skills. */
export interface SkillLibrary {
  /** Sorted by name, with the problems of invalid skills. */
  list(): Promise<{ skills: Skill[]; problems: string[] }>;
  /** Every file that was found, in the order of the locations. */
  files(): Promise<SkillFile[]>;
  /** The complete instructions. Rejects with the names of all skills if there is no such skill. */
  load(name: string, options?: { byPerson?: boolean }): Promise<Skill & { instructions: string; files: string[] }>;
  /** What a person means with `/name words`: the instructions, filled in. Undefined if there is no such skill or command. */
  readCommand(text: string): Promise<{ text: string; policy?: CallPolicy[] } | undefined>;
  /** Reads a file in the folder of the skill. */
  read(name: string, file: string): Promise<string>;
}
