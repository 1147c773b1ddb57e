import type { PolicyConfig } from "../policy/policy-layers.ts";
import type { ConfigPath, SourcePosition } from "./config-problem.ts";
import type { HaftConfig, HookSettings } from "./config-schema.ts";

/** Later ones win where only one can; rules and denials of all of them count. */
export const ORIGINS = ["user", "project", "local", "environment", "call"] as const;
export type ConfigOriginName = (typeof ORIGINS)[number];

/** A file as it was read: nothing in it was expanded, checked or run. */
export interface RawSource {
  origin: ConfigOriginName;
  kind: "haft" | "claude" | "mcp";
  /** Absent for the environment and for what a caller passed. */
  file?: string;
  /** What paths that begin with "/" in rules are relative to. */
  folder: string;
  /** Undefined for a module: it says something only when it is run. */
  value: unknown;
  /** The text of a module, which is what is run once it is trusted. */
  code?: string;
  /** Its values are final, as those of a module or a caller are: nothing in them is expanded. */
  isFinal?: boolean;
  positionOf(path: ConfigPath): SourcePosition | undefined;
}

export interface SourceRule {
  list: "allow" | "ask" | "deny";
  rule: string;
  line?: number;
  column?: number;
}

/** What one file says, without what is not trusted in it. */
export interface ConfigSource {
  origin: ConfigOriginName;
  kind: RawSource["kind"];
  file?: string;
  folder: string;
  value: HaftConfig;
  permissions: { allow: string[]; ask: string[]; deny: string[] };
  /** The same rules, each with its line. */
  rules: SourceRule[];
  hooks: HookSettings;
  /** For `createPolicyLayers`: the layers of every source hold together, so that none can widen another. */
  policy?: PolicyConfig;
}
