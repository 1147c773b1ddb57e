// Compares what every party was told with the row and the ledger. The judge knows nothing of how Haft works inside.
import type { CallOutcome, StoredCall } from "../../../src/calls/stored-call.ts";
import type { Heard, Played } from "./play.ts";

/** What was said for each outcome. */
const CODES: Record<CallOutcome, readonly string[]> = {
  completed: ["completed"],
  failed: [],
  denied: ["approval_denied", "denied"],
  expired: ["approval_expired"],
  cancelled: ["cancelled"],
  changed: ["stale"],
  unknown: ["unknown_outcome"],
};

/** What the judge compares. */
export interface Judged extends Pick<Played, "heard" | "rows" | "effects" | "owners" | "lost" | "hung"> {
  schedule: { asker: string };
  /** Whether the tool runs without an approval. */
  isAllowed?: boolean;
}

/** Each fault begins with its kind: lost, doubled, unasked, false or hung. */
export function judge(played: Judged): string[] {
  const { schedule, heard, rows, effects, hung, isAllowed = false } = played;
  const faults: string[] = hung.map((who) =>
    who === "nobody ran it" ? "lost: an approved call was not run" : `hung: ${who}`,
  );
  if (effects.length > 1) faults.push(`doubled: ${effects.length} effects`);
  const last = rows.at(-1);
  if (!last) return [...faults, "lost: there is no row"];
  const isApproved = isAllowed || rows.some(({ answer }) => answer?.approved === true);
  if (effects.length > 0 && !isApproved) faults.push("unasked: it ran without an approval");
  for (const row of rows) faults.push(...judgeRow(row, played));
  const ran = rows.filter(({ outcome }) => outcome === "completed" || outcome === "unknown");
  if (effects.length > 0 && ran.length === 0)
    faults.push(`false: it ran, and its rows say ${rows.map(outcomeOf).join(", ")}`);
  for (const told of heard) faults.push(...judgeTold(told, rows, { last, asker: schedule.asker }));
  return faults;
}

function judgeRow(row: StoredCall, { effects, owners, lost }: Judged): string[] {
  const { id, state, outcome, answer } = row;
  if (state !== "ended") return [`lost: the row is ${state}`];
  if (outcome === "completed" && effects.length !== 1)
    return [`false: the row says completed, with ${effects.length} effects`];
  const hasRun = outcome === "completed" || outcome === "unknown";
  if (hasRun && effects.length === 1 && owners.get(id) !== effects[0])
    return [`false: it ran in process ${effects[0]}, and the row says ${owners.get(id)}`];
  if (outcome === "unknown" && !lost.has(row.id))
    return ["false: the row says unknown, and the process that ran it was not killed"];
  if (outcome === "failed") return [`false: the row says failed: ${row.result?.display}`];
  if (outcome === "denied" && answer?.approved !== false) return ["false: the row says denied, and nobody denied it"];
  if (outcome === "expired" || outcome === "cancelled") return [`lost: the row is ${outcome}: ${row.note}`];
  return [];
}

function judgeTold(
  told: Heard,
  rows: readonly StoredCall[],
  { last, asker }: { last: StoredCall; asker: string },
): string[] {
  const { said, party, approvalId, waits, pending, text } = told;
  // Its process or its server is dead: it was told nothing.
  if (said === "killed" || said === "gone") return [];
  const about = approvalId === undefined ? last : (rows.find(({ id }) => id === approvalId) ?? last);
  const fault = `false: ${party} was told ${said}, and the row says ${outcomeOf(about)} (${text.slice(0, 300)})`;
  if (said === "pending") {
    // What was shown has changed, and there is a new question.
    if (pending?.kind === "approval" && about.outcome === "changed" && pending.id !== about.id) return [];
    if (pending?.kind === "job" && asker === "job") return [];
    return waits ? [fault] : [];
  }
  // An answer that did not count, and says so.
  if (said === "conflict" && approvalId !== undefined) return isCounted(told, about) ? [fault] : [];
  if (about.outcome === undefined) return [fault];
  return CODES[about.outcome].includes(said) ? [] : [fault];
}

/** Whether the answer is the one that the row has. */
function isCounted({ approves }: Heard, { answer, outcome }: StoredCall): boolean {
  return outcome !== "changed" && answer?.approved === approves;
}

function outcomeOf({ state, outcome }: StoredCall): string {
  return outcome ?? state;
}
