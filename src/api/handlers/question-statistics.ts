import type { QuestionStatistics } from "../../contracts/statistics.ts";
import { groupBy } from "../../core/bounded-map.ts";
import { type AuditEntry, type AuditLog, pagesOf } from "../../gate/audit-log.ts";

const HOUR = 3_600_000;
const PAGE = 500;
/** Nobody reads a command and what it changes in less. */
const UNREAD_MS = 2000;

interface Question {
  tool: string;
  risk: string;
  askedAt: number;
  answer?: { at: number; isYes: boolean; by: string | undefined };
  /** Ended without an answer of a person: it expired, the call was changed or stopped, or a program answered. */
  hasEnded: boolean;
}

type Numbers = QuestionStatistics["tools"][number];

/** What people were asked and answered in this time, by the log. Questions of tools to the user do not count. */
export async function questionStatistics(
  log: Pick<AuditLog, "query">,
  { from, to }: { from: number; to: number },
): Promise<Omit<QuestionStatistics, "proposals">> {
  const questions = await readQuestions(log, { from, to });
  const answered = questions.filter(({ answer }) => answer !== undefined);
  const people = groupBy(answered, ({ answer }) => answer?.by ?? "");
  const numbers = (of: readonly Question[]): Omit<Numbers, "name"> => {
    const given = of.flatMap(({ askedAt, answer }) =>
      answer ? [{ isYes: answer.isYes, ms: Math.max(0, answer.at - askedAt) }] : [],
    );
    const waits = given.map(({ ms }) => ms).sort((one, other) => one - other);
    return {
      asked: of.length,
      yes: given.filter(({ isYes }) => isYes).length,
      no: given.filter(({ isYes }) => !isYes).length,
      unread: given.filter(({ ms }) => ms < UNREAD_MS).length,
      medianMs: waits[Math.floor(waits.length / 2)] ?? 0,
    };
  };
  const listed = (groups: Map<string, Question[]>): Numbers[] =>
    [...groups].map(([name, of]) => ({ name, ...numbers(of) })).sort((one, other) => other.asked - one.asked);
  return {
    from,
    to,
    ...numbers(questions),
    open: questions.filter(({ answer, hasEnded }) => !answer && !hasEnded).length,
    ended: questions.filter(({ answer, hasEnded }) => !answer && hasEnded).length,
    people: listed(people).map((person) => {
      const hours = new Set((people.get(person.name) ?? []).map(({ answer }) => Math.floor((answer?.at ?? 0) / HOUR)));
      return { ...person, hours: hours.size };
    }),
    tools: listed(groupBy(questions, ({ tool }) => tool)),
    risks: listed(groupBy(questions, ({ risk }) => risk)),
  };
}

/** Asked in this time; an answer may be later. */
async function readQuestions(
  log: Pick<AuditLog, "query">,
  { from, to }: { from: number; to: number },
): Promise<Question[]> {
  const endings = new Map<string, Pick<Question, "answer" | "hasEnded">>();
  const questions: Question[] = [];
  const kind = ["approval_asked", "approval_answered"] as const;
  for await (const { entries } of pagesOf(log, { kind, since: from, limit: PAGE })) {
    // Newest first: an answer comes before its question.
    for (const { kind: of, at, toolName = "", verdict, data } of entries) {
      const id = String(data["approvalId"]);
      if (data["questions"] !== undefined) continue;
      if (of === "approval_answered") {
        const isByPerson = data["answeredVia"] !== "hook" && (verdict === "allow" || data["state"] === "denied");
        const by = textOf(data["answeredBy"]);
        // The first of them counts: a yes to a call that is impossible by then is followed by its end.
        const answer = isByPerson ? { at, isYes: verdict === "allow", by } : endings.get(id)?.answer;
        endings.set(id, { answer, hasEnded: true });
      } else if (at <= to) {
        const risk = textOf(data["risk"]) ?? "";
        questions.push({ tool: toolName, risk, askedAt: at, hasEnded: false, ...endings.get(id) });
      }
    }
  }
  return questions;
}

function textOf(value: AuditEntry["data"][string]): string | undefined {
  return typeof value === "string" ? value : undefined;
}
