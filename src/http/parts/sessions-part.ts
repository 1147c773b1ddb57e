import { randomUUID } from "node:crypto";
import type { Session } from "../../models/agent/session-store.ts";
import { ToolError } from "../../core/error.ts";
import type { HostSessions } from "../../capabilities/sessions.ts";
import { HttpError } from "../door-error.ts";
import type { SessionsCapability } from "../host-parts.ts";
import type { AgentSessionInfo } from "../wire.ts";

/** The sessions of a host in the words of the wire. What a person says in them is said in that person's name. */
export function sessionsCapability(sessions: HostSessions): SessionsCapability {
  return {
    async list({ limit, ...query }) {
      const found = await sessions.list({ limit, ...query });
      return { items: found.map(infoOf), canAnswer: sessions.canAnswer };
    },
    async find(key) {
      const session = await sessions.get(key);
      if (!session) return undefined;
      const { toolNames } = session;
      return {
        ...infoOf(session),
        waiting: await sessions.waiting(key),
        ...(toolNames ? { toolNames: [...toolNames] } : {}),
        children: (await sessions.list({ parent: key, limit: 500 })).map(infoOf),
      };
    },
    history: (key, query) => sessions.history(key, query),
    create: async (request, by) => infoOf(await sessions.create({ ...request, caller: { user: by } })),
    async send(key, { text, id = randomUUID(), waitMs = 0 }, { by, signal }) {
      try {
        const item = { id: `door ${by} ${id}`, kind: "message" as const, text, from: { user: by } };
        const { status, ...more } = await sessions.send(key, item, { waitMs, signal });
        const { reply, error } = more as { reply?: string; error?: string };
        return { status, reply, error };
      } catch (error) {
        // The asker cannot mend that nobody answers here.
        if (error instanceof ToolError && error.code === "unavailable") throw new HttpError("conflict", error.message);
        throw error;
      }
    },
    follow: (key, options) => sessions.feed.follow(key, options),
    stop: async (key) => ({ stopped: await sessions.stop(key, { notifyParent: true }) }),
  };
}

function infoOf(session: Session): AgentSessionInfo {
  const { policy: _policy, environment: _environment, toolNames: _toolNames, pending, ...info } = session;
  return { ...info, pending: pending.map((call) => ({ ...call })) };
}
