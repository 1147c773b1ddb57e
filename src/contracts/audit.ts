import { z } from "zod";
import {
  CallErrorCode,
  Caller,
  CallSubject,
  Count,
  cursor,
  Decision,
  limit,
  RiskLevel,
  Time,
  Verdict,
} from "./basics.ts";
import { namedObject, objects, read } from "./contract.ts";

export const AuditEntry = namedObject("AuditEntry", {
  id: z.string(),
  at: Time,
  /** `call_begun` is written before a call takes effect, `call_ended` after it. A short call that only reads has one entry. */
  type: z.string(),
  callId: z.string(),
  toolName: z.string(),
  caller: Caller,
  status: z.enum(["completed", "failed", "pending"]).optional(),
  errorCode: CallErrorCode.optional(),
  /** Without the time in which the call waited for a person. */
  durationMs: z.number().optional(),
  waitedMs: z.number().optional(),
  /** What the call is about. In lists and single entries, not in exports. */
  subject: CallSubject.optional(),
  risk: RiskLevel.optional(),
  verdict: Verdict.optional(),
  input: z.unknown().optional(),
  result: z.unknown().optional(),
  hash: z.string().optional(),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

export const AuditPage = namedObject("AuditPage", {
  items: z.array(AuditEntry),
  next: z.string().optional(),
  total: Count.optional(),
  /** Entries that the search for text has not looked at: the newest while the index is behind, or the oldest. */
  unsearched: Count.optional(),
  /** Whether `facets` have only the newest 5,000 entries that match. */
  isPartial: z.boolean().optional(),
  facets: objects({
    name: z.enum(["tool", "status", "decision", "user"]),
    values: objects({ value: z.string(), count: Count }),
  }),
});
export type AuditPage = z.infer<typeof AuditPage>;

export const AuditCheck = namedObject("AuditCheck", {
  ok: z.boolean(),
  entries: Count,
  /** COUNT:HASH of the last entry. Sent as `head` later, it shows what was cut off or rewritten since. */
  head: z.string(),
  /** The first entry that does not match. */
  broken: z.strictObject({ id: z.string(), reason: z.string() }).optional(),
  /** The oldest entries that were deleted by a rule of the retention. `seq` is the entry that says so. */
  pruned: z
    .strictObject({
      upTo: Count,
      at: Time,
      seq: Count,
      /** Missing if an earlier version deleted them. */
      rule: z.strictObject({ auditDays: z.number().optional(), maxMb: z.number().optional() }).optional(),
    })
    .optional(),
  /** With `sinceCheckpoint`: the entries up to this one were checked at that time. */
  checkpoint: z.strictObject({ seq: Count, at: Time }).optional(),
});
export type AuditCheck = z.infer<typeof AuditCheck>;

const AuditFilter = z.strictObject({
  search: z.string().optional().describe("Words of the entry, or their beginnings"),
  tool: z.string().optional().describe("The name of a tool"),
  status: z.enum(["completed", "failed", "denied", "pending", "unknown"]).optional().describe("The outcome"),
  decision: Decision.optional().describe("What was decided"),
  session: z.string().optional().describe("Only of this session"),
  user: z.string().optional().describe("Only of this user"),
  call: z.string().optional().describe("Only of this call"),
  type: z.string().max(50).optional().describe("Only of this type, such as `call_ended` or `approval_asked`"),
  errorCode: CallErrorCode.optional().describe("The code of a failed call"),
  from: Count.optional().describe("Unix milliseconds"),
  to: Count.optional().describe("Unix milliseconds"),
});
const AuditQuery = AuditFilter.extend({ limit, cursor });
export type AuditFilter = z.infer<typeof AuditFilter>;
export type AuditQuery = z.infer<typeof AuditQuery>;

export const audit = {
  search: read("GET /api/audit", {
    summary: "Search the audit log, newest first",
    query: AuditQuery,
    output: AuditPage,
  }),
  export: read("GET /api/audit/export", {
    summary: "The whole log, or the entries that match, oldest first",
    query: AuditFilter,
    lines: AuditEntry,
  }),
  verify: read("GET /api/audit/verify", {
    summary: "Whether every entry of the chain is present and unchanged",
    query: z.strictObject({
      head: z
        .string()
        .optional()
        .describe("The `head` of an earlier check; verifies that nothing before it is missing"),
      sinceCheckpoint: z
        .boolean()
        .optional()
        .describe("Continue behind the last entry that an earlier check found unchanged"),
    }),
    output: AuditCheck,
  }),
  get: read("GET /api/audit/{id}", { summary: "One entry", output: AuditEntry }),
};
