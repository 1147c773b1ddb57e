import { z } from "zod";
import { Count, JsonObject, Text, Time } from "./basics.ts";
import { ConfigurationState } from "./configuration.ts";
import { admin, anyone, namedObject, read } from "./contract.ts";

/** The answer of a request that has nothing to return. */
export const Done = namedObject("Done", { status: z.literal("ok") });
export type Done = z.infer<typeof Done>;

/** What a server may report without a token: words, no names and no paths. `ServerInfo.warnings` has the details. */
export const HealthProblem = z.enum([
  "store_damaged",
  "store_held",
  "disk_full",
  "database_lost",
  "event_loop_lag",
  "overloaded",
  "config_invalid",
  "restart_needed",
]);
export type HealthProblem = z.infer<typeof HealthProblem>;

export const Health = namedObject("Health", {
  /**
   * `damaged`: the store is only read until a person has restored it. `degraded`: see `problems`. With `restart_needed` alone
   * it is `ok`: changed settings wait for a restart.
   */
  status: z.enum(["ok", "degraded", "damaged"]),
  problems: z.array(HealthProblem),
  /** The longest delay of the event loop in the last seconds. */
  eventLoopLagMs: Count,
});
export type Health = z.infer<typeof Health>;

export const ServerInfo = namedObject("ServerInfo", {
  name: z.literal("haft"),
  version: z.string(),
  startedAt: Time,
  workspace: z.string().optional(),
  /** How another program starts Haft on this machine: a program and its first arguments. */
  command: z.array(z.string()).optional(),
  /** `kind`: the engine, such as `sqlite` or `postgres`. */
  store: z.strictObject({ kind: z.string(), place: z.string().optional() }).optional(),
  sandbox: z.strictObject({ kind: z.string(), enforced: z.boolean(), reason: z.string().optional() }).optional(),
  /** The resources that it has in addition to those of every server; `rules` if it has `policy`. */
  parts: z.array(z.string()),
  /** What a person should know: no TLS, no sandbox, a broken rule. */
  warnings: z.array(z.string()),
  /** If the files of the configuration are not in effect as they are now. */
  configuration: ConfigurationState.optional(),
  load: z.strictObject({ running: Count, waiting: Count }),
});
export type ServerInfo = z.infer<typeof ServerInfo>;

/** A hook that `haft hook install` wrote into the settings of another agent. */
export const InstalledHook = namedObject("InstalledHook", {
  agent: z.string(),
  /** For this folder, or for all folders of the user. */
  scope: z.enum(["user", "project"]),
  file: z.string(),
  /** The folder of a project; for a user, the one in which it was installed. */
  folder: z.string(),
  /** SHA-256 of what Haft wrote. */
  hash: z.string(),
  /** When it was written. */
  at: z.string(),
  /** `changed`: the file has something else. `disabled`: a settings file turns hooks off. */
  state: z.enum(["installed", "changed", "missing", "disabled", "unreadable"]),
  /** What the agent's protocol leaves open, also with a hook that works. */
  gap: z.string().optional(),
});
export type InstalledHook = z.infer<typeof InstalledHook>;

/** What a hook did with a call that must be denied. */
export const HookProof = namedObject("HookProof", {
  denies: z.boolean(),
  /** Why it does not. */
  problem: z.string().optional(),
});
export type HookProof = z.infer<typeof HookProof>;

export const server = {
  health: anyone("GET /api/health", {
    summary: "Whether the server responds, and what is wrong with it",
    isUnlimited: true,
    output: Health,
  }),
  info: read("GET /api/server", { summary: "The version, the parts and the load of this server", output: ServerInfo }),
  hooks: read("GET /api/hooks", {
    summary: "The hooks that Haft has put into other agents of this user",
    output: namedObject("InstalledHookList", { items: z.array(InstalledHook) }),
  }),
  tryHook: admin("POST /api/hooks/try", {
    summary: "Start a hook with a call that Haft always denies, if the hook is as Haft wrote it",
    body: namedObject("HookTrial", { file: Text }),
    output: HookProof,
  }),
  openApi: read("GET /api/openapi.json", { summary: "This document", output: JsonObject }),
};
