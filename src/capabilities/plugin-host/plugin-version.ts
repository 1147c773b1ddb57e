import { stat } from "node:fs/promises";
import { join } from "node:path";
import { loadConfig, type LoadedConfig } from "../../config/load-config.ts";
import type { PluginReference } from "../../config/plugins.ts";
import { digestPlugin } from "../../config/code-digests.ts";
import { type UserOptions, userPaths } from "../../config/user-paths.ts";
import { toolOf } from "../../core/call.ts";
import type { Clock } from "../../core/clock.ts";
import { errorMessage, failureText } from "../../core/error.ts";
import { canonicalJson } from "../../core/json.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Middleware, Stage, StageHooks } from "../../core/stage.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { HostOptions } from "../capability.ts";

/** Calls in quick succession share one look at the files. */
const CHECK_MS = 100;

/** Thrown by a `load` that found other tools: only a restart registers them. */
export class ToolsDiffer extends Error {}

interface VersionOptions {
  clock: Clock;
  /** The file of what people trust. */
  trustFile: string;
  /** Whether the plugin's files, as they are now, may run. */
  isTrusted(): Promise<boolean>;
}

/** Which version of a plugin's files runs, and whether it is the one on the disk. */
export class PluginVersion {
  readonly #reference: PluginReference;
  readonly #options: VersionOptions;
  /** The files that run. */
  #digests = "";
  #stamp = "";
  #paths: readonly string[] = [];
  #warning: string | undefined = undefined;
  #checking: Promise<void> | undefined = undefined;
  #checkedAt = -Infinity;
  /** Loads the new version in place of the running one. Without it, only a restart does. */
  load: (() => Promise<void>) | undefined = undefined;

  private constructor(reference: PluginReference, options: VersionOptions) {
    this.#reference = reference;
    this.#options = options;
  }

  /** Reads the files; call it before the plugin is loaded. */
  static async read(reference: PluginReference, options: VersionOptions): Promise<PluginVersion> {
    const version = new PluginVersion(reference, options);
    version.#digests = await version.#readFiles();
    version.#stamp = await version.#readStamp();
    return version;
  }

  /** Whether the files are still those that run. */
  async isCurrent(): Promise<boolean> {
    return (await this.#readFiles()) === this.#digests;
  }

  /** For callers, if older code than that of the files runs. As of the last check. */
  get warning(): string | undefined {
    return this.#warning;
  }

  /** If the files have changed and are trusted, loads them. Returns the warning. */
  async check(): Promise<string | undefined> {
    const now = this.#options.clock.monotonic();
    if (!this.#checking && now - this.#checkedAt < CHECK_MS) return this.#warning;
    this.#checkedAt = now;
    this.#checking ??= this.#check().finally(() => (this.#checking = undefined));
    await this.#checking;
    return this.#warning;
  }

  async #check(): Promise<void> {
    const stamp = await this.#readStamp();
    if (stamp === this.#stamp) return;
    const digests = await this.#readFiles();
    // Of the files that were just found; a change while they are loaded is seen by the next call.
    this.#stamp = await this.#readStamp();
    this.#warning = digests === this.#digests ? undefined : await this.#update(digests);
  }

  async #update(digests: string): Promise<string | undefined> {
    const old = `Haft runs an earlier version of the plugin "${this.#reference.from}"`;
    if (!(await this.#options.isTrusted())) {
      return `${old}, because the changed one is not trusted. Review and trust it: haft trust`;
    }
    if (!this.load) return `${old}. To use the changed one, restart Haft (haft serve).`;
    try {
      await this.load();
    } catch (error) {
      if (error instanceof ToolsDiffer) return `${old}, because its tools changed. Restart Haft (haft serve).`;
      return `${old}, because the changed one cannot be loaded: ${errorMessage(error)}`;
    }
    this.#digests = digests;
    return undefined;
  }

  async #readFiles(): Promise<string> {
    const { from, folder, path } = this.#reference;
    try {
      const digests = await digestPlugin(from, folder);
      const isFolder = path !== undefined && (await stat(path).catch(() => undefined))?.isDirectory();
      const names = Object.keys(digests).map((name) => join(folder, name));
      // A folder changes if a file is added.
      this.#paths = isFolder ? [path, ...names] : names;
      return canonicalJson(digests);
    } catch (error) {
      return `unreadable: ${errorMessage(error)}`;
    }
  }

  async #readStamp(): Promise<string> {
    const stamps = [...this.#paths, this.#options.trustFile].map(async (path) => {
      const info = await stat(path, { bigint: true }).catch(() => undefined);
      return info ? `${info.ino} ${info.size} ${info.mtimeNs}` : "absent";
    });
    return (await Promise.all(stamps)).join("\n");
  }
}

/** The versions of a host's plugins. */
export class PluginVersions {
  readonly #config: LoadedConfig;
  readonly #options: HostOptions;
  readonly #user: UserOptions;
  readonly #clock: Clock;
  readonly #all = new Set<PluginVersion>();
  /** The plugins that were there at the start, by `from`. */
  readonly #known = new Set<string>();
  readonly #byTool = new WeakMap<AnyTool, PluginVersion>();

  constructor(
    config: LoadedConfig,
    { options, user, clock }: { options: HostOptions; user: UserOptions; clock: Clock },
  ) {
    this.#config = config;
    this.#options = options;
    this.#user = user;
    this.#clock = clock;
  }

  read(reference: PluginReference): Promise<PluginVersion> {
    this.#known.add(reference.from);
    return PluginVersion.read(reference, {
      clock: this.#clock,
      trustFile: join(userPaths(this.#user).folder, "trust.json"),
      isTrusted: () => this.#isTrusted(reference),
    });
  }

  bind(version: PluginVersion, tools: Iterable<AnyTool>): void {
    this.#all.add(version);
    for (const tool of tools) this.#byTool.set(tool, version);
  }

  /** As at the start: a configuration has only the plugins that are trusted. */
  async #isTrusted({ from, path }: PluginReference): Promise<boolean> {
    const { overrides } = this.#options;
    const config = await loadConfig({ ...this.#user, folder: this.#config.folder, overrides }).catch(() => undefined);
    return config?.plugins.some((each) => each.enabled && each.from === from && each.path === path) ?? false;
  }

  readonly #hooks: StageHooks = {
    enter: (call) =>
      this.#byTool
        .get(toolOf(call))
        ?.check()
        .then(() => undefined),
    leave: (call, result) => {
      const warning = this.#byTool.get(toolOf(call))?.warning;
      if (warning === undefined) return result;
      return { ...result, metadata: { ...result.metadata, warnings: [...(result.metadata.warnings ?? []), warning] } };
    },
  };

  /** Updates the plugin of a call's tool before the call, and warns if that is not possible. */
  readonly middleware: readonly (Middleware & Pick<Stage, "compile">)[] = [
    {
      name: "missing plugins",
      after: "telemetry",
      // The tool is there.
      compile: () => ({}),
      leave: (_call, result) =>
        result.status === "failed" && result.error.code === "tool_not_found" ? this.#explain(result) : result,
    },
    {
      name: "plugin version",
      after: "resolve",
      compile: ({ origin }) => (origin.type === "plugin" ? this.#hooks : {}),
      ...this.#hooks,
    },
  ];

  async #explain(result: ToolResult & { status: "failed" }): Promise<ToolResult> {
    const more: string[] = [];
    const kinds = new Set(this.#config.untrusted.map(({ kind }) => kind));
    const what = [kinds.has("plugin") ? "plugins" : [], kinds.has("mcp_server") ? "MCP servers" : []].flat();
    if (what.length > 0) {
      // Servers start as soon as they are trusted.
      const needsRestart = kinds.has("plugin") && !this.#options.isShortLived;
      const next = needsRestart ? "Trust them (haft trust), then restart Haft." : "Review and trust them: haft trust";
      more.push(`Some ${what.join(" and ")} of this folder are not loaded, because they are not trusted. ${next}`);
    }
    const added = this.#config.plugins.filter(({ enabled, from }) => enabled && !this.#known.has(from));
    if (added.length > 0) {
      const names = added.map(({ from }) => `"${from}"`).join(", ");
      more.push(`Not loaded, because added since the start: ${names}. Restart Haft (haft serve).`);
    }
    for (const version of this.#all) more.push(...[(await version.check()) ?? []].flat());
    if (more.length === 0) return result;
    const error = { ...result.error, next: [result.error.next ?? [], ...more].flat().join(" ") };
    return { ...result, content: [{ type: "text", text: failureText(error) }], error };
  }
}

const versions = new WeakMap<object, PluginVersions>();

/** Remembers the versions of a runtime's plugins. */
export function bindVersions(haft: object, of: PluginVersions): void {
  versions.set(haft, of);
}

export function versionsOf(haft: object): PluginVersions {
  const found = versions.get(haft);
  if (!found) throw new Error("The runtime was created without its plugins' versions.");
  return found;
}
