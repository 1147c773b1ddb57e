import { ConfigError, type ConfigPath, type ConfigProblem, showPath } from "./config-problem.ts";
import type { HaftConfig } from "./config-schema.ts";
import type { ConfigSource, RawSource, SourceRule } from "./config-source.ts";
import { dropPaths, isBelow } from "./drop-paths.ts";
import { type Environment, expandAll } from "./expand-variables.ts";
import { listTrustItems, type LocatedItem, type TrustItem, withoutPath } from "./list-trust-items.ts";
import type { McpServerConfig } from "./mcp-server-config.ts";
import { dialectOf, findMcpEntries, readMcpEntries } from "./read-mcp-servers.ts";
import { runConfigModule } from "./run-config-module.ts";
import { policyOf } from "./source-policy.ts";
import { validateConfig } from "./validate-config.ts";

export interface CheckOptions {
  folder: string;
  home: string;
  env: Environment;
  trusted: ReadonlySet<string>;
}

export interface CheckedSource {
  /** Absent for a module that is not trusted: it says nothing before it has run. */
  source?: ConfigSource;
  /** As it is written, nothing expanded: what may be shown. */
  written: unknown;
  positionOf: RawSource["positionOf"];
  servers: McpServerConfig[];
  warnings: ConfigProblem[];
  untrusted: TrustItem[];
}

/** Rules and hooks are taken to the letter: a shell expands its own variables, and a rule that changed would not match. */
const LITERAL: readonly ConfigPath[] = [
  ...["allow", "ask", "deny", "tests"].map((list) => ["permissions", list]),
  ["hooks"],
  // These are expanded where they are read, each in the way of its client.
  ["mcpServers"],
  ["servers"],
  ["tools", "mcpServers"],
];

/** Settings of what is only used later: without their variable it works less, but nothing is loosened. */
const LENIENT: readonly ConfigPath[] = [["tools", "webSearch"], ["message"]];

/** Expands, checks and filters one source. Throws a `ConfigError` with all that is wrong in it. */
export async function checkSource(raw: RawSource, options: CheckOptions): Promise<CheckedSource> {
  const { folder, home, env, trusted } = options;
  const isFolders = raw.origin === "project" || raw.origin === "local";
  const items = isFolders ? await listTrustItems(raw, folder) : [];
  const untrusted = items.filter(({ digest }) => !trusted.has(digest));
  const checked: CheckedSource = {
    written: raw.value,
    positionOf: raw.positionOf,
    servers: [],
    warnings: [],
    untrusted: untrusted.map(withoutPath),
  };
  if (raw.code !== undefined && isFolders) {
    if (untrusted.length > 0 || raw.file === undefined) return checked;
    checked.written = await runConfigModule(raw.file, raw.code);
  }
  const variables = { env, home, folder };
  const found = { file: raw.file, variables };
  if (raw.kind === "mcp") {
    const entries = findMcpEntries(raw.value, raw.file).filter(({ path }) => !isListedIn(path, untrusted));
    const dialect = dialectOf(raw.value, raw.file);
    const { servers, notes } = readMcpEntries(entries, { ...found, dialect, parsed: raw });
    return { ...checked, servers, warnings: notes, source: sourceOf(raw, {}, (path) => path) };
  }

  const { value, warnings } = await validate(raw, checked.written, { env, untrusted });
  if (raw.code !== undefined && isFolders && value.import) {
    warnings.push({ file: raw.file, path: "import", message: "Not obeyed in a module: say it in the user's file." });
  }
  const kept = dropPaths(
    value,
    untrusted.map(({ at }) => at),
  );
  const config = kept.value as HaftConfig;
  const positionOf = (path: ConfigPath) => raw.positionOf(kept.originalOf(path));
  const entries = findMcpEntries(config, raw.file);
  for (const dialect of ["haft", "vscode"] as const) {
    const own = entries.filter(({ path }) => (path[0] === "servers") === (dialect === "vscode"));
    const { servers, notes } = readMcpEntries(own, { ...found, dialect, parsed: { positionOf } });
    checked.servers.push(...servers);
    warnings.push(...notes);
  }
  return { ...checked, warnings, source: sourceOf(raw, config, kept.originalOf) };
}

function isListedIn(path: ConfigPath, items: readonly LocatedItem[]): boolean {
  return items.some(({ at }) => isBelow(path, at));
}

async function validate(
  raw: RawSource,
  written: unknown,
  { env, untrusted }: { env: Environment; untrusted: readonly LocatedItem[] },
): Promise<{ value: HaftConfig; warnings: ConfigProblem[] }> {
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  const at = (path: ConfigPath, message: string): ConfigProblem => ({
    ...(raw.file === undefined ? {} : { file: raw.file }),
    ...raw.positionOf(path),
    path: showPath(path),
    message,
  });
  const expansion = expandAll(written, env, {
    isLiteral: (path) =>
      raw.isFinal === true || LITERAL.some((literal) => path.length === literal.length && isBelow(path, literal)),
    onMissing(name, path) {
      if (isListedIn(path, untrusted)) return;
      const message = `The variable ${name} is not set. Set it, or write \${${name}:-default}.`;
      if (LENIENT.some((lenient) => isBelow(path, lenient))) warnings.push(at(path, message));
      else problems.push(at(path, message));
    },
  });
  const value = await validateConfig(expansion);
  if (Array.isArray(value)) problems.push(...value.map(({ path, message }) => at(path, message)));
  else if (value.tools?.allowedPaths && value.workspace?.allowedPaths) {
    problems.push(at(["tools", "allowedPaths"], "The same as workspace.allowedPaths. Keep one of them."));
  }
  if (Array.isArray(value) || problems.length > 0) throw new ConfigError(problems);
  return { value, warnings };
}

function sourceOf(raw: RawSource, value: HaftConfig, originalOf: (path: ConfigPath) => ConfigPath): ConfigSource {
  const { allow = [], ask = [], deny = [] } = value.permissions ?? {};
  const permissions = { allow, ask, deny };
  const lists = ["allow", "ask", "deny"] as const;
  const rules = lists.flatMap((list) =>
    permissions[list].map((rule, index): SourceRule => {
      return { list, rule, ...raw.positionOf(originalOf(["permissions", list, index])) };
    }),
  );
  const policy = policyOf(value);
  return {
    origin: raw.origin,
    kind: raw.kind,
    ...(raw.file === undefined ? {} : { file: raw.file }),
    folder: raw.folder,
    value,
    permissions,
    rules,
    hooks: value.hooks ?? {},
    ...(policy ? { policy } : {}),
  };
}
