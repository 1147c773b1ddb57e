import { canonicalJson } from "../../core/json.ts";
import { unifiedDiff } from "../../io/files/unified-diff.ts";
import { showHiddenCharacters } from "../../io/shell/terminal-text.ts";
import { definitionHash, normalDefinition } from "./tool-definition.ts";

/** The content of `haft.lock`. Lists instead of objects by name: the names are those of strangers. */
export interface DefinitionLock {
  version: 1;
  servers: LockedServer[];
}

export interface LockedServer {
  name: string;
  /** What starts it, without values of variables: the command or address, and the npm package with its integrity. */
  launch: Record<string, unknown>;
  tools: LockedTool[];
}

export interface LockedTool {
  name: string;
  /** SHA-256 of the canonical JSON (RFC 8785) of `definition`. */
  hash: string;
  /** In its normal form. */
  definition: Record<string, unknown>;
}

export const LOCK_RULES = {
  "lock-edited": "A definition in haft.lock does not have the hash that stands beside it",
  "server-added": "A server is not in haft.lock",
  "server-removed": "A server of haft.lock is not configured any more",
  "server-missing": "A server could not be asked for its tools",
  "launch-changed": "What starts a server has changed",
  "tool-added": "A tool is not in haft.lock",
  "tool-removed": "A tool of haft.lock is gone",
  "tool-renamed": "A tool has another name",
  "tool-changed": "The definition of a tool has changed",
} as const;

export interface LockFinding {
  rule: keyof typeof LOCK_RULES;
  server: string;
  tool?: string;
  /** One sentence for a person. */
  message: string;
  /** Lines with - and +. */
  difference?: string;
}

/** Of the definitions that a server listed, as `definitionText` writes them. */
export function lockedTools(definitions: readonly string[]): LockedTool[] {
  const tools = definitions.map((text): LockedTool => {
    const definition = normalDefinition(JSON.parse(text)) as LockedTool["definition"];
    return { name: String(definition["name"]), hash: definitionHash(text), definition };
  });
  return tools.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Entries whose text was changed by hand: their hash does not stand for it. */
function editedTools({ servers }: DefinitionLock): LockFinding[] {
  return servers.flatMap(({ name: server, tools }) =>
    tools
      .filter(({ hash, name, definition }) => hash !== hashOfDefinition(definition) || definition["name"] !== name)
      .map(({ name: tool }): LockFinding => {
        const message = `${at(server, tool)} was edited by hand: its hash is not that of its definition.`;
        return { rule: "lock-edited", server, tool, message };
      }),
  );
}

/** What differs between the file and the servers now. */
export async function compareLocks(locked: DefinitionLock, now: DefinitionLock): Promise<LockFinding[]> {
  const findings = editedTools(locked);
  const known = new Map(locked.servers.map((server) => [server.name, server]));
  const current = new Map(now.servers.map((server) => [server.name, server]));
  for (const { name: server, tools } of locked.servers) {
    if (current.has(server)) continue;
    const message = `${shown(server)} is not configured any more. It had ${tools.length} tools.`;
    findings.push({ rule: "server-removed", server, message });
  }
  for (const server of now.servers) {
    const before = known.get(server.name);
    if (before) findings.push(...(await compareServers(before, server)));
    else {
      const names = server.tools.map(({ name }) => shown(name)).join(", ") || "none";
      const message = `${shown(server.name)} is not in haft.lock. Its tools: ${names}.`;
      findings.push({ rule: "server-added", server: server.name, message });
    }
  }
  return findings;
}

async function compareServers(before: LockedServer, now: LockedServer): Promise<LockFinding[]> {
  const server = now.name;
  const findings: LockFinding[] = [];
  if (canonicalJson(before.launch) !== canonicalJson(now.launch)) {
    const message = `What starts ${shown(server)} has changed.`;
    const difference = await differenceOf(before.launch, now.launch);
    findings.push({ rule: "launch-changed", server, message, difference });
  }
  const current = new Map(now.tools.map((tool) => [tool.name, tool]));
  const gone = before.tools.filter(({ name }) => !current.has(name));
  const known = new Map(before.tools.map((tool) => [tool.name, tool]));
  for (const tool of now.tools) {
    const old = known.get(tool.name);
    if (old?.hash === tool.hash && canonicalJson(old.definition) === canonicalJson(tool.definition)) continue;
    const finding = { server, tool: tool.name };
    if (old) {
      const difference = await differenceOf(old.definition, tool.definition);
      findings.push({
        ...finding,
        rule: "tool-changed",
        message: `The ${changedParts(old, tool)} of ${at(server, tool.name)} changed.`,
        difference,
      });
      continue;
    }
    const renamed = gone.findIndex((each) => withoutName(each) === withoutName(tool));
    const [from] = renamed < 0 ? [] : gone.splice(renamed, 1);
    if (from) {
      const message = `${at(server, from.name)} is now named ${shown(tool.name)}.`;
      findings.push({ ...finding, rule: "tool-renamed", message });
    } else {
      const message = `${at(server, tool.name)} is new.`;
      findings.push({ ...finding, rule: "tool-added", message, difference: await differenceOf({}, tool.definition) });
    }
  }
  for (const { name: tool } of gone) {
    findings.push({ rule: "tool-removed", server, tool, message: `${at(server, tool)} is gone.` });
  }
  return findings;
}

function hashOfDefinition(definition: LockedTool["definition"]): string {
  return definitionHash(canonicalJson(definition));
}

function withoutName({ definition: { name: _name, ...rest } }: LockedTool): string {
  return canonicalJson(rest);
}

function changedParts({ definition: before }: LockedTool, { definition: now }: LockedTool): string {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  const changed = keys.filter((key) => canonicalJson(before[key] ?? null) !== canonicalJson(now[key] ?? null));
  return changed.map((key) => shown(key)).join(", ") || "hash";
}

async function differenceOf(before: object, now: object): Promise<string> {
  const lines = (value: object): string => `${JSON.stringify(sorted(value), null, 2).replaceAll("\\n", "\n    ")}\n`;
  const { text, whole = text } = await unifiedDiff({ before: lines(before), after: lines(now) }, { path: "" });
  const body = whole.split("\n").filter((line) => !/^(?:---|\+\+\+) /.test(line));
  return showHiddenCharacters(body.join("\n").trimEnd());
}

/** With its keys in one order: the order of a server says nothing. */
function sorted(value: object): object {
  return JSON.parse(canonicalJson(value)) as object;
}

function at(server: string, tool: string): string {
  return `${shown(server)}/${shown(tool)}`;
}

function shown(name: string): string {
  return showHiddenCharacters(name).replaceAll("\n", "⏎").slice(0, 200);
}
