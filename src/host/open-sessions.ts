import type { Agent } from "../models/agent/agent.ts";
import type { PendingCall, Session } from "../models/agent/session-store.ts";
import {
  createSessionService,
  type SessionServiceOptions,
  type SessionService,
} from "../models/agent/session-service.ts";
import { createSessions, type Sessions } from "../models/agent/sessions.ts";
import { findLateResult } from "../capabilities/late-results.ts";
import type { Clock } from "../core/clock.ts";
import { toolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { Haft } from "../runtime.ts";
import type { SessionEnvironments } from "../io/shell/shell-environment.ts";
import type { Store } from "../store/store.ts";
import { createSessionTools } from "../tools/sessions/session-tools.ts";

/** Which agent answers in a session. Throws, with what to do, where none can. */
export type AgentFor = (session: Session) => MaybePromise<Agent>;

export interface SessionsHost {
  haft: Haft;
  store: Pick<Store, "sessions">;
  environments: SessionEnvironments;
  clock: Clock;
  /** Absent where no model is configured: sessions can be read all the same. */
  agentFor?: AgentFor | undefined;
  settings?: Pick<SessionServiceOptions, "visibility" | "maxDepth" | "maxChildren"> | undefined;
  warn(warning: string): void;
}

export interface HostSessions extends Sessions {
  /** What sessions may do with each other. */
  readonly sessionService: SessionService;
  /** Whether a model is there to answer. */
  readonly canAnswer: boolean;
}

/** Sessions over the gate of a runtime, and the tools by which they see each other. Cut-off ones go on with `start`. */
export function openSessions(host: SessionsHost): HostSessions {
  const { haft, store, environments, clock, settings = {}, warn } = host;
  const agentFor = host.agentFor ?? noModel;
  const sessions = createSessions({
    store: store.sessions,
    clock,
    agentFor,
    onProblem: warn,
    environments: {
      read: (key) => Object.fromEntries(environments.of(key).entries()),
      restore: (key, kept) => restore(environments, key, kept),
    },
    resultOf: (session, call) => resultOf(session, call, { haft, agentFor }),
  });
  const sessionService = createSessionService({
    ...settings,
    sessions,
    shareTaint: haft.taint.share,
    environmentOf: (key) => Object.fromEntries(environments.of(key).entries()),
  });
  for (const tool of createSessionTools(sessionService, { clock })) haft.register(tool);
  for (const type of ["tool_call_completed", "tool_call_failed"] as const) haft.on(type, sessions.onCallEnded);
  return { ...sessions, sessionService, canAnswer: host.agentFor !== undefined };
}

function noModel(): never {
  throw toolError("unavailable", "No model is configured, so that nobody answers in a session", {
    next: "Set agent.model in the configuration, for example to openai/gpt-5.",
  });
}

/** What a session has set since counts more than what was kept. */
function restore(environments: SessionEnvironments, key: string, kept: Readonly<Record<string, string>>): void {
  const entries = Object.entries(kept);
  if (entries.length === 0) return;
  const overlay = environments.of(key);
  for (const [name, value] of entries) if (overlay.get(name) === undefined) overlay.set(name, value);
}

async function resultOf(
  session: Session,
  { callId, name, pending }: { callId: string; name: string; pending?: PendingCall["pending"] },
  { haft, agentFor }: { haft: Haft; agentFor: AgentFor },
): Promise<ToolResult | undefined> {
  const agent = await Promise.resolve(session)
    .then(agentFor)
    .catch(() => undefined);
  if (!agent) return undefined;
  const call = { callId, toolName: name, pending };
  return findLateResult(haft, call, { agent: agent.name, ...session.caller });
}
