import type { GrantInfo } from "../../contracts/grants.ts";
import { showSpan, showTime } from "../../core/clock.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand } from "../command.ts";
import { errorMessage } from "../../core/error.ts";
import { cut, showColumns } from "../layout.ts";
import { keyOf, TerminalKeys } from "../prompts.ts";
import { columnsOf, isInteractive } from "../terminal.ts";
import { type Output, safeLine, type Style } from "../output.ts";

/** A command that ends soon runs no job and starts no server. */
const SHORT = { only: [], connectsMcp: false, runsJobs: false };
const GRANT = { name: "ID", listedBy: "haft grants list" };
const STYLES: Readonly<Record<GrantInfo["state"], Style>> = {
  active: "green",
  used_up: "yellow",
  expired: "dim",
  revoked: "dim",
};

const list = defineCommand({
  examples: [
    ["haft grants list", "what you allowed for sessions and tasks, until when, and what is left"],
    ["haft grants list --all", "also those that were revoked or are over"],
  ],
  options: {
    all: { type: "flag", about: "Also those that have ended" },
    limit: { type: "number", value: "N", range: [1, 500], about: "Max number of grants, newest first; default: 100" },
  },
  notes: ["What you allowed with `always` is a rule: `haft policy explain` shows which one decides."],
  uses: ["grants"],
  async run({ connect, output, options: { all, limit } }) {
    const page = await (await connect(SHORT)).grants.list({ state: all ? "all" : "open", limit });
    output.list(page, (grants) => showGrants(grants, output));
    if (page.items.length === 0) output.info(all ? "Nothing was granted here." : "No grant is open.");
  },
});

const show = defineCommand({
  examples: [["haft grants show grt_1", "who may do what, until when, who allowed it and what was used"]],
  operands: [GRANT],
  uses: ["grants"],
  async run({ connect, output, operands: [id = ""] }) {
    const grant = await (await connect(SHORT)).grants.get(id);
    output.data(grant, (shown) => showGrant(shown, output));
  },
});

const BOUNDS = {
  for: { type: "duration", value: "TIME", about: "From now: 30m, 8h, 2d" },
  uses: { type: "number", value: "N", about: "All uses, with those that were made" },
  budget: { type: "text", value: "AMOUNT", about: "The whole budget and its unit, with what is spent" },
} as const;

const give = defineCommand({
  examples: [
    ["haft grants give 'Bash(npm test *)' --session s1 --for 2h", "no question about these calls of the session"],
    ["haft grants give pay --agent shop --uses 5 --budget '100 EUR'", "five payments, 100 EUR in all"],
  ],
  operands: [{ name: "RULE", isRest: true }],
  options: {
    user: { type: "text", value: "NAME", about: "Only calls of this user" },
    session: { type: "text", value: "NAME", about: "Only calls of this session" },
    agent: { type: "text", value: "NAME", about: "Only calls of this agent" },
    ...BOUNDS,
    why: { type: "text", value: "TEXT", about: "What for; default: that you gave it here" },
  },
  notes: ["Say who may use it and where it ends. A deny rule, an ask rule and a mode that denies win over a grant."],
  uses: ["grants"],
  async run({ connect, output, operands: rules, options: { user, session, agent, why, ...bounds } }) {
    const { for: ms, uses: maxUses, budget: amount } = bounds;
    const minutes = ms === undefined ? undefined : ms / 60_000;
    const budget = readAmount(amount);
    // Tools of MCP servers have rules too.
    const client = await connect({ runsJobs: false });
    const holder = { user, session, agent };
    const reason = why ?? "given at the command line";
    const given = await client.grants.give({ rules: [...rules], ...holder, minutes, maxUses, budget, why: reason });
    output.data(given, (grant) => showGrant(grant, output));
  },
});

const extend = defineCommand({
  examples: [
    ["haft grants extend grt_1 --for 30m", "it ends half an hour from now"],
    ["haft grants extend grt_1 --uses 20", "20 uses in all, with those that were made"],
    ["haft grants extend grt_1 --budget '100 EUR'", "100 EUR in all, with what is spent"],
  ],
  operands: [GRANT],
  options: BOUNDS,
  notes: ["A bound beyond its cap (approvals.grants in the configuration) is an error."],
  uses: ["grants"],
  async run({ connect, output, operands: [id = ""], options: { for: ms, uses, budget } }) {
    if (ms === undefined && uses === undefined && budget === undefined)
      throw new UsageError("Extend it how?", "Use --for, --uses or --budget.");
    const bounds = { minutes: ms === undefined ? undefined : ms / 60_000, maxUses: uses, budget: readAmount(budget) };
    const extended = await (await connect(SHORT)).grants.extend(id, bounds);
    output.data(extended, (grant) => showGrant(grant, output));
  },
});

const revoke = defineCommand({
  examples: [["haft grants revoke grt_1 grt_2", "they cover no call that has not started"]],
  operands: [{ ...GRANT, isRest: true }],
  uses: ["grants"],
  async run({ connect, output, operands }) {
    const client = await connect(SHORT);
    const items = [];
    for (const id of operands) items.push(await client.grants.revoke(id));
    output.list({ items }, (grants) => showGrants(grants, output));
  },
});

const refund = defineCommand({
  examples: [
    ["haft grants refund grt_1 call_7", "you found out that this call did nothing"],
    ["haft grants refund grt_1 call_7 --session s1", "if calls of other sessions have the same id"],
  ],
  operands: [GRANT, { name: "CALL", listedBy: "haft audit query" }],
  options: {
    session: { type: "text", value: "NAME", about: "Of the call, if several have this id" },
    "without-session": { type: "flag", about: "The call of a caller without a session" },
    begun: { type: "moment", value: "WHEN", about: "When it began, if several of the session have this id" },
  },
  notes: ["A call with an unknown outcome stays charged until its result arrives, or you do this."],
  uses: ["grants"],
  async run({ connect, output, operands: [id = "", callId = ""], options }) {
    const { session, "without-session": hasNone, begun: begunAt } = options;
    if (session !== undefined && hasNone)
      throw new UsageError("A call has a session or none.", "Leave out one option.");
    const call = { callId, session: hasNone ? null : session, begunAt };
    const refunded = await (await connect(SHORT)).grants.refund(id, call);
    output.data(refunded, (grant) => showGrant(grant, output));
  },
});

const watch = defineCommand({
  examples: [["haft grants watch", "what is left, second by second; a number ends that grant at once"]],
  notes: ["q exits. Without a terminal, `haft grants list` prints them once."],
  uses: ["grants"],
  async run({ connect, terminal, output, interrupted }) {
    if (!isInteractive(terminal) || output.format !== "text")
      throw new UsageError("There is no terminal to watch at.", "Use `haft grants list`.");
    const client = await connect(SHORT);
    const keys = new TerminalKeys(terminal.stdin);
    let grants: readonly GrantInfo[] = [];
    let [drawn, readAt, chosen, note] = [0, -Infinity, -1, ""];
    try {
      while (!interrupted.aborted) {
        if (Date.now() - readAt >= REFRESH_MS) {
          const { items } = await client.grants.list({ state: "open", limit: MAX_WATCHED });
          const asked = grants[chosen]?.id;
          [grants, readAt] = [items, Date.now()];
          chosen = asked === undefined ? -1 : items.findIndex(({ id }) => id === asked);
        }
        // Longer lines would take several rows, of which only one is drawn again.
        const room = columnsOf(terminal.stderr, terminal.env) - 1;
        const lines = grants.map((grant, at) => {
          const left = [stateOf(grant), leftOf(grant)].filter(Boolean).join(": ");
          return safeLine(`${at + 1}  ${left}  ${grant.id}  ${whoOf(grant)}  ${grant.rules.join(", ")}`);
        });
        const prompt = chosen < 0 ? "a number ends a grant, q exits" : `press ${chosen + 1} again to end it now`;
        const text = [...(lines.length > 0 ? lines : ["No grant is open."]), `${note}${prompt}`];
        terminal.stderr.write(
          `${drawn > 1 ? `\x1b[${drawn - 1}A` : ""}\r\x1b[J${text.map((line) => cut(line, room)).join("\n")}`,
        );
        drawn = text.length;
        const second = new AbortController();
        const timer = setTimeout(() => second.abort(), 1000);
        const key = keyOf((await keys.next(AbortSignal.any([interrupted, second.signal]))) ?? "");
        clearTimeout(timer);
        if (key === "q" || key === "\x03" || key === "\x04") break;
        const at = /^[1-9]$/.test(key) ? Number(key) - 1 : -1;
        const grant = grants[at];
        if (key === "") continue;
        if (grant && at === chosen) {
          const ended = await client.grants.revoke(grant.id).then(
            () => "ended",
            (error: unknown) => errorMessage(error),
          );
          note = `${grant.id}: ${safeLine(ended)}. `;
          [readAt, chosen] = [-Infinity, -1];
        } else [chosen, note] = [grant ? at : -1, ""];
      }
    } finally {
      keys.close();
      terminal.stderr.write("\n");
    }
  },
});

/** Of what other processes do. The seconds are counted here. */
const REFRESH_MS = 2000;
/** As many as there are keys. */
const MAX_WATCHED = 9;

export const commands = { list, show, give, extend, revoke, refund, watch };

function readAmount(text: string | undefined): { max: number; unit: string } | undefined {
  if (text === undefined) return undefined;
  const [, max, unit] = /^(\d+(?:\.\d+)?)\s*([^\s\d]\S*)$/.exec(text.trim()) ?? [];
  if (max === undefined || unit === undefined)
    throw new UsageError(`"${text}" is no amount.`, "Write it as '100 EUR'.");
  return { max: Number(max), unit };
}

function showGrants(grants: readonly GrantInfo[], { paint, columns }: Output): string[] {
  const rows = grants.map((grant) => [
    grant.id,
    stateOf(grant),
    leftOf(grant),
    safeLine(whoOf(grant)),
    safeLine(grant.rules.join(", ")),
  ]);
  const states = new Map(grants.map((grant) => [stateOf(grant), STYLES[grant.state]]));
  const styleOf = (cell: string, column: number) => (column === 1 ? states.get(cell) : undefined);
  return showColumns(rows, { paint, columns, styles: ["bold", undefined, "dim"], styleOf });
}

function showGrant(grant: GrantInfo, { paint }: Output): string[] {
  const { id, rules, tools, until, used, unknown, spent, budget, why, by, via, createdAt, endedAt, endedBy } = grant;
  const facts: [string, string | undefined][] = [
    ["who", whoOf(grant)],
    ["allows", rules.join(", ")],
    ["tools", tools.join(", ") || undefined],
    ["until", until === undefined ? undefined : showTime(until)],
    ["left", leftOf(grant) || undefined],
    ["used", `${used} calls${budget ? `, ${spent} ${budget.unit}` : ""}${unknown > 0 ? `, ${unknown} unknown` : ""}`],
    ["why", why],
    ["granted", [showTime(createdAt), by && `by ${by}`, via && `(${via})`].filter(Boolean).join(" ")],
    [
      "ended",
      endedAt === undefined ? undefined : `${showTime(endedAt)}${endedBy === undefined ? "" : ` by ${endedBy}`}`,
    ],
  ];
  return [
    `${paint("bold", id)}  ${paint(STYLES[grant.state], stateOf(grant))}`,
    ...facts.flatMap(([name, value]) =>
      value === undefined ? [] : [`  ${paint("dim", name.padEnd(8))} ${safeLine(value)}`],
    ),
  ];
}

function stateOf({ state }: GrantInfo): string {
  return state === "used_up" ? "used up" : state;
}

function leftOf({ state, until, usesLeft, maxUses, budgetLeft, budget }: GrantInfo): string {
  if (state === "revoked" || state === "expired") return "";
  const parts = [
    usesLeft === undefined ? undefined : `${usesLeft} of ${maxUses} calls`,
    budget && `${budgetLeft} of ${budget.max} ${budget.unit}`,
    until === undefined ? undefined : showSpan(until - Date.now()),
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}

function whoOf({ holder: { user, session, agent, task, depth } }: GrantInfo): string {
  const named = [
    user ?? undefined,
    agent ?? undefined,
    session ? `session ${session}` : undefined,
    task === undefined ? undefined : `task ${task}`,
    depth ? `subagent of depth ${depth}` : undefined,
  ];
  return named.filter((name) => name !== undefined).join(" · ") || "anyone";
}
