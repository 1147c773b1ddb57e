import { readdir, realpath } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { errorMessage } from "../../core/error.ts";
import { readFrontMatter } from "../../io/files/front-matter.ts";
import { isInside } from "../../io/files/path-name.ts";
import { toolsKnownBy } from "../../tools/built-in-tools.ts";
import { readConfigText } from "../config-text.ts";
import { noteLook } from "../config-watch.ts";
import { ConfigError } from "../problems.ts";
import type { RawSource } from "../sources.ts";
import { SettingsReader } from "./settings-reader.ts";

const FOLDER = join(".claude", "agents");
const MAX_AGENTS = 200;
/** Files and folders that are looked at. */
const MAX_ENTRIES = 2000;

/** Names of Claude Code that tool policies do not know. */
const KNOWN_IN_RULES = toolsKnownBy("knownInRules");

/** Keys of agents that change how they look or what they cost, and nothing that they may do. */
const HARMLESS_KEYS = ["color", "effort", "memory", "background", "initialPrompt"];

/** The agents in `.claude/agents`, each as a configuration of Haft. Those of the home folder come first. */
export async function readClaudeAgents({
  folder,
  home,
  includesHome,
  includesFolder,
}: {
  folder: string;
  home: string;
  includesHome: boolean;
  includesFolder: boolean;
}): Promise<RawSource[]> {
  const found: RawSource[] = [];
  const places = [
    ...(includesHome && home !== folder ? [{ base: home, origin: "user" as const }] : []),
    ...(includesFolder ? [{ base: folder, origin: "project" as const }] : []),
  ];
  for (const { base, origin } of places) {
    const at = { origin, folder: base };
    const agents = join(base, FOLDER);
    noteLook(agents);
    const refuse = (reason: string): void => void found.push(refusedAgent(agents, at, reason));
    const real = await realpath(agents).catch(() => undefined);
    if (real === undefined) continue;
    // A link of a project could lead to any folder of the machine. Links of the home folder are the user's own.
    if (origin === "project" && !isInside(real, await realpath(base))) {
      refuse("It is a link that leads out of the workspace, so its agents are not loaded.");
      continue;
    }
    const { files, isWhole } = await markdownFiles(agents);
    if (!isWhole) refuse(`It has more than ${MAX_AGENTS} agents or ${MAX_ENTRIES} files. The rest is not loaded.`);
    for (const file of files) {
      const source = await readAgent(file, at);
      if (source) found.push(source);
    }
  }
  return found;
}

type Place = Pick<RawSource, "origin" | "folder">;

function refusedAgent(file: string, at: Place, reason: string, lines: RawSource["imported"] = []): RawSource {
  const imported = [{ file, setting: "", outcome: "not_applied" as const, reason, at: [] }, ...lines];
  return { ...at, kind: "foreign", file, value: {}, isFinal: true, positionOf: () => undefined, imported };
}

async function markdownFiles(top: string): Promise<{ files: string[]; isWhole: boolean }> {
  const files: string[] = [];
  const folders = [top];
  let seen = 0;
  for (let folder = folders.shift(); folder !== undefined && seen <= MAX_ENTRIES; folder = folders.shift()) {
    noteLook(folder);
    // Usually there is no such folder.
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (++seen > MAX_ENTRIES) break;
      if (entry.isDirectory()) folders.push(join(folder, entry.name));
      else if (entry.isFile() && entry.name.endsWith(".md")) files.push(join(folder, entry.name));
    }
  }
  files.sort((a, b) => (relative(top, a) < relative(top, b) ? -1 : 1));
  return { files: files.slice(0, MAX_AGENTS), isWhole: seen <= MAX_ENTRIES && files.length <= MAX_AGENTS };
}

async function readAgent(file: string, at: Place): Promise<RawSource | undefined> {
  const refuse = (reason: string, lines?: RawSource["imported"]): RawSource => refusedAgent(file, at, reason, lines);
  try {
    const text = await readConfigText(file);
    if (text === null) return undefined;
    const { head, body, warning } = await readFrontMatter(text);
    if (!head) return refuse("It does not start with YAML between two lines of ---, so it is not an agent.");
    const reader = new SettingsReader(file, head, () => undefined);
    const { name, agent, refused } = translateAgent(reader, { body, file });
    if (refused !== undefined) return refuse(refused, reader.report());
    const note = warning === undefined ? "" : ` Warning: ${warning}.`;
    const line = { file, setting: "", outcome: "applied" as const, reason: `The agent "${name}".${note}`, at: [] };
    const value = { agents: { [name]: agent } };
    const imported = [line, ...reader.report()];
    return { ...at, kind: "foreign", file, value, isFinal: true, positionOf: () => undefined, imported };
  } catch (error) {
    if (error instanceof ConfigError) return refuse(error.problems.map(({ message }) => message).join(" "));
    return refuse(`It is not loaded: ${errorMessage(error)}.`);
  }
}

interface TranslatedAgent {
  name: string;
  agent: Record<string, unknown>;
  /** Why it is not loaded: it would have more rights than it says. */
  refused?: string;
}

function translateAgent(reader: SettingsReader, { body, file }: { body: string; file: string }): TranslatedAgent {
  const named = reader.get("name");
  const name = typeof named === "string" && named.trim() !== "" ? named.trim() : basename(file, ".md");
  const agent: Record<string, unknown> = { instructions: body };
  let refused = name === "__proto__" ? "It is not loaded: an agent cannot have this name." : undefined;
  for (const { key, value, at } of reader.entries()) {
    if (key === "name") reader.applied(at, "The name.");
    else if (key === "description" && typeof value === "string") {
      agent["description"] = value;
      reader.applied(at, "For agents that may call it.");
    } else if (key === "tools") {
      const { names, left } = readTools(value);
      if (names.includes("*")) reader.applied(at, "All tools.");
      else {
        agent["toolkit"] = names;
        const without = left.length === 0 ? "" : ` Without ${left.join(", ")}: an agent has a tool as a whole, or not.`;
        reader.narrowed(at, `It has only these tools.${without}`);
      }
    } else if (key === "disallowedTools") {
      const { names, left } = readTools(value);
      agent["tools"] = { deny: [...names, ...left.map((text) => readTools(text.replace(/\(.*$/s, "")).names).flat()] };
      reader.narrowed(at, "It does not have these tools.");
    } else if (key === "maxTurns" && typeof value === "number" && value >= 1) {
      agent["limits"] = { steps: Math.floor(value) };
      reader.narrowed(at, "The number of steps of one run.");
    } else if (key === "model") {
      if (value === "inherit") reader.applied(at, "The model of the main agent.");
      else reader.notApplied(at, `It has the model of the main agent. Write agents.${name}.model: provider/name.`);
    } else if (key === "permissionMode") {
      if (value === "plan" || value === "dontAsk") {
        refused = `It is not loaded: an agent cannot have the mode ${value} here, so it would have more rights.`;
        reader.notApplied(at, "Agents have the mode of the call.");
      } else if (value === "default") reader.applied(at, "The mode of the call.");
      else reader.notApplied(at, "It would grant more. Agents have the mode of the call.");
    } else if (key === "hooks") {
      refused = "It is not loaded: hooks of one agent do not run here. Write them in .claude/settings.json.";
      reader.notApplied(at, "Hooks of one agent do not run here.");
    } else if (key === "mcpServers") reader.notApplied(at, "Agents use the servers of the configuration.");
    else if (key === "skills") reader.notApplied(at, "Skills are loaded when the agent needs them.");
    else if (HARMLESS_KEYS.includes(key)) reader.notApplied(at, "Haft's agents have no such setting.");
  }
  return { name, agent, refused };
}

/** `Read, Grep` or a list. What has brackets, such as `Bash(git *)`, is in `left`. */
function readTools(value: unknown): { names: string[]; left: string[] } {
  const given = Array.isArray(value) ? value.map(String) : typeof value === "string" ? splitTools(value) : [];
  const names: string[] = [];
  const left: string[] = [];
  for (const text of given.map((each) => each.trim()).filter(Boolean)) {
    if (text.includes("(")) left.push(text);
    else if (/^mcp__[^_*]+(?:_[^_*]+)*$/.test(text)) names.push(`${text}__*`);
    else names.push(KNOWN_IN_RULES.get(text.toLowerCase()) ?? text);
  }
  return { names, left };
}

function splitTools(text: string): string[] {
  return Array.from(text.matchAll(/[^\s,()]+(?:\([^()]*\))?/g), ([name]) => name);
}
