import type { AuditEntry, AuditFilter, audit } from "../../contracts/audit.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import type { Verdict } from "../../core/call.ts";
import { isErrorCode } from "../../core/error.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { AuditEntry as LoggedEntry, AuditHead, AuditLog, AuditQuery as LogQuery } from "../../gate/audit-log.ts";

const DEFAULT_LIMIT = 100;
const PAGE = 500;
const NUMBER = /^\d{1,15}$/;

export function createAuditApi(log: AuditLog): Handlers<typeof audit> {
  return {
    async search({ query: { limit = DEFAULT_LIMIT, cursor, ...query } }) {
      if (cursor !== undefined && !NUMBER.test(cursor)) {
        throw new ApiError("bad_request", '"cursor" is not a cursor of this log', "Send `next` of the previous page.");
      }
      const filter = filterOf(query);
      const [page, facets] = await Promise.all([log.query({ ...filter, limit, cursor }), log.facets(filter)]);
      return {
        items: page.entries.map(entryOf),
        next: page.cursor,
        unsearched: page.unsearched,
        facets: [
          { name: "tool", values: facets.tool },
          { name: "status", values: facets.status },
          { name: "decision", values: facets.verdict },
        ],
        isPartial: facets.isPartial,
      };
    },
    export({ query, setHeader }) {
      setHeader("content-disposition", 'attachment; filename="haft-audit.jsonl"');
      return exportEntries(log, query);
    },
    async verify({ query: { head: noted, sinceCheckpoint } }) {
      const anchor = noted === undefined ? undefined : readHead(noted);
      const { ok, count, head, problems, checkpoint } = await log.verify(anchor, { sinceCheckpoint });
      const [first] = problems;
      const broken = first && { id: String(first.seq), reason: first.message };
      return { ok, entries: count, head: `${head.count}:${head.hash}`, broken, checkpoint };
    },
    async get({ params: { id } }) {
      const seq = NUMBER.test(id) ? Number(id) : undefined;
      if (seq !== undefined) {
        for await (const entry of log.entries({ after: seq - 1 })) {
          if (entry.seq === seq) return entryOf(entry);
          break;
        }
      }
      throw new ApiError("not_found", "There is no such entry");
    },
  };
}

function readHead(noted: string): AuditHead {
  const [, number, hash] = /^(\d{1,15}):([\w-]{43}|[0-9a-f]{64}|)$/.exec(noted) ?? [];
  if (number === undefined || hash === undefined) {
    throw new ApiError("bad_request", '"head" is not the head of a log', "Send COUNT:HASH of an earlier check.");
  }
  return { count: Number(number), hash };
}

/** The whole chain in its order; filtered, by pages. Entries that are added meanwhile are included. */
async function* exportEntries(log: AuditLog, query: AuditFilter): AsyncIterable<AuditEntry> {
  if (Object.values(query).every((value) => value === undefined)) {
    for await (const entry of log.entries()) yield entryOf(entry);
    return;
  }
  const filter = filterOf(query);
  let cursor: string | undefined;
  do {
    const page = await log.query({ ...filter, limit: PAGE, cursor });
    yield* page.entries.map(entryOf);
    cursor = page.cursor;
  } while (cursor !== undefined);
}

function filterOf({ search, tool, status, decision, session, user, errorCode, from, to }: AuditFilter): LogQuery {
  return { tool, session, user, status, errorCode, verdict: decision, since: from, until: to, text: search };
}

function entryOf(entry: LoggedEntry): AuditEntry {
  const { seq, at, kind, callId = "", toolName = "", caller, verdict, status, data, hash } = entry;
  const { input, durationMs, error, verdict: why, ...rest } = data;
  const code = isObject(error) ? error["code"] : undefined;
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
  };
}

function verdictOf(decision: Verdict["decision"], why: unknown): Verdict {
  return { by: "policy", reason: "", ...(Object(why) as Partial<Verdict>), decision };
}
