import type { MaybePromise } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import type { AuditFact } from "../executor/audit-log.ts";
import type * as wire from "./wire.ts";

/**
 * What the door shows beyond the runtime itself. Each part is given by the host that has it, in the words of the wire;
 * where one is absent, its routes are not there and `ServerInfo.parts` does not name it.
 */
export interface HostParts {
  policy?: PolicyPart;
  /** What one more rule would mean. Rules that come with an answer are kept by whoever keeps the answers. */
  rules?: RulesPart;
  audit?: AuditPart;
  undo?: UndoPart;
  mcp?: McpPart;
  configuration?: { show(): MaybePromise<wire.ConfigurationInfo> };
  /** Told what people do at the door itself (tokens, logins), before it counts: where it rejects, that is not done. */
  onFact?: OnFact;
  /** Over a longer time than the door itself remembers. */
  statistics?: { show(query: StatisticsQuery): MaybePromise<wire.StatisticsInfo> };
}

export type OnFact = (fact: AuditFact) => Promise<void>;

export interface StatisticsQuery {
  from: number;
  to: number;
  buckets: number;
}

export interface PolicyPart {
  show(): MaybePromise<wire.PolicyInfo>;
  explain(request: wire.ExplainRequest, user: string): MaybePromise<wire.Explanation>;
  lint(): MaybePromise<wire.LintFinding[]>;
  simulate(request: wire.SimulateRequest): MaybePromise<wire.Simulation>;
  /** What is known of a tool before its input is; undefined where that depends on the input. */
  verdictOf?(tool: AnyTool): wire.Verdict | undefined;
}

export interface RulesPart {
  effect(rule: string, decision: wire.Verdict["decision"]): MaybePromise<wire.RuleEffect>;
}

export interface AuditPart {
  search(query: wire.AuditQuery): MaybePromise<wire.AuditPage>;
  find(id: string): MaybePromise<wire.AuditEntry | undefined>;
  /** Oldest first, as they are read: an export may be longer than memory. */
  export(query: wire.AuditQuery): AsyncIterable<wire.AuditEntry>;
  /** With the head that was noted before, also what was cut off since is found. */
  verify(head?: string): MaybePromise<wire.AuditCheck>;
}

export interface McpPart {
  list(): MaybePromise<wire.McpServerInfo[]>;
  act(server: string, request: wire.McpActionRequest, by: string): MaybePromise<wire.McpServerInfo>;
}

export interface UndoPart {
  list(query: {
    call?: string;
    session?: string;
    limit: number;
    cursor?: string;
  }): MaybePromise<wire.Page<wire.ChangeInfo>>;
  find(id: string): MaybePromise<wire.ChangeDetail | undefined>;
  /** Those of the calls that changed files which can be put back. */
  undoable(callIds: readonly string[]): MaybePromise<ReadonlySet<string>>;
  undo(request: wire.UndoRequest, by: string): MaybePromise<wire.UndoOutcome>;
}
