import { basename, join } from "node:path";
import { formatOf, parseConfigText, readConfigText } from "../config-text.ts";
import { dialectOf, findMcpEntries, type RawMcpEntry, readMcpEntries } from "../mcp-entries.ts";
import { ConfigError, type ConfigPath, dropPaths, isBelow, pathKey } from "../problems.ts";
import type { RawSource } from "../sources.ts";
import { readClaudeSettings } from "./claude-settings.ts";
import { readCodexSettings } from "./codex-settings.ts";
import { readGeminiSettings } from "./gemini-settings.ts";
import { readOpencodeSettings } from "./opencode-settings.ts";
import { type LocatedSetting, SettingsReader } from "./settings-reader.ts";

/** A program whose settings are read. `servers`: its files hold only a list of MCP servers. */
export type ForeignProgram = "claude" | "codex" | "gemini" | "opencode" | "servers";

export interface ForeignPlace {
  /** As people call it. */
  client: string;
  program: ForeignProgram;
  in: "home" | "folder";
  path: string;
}

const DESKTOP = "claude_desktop_config.json";

/** The files of other programs, lowest precedence first. */
export const FOREIGN_PLACES: readonly ForeignPlace[] = [
  { client: "Claude Desktop", program: "servers", in: "home", path: `Library/Application Support/Claude/${DESKTOP}` },
  { client: "Claude Desktop", program: "servers", in: "home", path: `.config/Claude/${DESKTOP}` },
  { client: "Claude Desktop", program: "servers", in: "home", path: `AppData/Roaming/Claude/${DESKTOP}` },
  { client: "Cursor", program: "servers", in: "home", path: ".cursor/mcp.json" },
  { client: "OpenCode", program: "opencode", in: "home", path: ".config/opencode/opencode.json" },
  { client: "OpenCode", program: "opencode", in: "home", path: ".config/opencode/opencode.jsonc" },
  { client: "Codex", program: "codex", in: "home", path: ".codex/config.toml" },
  { client: "Gemini", program: "gemini", in: "home", path: ".gemini/settings.json" },
  { client: "Claude Code", program: "claude", in: "home", path: ".claude/settings.json" },
  { client: "Claude Desktop", program: "servers", in: "folder", path: DESKTOP },
  { client: "Claude Code", program: "servers", in: "folder", path: ".mcp.json" },
  { client: "Cursor", program: "servers", in: "folder", path: ".cursor/mcp.json" },
  { client: "VS Code", program: "servers", in: "folder", path: ".vscode/mcp.json" },
  { client: "OpenCode", program: "opencode", in: "folder", path: "opencode.json" },
  { client: "OpenCode", program: "opencode", in: "folder", path: "opencode.jsonc" },
  { client: "Codex", program: "codex", in: "folder", path: ".codex/config.toml" },
  { client: "Gemini", program: "gemini", in: "folder", path: ".gemini/settings.json" },
  { client: "Claude Code", program: "claude", in: "folder", path: ".claude/settings.json" },
  { client: "Claude Code", program: "claude", in: "folder", path: ".claude/settings.local.json" },
];

/** The program that a file belongs to, by its name. */
export function programOf(file: string): ForeignProgram {
  const name = file.replaceAll("\\", "/");
  const place = FOREIGN_PLACES.find(({ path }) => name === path || name.endsWith(`/${path}`));
  return place?.program ?? "servers";
}

/** Whose lists of servers an allow list of the program means, by how their paths end. */
const OWN_LISTS: Readonly<Record<ForeignProgram, readonly string[]>> = {
  claude: [".mcp.json"],
  codex: [],
  gemini: [join(".gemini", "settings.json")],
  opencode: [],
  servers: [],
};

export interface ForeignFile extends Pick<RawSource, "origin" | "folder"> {
  file: string;
  program: ForeignProgram;
  /** Whether its MCP servers are used. */
  hasServers: boolean;
  /** The configuration says that the program's settings have no effect. */
  isLeftOut?: boolean;
}

export interface ReadForeign {
  sources: RawSource[];
  /** Of a file that has no source. */
  lines: LocatedSetting[];
}

/**
 * Reads a file of another program: its settings as a configuration of Haft, its MCP servers if they are used, and one line for
 * each setting. Undefined if there is no such file. A file that holds only servers which are not used may be invalid.
 */
export async function readForeignFile(foreign: ForeignFile): Promise<ReadForeign | undefined> {
  const { file, program, hasServers, isLeftOut, origin, folder } = foreign;
  const text = await readConfigText(file);
  if (text === null) return undefined;
  let parsed;
  try {
    parsed = await parseConfigText(text, file, formatOf(file));
  } catch (error) {
    if (!(error instanceof ConfigError) || (program !== "servers" && !isLeftOut) || hasServers) throw error;
    const reason = `It cannot be read: ${error.problems.map(({ message }) => message).join(" ")}`;
    return { sources: [], lines: [{ file, setting: "", outcome: "not_applied", reason, at: [] }] };
  }
  // An empty file, or one with comments only.
  const value = parsed.value ?? {};
  const source = { origin, folder, file };
  if (isLeftOut) {
    const reason = `import.${program} is false in the configuration.`;
    const sources: RawSource[] = hasServers ? [{ ...source, kind: "mcp", value, positionOf: parsed.positionOf }] : [];
    return { sources, lines: [{ file, setting: "", outcome: "not_applied", reason, at: [] }] };
  }
  const reader = new SettingsReader(file, value, parsed.positionOf);
  const leftOut = readSettings(program, reader);
  reader.requireValid();
  const entries = reportServers(reader, { value, hasServers });
  const sources: RawSource[] = [];
  if (hasServers) sources.push({ ...source, kind: "mcp", value, positionOf: parsed.positionOf });
  const imported = reader.report();
  if (program === "servers") {
    if (sources[0]) sources[0].imported = imported;
    return { sources, lines: sources.length === 0 ? imported : [] };
  }
  // The trust of its servers is that of their own source. What narrows their tools needs none.
  const isServers = ({ at, outcome }: LocatedSetting): boolean =>
    entries.some(({ path }) => isBelow(at, path) && (outcome !== "narrowed" || at.length === path.length));
  if (sources[0]) sources[0].imported = imported.filter(isServers);
  const kept = program === "claude" ? dropPaths(value, leftOut) : dropPaths({}, []);
  const { value: config, origins } = reader.config(kept.value as Record<string, unknown>);
  const originalOf = (path: ConfigPath): ConfigPath => origins.get(pathKey(path)) ?? kept.originalOf(path);
  sources.push({
    ...source,
    kind: program === "claude" ? "claude" : "foreign",
    value: config,
    // Texts of other programs are not templates of Haft.
    isFinal: program !== "claude",
    positionOf: (path) => parsed.positionOf(originalOf(path)),
    originalOf,
    imported: sources[0] ? imported.filter((line) => !isServers(line)) : imported,
    limits: reader.limits(OWN_LISTS[program]),
    confinesCommands: reader.confinesCommands,
  });
  return { sources, lines: [] };
}

/** The paths of a file of Claude Code that are no configuration of Haft. */
function readSettings(program: ForeignProgram, reader: SettingsReader): ConfigPath[] {
  switch (program) {
    case "claude":
      return readClaudeSettings(reader);
    case "codex":
      readCodexSettings(reader);
      return [];
    case "gemini":
      readGeminiSettings(reader);
      return [];
    case "opencode":
      readOpencodeSettings(reader);
      return [];
    case "servers":
      if (reader.get("inputs") !== undefined) {
        reader.notApplied(["inputs"], "Haft does not ask for inputs. Write ${env:NAME} instead of ${input:id}.");
      }
      return [];
  }
}

function reportServers(
  reader: SettingsReader,
  { value, hasServers }: { value: unknown; hasServers: boolean },
): RawMcpEntry[] {
  const { file } = reader;
  const entries = findMcpEntries(value, file);
  if (!hasServers) {
    const reason = `Not started: it is a server of another program. To use it: haft mcp import ${shownName(file)}`;
    for (const { path } of entries) reader.notApplied(path, reason);
    return entries;
  }
  // Only to find the fields that have no effect. The values of variables are not needed for that.
  const variables = { env: {}, home: "", folder: "" };
  const { unused } = readMcpEntries(entries, { dialect: dialectOf(value, file), file, variables });
  for (const { path, fields } of entries) {
    const isOff = fields["enabled"] === false || fields["disabled"] === true;
    if (isOff) reader.narrowed(path, "An MCP server that is disabled.");
    else reader.applied(path, "An MCP server.");
    if (fields["trust"] === true)
      reader.notApplied([...path, "trust"], "It would grant more. Allow its tools by rules.");
  }
  for (const path of unused) if (!reader.hasLine(path)) reader.notApplied(path, unusedReason(String(path.at(-1))));
  return entries;
}

/** Fields of other programs that let calls run without asking. */
const WIDENING = new Set(["autoApprove", "alwaysAllow", "approval_mode", "default_tools_approval_mode"]);

function unusedReason(key: string): string {
  if (WIDENING.has(key)) return "It would grant more. To run calls without approval, set permissions.allow.";
  return "Haft has no such setting for a server.";
}

function shownName(file: string): string {
  const [parent = "", name = ""] = file.split(/[\\/]/).slice(-2);
  return parent.startsWith(".") ? `${parent}/${name}` : basename(file);
}
