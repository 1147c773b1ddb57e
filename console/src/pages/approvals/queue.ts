import type { ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { type CallSubject, type Caller, RiskLevel } from "../../../../src/contracts/basics.ts";
import type { QuestionInfo } from "../../../../src/contracts/questions.ts";

/** One row of the queue: a call that waits for an approval, or a question of an MCP server. */
export interface QueueItem {
  id: string;
  level: RiskLevel;
  subject: CallSubject;
  toolName: string;
  title?: string;
  caller: Partial<Caller>;
  askedAt: number;
  expiresAt?: number;
  approval?: ApprovalInfo;
  question?: QuestionInfo;
  /** Somebody else answered it, or it expired. The row stays until the user does something. */
  isGone?: boolean;
}

/** Only permissions are answered together. */
export function isBatchable({ approval, isGone }: QueueItem): boolean {
  return approval !== undefined && approval.questions === undefined && !isGone;
}

export type Sort = "risk" | "age";

/** What the user sees of the queue. It is in the address of the page. */
export interface QueueView {
  sort: Sort;
  bySession: boolean;
  risk: string;
  tool: string;
  session: string;
  text: string;
}

const LEVELS = RiskLevel.options;

export function toItems(approvals: readonly ApprovalInfo[], questions: readonly QuestionInfo[]): QueueItem[] {
  return [
    ...approvals.map((approval): QueueItem => {
      const { id, risk, subject, toolName, title, caller, askedAt, expiresAt } = approval;
      return { id, level: risk.level, subject, toolName, title, caller, askedAt, expiresAt, approval };
    }),
    ...questions.map((question): QueueItem => ({
      id: `question-${question.id}`,
      level: "medium",
      subject: { type: "text", text: question.message },
      toolName: question.server,
      caller: {},
      askedAt: question.askedAt,
      expiresAt: question.expiresAt,
      question,
    })),
  ];
}

export function compareItems({ sort, bySession }: Pick<QueueView, "sort" | "bySession">) {
  return (one: QueueItem, other: QueueItem): number => {
    const soon = Number(endsSoon(other)) - Number(endsSoon(one));
    const session = bySession ? sessionOf(one).localeCompare(sessionOf(other)) : 0;
    const risk = sort === "risk" ? LEVELS.indexOf(other.level) - LEVELS.indexOf(one.level) : 0;
    return session || soon || risk || one.askedAt - other.askedAt || (one.id < other.id ? -1 : 1);
  };
}

const SOON_MS = 300_000;

/** What ends within minutes comes first, whatever its risk. */
function endsSoon({ expiresAt = Infinity }: QueueItem): boolean {
  return expiresAt - Date.now() < SOON_MS;
}

export function sessionOf({ caller }: QueueItem): string {
  return caller.session ?? "";
}

export function isShown(item: QueueItem, { risk, tool, session, text }: QueueView): boolean {
  if (risk !== "" && item.level !== risk) return false;
  if (tool !== "" && item.toolName !== tool) return false;
  if (session !== "" && item.caller.session !== session) return false;
  if (text === "") return true;
  const { subject, toolName, title = "", caller } = item;
  const all = [subject.text, toolName, title, caller.user, caller.agent, caller.session].join("\n").toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

interface OrderInput {
  items: readonly QueueItem[];
  compare: (one: QueueItem, other: QueueItem) => number;
  /** With another key everything is sorted again. */
  key: string;
  /** Answered by this user: these rows go at once, with all that are gone. */
  answered: ReadonlySet<string>;
}

/**
 * The order of the rows, which does not change while someone reads: new rows come at the end, and rows that are gone keep
 * their place. It is sorted again if the user asks for it, or if nothing open is left.
 */
export class StableOrder {
  #key: string | undefined;
  #answered = 0;
  #items = new Map<string, QueueItem>();
  #fresh = new Set<string>();

  /** Rows that came after the last sorting. */
  get fresh(): readonly QueueItem[] {
    return [...this.#items.values()].filter(({ id, isGone }) => this.#fresh.has(id) && !isGone);
  }

  update({ items, compare, key, answered }: OrderInput): QueueItem[] {
    const open = new Map(items.filter(({ id }) => !answered.has(id)).map((item) => [item.id, item]));
    const kept = [...this.#items.keys()].some((id) => open.has(id));
    if (key !== this.#key || !kept) {
      this.#items = new Map([...open.values()].sort(compare).map((item) => [item.id, item]));
      this.#fresh.clear();
    } else this.#merge(open, compare, answered);
    this.#key = key;
    this.#answered = answered.size;
    return [...this.#items.values()];
  }

  #merge(open: ReadonlyMap<string, QueueItem>, compare: OrderInput["compare"], answered: ReadonlySet<string>): void {
    const hasActed = answered.size !== this.#answered;
    for (const [id, item] of this.#items) {
      const now = open.get(id);
      if (now) this.#items.set(id, now);
      else if (hasActed || answered.has(id)) this.#items.delete(id);
      else if (!item.isGone) this.#items.set(id, { ...item, isGone: true });
    }
    const added = [...open.values()].filter(({ id }) => !this.#items.has(id)).sort(compare);
    for (const item of added) {
      this.#items.set(item.id, item);
      this.#fresh.add(item.id);
    }
  }
}
