import type { LoadConfigOptions, LoadedConfig } from "../config/load-config.ts";
import type { HaftConfig } from "../config/config-schema.ts";
import type { UserOptions } from "../config/user-paths.ts";
import type { CallRequest } from "../contracts/calls.ts";
import type { Identity } from "../contracts/identity.ts";
import type { ApiHandlers } from "../contracts/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Registrable } from "../core/adopt/adopt.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise, Middleware } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import type { AuditFact } from "../gate/audit-log.ts";
import type { Approver } from "../gate/permit/approver.ts";
import type { RuleSet } from "../gate/permit/rules/rule-set.ts";
import type { SignInOptions } from "../mcp/client/oauth.ts";
import type { Haft, HaftOptions } from "../runtime.ts";
import type { ChannelKind } from "../tools/message/channel.ts";
import type { AgentFor, CapabilityValues } from "./capability-values.ts";

/** How a folder is opened: overrides of its configuration, and what a program provides. */
export interface HostOptions extends Omit<LoadConfigOptions, "folder" | "requiresTrustFile"> {
  /** Which calls ask because of who chose their values, and labels of tools. As in `createHaft`. Overrides every file. */
  provenance?: NonNullable<LoadConfigOptions["overrides"]>["provenance"];
  /** Besides the tools of the workspace, of capabilities and of plugins. */
  tools?: Iterable<Registrable>;
  /** Further stages of the gate. */
  middleware?: readonly Middleware[];
  /** Makes the data of the host for calls that bring none. As in `createHaft`. */
  contextFor?: HaftOptions["contextFor"];
  /** Judges each call in this process, by its input. As in `createHaft`. */
  decide?: HaftOptions["decide"];
  /** Asks a person about a call, and waits for the answer. */
  approver?: Approver;
  /** How long a call that needs an approval waits for it; `false`: not at all. Default: as configured. */
  approvalWaitMs?: number | false;
  /** Whether background calls of this process may run in it. If not, they wait for a worker. Default: true. */
  runsJobs?: boolean;
  /** The process ends after one command: it waits for the calls that it runs, and takes over none of other processes. */
  isShortLived?: boolean;
  /** Nobody can answer questions of `ask_user`, and the conversation ends with this process. Default: false. */
  isUnattended?: boolean;
  /**
   * The process belongs to Haft, as those of `haft serve` and `haft worker` do. Errors that tools leave behind are recorded with
   * their call, and the process goes on; a tool that blocks the event loop is named. Default: false, Haft adds no handler to
   * the process.
   */
  ownsProcess?: boolean;
  /** Whether MCP servers are started and connected. Default: true. */
  connectsMcp?: boolean;
  /** How a person signs in to remote MCP servers. If omitted, only earlier sign-ins are used. */
  mcpSignIn?: Omit<SignInOptions, "tokens">;
  /** Chooses the agent that answers in a session, instead of the configured one. */
  agentFor?: (session: Parameters<AgentFor>[0], haft: Haft) => ReturnType<AgentFor>;
  /** Kinds of message channels besides the built-in ones. */
  channelKinds?: readonly ChannelKind[];
  /** The clock of everything that waits. */
  clock?: Clock;
  /** Called with each warning about the configuration. Default of `openHaft`: a process warning. */
  onWarning?: (warning: string) => void;
}

type ValueName = keyof CapabilityValues;
/** Every host has these. */
export type BaseName = "store" | "workspace" | "undo" | "runtime";
/** An optional part of a host. */
export type CapabilityName = Exclude<ValueName | "plugins", BaseName>;

/** What every capability is given, besides the values of those that it names. */
export interface CapabilityContext {
  /** In effect now. Its content is replaced when a file changes: read it when it is needed. */
  readonly config: LoadedConfig;
  readonly options: HostOptions;
  readonly user: UserOptions;
  /** The folder of what Haft writes for itself about this workspace. */
  readonly stateFolder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** The rules of all configuration files. */
  readonly rules: RuleSet;
  /** Whether some capabilities are left out. */
  readonly isPartial: boolean;
  /** What has been opened so far, in this order. */
  readonly opened: readonly OpenCapability[];
  warn(warning: string): void;
}

/** What the API handlers of a capability use. */
export interface ApiServices {
  haft: Haft;
  /** Makes a call for a client, with the rights of the identity. */
  start(request: CallRequest, identity: Identity): { readonly result: Promise<ToolResult> };
  /** Records what people do, before it takes effect: if it rejects, nothing is done. */
  record(fact: AuditFact): Promise<void>;
}

export interface OpenCapability<Value = unknown> {
  value: Value;
  tools?: readonly AnyTool[];
  /** The handlers of its resources. */
  api?(services: ApiServices): ApiHandlers;
  /** Why calls of a tool need an approval, whatever the rules say. */
  requiresApproval?(tool: AnyTool): string | undefined;
  /**
   * Prepares a changed configuration, and throws if it cannot be used. What it returns puts the change into effect, after
   * `context.config` and the rules; it must not wait. A part that reads `context.config` at each use needs none.
   */
  reload?(next: LoadedConfig): MaybePromise<(() => void) | undefined>;
  close?(): MaybePromise<unknown>;
}

/**
 * A part of a host, in one file. The loop of `openHost` opens it after those that it names, and closes it before them.
 * If `open` throws, it has closed what it had opened.
 */
export interface Capability<
  Name extends string = string,
  Needs extends ValueName = ValueName,
  Uses extends ValueName = ValueName,
> {
  readonly name: Name;
  /** The sections of the configuration that it reads. */
  readonly config: readonly (keyof HaftConfig)[];
  /** Opened with it. */
  readonly needs?: readonly Needs[];
  /** Opened before it if they are opened at all. */
  readonly uses?: readonly Uses[];
  open(
    context: CapabilityContext & Pick<CapabilityValues, Needs> & Partial<Pick<CapabilityValues, Uses>>,
  ): MaybePromise<OpenCapability<Name extends ValueName ? CapabilityValues[Name] : undefined>>;
}

export function defineCapability<
  const Name extends string,
  const Needs extends ValueName = never,
  const Uses extends ValueName = never,
>(capability: Capability<Name, Needs, Uses>): Capability<Name, Needs, Uses> {
  return capability;
}

export type AnyCapability = Pick<Capability, "name" | "config" | "needs" | "uses"> & {
  open(context: CapabilityContext & Partial<CapabilityValues>): MaybePromise<OpenCapability>;
};
