import { onTestFinished } from "vitest";
import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import { toolError } from "../../core/error.ts";
import { MemoryCallStore } from "../../calls/call-store.ts";
import { createHaft, type Haft } from "../../runtime.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake-clock.ts";
import type { Script } from "../../testing/scripted-model.ts";
import { createSessionTools } from "../../tools/sessions/session-tools.ts";
import type { Agent } from "./agent.ts";
import { scriptAgent, type ScriptedAgent } from "./scripted-agent.fixture.ts";
import { MemorySessionStore } from "./memory-session-store.fixture.ts";
import type { Session, SessionStore } from "./session-store.ts";
import { createSessionService, type SessionServiceOptions, type SessionService } from "./session-service.ts";
import { Sessions, type SessionsOptions } from "./sessions.ts";

export interface SessionStage {
  haft: Haft;
  clock: FakeClock;
  store: SessionStore;
  calls: MemoryCallStore;
  sessions: Sessions;
  sessionService: SessionService;
  /** What `write_down` wrote. */
  written: string[];
  problems: string[];
}

export type AgentMaker = (session: Session, haft: Haft) => Agent | undefined;

interface StageOptions extends Partial<Pick<SessionsOptions, "store" | "environments" | "maxWaiting">> {
  calls?: MemoryCallStore;
  sessionService?: Partial<SessionServiceOptions>;
}

/** A runtime with the session tools, a tool with side effects, and sessions with scripted agents. */
export function stageSessions(agents: AgentMaker, options: StageOptions = {}): SessionStage {
  const { calls = new MemoryCallStore(), sessionService: serviceOptions, store: given, ...more } = options;
  const written: string[] = [];
  const problems: string[] = [];
  const clock = createFakeClock();
  const haft = createHaft({ clock, calls, tools: [writeDown(written)] });
  const store = given ?? new MemorySessionStore(() => clock.now());
  const sessions = new Sessions({
    ...more,
    store,
    clock,
    onProblem: (problem) => problems.push(problem),
    async resultOf({ caller, key, agent = "main" }, { callId }) {
      const known = await haft.calls.find(callId, { ...caller, session: key, agent });
      return known?.status === "pending" ? undefined : known;
    },
    agentFor(session) {
      const agent = agents(session, haft);
      if (!agent) throw toolError("unavailable", "No model is configured", { next: "Set agent.model." });
      return agent;
    },
  });
  const sessionService = createSessionService({
    sessions,
    shareTaint: haft.policy.provenance.share,
    ...serviceOptions,
  });
  for (const tool of createSessionTools(sessionService, { clock })) haft.register(tool);
  for (const type of ["tool_call_completed", "tool_call_failed"] as const)
    haft.on(type, (event) => sessions.onCallEnded(event));
  onTestFinished(() => sessions.close());
  return { haft, clock, store, calls, sessions, sessionService, written, problems };
}

/** A line that starts with "ask" needs an approval. */
function writeDown(written: string[]) {
  return createTool({
    name: "write_down",
    description: "Writes a line down",
    kind: "write",
    parameters: z.object({ line: z.string() }),
    permission: ({ line }) => (line.startsWith("ask") ? "confirm" : "auto"),
    run({ line }) {
      written.push(line);
      return `wrote ${line}`;
    },
  });
}

/** The same agent for every turn of every session. */
export function oneAgent(script: Script, options: Parameters<typeof scriptAgent>[2] = {}) {
  let made: ScriptedAgent | undefined;
  const agents: AgentMaker = (_session, haft) => (made ??= scriptAgent(haft, script, options)).agent;
  return { agents, shown: (): string[][] => made?.shown ?? [] };
}

/** An agent for each label. */
export function agentsByLabel(
  scripts: Readonly<Record<string, Script>>,
  options: Parameters<typeof scriptAgent>[2] = {},
) {
  const made = new Map<string, ScriptedAgent>();
  const agents: AgentMaker = ({ label = "" }, haft) => {
    if (!made.has(label)) made.set(label, scriptAgent(haft, scripts[label] ?? [], options));
    return made.get(label)!.agent;
  };
  return { agents, shown: (label: string): string[][] => made.get(label)?.shown ?? [] };
}

/** A barrier that a test opens. */
export function gate(): { reached: Promise<void>; pass(): Promise<void>; open(): void } {
  let reach!: () => void;
  let open!: () => void;
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const opened = new Promise<void>((resolve) => (open = resolve));
  return {
    reached,
    open,
    pass() {
      reach();
      return opened;
    },
  };
}
