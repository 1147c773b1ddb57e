import type { z } from "zod";
import { didYouMean } from "../core/nearest-name.ts";
import type { PolicyConfig } from "../gate/permit/policy-layers.ts";
import type { HaftConfig } from "./config-schema.ts";
import { runConfigModule } from "./config-text.ts";
import type { ImportedSetting } from "./foreign/settings-reader.ts";
import { dialectOf, findMcpEntries, type McpServerConfig, readMcpEntries } from "./mcp-entries.ts";
import { ConfigError, type ConfigPath, type ConfigProblem, dropPaths, isBelow, pathKey, showPath } from "./problems.ts";
import type { ConfigSource, RawSource, SourceRule } from "./sources.ts";
import { listTrustItems, type LocatedItem, nameDigest, type TrustItem, withoutPath } from "./trust-items.ts";
import { type Environment, expandAll, type Expansion } from "./variables.ts";

export interface CheckOptions {
  folder: string;
  home: string;
  env: Environment;
  trusted: ReadonlySet<string>;
}

export interface CheckedSource {
  /** Undefined for a module that is not trusted: it has not run. */
  source?: ConfigSource;
  /** As written, with variables not expanded: safe to show. */
  written: unknown;
  positionOf: RawSource["positionOf"];
  servers: McpServerConfig[];
  warnings: ConfigProblem[];
  untrusted: TrustItem[];
  /** For a file of another program: what became of each setting. */
  imported: ImportedSetting[];
}

/** Rules and hooks are not expanded: a shell expands its own variables, and a changed rule would not match. */
const LITERAL: readonly ConfigPath[] = [
  ...["allow", "ask", "deny", "tests"].map((list) => ["permissions", list]),
  ["hooks"],
  // Their reader expands these in the way of each client.
  ["mcpServers"],
  ["servers"],
  ["tools", "mcpServers"],
];

/** Settings that are used later. Without the variable something does not work, but nothing is loosened. */
const LENIENT: readonly ConfigPath[] = [["tools", "webSearch"], ["message"]];

/** Expands, checks and filters one source. Throws a `ConfigError` with all its problems. */
export async function checkSource(raw: RawSource, options: CheckOptions): Promise<CheckedSource> {
  const { folder, home, env, trusted } = options;
  const isFolders = raw.origin === "project" || raw.origin === "local";
  const items = isFolders ? await listTrustItems(raw, folder) : [];
  const untrusted = items.filter(({ digest }) => !trusted.has(digest));
  const checked: CheckedSource = {
    written: raw.value,
    positionOf: raw.positionOf,
    servers: [],
    warnings: (raw.imported ?? [])
      .filter(({ isMisspelled }) => isMisspelled)
      .map(({ file, setting, reason, at }) => ({ file, ...raw.positionOf(at), path: setting, message: reason })),
    untrusted: untrusted.map((item) => ({ ...withoutPath(item), isChanged: trusted.has(nameDigest(item)) })),
    imported: withTrust(raw, untrusted),
  };
  if (raw.kind === "instructions") return checked;
  if (raw.code !== undefined && isFolders) {
    if (untrusted.length > 0 || raw.file === undefined) return checked;
    checked.written = await runConfigModule(raw.file, raw.code);
  }
  // Only of trusted entries: the others are left out below.
  const digests = new Map(items.map(({ name, digest }) => [name, digest]));
  const reviewed = (servers: readonly McpServerConfig[]): McpServerConfig[] =>
    servers.map((server) => ({ ...server, entryDigest: digests.get(server.name) }));
  const variables = { env, home, folder };
  const found = { file: raw.file, variables };
  if (raw.kind === "mcp") {
    const entries = findMcpEntries(raw.value, raw.file).filter(({ path }) => !isListedIn(path, untrusted));
    const dialect = dialectOf(raw.value, raw.file);
    const { servers, notes } = readMcpEntries(entries, { ...found, dialect, parsed: raw });
    return {
      ...checked,
      servers: reviewed(servers),
      warnings: [...checked.warnings, ...notes],
      source: sourceOf(raw, {}, (path) => path),
    };
  }

  const { value, warnings } = await validate(raw, checked.written, { env, untrusted });
  if (raw.code !== undefined && isFolders && value.import) {
    warnings.push({ file: raw.file, path: "import", message: "Has no effect in a module. Set it in the user's file." });
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
    checked.servers.push(...reviewed(servers));
    warnings.push(...notes);
  }
  warnings.unshift(...checked.warnings);
  return { ...checked, warnings, source: sourceOf(raw, config, kept.originalOf) };
}

/** A setting that is not trusted has no effect. */
function withTrust({ imported = [], originalOf = (path) => path }: RawSource, untrusted: readonly LocatedItem[]) {
  const paths = untrusted.map(({ at }) => originalOf(at));
  return imported.map(({ at, isMisspelled: _isMisspelled, ...line }): ImportedSetting => {
    // A matcher has effect if the hooks of its group have.
    const part = at[0] === "hooks" && at.at(-1) === "matcher" ? at.slice(0, -1) : at;
    const isOpen = paths.some((path) => isBelow(part, path) || isBelow(path, part));
    if (!isOpen || line.outcome === "not_applied") return line;
    return { ...line, outcome: "not_applied", reason: "Not trusted yet. To review and trust it: haft trust" };
  });
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
    file: raw.file,
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
  const { allow = [], ask = [], deny = [], limits } = value.permissions ?? {};
  const permissions = { allow, ask, deny, limits };
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
    file: raw.file,
    folder: raw.folder,
    value,
    permissions,
    rules,
    hooks: value.hooks ?? {},
    policy,
  };
}

export interface Violation {
  path: ConfigPath;
  message: string;
}

type Issue = z.core.$ZodIssue;
type AnySchema = z.core.$ZodTypes;

/** The configuration, or all its problems. Loads the schema library at the first use. */
async function validateConfig({ value, expanded }: Expansion): Promise<HaftConfig | Violation[]> {
  const { configSchema } = await import("./config-schema.ts");
  const first = configSchema.safeParse(value);
  if (first.success) return first.data;
  const fromVariables = new Set(expanded.map(pathKey));
  const converted = convert(value, first.error.issues.flatMap(flatten), fromVariables);
  const again = configSchema.safeParse(converted);
  if (again.success) return again.data;
  return again.error.issues.flatMap(flatten).flatMap((issue) =>
    explain(issue, configSchema, (path) =>
      // A variable may hold a secret.
      fromVariables.has(pathKey(path)) ? "what the variable holds" : describe(valueAt(converted, path)),
    ),
  );
}

/** The branch of a union that fits best: probably the one that the author meant. */
function flatten(issue: Issue): Issue[] {
  if (issue.code !== "invalid_union") return [issue];
  const branches = issue.errors
    .map((errors) => errors.flatMap((each) => flatten({ ...each, path: [...issue.path, ...each.path] } as Issue)))
    .filter((errors) => errors.length > 0);
  const depthOf = (errors: Issue[]) =>
    Math.max(...errors.map(({ code, path }) => path.length + (code === "unrecognized_keys" ? 1 : 0)));
  const best = branches.toSorted((a, b) => depthOf(b) - depthOf(a) || a.length - b.length)[0];
  if (!best || depthOf(best) <= issue.path.length) return [issue];
  return best;
}

/** The value of a variable is text. Converts it if the schema wants a number or a boolean. */
function convert(value: unknown, issues: readonly Issue[], fromVariables: ReadonlySet<string>): unknown {
  const wanted = new Map<string, string>();
  for (const issue of issues) {
    const key = pathKey(issue.path as ConfigPath);
    if (issue.code === "invalid_type" && fromVariables.has(key)) wanted.set(key, issue.expected);
  }
  const walk = (each: unknown, path: ConfigPath): unknown => {
    if (typeof each === "string") return convertText(each, wanted.get(pathKey(path)));
    if (Array.isArray(each)) return each.map((item, index) => walk(item, [...path, index]));
    if (typeof each !== "object" || each === null) return each;
    return Object.fromEntries(Object.entries(each).map(([key, field]) => [key, walk(field, [...path, key])]));
  };
  return wanted.size === 0 ? value : walk(value, []);
}

function convertText(text: string, wanted: string | undefined): unknown {
  if (wanted === "number" || wanted === "int") {
    return /^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : text;
  }
  if (wanted === "boolean" && /^(true|false)$/i.test(text.trim())) return text.trim().toLowerCase() === "true";
  return text;
}

function explain(issue: Issue, schema: z.core.$ZodType, given: (path: ConfigPath) => string): Violation[] {
  const path = issue.path as ConfigPath;
  switch (issue.code) {
    case "unrecognized_keys": {
      const known = keysAt(schema, path);
      return issue.keys.map((key) => {
        const near = didYouMean(key, known) ?? (known.length > 0 ? `Known keys: ${known.join(", ")}.` : "");
        return { path: [...path, key], message: `Unknown key. ${near}`.trim() };
      });
    }
    case "invalid_type":
      return [{ path, message: `Must be ${withArticle(issue.expected)}, but is ${given(path)}.` }];
    case "invalid_value":
      return [{ path, message: mustBeOneOf(issue.values.map(String), given(path)) }];
    case "invalid_union": {
      const kinds = issue.errors.flatMap((errors) =>
        errors.flatMap((each) => (each.code === "invalid_type" ? [withArticle(each.expected)] : [])),
      );
      const wanted = [...new Set(kinds)].join(" or ");
      if (wanted) return [{ path, message: `Must be ${wanted}, but is ${given(path)}.` }];
      const options = "options" in issue && Array.isArray(issue.options) ? issue.options.map(String) : [];
      if (options.length > 0) return [{ path, message: mustBeOneOf(options, given(path)) }];
      return [{ path, message: "Has none of the accepted forms." }];
    }
    default:
      return [{ path, message: `${issue.message}.` }];
  }
}

function mustBeOneOf(values: readonly string[], given: string): string {
  const near = didYouMean(/"(.*)"/.exec(given)?.[1] ?? "", values) ?? "";
  return `Must be one of ${values.join(", ")}, but is ${given}. ${near}`.trim();
}

function withArticle(expected: string): string {
  const words: Record<string, string> = { string: "text", record: "an object", int: "an integer" };
  return words[expected] ?? `${/^[aeio]/.test(expected) ? "an" : "a"} ${expected}`;
}

function describe(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "empty (null)";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  // Never the whole text: it may be a secret.
  if (typeof value === "string") return value.length > 40 ? "a long text" : `the text ${JSON.stringify(value)}`;
  return JSON.stringify(value);
}

function valueAt(value: unknown, path: ConfigPath): unknown {
  let at = value;
  for (const part of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string | number, unknown>)[part];
  }
  return at;
}

/** The known keys at a path, through optional and other wrappers. */
function keysAt(schema: z.core.$ZodType, path: ConfigPath): string[] {
  const { def } = (schema as AnySchema)._zod;
  const [part, ...rest] = path;
  switch (def.type) {
    case "optional":
      return keysAt(def.innerType, path);
    case "union":
      return def.options.flatMap((option) => keysAt(option, path));
    case "intersection":
      return [def.left, def.right].flatMap((side) => keysAt(side, path));
    case "object": {
      if (part === undefined) return Object.keys(def.shape);
      const next = Object.hasOwn(def.shape, part) ? def.shape[part] : undefined;
      return next ? keysAt(next, rest) : [];
    }
    case "record":
      return part === undefined ? [] : keysAt(def.valueType, rest);
    case "array":
      return part === undefined ? [] : keysAt(def.element, rest);
    default:
      return [];
  }
}

/** The tool policy of one source. Undefined if it has none. */
function policyOf({ tools = {}, agents, sandbox, subagents, profiles }: HaftConfig): PolicyConfig | undefined {
  const { profile, allow, alsoAllow, deny, byProvider } = tools;
  const policy: PolicyConfig = {
    profile,
    allow: allow || undefined,
    alsoAllow: alsoAllow || undefined,
    deny: deny || undefined,
    byProvider: byProvider || undefined,
    agents: agents
      ? Object.fromEntries(Object.entries(agents).map(([name, { tools: own = {} }]) => [name, own]))
      : undefined,
    sandbox: sandbox?.tools ? sandbox.tools : undefined,
    subagents: subagents
      ? { ...subagents.tools, ...(subagents.byDepth ? { byDepth: subagents.byDepth } : {}) }
      : undefined,
  };
  if (Object.keys(policy).length === 0) return undefined;
  return profiles ? { ...policy, profiles } : policy;
}
