import type { Verdict } from "../../core/call.ts";
import { isErrorCode } from "../../core/error.ts";
import type { AuditEntry as LoggedEntry, AuditHead, AuditLog, AuditQuery as LogQuery } from "../../gate/audit-log.ts";
import { HttpError } from "../door-error.ts";
import type { AuditCapability } from "../host-parts.ts";
import type { AuditEntry, AuditPage, AuditQuery } from "../wire.ts";

const PAGE = 500;

/** The audit log in the words of the wire. */
export function auditCapability(log: AuditLog): AuditCapability {
  return {
    async search({ limit = 100, cursor, ...query }) {
      if (cursor !== undefined && !/^\d{1,15}$/.test(cursor))
        throw new HttpError("bad_request", "That is no cursor of this log");
      const filter = filterOf(query);
      const [page, facets] = await Promise.all([
        log.query({ ...filter, limit, ...(cursor === undefined ? {} : { cursor }) }),
        log.facets(filter),
      ]);
      const found: AuditPage = {
        items: page.entries.map(entryOf).filter((entry) => hasCode(entry, query)),
        facets: [
          { name: "tool", values: facets.tool },
          { name: "status", values: facets.status },
          { name: "decision", values: facets.verdict },
        ],
      };
      return page.cursor === undefined ? found : { ...found, next: page.cursor };
    },
    async find(id) {
      const seq = /^\d{1,15}$/.test(id) ? Number(id) : undefined;
      if (seq === undefined) return undefined;
      for await (const entry of log.entries({ after: seq - 1 })) return entry.seq === seq ? entryOf(entry) : undefined;
      return undefined;
    },
    export: (query) => exportEntries(log, query),
    async verify(noted) {
      const { ok, count, head, problems } = await log.verify(noted === undefined ? undefined : readHead(noted));
      const [first] = problems;
      const check = { ok, entries: count, head: `${head.count}:${head.hash}` };
      return first ? { ...check, broken: { id: String(first.seq), reason: first.message } } : check;
    },
  };
}

function readHead(noted: string): AuditHead {
  const [, number, hash] = /^(\d{1,15}):([0-9a-f]{0,128})$/.exec(noted) ?? [];
  if (number === undefined || hash === undefined) {
    throw new HttpError("bad_request", "That is no head of a log", "Send COUNT:HASH, as an earlier check printed it.");
  }
  return { count: Number(number), hash };
}

/** The whole chain in its order; filtered, by pages. Both go on while entries are added. */
async function* exportEntries(
  log: AuditLog,
  { limit: _limit, cursor: _cursor, ...query }: AuditQuery,
): AsyncIterable<AuditEntry> {
  if (Object.keys(query).length === 0) {
    for await (const entry of log.entries()) yield entryOf(entry);
    return;
  }
  const filter = filterOf(query);
  let cursor: string | undefined;
  do {
    const page = await log.query({ ...filter, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.entries.map(entryOf).filter((entry) => hasCode(entry, query));
    cursor = page.cursor;
  } while (cursor !== undefined);
}

function filterOf({ search, tool, status, decision, session, user, errorCode, from, to }: AuditQuery): LogQuery {
  const filter: LogQuery = {};
  if (tool !== undefined) filter.tool = tool;
  if (session !== undefined) filter.session = session;
  if (user !== undefined) filter.user = user;
  if (status !== undefined) filter.status = status as NonNullable<LogQuery["status"]>;
  if (decision !== undefined) filter.verdict = decision as Verdict["decision"];
  if (from !== undefined) filter.since = from;
  if (to !== undefined) filter.until = to;
  // The log knows no codes, but finds the text of one; `hasCode` then looks closely.
  const text = search ?? errorCode;
  if (text !== undefined) filter.text = text;
  return filter;
}

function hasCode({ errorCode }: AuditEntry, requested: AuditQuery): boolean {
  return requested.errorCode === undefined || errorCode === requested.errorCode;
}

function entryOf(entry: LoggedEntry): AuditEntry {
  const { seq, at, kind, callId = "", toolName = "", caller, verdict, status, data, hash, previous } = entry;
  const { input, durationMs, error, verdict: why, ...rest } = data;
  const { code } = Object(error) as { code?: unknown };
  return {
    id: String(seq),
    at,
    type: kind,
    callId,
    toolName,
    caller: { depth: 0, ...caller },
    status: status === undefined || status === "unknown" ? undefined : status,
    errorCode: isErrorCode(code) ? code : undefined,
    durationMs: typeof durationMs === "number" ? durationMs : undefined,
    verdict: verdict === undefined ? undefined : verdictOf(verdict, why),
    input,
    result: error === undefined ? rest : { ...rest, error },
    hash,
    previousHash: previous,
  };
}

function verdictOf(decision: Verdict["decision"], why: unknown): Verdict {
  return { by: "policy", reason: "", ...(Object(why) as Partial<Verdict>), decision };
}
