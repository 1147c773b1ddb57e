import type { AuditCheck, AuditEntry, AuditFilter } from "../../contracts/audit.ts";
import { fromMicros } from "../../calls/limits.ts";
import type { ApiClient } from "../../contracts/index.ts";
import { countOf } from "../../core/results/count-of.ts";
import { isAgentCall } from "../terminal-approver.ts";
import { isObject } from "../../schema/json-schema.ts";
import { defineCommand, type OptionSpecs, type OptionValues } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { pause, showDuration, showTime } from "../../core/clock.ts";
import { showColumns } from "../layout.ts";
import { type Output, safeLine, showJson, type Style } from "../output.ts";

const TAIL_INTERVAL_MS = 500;
const TAIL_PAGE = 200;
/** Lines per write: one write per line is slow, and the log may not fit into memory. */
const EXPORT_BATCH = 200;

const FILTERS = {
  tool: { type: "text", value: "NAME", about: "Only of this tool" },
  status: {
    type: "text",
    value: "STATUS",
    about: "The outcome",
    oneOf: ["completed", "failed", "denied", "pending", "unknown"],
  },
  decision: { type: "text", value: "WORD", about: "What was decided", oneOf: ["allow", "ask", "deny"] },
  session: { type: "text", value: "NAME", about: "Only of this session" },
  user: { type: "text", value: "NAME", about: "Only of this user" },
  search: { type: "text", value: "TEXT", about: "Words, or their beginnings" },
  since: { type: "moment", value: "WHEN", about: "2h (ago), or a date" },
  until: { type: "moment", value: "WHEN", about: "2h (ago), or a date" },
} as const satisfies OptionSpecs;

function filterOf({ since, until, ...filter }: OptionValues<typeof FILTERS>): AuditFilter {
  const { tool, status, decision, session, user, search } = filter;
  return { tool, status, decision, session, user, search, from: since, to: until };
}

const query = defineCommand({
  examples: [
    ["haft audit query", "the newest entries"],
    ["haft audit query --tool exec --status failed --since 24h", "commands that failed in the last day"],
    ["haft audit query --decision deny --json", "what was denied, for a program"],
  ],
  options: {
    ...FILTERS,
    limit: { type: "number", value: "N", range: [1, 500], about: "Max number of entries; default: 50" },
    cursor: { type: "text", value: "CURSOR", about: "`next` of the previous page" },
  },
  uses: ["audit"],
  async run({ connect, output, options: { limit = 50, cursor, ...filters } }) {
    const client = await connect();
    const page = await client.audit.search({ ...filterOf(filters), limit, cursor });
    output.list(page, (entries) => showEntries(entries.toReversed(), output));
    if (page.unsearched) {
      output.warn(
        `The search has not looked at ${page.unsearched} entries: they are not indexed yet. Search again in a moment.`,
      );
    }
    if (page.items.length === 0) output.info("Nothing found.");
    else if (page.next !== undefined) output.info(`There are more: --cursor ${page.next}`);
  },
});

const tail = defineCommand({
  examples: [
    ["haft audit tail", "the last ten entries, then new ones"],
    ["haft audit tail --tool exec --jsonl | jq .input", "commands, for a program"],
  ],
  options: {
    ...FILTERS,
    lines: {
      type: "number",
      short: "n",
      value: "N",
      range: [0, 500],
      about: "How many earlier entries to show; default: 10",
    },
  },
  notes: ["Shows the calls of all processes in this folder."],
  uses: ["audit"],
  async run({ connect, output, interrupted, options: { lines = 10, ...filters } }) {
    const client = await connect();
    const filter = filterOf(filters);
    const print = (entries: readonly AuditEntry[]): void => {
      if (output.format === "text") output.lines(showEntries(entries, output));
      else for (const entry of entries) output.item(entry, () => []);
    };
    const first = (await client.audit.search({ ...filter, limit: Math.max(1, lines) })).items;
    let last = Number(first[0]?.id ?? 0);
    print(lines === 0 ? [] : first.toReversed());
    while (!interrupted.aborted) {
      await pause(TAIL_INTERVAL_MS, interrupted);
      const added = await readAfter(client, filter, last);
      print(added);
      last = Number(added.at(-1)?.id ?? last);
    }
    return EXIT.interrupted;
  },
});

/** Oldest first, from as many pages as needed. */
async function readAfter(client: Pick<ApiClient, "audit">, filter: AuditFilter, last: number): Promise<AuditEntry[]> {
  const added: AuditEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.audit.search({ ...filter, limit: TAIL_PAGE, cursor });
    const fresh = page.items.filter(({ id }) => Number(id) > last);
    added.push(...fresh);
    cursor = fresh.length === page.items.length ? page.next : undefined;
  } while (cursor !== undefined);
  return added.toReversed();
}

const verify = defineCommand({
  examples: [
    ["haft audit verify", "exits with 1 if an entry is missing or was changed; prints the head of the log"],
    ["haft audit verify --head 120:9f2c…", "also detect that entries after that head were removed"],
    ["haft audit verify --since-checkpoint", "only what was added since the last successful check"],
  ],
  options: {
    head: { type: "text", value: "COUNT:HASH", about: "The head that an earlier check printed" },
    "since-checkpoint": { type: "flag", about: "Start after the entries of the last successful check" },
  },
  notes: ["Keep the head in another place: without it, nobody can tell that the newest entries were removed."],
  uses: ["audit"],
  async run({ connect, output, options: { head, "since-checkpoint": sinceCheckpoint } }) {
    const client = await connect();
    const check = await client.audit.verify({ head, sinceCheckpoint });
    output.data(check, ({ ok, entries, head: now, broken, pruned, checkpoint }) => [
      ok
        ? `${output.paint("green", "ok")}: ${countOf(entries, "entry", "entries")}${checkpoint ? ` after entry ${checkpoint.seq}` : ""}, all unchanged; head ${now}`
        : `${output.paint("red", "BROKEN")} at entry ${broken?.id}: ${safeLine(broken?.reason ?? "")}`,
      ...(pruned ? [describePruned(pruned)] : []),
    ]);
    return check.ok ? EXIT.done : EXIT.failed;
  },
});

function describePruned({ upTo, at, seq, rule }: NonNullable<AuditCheck["pruned"]>): string {
  const limits = Object.entries(rule ?? {}).map(([name, value]) => `store.retention.${name}: ${value}`);
  const why = rule ? limits.join(", ") : "by an earlier version, which did not record the rule";
  return `entries 1 to ${upTo} were pruned at ${showTime(at)} (${why}), as entry ${seq} says`;
}

const exportLog = defineCommand({
  examples: [
    ["haft audit export > audit.jsonl", "the whole log, one entry per line"],
    ["haft audit export --since 2026-11-01 --decision deny", "only the entries that match"],
  ],
  options: FILTERS,
  uses: ["audit"],
  async run({ connect, output, options }) {
    const client = await connect();
    let lines: string[] = [];
    for await (const entry of client.audit.export(filterOf(options))) {
      lines.push(showJson(entry));
      if (lines.length < EXPORT_BATCH) continue;
      output.lines(lines);
      lines = [];
    }
    output.lines(lines);
  },
});

export const commands = { query, tail, verify, export: exportLog };

const STYLES: Readonly<Record<string, Style>> = { completed: "green", failed: "red", pending: "yellow" };

function showEntries(entries: readonly AuditEntry[], { paint, columns }: Output): string[] {
  const rows = entries.map((entry) => {
    const { id, at, type, toolName, status, errorCode, durationMs, caller, input, verdict, callId } = entry;
    const { change, approvalId } = Object(entry.result) as { change?: unknown; approvalId?: unknown };
    const changed = type === "grant" ? String(change).replace("_", " ") : "";
    const outcome = errorCode ?? status ?? verdict?.decision ?? changed;
    const details = [
      durationMs === undefined ? "" : showDuration(durationMs),
      caller.user ?? "",
      agentsPart(entry),
      callId,
      typeof approvalId === "string" ? approvalId : verdict?.approvalId,
      input === undefined ? summaryOf(entry) : JSON.stringify(input),
    ];
    return [
      id,
      showTime(at, { seconds: true }),
      type,
      safeLine(toolName),
      outcome,
      safeLine(details.filter(Boolean).join("  ")),
    ];
  });
  const styleOf = (cell: string, column: number): Style | undefined =>
    column === 4 ? (STYLES[cell] ?? "yellow") : undefined;
  return showColumns(rows, { paint, styles: ["dim", "dim", undefined, "bold"], styleOf, columns });
}

/** A call that another agent runs has two entries, and ran once. */
function agentsPart({ type, callId, caller }: AuditEntry): string | undefined {
  if (callId === undefined || !isAgentCall({ callId })) return undefined;
  const agent = caller.agent ?? "the agent";
  if (type === "call_begun") return `let through, ${agent} runs it`;
  return type === "call_ended" ? `the end, as ${agent} reported it` : undefined;
}

function summaryOf({ type, result }: AuditEntry): string {
  if (!isObject(result)) return "";
  const { summary, note, reason, answeredBy, by = answeredBy } = result as LoggedFacts;
  const isBy = typeof by === "string";
  const said = [isBy && `by ${by}`, note ?? (isBy ? undefined : reason)].filter((text) => typeof text === "string");
  const parts = [summary, type === "grant" && grantOf(result as LoggedFacts), said.join(": ")];
  return parts.filter((text) => typeof text === "string" && text !== "").join("  ");
}

function grantOf({ grant, limit, text = limit, amount, unit = "calls", maxUses, budget, until }: LoggedFacts): string {
  const bounds = [
    maxUses === undefined ? undefined : countOf(maxUses, "call"),
    budget && `${fromMicros(budget.max)} ${budget.unit}`,
    amount === undefined ? undefined : `+${amount} ${unit}`,
    until === undefined ? undefined : `until ${showTime(until)}`,
  ];
  return [grant ?? text, bounds.filter(Boolean).join(", ")].filter(Boolean).join("  ");
}

/** What the data of an entry may have. Only grants have bounds. */
type LoggedFacts = Partial<
  Record<"summary" | "note" | "reason" | "answeredBy" | "by" | "grant" | "limit" | "text" | "unit", string>
> &
  Partial<Record<"amount" | "maxUses" | "until", number>> & { budget?: { unit: string; max: number } };
