import { nearestNames } from "./nearest-name.ts";
import { chooseArm, type Split } from "./split.ts";
import type { AnyTool } from "./tool.ts";
import { newestMatch, parseVersionedName } from "./version.ts";

interface Entry {
  /** The one a plain name means: the first registered, so that a later version never shadows it unasked. */
  preferred: AnyTool;
  versions: AnyTool[];
  split?: Split;
}

/** Names to tools: who answers to which name, alias and version, and that no two ever answer to one. */
export class ToolCatalogue {
  readonly #entries = new Map<string, Entry>();
  readonly #aliases = new Map<string, string>();
  /** Names and aliases in lower case with `_`, to the canonical name; null where several tools would answer. */
  readonly #folded = new Map<string, string | null>();

  get size(): number {
    return this.#entries.size;
  }

  /** Adds a tool, or a further version of one from the same origin. A taken name is refused. */
  add(tool: AnyTool): void {
    const entry = this.#entries.get(tool.name);
    if (entry) {
      refuseOtherOrigin(entry.preferred, tool);
      if (entry.versions.some(({ version }) => version === tool.version)) {
        throw new TypeError(
          `Tool "${tool.name}" is already registered. Choose another name, unregister it first, or give another version.`,
        );
      }
      entry.versions.push(tool);
      return;
    }
    for (const name of [tool.name, ...tool.aliases]) {
      const owner = this.#aliases.get(name) ?? (this.#entries.has(name) ? name : undefined);
      if (owner !== undefined) {
        throw new TypeError(
          `Tool "${tool.name}" cannot answer to "${name}": tool "${owner}" already does. Choose another name or alias.`,
        );
      }
    }
    this.#entries.set(tool.name, { preferred: tool, versions: [tool] });
    for (const alias of tool.aliases) this.#aliases.set(alias, tool.name);
    for (const name of [tool.name, ...tool.aliases]) this.#fold(name, tool.name);
  }

  /** The tools that went with the name. */
  remove(name: string): readonly AnyTool[] {
    const entry = this.#entries.get(name);
    if (!entry) return [];
    this.#entries.delete(name);
    for (const [alias, owner] of this.#aliases) if (owner === name) this.#aliases.delete(alias);
    this.#folded.clear();
    for (const canonical of this.#entries.keys()) this.#fold(canonical, canonical);
    for (const [alias, canonical] of this.#aliases) this.#fold(alias, canonical);
    return entry.versions;
  }

  /** By name, alias, `name@version`, or a spelling that differs in case or `-` and fits one tool only. */
  get(asked: string): AnyTool | undefined {
    const entry = this.#entries.get(asked);
    if (entry) return entry.preferred;
    const { name, version } = parseVersionedName(asked);
    const found = this.#entry(name);
    if (!found || version === undefined) return found?.preferred;
    return newestMatch(version, found.versions);
  }

  /** Like `get`, for a host's own code: a wrong name is an error that shows the nearest ones. */
  require(asked: string): AnyTool {
    const tool = this.get(asked);
    if (tool) return tool;
    const near = this.nearest(asked);
    throw new TypeError(
      `No tool answers to "${asked}".${near.length > 0 ? ` Near: ${near.map((name) => `"${name}"`).join(", ")}.` : ""}`,
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
      if (!(weight >= 0)) throw new RangeError(`The weight of ${name}@${version} must be 0 or more, got ${weight}.`);
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

  nearest(name: string): string[] {
    return nearestNames(name, [...this.#entries.keys(), ...this.#aliases.keys()]);
  }

  #entry(name: string): Entry | undefined {
    const canonical = this.#entries.has(name) ? name : (this.#aliases.get(name) ?? this.#folded.get(fold(name)));
    return canonical == null ? undefined : this.#entries.get(canonical);
  }

  #fold(name: string, canonical: string): void {
    const key = fold(name);
    const known = this.#folded.get(key);
    this.#folded.set(key, known === undefined || known === canonical ? canonical : null);
  }
}

function fold(name: string): string {
  return name.trim().toLowerCase().replaceAll("-", "_");
}

/** Otherwise a plugin could put itself beside a built-in tool as a newer version of it. */
function refuseOtherOrigin(present: AnyTool, tool: AnyTool): void {
  if (originKey(present) === originKey(tool)) return;
  throw new TypeError(
    `Tool "${tool.name}" from ${originKey(tool)} is refused: the name belongs to ${originKey(present)}. Rename it.`,
  );
}

export function originKey({ origin }: AnyTool): string {
  if (origin.type === "mcp") return `mcp:${origin.server}`;
  if (origin.type === "plugin") return `plugin:${origin.plugin}`;
  if (origin.type === "client") return `client:${origin.client}`;
  return origin.type;
}
