import { randomUUID } from "node:crypto";
import { allowOnlyTools, type CallAuthority, type Caller } from "../../core/call.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { SendOutcome, Sessions } from "./sessions.ts";
import { isBelow, type Session, type SessionEntry, type SessionState } from "./session-store.ts";

export interface SessionServiceOptions {
  sessions: Sessions;
  /** `tree`: itself and those that it spawned. `all`: every session of this store. */
  visibility?: "tree" | "all";
  /** How deep sessions may spawn sessions; a person's own is at 0. */
  maxDepth?: number;
  /** How many of one session's children may be at work at once. */
  maxChildren?: number;
  /** Who reads what another session has seen has seen it, too. */
  shareTaint?(from: string, to: string): Promise<void>;
  environmentOf?(key: string): Readonly<Record<string, string>>;
}

export interface SpawnRequest {
  task: string;
  label?: string;
  agent?: string;
  toolNames?: readonly string[];
  /** Makes a spawn that is made again the same one. */
  id: string;
}

/** What sessions may do with each other: each sees itself and those below it, and gives no more rights than it has. */
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
  /** For schedules: nobody wakes what they may not speak to. */
  wake(caller: Caller, target: string, text: string, id?: string): Promise<void>;
}

export interface SessionStatus {
  session: Session;
  waiting: number;
  children: Session[];
}

const MAX_DEPTH = 3;
const MAX_CHILDREN = 8;
const ACTIVE_STATES: readonly SessionState[] = ["running", "waiting"];

export function createSessionService(options: SessionServiceOptions): SessionService {
  const { sessions, visibility = "tree", maxDepth = MAX_DEPTH, maxChildren = MAX_CHILDREN } = options;
  const canSee = (caller: Caller, session: Session): boolean => visibility === "all" || isOf(caller, session);

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
      if (key === caller.session) throw toolError("invalid_input", "This is the session itself", { next: "Go on." });
      const sender = caller.session === undefined ? undefined : await sessions.get(caller.session);
      if (caller.session !== undefined) await options.shareTaint?.(caller.session, key);
      const outcome = await sessions.send(
        key,
        { id, kind: "message", text, from: senderOf(caller, sender?.label) },
        { waitMs, signal },
      );
      if (outcome.status === "ok" || outcome.status === "error") {
        await share(key, caller);
        // It has its answer: a report of the same would tell it twice.
        if (session.parent === caller.session) await sessions.dropReport(key, id);
      }
      return { ...outcome, key };
    },
    async spawn(authority, { task, id, ...request }) {
      const { caller, allowedPaths } = authority;
      if (allowedPaths) {
        throw toolError("denied", "This call is held to some paths, and a session cannot be", {
          next: "Do the task in this session.",
        });
      }
      const key = keyOfSpawn(caller, id);
      const known = await sessions.get(key);
      if (known && !canSee(caller, known)) throw forbidden(key);
      if (known) return known;
      if (caller.depth + 1 > maxDepth) throw tooDeep(maxDepth);
      const parent = caller.session;
      if (parent !== undefined) await checkChildren(parent);
      const above = parent === undefined ? undefined : await sessions.get(parent);
      if (parent !== undefined) await options.shareTaint?.(parent, key);
      return sessions.create({
        ...request,
        key,
        ...(parent === undefined ? {} : { parent }),
        caller: {
          user: caller.user,
          depth: caller.depth + 1,
          parent: caller,
        },
        ...narrowed(request.toolNames, { authority, parent: above }),
        ...(authority.mode ? { mode: authority.mode } : {}),
        environment: (parent !== undefined && options.environmentOf?.(parent)) || {},
        first: { id: `task ${id}`, kind: "message", text: task, from: senderOf(caller, above?.label) },
      });
    },
    async status(caller, target) {
      const wanted = target ?? caller.session;
      if (wanted === undefined) return undefined;
      const session = target === undefined ? await sessions.get(wanted) : await find(caller, wanted);
      if (!session) return undefined;
      const children = await sessions.list({ parent: session.key, limit: 100 });
      return { session, waiting: await sessions.waiting(session.key), children };
    },
    async stop(caller, target) {
      const { key } = await find(caller, target);
      if (key === caller.session) {
        throw toolError("invalid_input", "A session does not stop itself", { next: "Just end the turn." });
      }
      return { key, stopped: await sessions.stop(key) };
    },
    async wake(caller, target, text, id) {
      const { key } = await find(caller, target);
      await sessions.wake(key, text, id);
    },
  };

  /** By key, or by a label that one session alone has. */
  async function find(caller: Caller, target: string): Promise<Session> {
    const byKey = await sessions.get(target);
    if (byKey) {
      if (canSee(caller, byKey)) return byKey;
      throw forbidden(target);
    }
    const labelled = await sessions.list({ label: target, limit: 100 });
    const seen = labelled.filter((session) => canSee(caller, session));
    if (seen.length === 1) return seen[0]!;
    if (seen.length > 1) {
      throw toolError("ambiguous", `${seen.length} sessions are called "${target}"`, {
        next: `Name one by its key: ${seen.map(({ key }) => key).join(", ")}.`,
      });
    }
    if (labelled.length > 0) throw forbidden(target);
    const names = (await sessions.list({ limit: 1000 }))
      .filter((session) => canSee(caller, session))
      .map(({ key, label }) => label ?? key);
    throw toolError("path_not_found", `There is no session "${target}"`, {
      next: didYouMean(target, names) ?? "sessions_list lists those that there are.",
    });
  }

  async function checkChildren(parent: string): Promise<void> {
    const children = await sessions.list({ parent, limit: 10_000 });
    const atWork = children.filter(({ state, turns }) => ACTIVE_STATES.includes(state) || turns === 0);
    if (atWork.length < maxChildren) return;
    throw toolError("busy", `${atWork.length} sessions that were spawned here are at work`, {
      next: "Wait for their reports, or stop one with sessions_stop.",
    });
  }

  async function share(from: string, { session }: Caller): Promise<void> {
    if (session !== undefined && session !== from) await options.shareTaint?.(from, session);
  }
}

/** Itself or one below it, of the same person; who calls without a session sees all of that person's. */
function isOf({ session: own, user }: Caller, session: Session): boolean {
  if (session.caller.user !== user) return false;
  return own === undefined || session.key === own || isBelow(session, own);
}

/** The tools that were asked for, under whatever names, of those that the parent has. */
function narrowed(
  requested: readonly string[] | undefined,
  { authority: { policy = [] }, parent }: { authority: CallAuthority; parent: Session | undefined },
): Pick<Session, "toolNames" | "policy"> {
  const { toolNames: had } = parent ?? {};
  const toolNames = requested ?? had;
  return { toolNames, policy: requested && had ? [...policy, allowOnlyTools(had)] : policy };
}

function senderOf({ session, user }: Caller, label: string | undefined) {
  return {
    ...(session === undefined ? (user === undefined ? {} : { user }) : { session }),
    ...(label === undefined ? {} : { label }),
  };
}

/** Of the session's call that spawns it: made again, it is the same session. */
function keyOfSpawn({ session }: Caller, id: string): string {
  return session === undefined ? `ses_${randomUUID()}` : `${session}/${id}`;
}

function forbidden(target: string): ToolError {
  return toolError("denied", `Session "${target}" is not one that this session spawned`, {
    next: "sessions_list lists those that can be spoken to.",
    data: { status: "forbidden" },
  });
}

function tooDeep(maxDepth: number): ToolError {
  return toolError("too_deep", `Sessions may spawn sessions ${maxDepth} deep, no deeper`, {
    next: "Do the task in this session.",
  });
}
