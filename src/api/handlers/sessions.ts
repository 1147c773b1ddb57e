import { randomUUID } from "node:crypto";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import { type Identity, requireScope } from "../../contracts/identity.ts";
import type { AgentSessionInfo, sessions as contract } from "../../contracts/sessions.ts";
import { ToolError } from "../../core/error.ts";
import type { Session } from "../../models/agent/session-store.ts";
import type { Sessions } from "../../models/agent/sessions.ts";
import { requireMode } from "./call-runner.ts";

const DEFAULT_LIMIT = 100;
const MAX_ENTRIES = 500;

export interface AnsweringSessions extends Sessions {
  /** Whether a model is configured. */
  readonly canAnswer: boolean;
}

export function createSessionsApi(sessions: AnsweringSessions): Handlers<typeof contract> {
  const find = async (key: string): Promise<Session> => {
    const session = await sessions.get(key);
    if (session) return session;
    throw new ApiError("not_found", `There is no session "${key}"`, "Look at GET /api/sessions.");
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
      const found = await sessions.list({ limit, state, parent });
      return { items: found.map(infoOf), canAnswer: sessions.canAnswer };
    },
    async create({ body, identity }) {
      requireMode(body.mode, identity);
      return infoOf(await sessions.create({ ...body, caller: { user: identity.name } }));
    },
    async get({ params: { key } }) {
      const session = await find(key);
      const [waiting, children] = await Promise.all([
        sessions.waiting(key),
        sessions.list({ parent: key, limit: MAX_ENTRIES }),
      ]);
      return { ...infoOf(session), waiting, toolNames: session.toolNames, children: children.map(infoOf) };
    },
    async history({ params, query: { after = 0, limit = MAX_ENTRIES } }) {
      const { key } = await find(params.key);
      const entries = await sessions.history(key, { after, limit: limit + 1 });
      const items = entries.slice(0, limit);
      return { items, next: entries.length > limit ? String(items.at(-1)?.seq) : undefined };
    },
    async watch({ params, query: { after = 0 }, signal }) {
      const { key } = await find(params.key);
      return sessions.feed.follow(key, { after, signal });
    },
    async send({ params, body: { text, id = randomUUID(), waitMs = 0 }, identity, signal }) {
      const { key } = await findOwn(params.key, identity);
      const { name: user } = identity;
      const message = { id: `api ${user} ${id}`, kind: "message" as const, text, from: { user } };
      try {
        const outcome = await sessions.send(key, message, { waitMs, signal });
        return {
          status: outcome.status,
          reply: "reply" in outcome ? outcome.reply : undefined,
          error: outcome.status === "error" ? outcome.error : undefined,
        };
      } catch (error) {
        // The client cannot change that no model answers here.
        if (error instanceof ToolError && error.code === "unavailable") throw new ApiError("conflict", error.message);
        throw error;
      }
    },
    async stop({ params, identity }) {
      const { key } = await findOwn(params.key, identity);
      return { stopped: await sessions.stop(key, { notifyParent: true }) };
    },
  };
}

function infoOf(session: Session): AgentSessionInfo {
  const { policy: _policy, environment: _environment, toolNames: _toolNames, pending, ...info } = session;
  return { ...info, pending: pending.map((call) => ({ ...call })) };
}
