import { z } from "zod";
import { Count, limit, Name, page, Text, Time } from "./basics.ts";
import { approve, namedObject, read } from "./contract.ts";

const Amount = z.strictObject({ unit: z.string().min(1).max(20), max: z.number().positive() });

/** What a person allowed beyond one call. */
export const GrantInfo = namedObject("GrantInfo", {
  id: z.string(),
  /** `used_up`: it counts again if it is extended, or if a charge is given back. */
  state: z.enum(["active", "used_up", "revoked", "expired"]),
  /** Who may use it. `null`: only callers without one. Omitted: any. */
  holder: z.strictObject({
    user: z.string().nullable().optional(),
    session: z.string().nullable().optional(),
    agent: z.string().nullable().optional(),
    task: z.string().optional(),
    /** Of a subagent. */
    depth: z.number().optional(),
    /** Only callers in this process. */
    process: z.string().optional(),
  }),
  /** What it allows. */
  rules: z.array(z.string()),
  /** The tools that were shown; it covers only these definitions of them. Empty: any that the rules name. */
  tools: z.array(z.string()),
  until: Time.optional(),
  maxUses: Count.optional(),
  budget: Amount.optional(),
  /** Calls that were charged, also those whose outcome is unknown. */
  used: Count,
  /** Of the budget, in its unit. */
  spent: z.number(),
  /** Of `used`: calls whose outcome is unknown. They stay charged until a late result or a refund. */
  unknown: Count,
  /** Calls and amount that are left. Omitted without such a bound. */
  usesLeft: Count.optional(),
  budgetLeft: z.number().optional(),
  why: z.string(),
  /** The person who granted it, and through which interface. */
  by: z.string().optional(),
  via: z.string().optional(),
  createdAt: Time,
  endedAt: Time.optional(),
  endedBy: z.string().optional(),
});
export type GrantInfo = z.infer<typeof GrantInfo>;

/** Checked as what an agent asks for: rules that name tools, and bounds within their caps. */
export const GiveGrantRequest = namedObject("GiveGrantRequest", {
  rules: z.array(Text).min(1).max(100),
  /** Who may use it. Omitted: any user, session or agent. At least one is required. */
  user: Name.optional(),
  session: Name.optional(),
  agent: Name.optional(),
  minutes: z.number().positive().optional(),
  maxUses: z.number().int().positive().optional(),
  budget: Amount.optional(),
  /** What for. */
  why: z.string().min(1).max(1000),
});
export type GiveGrantRequest = z.infer<typeof GiveGrantRequest>;

/** Replaces bounds. A bound beyond its cap is an error. */
export const ExtendGrantRequest = namedObject("ExtendGrantRequest", {
  /** From now on. */
  minutes: z.number().positive().optional(),
  /** All uses, with those that were made. */
  maxUses: z.number().int().positive().optional(),
  /** The whole budget, with what is spent. In the unit of the grant. */
  budget: Amount.optional(),
});
export type ExtendGrantRequest = z.infer<typeof ExtendGrantRequest>;

/** Call ids are unique in one conversation only. If several calls of the grant have the id, the answer is 409 with them. */
export const RefundRequest = namedObject("RefundRequest", {
  callId: Name,
  /** Of the caller. `null`: it had none. */
  session: z.string().nullable().optional(),
  /** When the call began, if several calls of the session have the id. */
  begunAt: Time.optional(),
});
export type RefundRequest = z.infer<typeof RefundRequest>;

export const grants = {
  list: read("GET /api/grants", {
    summary: "What people allowed beyond one call, newest first",
    query: z.strictObject({
      state: z.enum(["open", "all"]).optional().describe("`open`: not revoked and not expired. Default: open"),
      limit: limit.describe("Max number of items, up to 500. Default: 100"),
    }),
    output: page("GrantPage", GrantInfo),
  }),
  get: read("GET /api/grants/{id}", { summary: "One grant, with what is left of it", output: GrantInfo }),
  give: approve("POST /api/grants", {
    summary: "Allow calls beyond one question, within bounds",
    body: GiveGrantRequest,
    output: GrantInfo,
  }),
  extend: approve("POST /api/grants/{id}/extend", {
    summary: "Give a grant that has not ended other bounds",
    body: ExtendGrantRequest,
    output: GrantInfo,
  }),
  revoke: approve("POST /api/grants/{id}/revoke", {
    summary: "End a grant: it covers no call that has not started",
    output: GrantInfo,
  }),
  refund: approve("POST /api/grants/{id}/refund", {
    summary: "Give back what an ended call took: a person found out that it did nothing",
    body: RefundRequest,
    output: GrantInfo,
  }),
};
