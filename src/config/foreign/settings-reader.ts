import { didYouMean } from "../../core/nearest-name.ts";
import { isObject } from "../../schema/json-schema.ts";
import { ConfigError, type ConfigPath, isBelow, pathKey, showPath, type SourcePosition } from "../problems.ts";
import type { ServerLimit, ServerLimits } from "./server-limits.ts";

/** What happened to one setting of another program. */
export interface ImportedSetting {
  /** Its file. */
  file: string;
  line?: number;
  /** Its key, as in `permissions.deny[0]`; for a file that is used as a whole, empty. */
  setting: string;
  /** `narrowed`: it has effect, and only restricts. `not_applied`: it has no effect here. */
  outcome: "applied" | "narrowed" | "not_applied";
  /** What it does here, or why it has no effect and what to write instead. Has no values that may be secrets. */
  reason: string;
}

/** With the path in the file, until the trust of its parts is known. */
export interface LocatedSetting extends ImportedSetting {
  at: ConfigPath;
  /** It is probably misspelled: a warning at each start. */
  isMisspelled?: boolean;
}

/** Why variables of another program's settings have no effect. */
export const FIXED_VARIABLES =
  "Commands get a fixed list of ordinary variables (PATH, HOME, LANG and the like), and no others.";

/** What `makeReadOnly` does. */
export const READ_ONLY = "No tool changes files here. Commands run confined and change none, or do not run.";

type RuleList = "allow" | "ask" | "deny";

/**
 * `server_tool` and `server_*` are tools of MCP servers, whose names may have `_` too, so every split is meant. A `*` may also
 * stand for the place of the split.
 */
export function serverToolsOf(written: string): string[] {
  const key = written.replaceAll(/[.?]/g, (mark) => (mark === "." ? "_" : "*"));
  const parts = key.split("_");
  const splits = parts.slice(1).map((_, at) => {
    return `mcp__${parts.slice(0, at + 1).join("_")}__${parts.slice(at + 1).join("_")}`;
  });
  return splits.length === 0 || key.includes("*") ? [...splits, `mcp__${key}`] : splits;
}

/**
 * Reads one settings file of another program. A reader says for each setting what becomes of it, and collects what that is in
 * Haft's own configuration. `report` adds a line for every setting that no reader named, so none is passed over.
 */
export class SettingsReader {
  readonly file: string;
  readonly value: Readonly<Record<string, unknown>>;
  readonly excluded: ServerLimit[] = [];
  allowed: ServerLimit[] | undefined;
  only: ServerLimits["only"];
  /** Commands run confined, or not at all. */
  confinesCommands = false;
  readonly #positionOf: (path: ConfigPath) => SourcePosition | undefined;
  readonly #lines: Pick<LocatedSetting, "at" | "outcome" | "reason" | "isMisspelled">[] = [];
  readonly #rules: Record<RuleList, { rule: string; at: ConfigPath }[]> = { allow: [], ask: [], deny: [] };
  readonly #deniedTools: string[] = [];
  #allowedTools: string[] | undefined;
  readonly #problems: { at: ConfigPath; message: string }[] = [];
  #readOnly = false;

  constructor(file: string, value: unknown, positionOf: (path: ConfigPath) => SourcePosition | undefined) {
    this.file = file;
    this.value = isObject(value) ? value : {};
    this.#positionOf = positionOf;
  }

  /** Undefined if a part of the path does not exist. */
  get(...path: string[]): unknown {
    let value: unknown = this.value;
    for (const part of path) value = isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined;
    return value;
  }

  /** The entries of an object, each with its path. */
  entries(...path: string[]): { key: string; value: unknown; at: string[] }[] {
    const value = this.get(...path);
    return isObject(value)
      ? Object.entries(value).map(([key, each]) => ({ key, value: each, at: [...path, key] }))
      : [];
  }

  /** The texts of a list that narrows, each with its path. Anything else is an error: a denial would be lost. */
  texts(...path: string[]): { text: string; at: ConfigPath }[] {
    const value = this.get(...path);
    if (value === undefined) return [];
    if (!Array.isArray(value)) return (this.invalid(path, "Must be a list of texts."), []);
    return value.flatMap((text: unknown, index) => {
      const at = [...path, index];
      if (typeof text === "string") return [{ text, at }];
      this.invalid(at, "Must be a text.");
      return [];
    });
  }

  /** A setting that narrows has a value that cannot be read, so the file is not used: `requireValid` throws. */
  invalid(at: ConfigPath, message: string): void {
    this.#problems.push({ at, message });
  }

  requireValid(): void {
    if (this.#problems.length === 0) return;
    throw new ConfigError(
      this.#problems.map(({ at, message }) => ({
        file: this.file,
        ...this.#positionOf(at),
        path: showPath(at),
        message,
      })),
    );
  }

  /** Whether there is a line for the setting, or for a part of it. */
  hasLine(at: ConfigPath): boolean {
    return this.#lines.some((line) => isBelow(line.at, at));
  }

  applied(at: ConfigPath, reason: string): void {
    this.#lines.push({ at, outcome: "applied", reason });
  }

  narrowed(at: ConfigPath, reason: string): void {
    this.#lines.push({ at, outcome: "narrowed", reason });
  }

  notApplied(at: ConfigPath, reason: string): void {
    this.#lines.push({ at, outcome: "not_applied", reason });
  }

  /** A key that Haft does not know, and that is close to one of the known ones. */
  unknownKey(at: ConfigPath, known: readonly string[], otherwise: string): void {
    const hint = didYouMean(String(at.at(-1)), known);
    this.#lines.push({ at, outcome: "not_applied", reason: hint ?? otherwise, isMisspelled: hint !== undefined });
  }

  /** A rule for this setting. `allow` rules of a folder have effect after it is trusted. */
  addRule(list: RuleList, rule: string, at: ConfigPath): void {
    this.#rules[list].push({ rule, at });
  }

  /** These tools do not exist for anybody. */
  denyTools(names: readonly string[]): void {
    this.#deniedTools.push(...names);
  }

  /** No other tools exist. */
  allowOnlyTools(names: readonly string[]): void {
    this.#allowedTools = this.#allowedTools?.filter((name) => names.includes(name)) ?? [...names];
  }

  /** Neither a tool nor a command changes files of the workspace. */
  makeReadOnly(at: ConfigPath): void {
    this.#readOnly = true;
    this.confinesCommands = true;
    this.addRule("deny", "Edit", at);
  }

  /** The settings as a configuration of Haft, on top of parts of the file that are one already. */
  config(parts: Readonly<Record<string, unknown>> = {}): {
    value: Record<string, unknown>;
    origins: Map<string, ConfigPath>;
  } {
    const value: Record<string, unknown> = { ...parts };
    const origins = new Map<string, ConfigPath>();
    const permissions: Record<string, unknown> = isObject(parts["permissions"]) ? { ...parts["permissions"] } : {};
    for (const list of ["allow", "ask", "deny"] as const) {
      if (this.#rules[list].length === 0) continue;
      const written = Array.isArray(permissions[list]) ? (permissions[list] as unknown[]) : [];
      for (const [index, { at }] of this.#rules[list].entries()) {
        origins.set(pathKey(["permissions", list, written.length + index]), at);
      }
      permissions[list] = [...written, ...this.#rules[list].map(({ rule }) => rule)];
    }
    if (Object.keys(permissions).length > 0) value["permissions"] = permissions;
    const tools: Record<string, unknown> = {};
    if (this.#deniedTools.length > 0) tools["deny"] = [...new Set(this.#deniedTools)];
    if (this.#allowedTools) tools["allow"] = this.#allowedTools;
    if (Object.keys(tools).length > 0) value["tools"] = tools;
    if (this.#readOnly) value["workspace"] = { readOnlyPaths: ["."] };
    return { value, origins };
  }

  limits(lists: readonly string[]): ServerLimits | undefined {
    const { file, excluded, allowed, only } = this;
    return excluded.length === 0 && !allowed && !only ? undefined : { file, excluded, allowed, only, lists };
  }

  /** One line for each setting. Those that no reader named are not applied. */
  report(): LocatedSetting[] {
    const named = new Set(this.#lines.map(({ at }) => pathKey(at)));
    const parents = new Set(this.#lines.flatMap(({ at }) => at.map((_, length) => pathKey(at.slice(0, length)))));
    const visit = (value: unknown, at: ConfigPath): void => {
      const key = pathKey(at);
      if (at.at(-1) === "$schema" || named.has(key)) return;
      if (at.length > 0 && !parents.has(key)) {
        this.notApplied(at, "Haft has no such setting.");
        return;
      }
      if (Array.isArray(value)) value.forEach((each, index) => visit(each, [...at, index]));
      else if (isObject(value)) for (const [key, each] of Object.entries(value)) visit(each, [...at, key]);
    };
    visit(this.value, []);
    return this.#lines.map(({ at, ...line }) => {
      return { file: this.file, line: this.#positionOf(at)?.line, setting: showPath(at), ...line, at };
    });
  }
}
