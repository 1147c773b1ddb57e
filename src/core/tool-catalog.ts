import { nearestNames } from "./nearest-name.ts";
import type { AnyTool } from "./tool.ts";

interface Entry {
  /** The default version: the first registered. Only `preferVersion` changes it. */
  preferred: AnyTool;
  versions: AnyTool[];
  split?: Split;
}

/** Maps names, aliases and versions to tools; no two tools share one. */
export class ToolCatalogue {
  readonly #entries = new Map<string, Entry>();
  readonly #aliases = new Map<string, string>();
  /** Names and aliases in lower case with `_`, mapped to canonical names. */
  readonly #folded = new Map<string, Set<string>>();
  /** Folded names of the program's own tools. A built-in tool gives up an alias that one of them has as its name. */
  readonly #ownNames = new Set<string>();

  get size(): number {
    return this.#entries.size;
  }

  /** Adds a tool, or a further version of one from the same origin. A taken name is refused, but an MCP tool is replaced. */
  add(tool: AnyTool): { displaced: readonly AnyTool[] } {
    const rivals = this.#conflictingNames(tool);
    const versions = rivals.has(tool.name) ? [] : (this.#entries.get(tool.name)?.versions ?? []);
    if (versions.some(({ version }) => version === tool.version)) {
      throw new TypeError(
        `Tool "${tool.name}" is already registered. Choose another name, unregister it first, or give another version.`,
      );
    }
    const displaced = Array.from(rivals).flatMap((name) => this.remove(name));
    const entry = this.#entries.get(tool.name);
    if (entry) entry.versions.push(tool);
    else this.#entries.set(tool.name, { preferred: tool, versions: [tool] });
    if (this.#folded.has(fold(tool.name))) this.#indexAll();
    else this.#indexNames(tool);
    return { displaced };
  }

  /** Removes and returns tools: all versions of a plain name, or the named version. */
  remove(requested: string): readonly AnyTool[] {
    const tool = this.get(requested);
    const entry = tool && this.#entries.get(tool.name);
    if (!entry) return [];
    const gone = requested.includes("@") ? [tool] : entry.versions;
    entry.versions = entry.versions.filter((version) => !gone.includes(version));
    if (entry.versions.length === 0) this.#entries.delete(tool.name);
    else if (gone.includes(entry.preferred)) entry.preferred = entry.versions[0]!;
    if (entry.split?.arms.some((arm) => gone.includes(arm.tool))) delete entry.split;
    this.#indexAll();
    return gone;
  }

  /** By name, alias, `name@version`, or a spelling that differs in case or `-` and matches only one tool. */
  get(requested: string): AnyTool | undefined {
    const entry = this.#entries.get(requested);
    if (entry) return entry.preferred;
    const { name, version } = parseVersionedName(requested);
    const found = this.#entry(name);
    if (!found || version === undefined) return found?.preferred;
    return newestMatch(version, found.versions);
  }

  /** Like `get`, for a host's code: a wrong name throws with the nearest ones. */
  require(requested: string): AnyTool {
    const tool = this.get(requested);
    if (tool) return tool;
    const near = this.nearest(requested);
    throw new TypeError(
      `No tool is named "${requested}".${near.length > 0 ? ` Near: ${near.map((name) => `"${name}"`).join(", ")}.` : ""}`,
    );
  }

  *preferred(): Generator<AnyTool> {
    for (const entry of this.#entries.values()) yield entry.preferred;
  }

  names(): string[] {
    return [...this.#entries.keys()];
  }

  versions(name: string): readonly AnyTool[] {
    return this.#entry(name)?.versions ?? [];
  }

  prefer(versioned: string): AnyTool {
    const tool = this.require(versioned);
    this.#entry(tool.name)!.preferred = tool;
    return tool;
  }

  split(name: string, weights: Readonly<Record<string, number>>): void {
    const arms = Object.entries(weights).map(([version, weight]) => {
      if (!(weight >= 0 && weight < Infinity)) {
        throw new RangeError(`The weight of ${name}@${version} must be a number of at least 0, got ${weight}.`);
      }
      return { arm: version, tool: this.require(`${name}@${version}`), weight };
    });
    if (!arms.some(({ weight }) => weight > 0)) throw new RangeError(`A split of "${name}" needs a weight above 0.`);
    this.#entry(arms[0]!.tool.name)!.split = { arms };
  }

  endSplit(name: string): void {
    delete this.#entry(this.require(name).name)!.split;
  }

  armOf(tool: AnyTool, key: string): { arm: string; tool: AnyTool } | undefined {
    const entry = this.#entries.get(tool.name);
    return entry?.split && entry.preferred === tool ? chooseArm(entry.split, key) : undefined;
  }

  isSplit(tool: AnyTool): boolean {
    return this.#entries.get(tool.name)?.split !== undefined;
  }

  nearest(name: string, filter: (tool: AnyTool) => boolean = () => true): string[] {
    const all = [...this.#entries.keys(), ...this.#aliases.keys()];
    return nearestNames(
      name,
      all.filter((candidate) => filter(this.#entry(candidate)!.preferred)),
    );
  }

  #entry(name: string): Entry | undefined {
    const canonical = this.#entries.has(name) ? name : (this.#aliases.get(name) ?? this.#uniqueMatch(name));
    return canonical === undefined ? undefined : this.#entries.get(canonical);
  }

  #uniqueMatch(name: string): string | undefined {
    const alike = this.#folded.get(fold(name));
    return alike?.size === 1 ? alike.values().next().value : undefined;
  }

  #indexAll(): void {
    this.#aliases.clear();
    this.#folded.clear();
    this.#ownNames.clear();
    for (const { preferred } of this.#entries.values()) this.#noteOwn(preferred);
    for (const { versions } of this.#entries.values()) versions.forEach((version) => this.#indexNames(version));
  }

  #noteOwn({ name, origin }: AnyTool): void {
    if (origin.type === "own") this.#ownNames.add(fold(name));
  }

  #indexNames(tool: AnyTool): void {
    this.#noteOwn(tool);
    const aliases = tool.aliases.filter((alias) => tool.origin.type !== "builtin" || !this.#ownNames.has(fold(alias)));
    for (const alias of aliases) this.#aliases.set(alias, tool.name);
    for (const name of [tool.name, ...aliases]) {
      const key = fold(name);
      this.#folded.set(key, (this.#folded.get(key) ?? new Set()).add(tool.name));
    }
  }

  /** The MCP tools to replace. Throws if a tool of another origin has the name or could be mistaken for this one. */
  #conflictingNames(tool: AnyTool): Set<string> {
    const rivals = new Set<string>();
    for (const name of [tool.name, ...tool.aliases]) {
      for (const owner of this.#folded.get(fold(name)) ?? []) {
        const present = this.#entries.get(owner)!.preferred;
        if (takesAlias(tool, present, name) || takesAlias(present, tool, name)) continue;
        const isSameOrigin = originKey(present) === originKey(tool);
        if (isSameOrigin && (owner === tool.name || !this.#isNameOf(owner, name))) continue;
        if (present.origin.type !== "mcp" || tool.origin.type === "mcp") throw refusal(tool, name, present);
        rivals.add(owner);
      }
    }
    return rivals;
  }

  #isNameOf(owner: string, name: string): boolean {
    return owner === name || this.#aliases.get(name) === owner;
  }
}

/** Whether `name` is that of a program's own tool, and only an alias of the built-in one: then both can be there. */
function takesAlias(own: AnyTool, builtin: AnyTool, name: string): boolean {
  const isBetween = own.origin.type === "own" && builtin.origin.type === "builtin";
  return isBetween && fold(own.name) === fold(name) && fold(builtin.name) !== fold(name);
}

/** The name of the tool that a call used, in the tool's own spelling. */
export function calledName(tool: AnyTool, requested: string): string {
  const { name } = parseVersionedName(requested);
  // `read` and `Read` are names of two dialects.
  if (name === tool.name || tool.aliases.includes(name)) return name;
  const folded = fold(name);
  return tool.aliases.find((alias) => fold(alias) === folded) ?? tool.name;
}

function fold(name: string): string {
  return name.trim().toLowerCase().replaceAll("-", "_");
}

function refusal(tool: AnyTool, name: string, owner: AnyTool): TypeError {
  // Otherwise a plugin could register a newer version of a built-in tool.
  if (name === tool.name && owner.name === name) {
    return new TypeError(
      `Tool "${name}" from ${originKey(tool)} is refused: the name belongs to ${originKey(owner)}. Rename it.`,
    );
  }
  return new TypeError(
    `Tool "${tool.name}" cannot use the name "${name}": tool "${owner.name}" of ${originKey(owner)} has it, ` +
      "or a name that looks the same. Choose another name or alias.",
  );
}

export function originKey({ origin }: AnyTool): string {
  if (origin.type === "mcp") return `mcp:${origin.server}`;
  if (origin.type === "plugin") return `plugin:${origin.plugin}`;
  if (origin.type === "client") return `client:${origin.client}`;
  return origin.type;
}

/** The server name without `__`, which separates server and tool. */
export function serverKey(server: string): string {
  return server.replace(/[^A-Za-z0-9-]+/g, "_").replace(/^_+|_+$/g, "") || "unnamed";
}

/** `read@2` means version 2 of `read`; a plain name means the default version. */
function parseVersionedName(requested: string): { name: string; version: string | undefined } {
  const at = requested.lastIndexOf("@");
  if (at <= 0) return { name: requested, version: undefined };
  return { name: requested.slice(0, at), version: requested.slice(at + 1) };
}

/** Whether `2` or `2.1` names the version `2.1.4`. */
function matchesVersion(requested: string, version: string): boolean {
  return version === requested || version.startsWith(`${requested}.`);
}

/** The newest match, compared number by number. */
function newestMatch(requested: string, tools: readonly AnyTool[]): AnyTool | undefined {
  const exact = tools.find(({ version }) => version === requested);
  if (exact) return exact;
  return tools
    .filter((tool) => matchesVersion(requested, tool.version))
    .sort((a, b) => compareVersions(b.version, a.version))[0];
}

/** Number by number; a pre-release (`2.0.0-beta`) is older than its release. */
function compareVersions(a: string, b: string): number {
  const [releaseA = "", preA] = a.split(/-(.*)/s);
  const [releaseB = "", preB] = b.split(/-(.*)/s);
  const byNumber = (left: string, right: string): number => left.localeCompare(right, "en", { numeric: true });
  if (releaseA !== releaseB || preA === preB) return byNumber(releaseA, releaseB);
  return preA === undefined ? 1 : preB === undefined ? -1 : byNumber(preA, preB);
}

/** A weighted split between versions of one tool. */
interface Split {
  arms: readonly { arm: string; tool: AnyTool; weight: number }[];
}

/** Picks an arm. A session always gets the same arm: two tools under one name would confuse a model. */
function chooseArm(split: Split, key: string): { arm: string; tool: AnyTool } {
  const total = split.arms.reduce((sum, { weight }) => sum + weight, 0);
  let left = spread(key) * total;
  for (const candidate of split.arms) {
    left -= candidate.weight;
    if (left < 0) return candidate;
  }
  return split.arms.at(-1)!;
}

/** FNV-1a with a final mix, as a number in [0, 1): uniform even for keys that differ only in their last character. */
function spread(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
