import { randomUUID } from "node:crypto";
import { allowOnlyTools, type CallAuthority, type Caller } from "../../core/call.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { SendOutcome, Sessions } from "./sessions.ts";
import { type Incoming, isBelow, type Session, type SessionEntry, type SessionState } from "./session-store.ts";

export interface SessionServiceOptions {
  sessions: Sessions;
  /** `tree`: a session sees itself and its descendants. `all`: every session of the store. Default: `tree`. */
  visibility?: "tree" | "all";
  /** How deep sessions may spawn sessions. The session of a person has depth 0. Default: 3. */
  maxDepth?: number;
  /** How many children of one session may be active at once. Default: 8. */
  maxChildren?: number;
  /** Passes taint on to a session that reads from another one. */
  shareTaint?(from: string, to: string): Promise<void>;
  environmentOf?(key: string): Readonly<Record<string, string>>;
}

interface SpawnRequest {
  task: string;
  label?: string;
  agent?: string;
  toolNames?: readonly string[];
  /** A repeated spawn with the same id returns the same session. */
  id: string;
}

/** What sessions may do with each other. A session sees itself and its descendants, and cannot grant rights it lacks. */
export interface SessionService {
  list(caller: Caller, query: { state?: SessionState; limit?: number }): Promise<Session[]>;
  history(
    caller: Caller,
    target: string,
    query: { last: number },
  ): Promise<{ session: Session; entries: SessionEntry[] }>;
  send(
    caller: Caller,
    target: string,
    message: { text: string; id: string },
    options: { waitMs: number; signal: AbortSignal },
  ): Promise<SendOutcome & { key: string }>;
  spawn(authority: CallAuthority, request: SpawnRequest): Promise<Session>;
  status(caller: Caller, target?: string): Promise<SessionStatus | undefined>;
  stop(caller: Caller, target: string): Promise<{ key: string; stopped: number }>;
  /** For schedules. A caller can wake only sessions that it may send messages to. */
  wake(caller: Caller, target: string, text: string, id?: string): Promise<void>;
}

interface SessionStatus {
  session: Session;
  waiting: number;
  children: Session[];
}

const MAX_DEPTH = 3;
const MAX_CHILDREN = 8;
const ACTIVE_STATES: readonly SessionState[] = ["running", "waiting"];

export function createSessionService(options: SessionServiceOptions): SessionService {
  // The limits are read when they are used: a host may change them.
  const { sessions } = options;
  const canSee = (caller: Caller, session: Session): boolean => options.visibility === "all" || isOf(caller, session);

  return {
    async list(caller, { state, limit = 50 }) {
      const all = await sessions.list({ limit: 10_000, state });
      return all.filter((session) => canSee(caller, session)).slice(0, limit);
    },
    async history(caller, target, { last }) {
      const session = await find(caller, target);
      await share(session.key, caller);
      return { session, entries: await sessions.history(session.key, { last }) };
    },
    async send(caller, target, { text, id }, { waitMs, signal }) {
      const session = await find(caller, target);
      const { key } = session;
      if (key === caller.session) throw toolError("invalid_input", "This is the session itself", { next: "Continue." });
      const sender = caller.session === undefined ? undefined : await sessions.get(caller.session);
      if (caller.session !== undefined) await options.shareTaint?.(caller.session, key);
      const outcome = await sessions.send(
        key,
        { id, kind: "message", text, from: senderOf(caller, sender?.label) },
        { waitMs, signal },
      );
      if (outcome.status === "ok" || outcome.status === "error") {
        await share(key, caller);
        // The sender has the reply, so the report about the same turn is dropped.
        if (session.parent === caller.session) await sessions.dropReport(key, id);
      }
      return { ...outcome, key };
    },
    async spawn(authority, { task, id, ...request }) {
      const { caller, allowedPaths } = authority;
      if (allowedPaths) {
        throw toolError(
          "denied",
          "This call is restricted to some paths, and a session cannot be restricted like that",
          {
            next: "Do the task in this session.",
          },
        );
      }
      const key = keyOfSpawn(caller, id);
      const existing = await sessions.get(key);
      if (existing && !canSee(caller, existing)) throw forbidden(key);
      if (existing) return existing;
      const { maxDepth = MAX_DEPTH } = options;
      if (caller.depth + 1 > maxDepth) throw tooDeep(maxDepth);
      const parent = caller.session;
      if (parent !== undefined) await checkChildren(parent);
      const parentSession = parent === undefined ? undefined : await sessions.get(parent);
      if (parent !== undefined) await options.shareTaint?.(parent, key);
      return sessions.create({
        ...request,
        key,
        parent,
        caller: { user: caller.user, depth: caller.depth + 1, parent: caller },
        ...restrictTools(request.toolNames, { authority, parent: parentSession }),
        mode: authority.mode,
        environment: (parent !== undefined && options.environmentOf?.(parent)) || {},
        first: { id: `task ${id}`, kind: "message", text: task, from: senderOf(caller, parentSession?.label) },
      });
    },
    async status(caller, target) {
      const key = target ?? caller.session;
      if (key === undefined) return undefined;
      const session = target === undefined ? await sessions.get(key) : await find(caller, key);
      if (!session) return undefined;
      const children = await sessions.list({ parent: session.key, limit: 100 });
      return { session, waiting: await sessions.waiting(session.key), children };
    },
    async stop(caller, target) {
      const { key } = await find(caller, target);
      if (key === caller.session) {
        throw toolError("invalid_input", "A session cannot stop itself", { next: "Just end the turn." });
      }
      return { key, stopped: await sessions.stop(key) };
    },
    async wake(caller, target, text, id) {
      const { key } = await find(caller, target);
      await sessions.wake(key, text, id);
    },
  };

  /** Finds a session by key or by a unique label. */
  async function find(caller: Caller, target: string): Promise<Session> {
    const byKey = await sessions.get(target);
    if (byKey) {
      if (canSee(caller, byKey)) return byKey;
      throw forbidden(target);
    }
    const labelled = await sessions.list({ label: target, limit: 100 });
    const [first, ...others] = labelled.filter((session) => canSee(caller, session));
    if (first && others.length === 0) return first;
    if (first) {
      const keys = [first, ...others].map(({ key }) => key);
      throw toolError("ambiguous", `${keys.length} sessions are called "${target}"`, {
        next: `Name one by its key: ${keys.join(", ")}.`,
      });
    }
    if (labelled.length > 0) throw forbidden(target);
    const names = (await sessions.list({ limit: 1000 }))
      .filter((session) => canSee(caller, session))
      .map(({ key, label }) => label ?? key);
    throw toolError("path_not_found", `There is no session "${target}"`, {
      next: didYouMean(target, names) ?? "sessions_list lists the sessions.",
    });
  }

  async function checkChildren(parent: string): Promise<void> {
    const children = await sessions.list({ parent, limit: 10_000 });
    const active = children.filter(({ state, turns }) => ACTIVE_STATES.includes(state) || turns === 0);
    if (active.length < (options.maxChildren ?? MAX_CHILDREN)) return;
    throw toolError("busy", `${active.length} sessions that this session spawned are active`, {
      next: "Wait for their reports, or stop one with sessions_stop.",
    });
  }

  async function share(from: string, { session }: Caller): Promise<void> {
    if (session !== undefined && session !== from) await options.shareTaint?.(from, session);
  }
}

/** Whether it is the caller's session or a descendant, of the same user. A caller without a session sees all of the user. */
function isOf({ session: own, user }: Caller, session: Session): boolean {
  if (session.caller.user !== user) return false;
  return own === undefined || session.key === own || isBelow(session, own);
}

/** The requested tools, restricted to those of the parent. The policy resolves aliases. */
function restrictTools(
  requested: readonly string[] | undefined,
  { authority: { policy = [] }, parent }: { authority: CallAuthority; parent: Session | undefined },
): Pick<Session, "toolNames" | "policy"> {
  const parentTools = parent?.toolNames;
  const toolNames = requested ?? parentTools;
  return { toolNames, policy: requested && parentTools ? [...policy, allowOnlyTools(parentTools)] : policy };
}

function senderOf({ session, user }: Caller, label: string | undefined): Incoming["from"] {
  return session === undefined ? { user, label } : { session, label };
}

/** Derived from the call that spawns the session: the same call again gives the same session. */
function keyOfSpawn({ session }: Caller, id: string): string {
  return session === undefined ? `ses_${randomUUID()}` : `${session}/${id}`;
}

function forbidden(target: string): ToolError {
  return toolError("denied", `Session "${target}" was not spawned by this session`, {
    next: "sessions_list lists the sessions that this session can reach.",
    data: { status: "forbidden" },
  });
}

function tooDeep(maxDepth: number): ToolError {
  return toolError("too_deep", `Sessions can be nested at most ${maxDepth} deep`, {
    next: "Do the task in this session.",
  });
}
