import type { Agent } from "../models/agent/agent.ts";
import type { PendingCall, Session } from "../models/agent/session-store.ts";
import { createSessionService, type SessionService } from "../models/agent/session-service.ts";
import { createSessions, type Sessions } from "../models/agent/sessions.ts";
import { CloseStack } from "../core/close-stack.ts";
import { toolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { Haft } from "../runtime.ts";
import type { SessionEnvironments } from "../io/shell/shell-environment.ts";
import { createSessionTools } from "../tools/sessions/session-tools.ts";
import { defineCapability } from "./capability.ts";
import { findLateResult } from "./late-results.ts";

/** The agent that answers in a session. Throws, with what to do, if there is none. */
export type AgentFor = (session: Session) => MaybePromise<Agent>;

export interface HostSessions extends Sessions {
  /** What sessions may do with each other. */
  readonly sessionService: SessionService;
  /** Whether a model is there to answer. */
  readonly canAnswer: boolean;
}

/** Stored conversations, and the tools by which they reach each other. `start` continues those that were cut off. */
export const sessions = defineCapability({
  name: "sessions",
  config: ["sessions"],
  needs: ["store", "workspace", "runtime", "agents"],
  open({ config, options, clock, warn, store, workspace: { environments }, runtime, agents }) {
    const { agentFor: given } = options;
    const configured: AgentFor | undefined = agents.isConfigured ? (session) => agents.get(session.agent) : undefined;
    const chosen: AgentFor | undefined = given ? (session) => given(session, runtime) : configured;
    const agentFor = chosen ?? noModel;
    const environmentOf = (key: string) => Object.fromEntries(environments.of(key).entries());
    const opened = createSessions({
      store: store.sessions,
      clock,
      agentFor,
      onProblem: warn,
      environments: {
        read: environmentOf,
        restore: (key, kept) => restore(environments, key, kept),
      },
      resultOf: (session, call) => resultOf(session, call, { haft: runtime, agentFor }),
    });
    const sessionService = createSessionService({
      ...config.value.sessions,
      sessions: opened,
      shareTaint: runtime.taint.share,
      environmentOf,
    });
    const closing = new CloseStack();
    closing.push("sessions", () => opened.close());
    for (const type of ["tool_call_completed", "tool_call_failed"] as const) {
      closing.push("events", runtime.on(type, opened.onCallEnded));
    }
    return {
      value: { ...opened, sessionService, canAnswer: chosen !== undefined },
      tools: createSessionTools(sessionService, { clock }),
      close: () => closing.close(),
    };
  },
});

function noModel(): never {
  throw toolError("unavailable", "No model is configured, so nobody answers in a session", {
    next: "Set agent.model in the configuration, for example to openai/gpt-5.",
  });
}

/** Variables that the session has set since keep their value. */
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
