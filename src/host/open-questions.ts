import type { LoadedConfig } from "../config/load-config.ts";
import type { Clock } from "../core/clock.ts";
import { ServerQuestions } from "../mcp/client/elicitation.ts";
import type { Store } from "../store/store.ts";

/** What MCP servers ask people, kept in the store; that somebody answered stands in the audit log before it counts. */
export function openQuestions(
  { value: { approvals } }: LoadedConfig,
  { store, clock }: { store: Store; clock: Clock },
): ServerQuestions {
  return new ServerQuestions({
    clock,
    store: store.serverQuestions,
    lifetimeMs: approvals.waitMs,
    async onAnswer({ id, server, mode, message, url }, { action, by, via }) {
      // Not what was filled in: that is between the person and the server.
      const data = { action: "mcp_question_answered", id, server, mode, message, url, answer: action, by, via };
      await store.audit.append({ kind: "note", caller: by === undefined ? {} : { user: by }, data }, { synced: true });
    },
  });
}
