import { randomUUID } from "node:crypto";
import type { Handlers } from "../contracts/contract.ts";
import { ApiError, notFound } from "../contracts/errors.ts";
import { type Identity, requireMode, requireScope } from "../contracts/identity.ts";
import type { Contracts } from "../contracts/index.ts";
import type { AgentSessionInfo } from "../contracts/sessions.ts";
import type { Caller } from "../core/call.ts";
import { CloseStack } from "../core/close-stack.ts";
import { toolError, ToolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import { summarizeCall } from "../gate/summarize-call.ts";
import type { SessionEnvironments } from "../io/shell/shell-environment.ts";
import { createSessionService } from "../models/agent/session-service.ts";
import type { PendingCall, Session } from "../models/agent/session-store.ts";
import { type ObservedSession, type SessionQuestion, Sessions } from "../models/agent/sessions.ts";
import type { Haft } from "../runtime.ts";
import { todoOwner, type TodoStore } from "../tools/conversation/todo.ts";
import { createSessionTools } from "../tools/sessions/session-tools.ts";
import { defineCapability } from "./capability.ts";
import type { AgentFor, HostSessions } from "./capability-values.ts";
import { findLateResult } from "./late-results.ts";

/** Stored conversations, and the tools by which they reach each other. `start` continues those that were cut off. */
export const sessions = defineCapability({
  name: "sessions",
  config: ["sessions"],
  needs: ["store", "workspace", "runtime", "agents"],
  open({ config, options, clock, warn, store, workspace: { environments }, runtime, agents }) {
    const { agentFor: given } = options;
    const configured: AgentFor = (session) => (agents.isConfigured ? agents.get(session.agent) : noModel());
    const agentFor: AgentFor = given ? (session) => given(session, runtime) : configured;
    const environmentOf = (key: string) => Object.fromEntries(environments.of(key).entries());
    const opened = new Sessions({
      store: store.sessions,
      clock,
      agentFor,
      onProblem: warn,
      environments: {
        read: environmentOf,
        restore: (key, kept) => restore(environments, key, kept),
      },
      resultOf: (session, call) => resultOf(session, call, { haft: runtime, agentFor }),
      questionsOf: ({ caller }) => openQuestions(caller, runtime),
    });
    const sessionService = createSessionService({
      get visibility() {
        return config.value.sessions.visibility;
      },
      get maxDepth() {
        return config.value.sessions.maxDepth;
      },
      get maxChildren() {
        return config.value.sessions.maxChildren;
      },
      sessions: opened,
      shareTaint: runtime.policy.provenance.share,
      environmentOf,
    });
    const closing = new CloseStack();
    closing.push("sessions", () => opened.close());
    for (const type of ["tool_call_completed", "tool_call_failed"] as const) {
      closing.push(
        "events",
        runtime.on(type, (event) => opened.onCallEnded(event)),
      );
    }
    const value: HostSessions = Object.defineProperty(
      Object.assign(opened, { sessionService, canAnswer: false }),
      "canAnswer",
      {
        get: () => given !== undefined || agents.isConfigured,
      },
    );
    return {
      value,
      tools: createSessionTools(sessionService, { clock }),
      api: () => ({ sessions: createSessionsApi(value, store.todos) }),
      close: () => closing.close(),
    };
  },
});

function noModel(): never {
  throw toolError("unavailable", "No model is configured, so sessions cannot reply", {
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

async function openQuestions(caller: Caller, { approvals, tools: { registry } }: Haft): Promise<SessionQuestion[]> {
  const open = await approvals.listOpen(caller);
  return open.map(({ id, callId, toolName, input, summary, askedAt }) => {
    const { subject, risk } = summary ?? summarizeCall(registry.get(toolName), input);
    return { approvalId: id, callId, toolName, subject, risk: risk.level, askedAt };
  });
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

const DEFAULT_LIMIT = 100;
const MAX_ENTRIES = 500;
/** Shown with a session. The approvals list has all of them. */
const MAX_QUESTIONS = 20;

export function createSessionsApi(
  all: Sessions & Pick<HostSessions, "canAnswer">,
  todos: TodoStore,
): Handlers<Contracts["sessions"]> {
  const find = async (key: string): Promise<ObservedSession> => {
    const session = await all.get(key);
    if (session) return session;
    throw notFound(`There is no session "${key}"`, "sessions");
  };

  /** Sessions of others need the scope `admin`: a message acts with the rights of the owner. */
  const findOwn = async (key: string, identity: Identity): Promise<Session> => {
    const session = await find(key);
    if (session.caller.user !== identity.name) {
      requireScope(identity, "admin", "To control a session of another user");
    }
    return session;
  };

  return {
    async list({ query: { limit = DEFAULT_LIMIT, state, parent } }) {
      const found = await all.list({ limit, state, parent });
      return { items: found.map(infoOf), canAnswer: all.canAnswer };
    },
    async create({ body, identity }) {
      requireMode(body.mode, identity);
      return infoOf({ ...(await all.create({ ...body, caller: { user: identity.name } })), questions: [] });
    },
    async get({ params: { key } }) {
      const session = await find(key);
      const [waiting, steps, family] = await Promise.all([
        all.waiting(key),
        todos.get(todoOwner(session.caller)),
        all.list({ root: session.root, limit: MAX_ENTRIES }),
      ]);
      const infos = family.map(infoOf);
      const children = infos.filter(({ parent }) => parent === key);
      return { ...infoOf(session), waiting, toolNames: session.toolNames, todos: [...steps], children, family: infos };
    },
    async history({ params, query: { after = 0, limit = MAX_ENTRIES } }) {
      const { key } = await find(params.key);
      const entries = await all.history(key, { after, limit: limit + 1 });
      const items = entries.slice(0, limit);
      return { items, next: entries.length > limit ? String(items.at(-1)?.seq) : undefined };
    },
    async watch({ params, query: { after = 0 }, signal }) {
      const { key } = await find(params.key);
      return all.feed.follow(key, { after, signal });
    },
    async send({ params, body: { text, id = randomUUID(), waitMs = 0 }, identity, signal }) {
      const { key } = await findOwn(params.key, identity);
      const { name: user } = identity;
      const message = { id: `api ${user} ${id}`, kind: "message" as const, text, from: { user } };
      try {
        const outcome = await all.send(key, message, { waitMs, signal });
        return {
          status: outcome.status,
          reply: "reply" in outcome ? outcome.reply : undefined,
          error: outcome.status === "error" ? outcome.error : undefined,
        };
      } catch (error) {
        // The client cannot change that no model answers here.
        if (error instanceof ToolError && error.code === "unavailable") {
          throw new ApiError("conflict", error.summary, error.next);
        }
        throw error;
      }
    },
    async stop({ params, identity }) {
      const { key } = await findOwn(params.key, identity);
      return { stopped: await all.stop(key, { notifyParent: true }) };
    },
  };
}

function infoOf(session: ObservedSession): AgentSessionInfo {
  const { policy: _policy, environment: _environment, toolNames: _toolNames, pending, questions, ...info } = session;
  return {
    ...info,
    pending: pending.map((call) => ({ ...call })),
    questions: questions.slice(0, MAX_QUESTIONS).map((question) => ({ ...question })),
    questionCount: questions.length,
  };
}
