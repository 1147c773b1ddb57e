import type { AuditEntry, AuditFilter, audit } from "../../contracts/audit.ts";
import { CallSubject, RiskLevel } from "../../contracts/basics.ts";
import { isAsked } from "../../calls/approval.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import type { Identity } from "../../contracts/identity.ts";
import type { Verdict } from "../../core/call.ts";
import { isErrorCode } from "../../core/error.ts";
import type { AnyTool } from "../../core/tool.ts";
import {
  AUDIT_KINDS,
  type AuditEntry as LoggedEntry,
  type AuditHead,
  type AuditLog,
  type AuditQuery as LogQuery,
  isAuditKind,
  pagesOf,
} from "../../gate/audit-log.ts";
import { summarizeCall } from "../../gate/summarize-call.ts";
import { isObject } from "../../schema/json-schema.ts";

const DEFAULT_LIMIT = 100;
const PAGE = 500;
const NUMBER = /^\d{1,15}$/;

/** `toolOf`: finds a tool by its name, if there is one in this process. */
export function createAuditApi(
  log: AuditLog,
  toolOf: (name: string) => AnyTool | undefined = () => undefined,
): Handlers<typeof audit> {
  /** With what each call is about. */
  const describe = async (entries: readonly LoggedEntry[], identity: Identity): Promise<AuditEntry[]> => {
    const complete = await log.withInputs(entries);
    return entries.map((entry, at) => ({ ...entryOf(entry, identity), ...summaryOf(complete[at] ?? entry, toolOf) }));
  };
  return {
    async search({ query: { limit = DEFAULT_LIMIT, cursor, ...query }, identity }) {
      if (cursor !== undefined && !NUMBER.test(cursor)) {
        throw new ApiError("bad_request", '"cursor" is not a cursor of this log', "Send `next` of the previous page.");
      }
      const filter = filterOf(query);
      const [page, facets] = await Promise.all([log.query({ ...filter, limit, cursor }), log.facets(filter)]);
      return {
        items: await describe(page.entries, identity),
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
    export({ query, identity, setHeader }) {
      setHeader("content-disposition", 'attachment; filename="haft-audit.jsonl"');
      return exportEntries(log, query, identity);
    },
    async verify({ query: { head: noted, sinceCheckpoint } }) {
      const anchor = noted === undefined ? undefined : readHead(noted);
      const { ok, count, head, pruned, problems, checkpoint } = await log.verify(anchor, { sinceCheckpoint });
      const [first] = problems;
      const broken = first && { id: String(first.seq), reason: first.message };
      return { ok, entries: count, head: `${head.count}:${head.hash}`, broken, pruned, checkpoint };
    },
    async get({ params: { id }, identity }) {
      const seq = NUMBER.test(id) ? Number(id) : undefined;
      if (seq !== undefined) {
        for await (const entry of log.entries({ after: seq - 1 })) {
          const [found] = entry.seq === seq ? await describe([entry], identity) : [];
          if (found) return found;
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
async function* exportEntries(log: AuditLog, query: AuditFilter, identity: Identity): AsyncIterable<AuditEntry> {
  if (Object.values(query).every((value) => value === undefined)) {
    for await (const entry of log.entries()) yield entryOf(entry, identity);
    return;
  }
  for await (const { entries } of pagesOf(log, { ...filterOf(query), limit: PAGE })) {
    yield* entries.map((entry) => entryOf(entry, identity));
  }
}

function filterOf({ search, decision, from, to, call, type, ...filter }: AuditFilter): LogQuery {
  if (type !== undefined && !isAuditKind(type)) {
    throw new ApiError("bad_request", `There is no type "${type}"`, `Send one of ${AUDIT_KINDS.join(", ")}.`);
  }
  return { ...filter, callId: call, kind: type, verdict: decision, since: from, until: to, text: search };
}

/** The subject is in the entry, or follows from the input of its call. */
function summaryOf(
  { callId, toolName = "", data }: LoggedEntry,
  toolOf: (name: string) => AnyTool | undefined,
): Pick<AuditEntry, "subject" | "risk"> {
  if (callId === undefined) return {};
  const [subject, risk] = [CallSubject.safeParse(data["subject"]), RiskLevel.safeParse(data["risk"])];
  const tool = toolOf(toolName);
  const summary = "input" in data ? summarizeCall(tool, data["input"]) : undefined;
  return {
    subject: subject.success ? subject.data : summary?.subject,
    risk: risk.success ? risk.data : tool && summary?.risk.level,
  };
}

/** What a person answered is for them, their agent and administrators. */
function entryOf(entry: LoggedEntry, { name, scopes }: Identity): AuditEntry {
  const { seq, at, kind, callId = "", toolName = "", caller, verdict, status, data, hash } = entry;
  const { input, durationMs, waitedMs, error, verdict: why, subject: _subject, risk: _risk, answers, ...rest } = data;
  if (answers !== undefined && isAsked({ depth: 0, ...caller }, { by: name, rights: scopes }))
    rest["answers"] = answers;
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
    waitedMs: typeof waitedMs === "number" ? waitedMs : undefined,
    verdict: verdict === undefined ? undefined : verdictOf(verdict, why),
    input,
    result: error === undefined ? rest : { ...rest, error },
    hash,
  };
}

function verdictOf(decision: Verdict["decision"], why: unknown): Verdict {
  return { by: "policy", reason: "", ...(Object(why) as Partial<Verdict>), decision };
}
