import type { CallAuthority } from "../core/call.ts";
import type { ScheduleRequest } from "../core/schedule.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import type { AuditFact } from "../gate/audit-log.ts";
import type { JobQuery } from "../calls/job-queue.ts";
import type * as wire from "./wire.ts";

/**
 * What the door shows beyond the runtime itself. Each part is given by the host that has it, in the words of the wire;
 * where one is absent, its routes are not there and `ServerInfo.parts` does not name it.
 */
export interface HostCapabilities {
  policy?: PolicyCapability;
  /** What one more rule would mean. Rules that come with an answer are kept by whoever keeps the answers. */
  rules?: RulesCapability;
  audit?: AuditCapability;
  undo?: UndoCapability;
  artifacts?: ArtifactsCapability;
  canvas?: CanvasCapability;
  mcp?: McpCapability;
  channels?: ChannelsCapability;
  questions?: QuestionsCapability;
  jobs?: JobsCapability;
  schedules?: SchedulesCapability;
  sessions?: SessionsCapability;
  configuration?: { show(): MaybePromise<wire.ConfigurationInfo> };
  /** Told what people do at the door itself (tokens, logins), before it counts: where it rejects, that is not done. */
  onAuditFact?: OnAuditFact;
  /** Over a longer time than the door itself remembers. */
  statistics?: { show(query: StatisticsQuery): MaybePromise<wire.StatisticsInfo> };
}

export type OnAuditFact = (fact: AuditFact) => Promise<void>;

export interface StatisticsQuery {
  from: number;
  to: number;
  buckets: number;
}

export interface PolicyCapability {
  show(): MaybePromise<wire.PolicyInfo>;
  explain(request: wire.ExplainRequest, user: string): MaybePromise<wire.Explanation>;
  lint(): MaybePromise<wire.LintFinding[]>;
  simulate(request: wire.SimulateRequest): MaybePromise<wire.Simulation>;
  /** What is known of a tool before its input is; undefined where that depends on the input. */
  verdictOf?(tool: AnyTool): wire.Verdict | undefined;
}

export interface RulesCapability {
  effect(rule: string, decision: wire.Verdict["decision"]): MaybePromise<wire.RuleEffect>;
}

export interface AuditCapability {
  search(query: wire.AuditQuery): MaybePromise<wire.AuditPage>;
  find(id: string): MaybePromise<wire.AuditEntry | undefined>;
  /** Oldest first, as they are read: an export may be longer than memory. */
  export(query: wire.AuditQuery): AsyncIterable<wire.AuditEntry>;
  /** With the head that was noted before, also what was cut off since is found. */
  verify(head?: string): MaybePromise<wire.AuditCheck>;
}

export interface McpCapability {
  list(): MaybePromise<wire.McpServerInfo[]>;
  act(server: string, request: wire.McpActionRequest, by: string): MaybePromise<wire.McpServerInfo>;
  /** The browser came back from a sign-in that was begun here. */
  finishSignIn(callback: string, by: string): MaybePromise<wire.McpServerInfo>;
  resources(server: string): MaybePromise<wire.McpResourceList>;
  prompts(server: string): MaybePromise<wire.McpPromptInfo[]>;
  prompt(server: string, request: wire.McpPromptRequest, by: string): MaybePromise<wire.McpPromptText>;
}

export interface QuestionsCapability {
  /** Oldest first. */
  list(state?: wire.QuestionInfo["state"]): MaybePromise<wire.QuestionInfo[]>;
  find(id: string): MaybePromise<wire.QuestionInfo | undefined>;
  answer(id: string, answer: wire.QuestionAnswerRequest, by: string): MaybePromise<wire.QuestionInfo>;
}

export interface ArtifactsCapability {
  list(query: { session?: string; limit: number; offset: number }): MaybePromise<wire.Page<wire.ArtifactInfo>>;
  /** What follows is refused as not found where it is not there. */
  read(key: ArtifactAddress, version?: number): MaybePromise<wire.ArtifactDetail>;
  versions(key: ArtifactAddress): MaybePromise<wire.ArtifactVersionInfo[]>;
  diff(key: ArtifactAddress, between: { from?: number; to?: number }): MaybePromise<wire.ArtifactDiff>;
}

export interface CanvasCapability {
  list(): MaybePromise<wire.CanvasSurface[]>;
  /** Its own policy comes with it. */
  document(session: string): MaybePromise<{ html: string; policy: string } | undefined>;
}

/** Those of callers without a session are of the session "". */
interface ArtifactAddress {
  session: string;
  id: string;
}

export interface JobsCapability {
  list(query: Omit<JobQuery, "limit"> & { limit: number }): MaybePromise<wire.JobPage>;
  find(id: string): MaybePromise<wire.JobDetail | undefined>;
  log(id: string, after: number): MaybePromise<wire.JobLogLine[]>;
  cancel(id: string, reason: string | undefined): MaybePromise<wire.JobDetail>;
  retry(id: string): MaybePromise<wire.JobDetail>;
  /** Tells that something happened to the job, until stopped. */
  follow(id: string, onChange: () => void): () => void;
}

/** Unknown ids are refused as `no_match`. */
export interface SchedulesCapability {
  list(): MaybePromise<wire.SchedulePage>;
  find(id: string): MaybePromise<wire.ScheduleInfo>;
  add(request: ScheduleRequest, authority: CallAuthority, by: string): MaybePromise<wire.ScheduleInfo>;
  update(
    id: string,
    changes: Partial<ScheduleRequest>,
    authority: CallAuthority,
    by: string,
  ): MaybePromise<wire.ScheduleInfo>;
  remove(id: string, by: string): MaybePromise<wire.ScheduleInfo>;
  pause(id: string, isPaused: boolean, by: string): MaybePromise<wire.ScheduleInfo>;
  run(id: string, by: string): MaybePromise<wire.ScheduleRun>;
  runs(id: string, query: { limit: number; before?: number }): MaybePromise<wire.ScheduleRun[]>;
}

export interface SessionsCapability {
  list(query: { state?: wire.SessionState; parent?: string; limit: number }): MaybePromise<wire.AgentSessionPage>;
  find(key: string): MaybePromise<wire.AgentSessionDetail | undefined>;
  history(key: string, query: { after: number; limit: number }): MaybePromise<wire.SessionEntry[]>;
  create(request: wire.NewAgentSessionRequest, by: string): MaybePromise<wire.AgentSessionInfo>;
  send(
    key: string,
    request: wire.SessionMessageRequest,
    options: { by: string; signal: AbortSignal },
  ): MaybePromise<wire.SessionMessageAnswer>;
  follow(key: string, options: { after: number; signal: AbortSignal }): AsyncIterable<wire.SessionFrame>;
  stop(key: string): MaybePromise<wire.SessionStopped>;
}

export interface ChannelsCapability {
  list(): MaybePromise<wire.ChannelInfo[]>;
}

export interface UndoCapability {
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
