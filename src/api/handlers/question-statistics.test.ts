import { expect, test } from "vitest";
import type { AuditEntry, AuditLog } from "../../gate/audit-log.ts";
import { questionStatistics } from "./question-statistics.ts";

/** Newest first, in pages of two. */
function logOf(entries: readonly Partial<AuditEntry>[]): Pick<AuditLog, "query"> {
  const all = entries.map((entry, at) => ({ seq: at + 1, owner: "", hash: "", data: {}, ...entry })) as AuditEntry[];
  return {
    async query({ since = 0, cursor = "0" } = {}) {
      const found = all.filter(({ at }) => at >= since).reverse();
      const from = Number(cursor);
      const next = from + 2 < found.length ? { cursor: String(from + 2) } : {};
      return { entries: found.slice(from, from + 2), ...next };
    },
  };
}

const asked = (id: string, at: number, tool = "write", risk = "low", more: object = {}) =>
  ({ kind: "approval_asked", at, toolName: tool, verdict: "ask", data: { approvalId: id, risk, ...more } }) as const;
const answered = (
  id: string,
  at: number,
  state: string,
  data: object = { answeredBy: "ann" },
): Partial<AuditEntry> => ({
  kind: "approval_answered",
  at,
  toolName: "write",
  verdict: state === "approved" ? "allow" : "deny",
  data: { approvalId: id, state, ...data },
});
const HOUR = 3_600_000;

test("answers count for their questions: by person, tool and risk, with the time they took", async () => {
  const log = logOf([
    asked("before", 10),
    asked("a", 1000),
    answered("a", 2999, "approved"),
    asked("b", 3000, "exec", "high"),
    answered("b", 5000, "denied"),
    asked("c", 6000),
    answered("c", 16_000, "approved"),
    asked("d", 17_000),
    // Nobody answered in time; another program answered; nobody has answered yet.
    answered("d", 18_000, "expired", {}),
    asked("e", 19_000),
    answered("e", 19_001, "approved", { answeredBy: "claude", answeredVia: "hook" }),
    asked("f", 20_000),
    // A question of a tool to the user.
    asked("g", 20_500, "ask_user", "low", { questions: [{}] }),
    answered("g", 20_501, "approved", { answeredBy: "ann", questions: [{}] }),
    // Approved, and impossible by the time it should run: the person said yes.
    asked("h", 21_000),
    answered("h", 24_000 + HOUR, "approved", { answeredBy: "bob" }),
    answered("h", 25_000 + HOUR, "changed", { answeredBy: "bob" }),
    asked("later", 90_000 + HOUR),
  ]);
  expect(await questionStatistics(log, { from: 500, to: 30_000 })).toEqual({
    ...{ from: 500, to: 30_000, asked: 7, yes: 3, no: 1, unread: 1, open: 1, ended: 2, medianMs: 10_000 },
    people: [
      { name: "ann", asked: 3, yes: 2, no: 1, unread: 1, medianMs: 2000, hours: 1 },
      { name: "bob", asked: 1, yes: 1, no: 0, unread: 0, medianMs: HOUR + 3000, hours: 1 },
    ],
    tools: [
      { name: "write", asked: 6, yes: 3, no: 0, unread: 1, medianMs: 10_000 },
      { name: "exec", asked: 1, yes: 0, no: 1, unread: 0, medianMs: 2000 },
    ],
    risks: [
      { name: "low", asked: 6, yes: 3, no: 0, unread: 1, medianMs: 10_000 },
      { name: "high", asked: 1, yes: 0, no: 1, unread: 0, medianMs: 2000 },
    ],
  });
});
