import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { ApiContext } from "../door.ts";
import { HttpError } from "../door-error.ts";
import {
  type HandlerResult,
  CURSOR,
  json,
  LIMIT,
  type Query,
  type QueryParameter,
  type Resource,
  route,
  HANDLED,
} from "../route.ts";
import type { AuditEntry, AuditQuery } from "../wire.ts";

const FILTERS: readonly QueryParameter[] = [
  { name: "search", summary: "Somewhere in what was kept" },
  { name: "tool", summary: "Its name" },
  { name: "status", summary: "completed, failed, pending or unknown" },
  { name: "decision", summary: "allow, ask or deny" },
  { name: "session", summary: "Of this session" },
  { name: "user", summary: "Of this user" },
  { name: "errorCode", summary: "Of a call that failed" },
  { name: "from", summary: "Unix milliseconds", type: "integer" },
  { name: "to", summary: "Unix milliseconds", type: "integer" },
];

export const audit: Resource<ApiContext> = {
  path: "/api/audit",
  routes({ parts: { audit: part }, streamHeaders }) {
    if (!part) return [];
    return [
      route("GET /api/audit", {
        summary: "Search the audit log, newest first",
        scope: "read",
        query: [...FILTERS, LIMIT, CURSOR],
        answers: "AuditPage",
        handle: async ({ query }) => json(await part.search(queryOf(query))),
      }),
      route("GET /api/audit/export", {
        summary: "The whole log, or what the filters leave of it, one JSON document a line",
        scope: "read",
        query: FILTERS,
        answers: [{ mediaType: "application/jsonl" }],
        async handle({ query, incoming, outgoing }): Promise<HandlerResult> {
          outgoing.writeHead(200, {
            ...streamHeaders(incoming),
            "content-type": "application/jsonl; charset=utf-8",
            "content-disposition": 'attachment; filename="haft-audit.jsonl"',
          });
          await writeLines(part.export(queryOf(query)), outgoing);
          return HANDLED;
        },
      }),
      route("GET /api/audit/verify", {
        summary: "Whether every entry of the chain is there and unchanged",
        scope: "read",
        query: [{ name: "head", summary: "The `head` of an earlier check: whether all of it is still there" }],
        answers: "AuditCheck",
        handle: async ({ query }) => json(await part.verify(query.text("head"))),
      }),
      route("GET /api/audit/{id}", {
        summary: "One entry",
        scope: "read",
        answers: "AuditEntry",
        async handle({ params }) {
          const entry = await part.find(params["id"]!);
          if (!entry) throw new HttpError("not_found", "There is no such entry");
          return json(entry);
        },
      }),
    ];
  },
};

function queryOf(query: Query): AuditQuery {
  const requested: AuditQuery = {};
  for (const name of ["search", "tool", "status", "decision", "session", "user", "errorCode", "cursor"] as const) {
    const value = query.text(name);
    if (value !== undefined && value !== "") requested[name] = value;
  }
  for (const name of ["from", "to"] as const) {
    const value = query.number(name);
    if (value !== undefined) requested[name] = value;
  }
  requested.limit = query.number("limit", { min: 1, max: 500 }) ?? 100;
  return requested;
}

/** As fast as they are read, and no longer than somebody reads. */
async function writeLines(entries: AsyncIterable<AuditEntry>, outgoing: ServerResponse): Promise<void> {
  for await (const entry of entries) {
    if (outgoing.destroyed) return;
    if (!outgoing.write(`${JSON.stringify(entry)}\n`)) {
      await Promise.race([once(outgoing, "drain"), once(outgoing, "close")]);
    }
  }
  outgoing.end();
}
