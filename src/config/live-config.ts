import { canonicalJson } from "../core/json.ts";
import type { Clock } from "../core/clock.ts";
import { errorMessage } from "../core/error.ts";
import { isObject } from "../schema/json-schema.ts";
import { ConfigWatch, type Looks, recordLooks } from "./config-watch.ts";
import { loadConfig, type LoadConfigOptions, type LoadedConfig, untrustedNotice } from "./load-config.ts";
import { ConfigError, type ConfigProblem, showProblem } from "./problems.ts";
import { restartNeeded } from "./setting-binding.ts";
import { type ConfigSource, type RawSource, readSources } from "./sources.ts";
import { openTrustStore } from "./trust.ts";
import { userPaths } from "./user-paths.ts";

/** How far the configuration of a running process is that of its files. */
export interface ConfigStatus {
  /** Why the files are not used as they are now. The last configuration without a problem is in effect, with their denials. */
  problems: readonly ConfigProblem[];
  /** Settings that were changed and take effect after a restart. */
  restartNeeded: readonly string[];
}

export interface FollowOptions {
  clock: Clock;
  /** Checks a configuration; throws if it cannot be used. What it returns puts it into effect, all at once. */
  prepare(next: LoadedConfig): Promise<() => void>;
  /** Whether a text of a file is a rule. */
  isRule(text: string, list: "ask" | "deny"): boolean;
  /** Changes if a rule was added or removed at run time. What was loaded before that is out of date. */
  revision(): number;
  /** Whether something else than a file has changed. */
  hasChanged?(): boolean;
  warn(warning: string): void;
}

/** The configuration of a process, which follows its files. */
export class LiveConfig {
  /** In effect. Its content is replaced when a file changes, so read it when it is needed, and keep no part of it. */
  readonly current: LoadedConfig;
  readonly #options: LoadConfigOptions;
  readonly #started: LoadedConfig;
  /** The last one without a problem. */
  #good: LoadedConfig;
  #applied: string;
  #problems: readonly ConfigProblem[] = [];
  #restart: readonly string[] = [];
  #looks: Looks;

  private constructor(options: LoadConfigOptions, loaded: LoadedConfig, looks: Looks) {
    this.#options = options;
    this.#started = loaded;
    this.#good = loaded;
    this.#applied = canonicalJson(loaded);
    this.#looks = looks;
    this.current = { ...loaded };
  }

  /** Throws a `ConfigError` with all problems. */
  static async open(options: LoadConfigOptions): Promise<LiveConfig> {
    const looks: Looks = new Map();
    return new LiveConfig(options, await recordLooks(looks, () => loadConfig(options)), looks);
  }

  status(): ConfigStatus {
    return { problems: this.#problems, restartNeeded: this.#restart };
  }

  /** From now on, a change of a file takes effect within two seconds. */
  follow(options: FollowOptions): ConfigWatch {
    let isForced = false;
    const { clock, hasChanged = () => false } = options;
    return new ConfigWatch(this.#looks, {
      clock,
      hasChanged: () => (isForced = hasChanged()),
      onChange: () => this.#reload(options, isForced),
    });
  }

  async #reload(options: FollowOptions, isForced: boolean): Promise<Looks> {
    const looks: Looks = new Map();
    const before = this.#good;
    const load = () => loadConfig({ ...this.#options, requiresTrustFile: true });
    try {
      this.#good = await this.#apply(() => recordLooks(looks, load), options, isForced);
      this.#report([], options);
      this.#reportChanges(before, options);
    } catch (error) {
      await this.#keep(error, options, isForced);
    }
    return looks;
  }

  /** Loads again if a rule was saved meanwhile: it may not be in what was loaded. */
  async #apply(
    load: () => Promise<LoadedConfig>,
    { prepare, revision }: FollowOptions,
    isForced: boolean,
  ): Promise<LoadedConfig> {
    for (;;) {
      const from = revision();
      const next = await load();
      const text = canonicalJson(next);
      if (text === this.#applied && !isForced) return next;
      const apply = await prepare(next);
      if (revision() !== from) continue;
      Object.assign(this.current, { commandsConfinedBy: undefined }, next);
      apply();
      this.#applied = text;
      return next;
    }
  }

  /** Nothing is loosened by a file that cannot be read, and what it denies holds. */
  async #keep(error: unknown, options: FollowOptions, isForced: boolean): Promise<void> {
    try {
      const load = async () =>
        withRestrictions(
          this.#good,
          await readRestrictions(this.#options, { known: this.#good.sources, isRule: options.isRule }),
        );
      await this.#apply(load, options, isForced);
    } catch (second) {
      options.warn(`The denials of a configuration that cannot be used were not read: ${errorMessage(second)}`);
    }
    const problems = error instanceof ConfigError ? error.problems : [{ message: errorMessage(error) }];
    this.#report(problems, options);
  }

  #report(problems: readonly ConfigProblem[], { warn }: FollowOptions): void {
    const texts = problems.map(showProblem);
    const isNew = texts.join("\n") !== this.#problems.map(showProblem).join("\n");
    this.#problems = problems;
    if (!isNew) return;
    if (problems.length === 0) return warn("The configuration can be read again, and is in effect.");
    const kept = "The last good configuration stays in effect, with every deny and ask rule that can be read.";
    warn(`The changed configuration cannot be used: ${texts.join(" ")} ${kept}`);
  }

  #reportChanges(before: LoadedConfig, { warn }: FollowOptions): void {
    const now = this.#good;
    const filesOf = ({ sources }: LoadedConfig) => new Set(sources.flatMap(({ file }) => file ?? []));
    const left = filesOf(now);
    for (const file of filesOf(before)) if (!left.has(file)) warn(`${file} is gone: its rules and settings ended.`);
    const known = new Set(before.warnings.map(showProblem));
    for (const text of now.warnings.map(showProblem)) if (!known.has(text)) warn(text);
    const isUntrusted = canonicalJson(now.untrusted) !== canonicalJson(before.untrusted) && now.untrusted.length > 0;
    if (isUntrusted) warn(untrustedNotice(now));
    const keys = restartNeeded(this.#started, now);
    const isNew = keys.some((key) => !this.#restart.includes(key));
    this.#restart = keys;
    if (isNew) warn(`Restart needed: ${keys.join(", ")} changed, and cannot change in a running process.`);
  }
}

/** Deny and ask rules, denied tools and paths of every file, whatever else is wrong with it, without those of `known`. */
async function readRestrictions(
  { folder = process.cwd(), ...options }: LoadConfigOptions,
  { known, isRule }: { known: readonly ConfigSource[] } & Pick<FollowOptions, "isRule">,
): Promise<ConfigSource[]> {
  const user = userPaths(options);
  const trusted = await openTrustStore(user)
    .read(folder)
    .catch(() => new Set<string>());
  const { sources, broken } = await readSources(folder, user, trusted);
  return [...sources, ...broken].flatMap((raw) => {
    const earlier = known.filter(({ file, kind }) => file === raw.file && kind === raw.kind);
    return restrictionsOf(raw, { known: earlier, isRule }) ?? [];
  });
}

function restrictionsOf(
  raw: RawSource,
  { known, isRule }: { known: readonly ConfigSource[] } & Pick<FollowOptions, "isRule">,
): ConfigSource | undefined {
  const { origin, kind, file, folder, value } = raw;
  const rulesOf = (list: "ask" | "deny"): string[] =>
    textsAt(value, "permissions", list).filter(
      (rule) => isRule(rule, list) && !known.some(({ permissions }) => permissions[list].includes(rule)),
    );
  const [ask, deny] = [rulesOf("ask"), rulesOf("deny")];
  const tools = textsAt(value, "tools", "deny");
  const denyGlobs = textsAt(value, "workspace", "denyGlobs");
  if (ask.length + deny.length + tools.length + denyGlobs.length === 0) return undefined;
  const rules = (["ask", "deny"] as const).flatMap((list) =>
    (list === "ask" ? ask : deny).map((rule) => ({ list, rule })),
  );
  const policy = tools.length > 0 ? { deny: tools } : undefined;
  const permissions = { allow: [], ask, deny };
  return { origin, kind, file, folder, value: { workspace: { denyGlobs } }, permissions, rules, hooks: {}, policy };
}

function withRestrictions(good: LoadedConfig, restrictions: readonly ConfigSource[]): LoadedConfig {
  const { workspace } = good.value;
  const globs = restrictions.flatMap(({ value }) => value.workspace?.denyGlobs ?? []);
  const denyGlobs = [...new Set([...(workspace.denyGlobs ?? []), ...globs])];
  return {
    ...good,
    sources: [...good.sources, ...restrictions],
    value: { ...good.value, workspace: { ...workspace, denyGlobs } },
  };
}

function textsAt(value: unknown, section: string, key: string): string[] {
  const of = isObject(value) ? value[section] : undefined;
  const list = isObject(of) ? of[key] : undefined;
  return Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
}
