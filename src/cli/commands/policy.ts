import type { PermissionTest } from "../../config/config-schema.ts";
import type { ApiClient } from "../../contracts/index.ts";
import type { LeftQuestions, PolicyProposal, SimulateRequest, Simulation } from "../../contracts/policy.ts";
import type { JudgedHistory } from "./history-import.ts";
import { UsageError } from "../arguments.ts";
import { readCallInput } from "../call-input.ts";
import { defineCommand, MODE_OPTION } from "../command.ts";
import { showTime } from "../../core/clock.ts";
import { countOf } from "../../core/results/count-of.ts";
import { EXIT, isApiError } from "../exit-codes.ts";
import { showColumns } from "../layout.ts";
import { waitForTools } from "../mcp-servers.ts";
import { type Output, safeLine, sarifLog, type Style } from "../output.ts";

const STYLES: Readonly<Record<string, Style>> = { allow: "green", ask: "yellow", deny: "red", "-": "dim" };

const lint = defineCommand({
  examples: [["haft policy lint", "rules that do nothing, or not what they seem to do; exits with 1 if it finds one"]],
  notes: ["Rules of files that are not trusted yet are checked too."],
  uses: ["policy"],
  async run({ connect, output }) {
    const client = await connect({ connectsMcp: false });
    const page = await client.policy.lint();
    output.list(page, (findings) =>
      findings.map(({ level, message, rule, origin, line }) => {
        const where = [origin, line].filter((part) => part !== undefined).join(":");
        const what = rule === undefined ? "" : `${safeLine(rule)}: `;
        return `${output.paint(level === "error" ? "red" : "yellow", level)}  ${what}${safeLine(message)}${where ? output.paint("dim", `  ${safeLine(where)}`) : ""}`;
      }),
    );
    if (page.items.length === 0) output.info("No mistakes found.");
    return page.items.length > 0 ? EXIT.failed : EXIT.done;
  },
});

const limits = defineCommand({
  examples: [
    ["haft policy limits", "how much of each limit was used, by whom, and when it frees up"],
    ["haft policy limits --extend lim_1 --by 5", "5 calls or units more: for one period, or for good if it has none"],
  ],
  options: {
    extend: { type: "text", value: "ID", about: "Add to this limit" },
    by: { type: "text", value: "NUMBER", about: "How much: calls, or in its unit" },
  },
  uses: ["policy"],
  async run({ connect, output, options: { extend, by } }) {
    const more = Number(by);
    if ((extend === undefined) !== (by === undefined) || (by !== undefined && !(more > 0)))
      throw new UsageError("Give --extend with an ID, and --by with a number above zero.");
    const client = await connect({ only: [], connectsMcp: false, runsJobs: false });
    const page =
      extend === undefined
        ? await client.policy.limits()
        : { items: [await client.policy.extendLimit(extend, { by: more })] };
    output.list(page, (items) =>
      showColumns(
        items.map(({ id, limit, used, max, unit = "calls", freesAt }) => [
          id,
          safeLine(limit),
          `${used} of ${max} ${safeLine(unit)}`,
          freesAt === undefined ? "" : `frees up ${showTime(freesAt)}`,
        ]),
        { paint: output.paint },
      ),
    );
    if (page.items.length === 0) output.info("No limit was used yet.");
  },
});

const explain = defineCommand({
  examples: [
    ["haft policy explain exec command='git push'", "what would happen, and which rule decides; nothing runs"],
    ["haft policy explain write path=a.txt content=x --mode plan", "in another mode"],
  ],
  operands: [
    { name: "NAME", completes: "tool" },
    { name: "KEY=VALUE", isRest: true, isOptional: true },
  ],
  options: {
    mode: MODE_OPTION,
    session: { type: "text", value: "NAME", about: "Include what was approved in this session" },
  },
  notes: ["Exits with 0 for every decision; `--json` has the decision for a program."],
  uses: ["policy", "mcp"],
  async run({ connect, terminal, output, url, interrupted, operands: [tool = "", ...words], options }) {
    const { mode, session } = options;
    const input = await readCallInput(words, terminal);
    const client = await connect({ tool });
    await waitForTools(client, { url, interrupted, output }, tool);
    const explained = await client.policy.explain({ tool, input, mode, session });
    output.data(explained, ({ verdict, steps }) => [
      `${output.paint(STYLES[verdict.decision] ?? "dim", verdict.decision)}: ${safeLine(verdict.reason)}`,
      ...(verdict.rule === undefined || verdict.reason.includes(verdict.rule)
        ? []
        : [`  rule ${safeLine(verdict.rule)}${verdict.origin === undefined ? "" : ` in ${safeLine(verdict.origin)}`}`]),
      "",
      ...showColumns(
        steps.map(({ by, decision, reason, rule, origin }) => [
          `  ${safeLine(by)}`,
          decision === "none" ? "-" : decision,
          safeLine([reason, ...[rule, origin].filter((part) => part && !reason.includes(part))].join("  ")),
        ]),
        { paint: output.paint, styleOf: (cell, column) => (column === 1 ? STYLES[cell] : undefined) },
      ),
    ]);
  },
});

const test = defineCommand({
  examples: [
    [
      "haft policy test",
      "the examples under permissions.tests of this folder's configuration; exits with 1 if one fails",
    ],
    ["haft policy test policy-tests.yml", "a list of { tool, input, expect } from files"],
  ],
  operands: [{ name: "FILE", isRest: true, isOptional: true, completes: "file" }],
  uses: ["policy"],
  async run({ connect, terminal, output, operands, folder }) {
    const tests = await readPolicyTests(operands, { folder, cwd: terminal.cwd, env: terminal.env });
    const client = await connect({ connectsMcp: tests.some(({ tool }) => tool.startsWith("mcp__")) });
    const items = [];
    for (const each of tests) items.push(await judge(client, each));
    output.list({ items }, (outcomes) =>
      outcomes.map(({ name, holds, expect, decision, reason }) => {
        const mark = holds ? output.paint("green", "ok  ") : output.paint("red", "FAIL");
        return `${mark}  ${safeLine(name)}${holds ? "" : `\n      expected ${expect}, but: ${decision ?? "cannot be judged"}: ${safeLine(reason)}`}`;
      }),
    );
    const failed = items.filter(({ holds }) => !holds).length;
    output.info(
      tests.length === 0
        ? "There are no examples. Write some under permissions.tests."
        : `${tests.length - failed} of ${tests.length} pass.`,
    );
    return failed > 0 ? EXIT.failed : EXIT.done;
  },
});

const HISTORY_OPTION = {
  type: "text",
  value: "PATH",
  about: "Calls of other programs: transcripts of Claude Code or Codex, OpenTelemetry spans",
  completes: "file",
} as const;

const suggest = defineCommand({
  examples: [
    ["haft policy suggest", "rules that would have saved questions, and what they leave open"],
    ["haft policy suggest --accept 4f0c2d91aa03", "save the rules of one"],
    ["haft policy suggest --accept 4f0c2d91aa03 --for 7d --uses 50", "give a grant with an end instead"],
    ["haft policy suggest --never 4f0c2d91aa03", "do not propose it again"],
  ],
  options: {
    since: { type: "moment", value: "WHEN", about: "2h (ago), or a date; default: 30d" },
    accept: { type: "text", value: "ID", about: "Save the rules of this proposal" },
    for: { type: "duration", value: "TIME", about: "With --accept: give a grant for 8h, 7d (at most 30d)" },
    uses: { type: "number", value: "N", about: "With --accept: give a grant for this many calls" },
    never: { type: "text", value: "ID", about: "Do not propose this again" },
    why: { type: "flag", about: "List the questions for which nothing is proposed" },
    history: HISTORY_OPTION,
  },
  notes: ["Learns only from answers of people, before a session has read text of others."],
  uses: ["policy"],
  async run({ connect, terminal, output, interrupted, options }) {
    const { since, accept, never, why, history, for: ms, uses } = options;
    if (accept !== undefined && never !== undefined) throw new UsageError("Give --accept or --never, not both.");
    const isBounded = ms !== undefined || uses !== undefined;
    if (isBounded && accept === undefined) throw new UsageError("--for and --uses are bounds of --accept ID.");
    const client = await connect({ connectsMcp: true });
    const id = accept ?? never;
    if (id !== undefined) {
      const answer = accept === undefined ? "never" : "accept";
      const grant = isBounded ? { minutes: ms === undefined ? undefined : ms / 60_000, maxUses: uses } : undefined;
      const answered = await client.policy.answerProposal({ id, answer, from: since, grant });
      const done =
        answer === "accept" ? (grant ? `granted to everybody (${answered.grant})` : "saved") : "not proposed again";
      return output.data(answered, ({ rules }) => rules.map((rule) => `${done}: ${safeLine(rule)}`));
    }
    let page: { items: RankedProposal[]; left: LeftQuestions[] } = await client.policy.proposals({ from: since });
    if (history !== undefined) {
      const { readHistory, judgeHistory } = await import("./history-import.ts");
      const read = await readHistory(history, terminal.cwd, interrupted);
      const ranked: RankedProposal[] = [];
      for (const item of page.items) {
        const add = item.rules.map((rule) => ({ rule, decision: "allow" as const }));
        const { newly } = await judgeHistory(client, read, { request: { add }, changes: 0, signal: interrupted });
        ranked.push({ ...item, imported: newly.allow });
      }
      if (interrupted.aborted) return EXIT.interrupted;
      page = { ...page, items: ranked.toSorted((one, other) => rankOf(other) - rankOf(one)) };
    }
    output.list(page, (items) => items.flatMap((item) => [...showProposal(item, output), ""]));
    if (page.items.length === 0) output.info("There is nothing to propose.");
    if (output.format === "text") output.lines(showLeft(page.left, why, output));
  },
});

const WHY_LEFT: Readonly<Record<LeftQuestions["why"], string>> = {
  untrusted: "the session had read text of others before, or the record does not say",
  no_tool: "their tool is not here",
  open: "no narrow rule can name their values",
  few: "fewer than 3 of a kind with a yes, or all in one session",
  ruled: "a rule or a mode decides them by now",
  denied: "a rule for them would also allow what a person denied",
  neighbour: "a rule for them would also allow made-up calls beside them",
  attack: "a rule for them would also allow a known attack",
  never: "you said never",
};

function showLeft(left: readonly LeftQuestions[], isWhole: boolean, { paint }: Output): string[] {
  if (left.length === 0) return [];
  const all = left.reduce((sum, { questions }) => sum + questions, 0);
  return [
    `${countOf(all, "question")} answered yes ${all === 1 ? "is" : "are"} not covered${isWhole ? "" : " (--why lists them)"}:`,
    ...left.flatMap(({ why, questions, habits }) => [
      `  ${questions}: ${WHY_LEFT[why]}`,
      ...(isWhole ? habits.map(({ what, count }) => paint("dim", `    ${count} × ${safeLine(what)}`)) : []),
    ]),
  ];
}

/** `imported`: how many calls of `--history` would no longer ask. Nobody has answered yes to them. */
type RankedProposal = PolicyProposal & { imported?: number };

function rankOf({ saved, imported = 0 }: RankedProposal): number {
  return saved + imported;
}

function showProposal(proposal: RankedProposal, { paint }: Output): string[] {
  const { id, rules, saved, sessions, unanswered, neighbours, examples, risk, imported } = proposal;
  return [
    `${paint("bold", id)}  saves ${countOf(saved, "question")} in ${countOf(sessions, "session")}`,
    ...rules.map((rule) => `  allow  ${safeLine(rule)}`),
    ...(unanswered > 0
      ? [paint("yellow", `  would also allow ${countOf(unanswered, "recorded call")} without a yes`)]
      : []),
    ...(imported === undefined ? [] : [`  ${countOf(imported, "imported call")} would no longer ask`]),
    `  ${risk} None of ${countOf(neighbours, "made-up call")} beside it is allowed.`,
    ...examples.map((example) => paint("dim", `  such as ${safeLine(example)}`)),
  ];
}

/** The SARIF rules, and what `--fail-on` takes. */
const CHANGES = {
  "newly-allowed": "A recorded call that the changed policy allows without asking",
  "newly-asked": "A recorded call that the changed policy asks about",
  "newly-denied": "A recorded call that the changed policy denies",
} as const;
const CHANGE_OF = { allow: "newly-allowed", ask: "newly-asked", deny: "newly-denied" } as const;
const SHOWN_CHANGES = 20;

const backtest = defineCommand({
  examples: [
    ["haft policy backtest 'Bash(npm test *)'", "recorded calls that one more rule would allow"],
    ["haft policy backtest new-policy.yml --since 30d", "the recorded calls under another policy file"],
    ["haft policy backtest new-policy.yml --fail-on newly-allowed", "in CI: exits with 1 if it allows more"],
    ["haft policy backtest new-policy.yml --sarif > haft.sarif", "the changed verdicts as SARIF 2.1.0"],
    [
      "haft policy backtest --history ~/.claude/projects",
      "what the active policy would ask about calls of Claude Code",
    ],
  ],
  operands: [{ name: "FILE|RULE", completes: "file", isOptional: true }],
  options: {
    as: { type: "text", value: "WORD", about: "What a RULE does; default: allow", oneOf: ["allow", "ask", "deny"] },
    remove: { type: "flag", about: "As if the active RULE were gone" },
    add: { type: "flag", about: "Add the rules of FILE to the active ones. Default: they replace all of them" },
    tool: { type: "text", value: "NAME", about: "Only calls of this tool" },
    session: { type: "text", value: "NAME", about: "Only calls of this session" },
    user: { type: "text", value: "NAME", about: "Only calls of this user" },
    since: { type: "moment", value: "WHEN", about: "2h (ago), or a date" },
    until: { type: "moment", value: "WHEN", about: "2h (ago), or a date" },
    changes: { type: "number", value: "N", range: [0, 10_000], about: "Max number of listed calls; default: 1000" },
    "fail-on": {
      type: "list",
      value: "WHAT",
      about: `Exit with 1 on one of: ${Object.keys(CHANGES).join(", ")}, unjudged`,
    },
    sarif: { type: "flag", about: "Print SARIF 2.1.0" },
    history: HISTORY_OPTION,
  },
  notes: [
    "Nothing runs and nothing changes. Calls whose values the record did not keep whole are counted, not guessed.",
    "Compares with the rules that are active now. Grants are not rules and count in neither.",
  ],
  uses: ["policy"],
  async run({ connect, terminal, output, interrupted, operands: [given = ""], options }) {
    const { as: decision = "allow", remove, add, tool, session, user, since, until, changes = 1000, sarif } = options;
    const { history } = options;
    if (given === "" && history === undefined) throw new UsageError("Give a FILE or a RULE, or --history PATH.");
    if (history !== undefined && [tool, session, user, since, until].some((each) => each !== undefined))
      throw new UsageError(
        "--tool, --session, --user, --since and --until choose calls of the record, not of --history.",
      );
    const failOn = options["fail-on"];
    const known = [...Object.keys(CHANGES), "unjudged"];
    const unknown = failOn.find((word) => !known.includes(word));
    if (unknown !== undefined) throw new UsageError(`--fail-on takes ${known.join(", ")}. It is "${unknown}".`);
    const file = given === "" ? undefined : await readPolicyFile(given, terminal.cwd);
    if (file && remove) throw new UsageError("--remove takes a RULE, not a file.");
    if (!file && add) throw new UsageError("A RULE is always added. --add is for a file.");
    const request: SimulateRequest = { tool, session, user, from: since, to: until, changes };
    if (given === "") request.add = [];
    else if (!file && remove) request.remove = [given];
    else if (!file) request.add = [{ rule: given, decision }];
    else if (add) request.add = file.rules;
    else request.policy = file.policy;
    const client = await connect({ connectsMcp: true });
    let found: Simulation | undefined;
    if (history === undefined) {
      for await (const frame of client.policy.simulateStream(request, { signal: interrupted }))
        if (frame.type === "result") found = frame.simulation;
    } else {
      const { readHistory, judgeHistory } = await import("./history-import.ts");
      const read = await readHistory(history, terminal.cwd, interrupted);
      const { add: rules, remove: gone, policy } = request;
      const judged = await judgeHistory(client, read, {
        request: { add: rules, remove: gone, policy },
        ...{ changes, signal: interrupted },
      });
      if (!interrupted.aborted) found = judged;
      if (output.format === "text" && !sarif) output.lines(showHistory(judged));
    }
    if (!found) return EXIT.interrupted;
    const { newly, changed, skipped } = found;
    if (sarif) {
      const results = changed.map(({ callId, toolName, subject, before, after }) => ({
        rule: CHANGE_OF[after.decision],
        level: SARIF_LEVELS[after.decision],
        message: `${toolName} ${subject.text}: ${before.decision} becomes ${after.decision} (call ${callId}). ${after.reason}`,
        file: file && given,
        line: file?.lineOf(after.rule),
      }));
      output.raw(`${JSON.stringify(sarifLog("haft policy backtest", CHANGES, results), null, 2)}\n`);
    } else output.data(found, (report) => showBacktest(report, output));
    const counts: Readonly<Record<string, number>> = {
      ...{ "newly-allowed": newly.allow, "newly-asked": newly.ask, "newly-denied": newly.deny, unjudged: skipped },
    };
    return failOn.some((word) => (counts[word] ?? 0) > 0) ? EXIT.failed : EXIT.done;
  },
});

function showHistory({ files, calls, unreadable, isCut, before, after }: JudgedHistory): string[] {
  const counts = ({ allow, ask, deny }: JudgedHistory["before"]): string =>
    `${allow} run, ${ask} ask, ${deny} are denied`;
  return [
    `${countOf(calls, "call")} in ${countOf(files, "file")}${isCut ? ", and more that were not read" : ""}. Nothing of them ran here.`,
    ...(unreadable > 0 ? [`${countOf(unreadable, "line or call", "lines or calls")} cannot be read.`] : []),
    `By the active rules: ${counts(before)}. By the changed ones: ${counts(after)}.`,
  ];
}

const SARIF_LEVELS = { allow: "error", ask: "note", deny: "warning" } as const;

const WHY_UNJUDGED: Readonly<Record<keyof Simulation["unjudged"], string>> = {
  no_digest: "recorded before this version kept what a judge needs",
  no_tool: "of a tool that is not here",
  secret: "a rule compares a value that was hidden",
  too_long: "a rule compares a value that was too long to keep",
  asynchronous: "of a tool in another process, which must be asked about each call",
  failed: "the tool could not say what the call does",
};

export function showBacktest(
  { judged, skipped, unjudged, newly, tools, changed, beyond }: Simulation,
  output: Output,
): string[] {
  const shown = output.isVerbose ? changed : changed.slice(0, SHOWN_CHANGES);
  const total = newly.allow + newly.ask + newly.deny;
  const styleOf = (cell: string): Style | undefined => STYLES[cell];
  return [
    `${countOf(judged, "call")} judged: ${newly.allow} newly allowed, ${newly.ask} newly asked, ${newly.deny} newly denied.`,
    ...(skipped > 0 ? [`${countOf(skipped, "call")} cannot be judged again:`] : []),
    ...Object.entries(WHY_UNJUDGED).flatMap(([why, text]) => {
      const count = unjudged[why as keyof Simulation["unjudged"]];
      return count ? [`  ${count}: ${text}`] : [];
    }),
    ...showBeyond(beyond, output),
    ...(tools.length > 0 ? [""] : []),
    ...showColumns(
      tools.map(({ tool, before, after, count }) => [safeLine(tool), before, after, countOf(count, "call")]),
      { paint: output.paint, styles: ["bold"], styleOf },
    ),
    ...(shown.length > 0 ? [""] : []),
    ...showColumns(
      shown.map(({ callId, toolName, subject, at, before, after }) => [
        showTime(at),
        before.decision,
        after.decision,
        safeLine(`${toolName} ${subject.text}`),
        output.isVerbose ? safeLine(callId) : "",
      ]),
      { paint: output.paint, columns: output.columns, styles: ["dim"], styleOf },
    ),
    ...(shown.length < total ? [output.paint("dim", `… and ${total - shown.length} more; --json has them`)] : []),
  ];
}

function showBeyond(beyond: Simulation["beyond"], { paint }: Output): string[] {
  if (!beyond) return [];
  const { tried, allowed, count } = beyond;
  if (count === 0) return [`Of ${countOf(tried, "made-up call")} beside them, attacks among them, it allows none.`];
  const some = allowed.map((text) => `  such as ${safeLine(text)}`);
  return [
    paint("yellow", `It also allows ${count} of ${countOf(tried, "made-up call")}, attacks among them:`),
    ...some,
  ];
}

interface PolicyFile {
  policy: NonNullable<SimulateRequest["policy"]>;
  rules: NonNullable<SimulateRequest["add"]>;
  lineOf(rule: string | undefined): number | undefined;
}

/** Undefined if the words are a rule. */
export async function readPolicyFile(given: string, cwd: string): Promise<PolicyFile | undefined> {
  const [{ existsSync }, { readFile }, { resolve }, { parseConfigText }, { configSchema }] = await Promise.all([
    import("node:fs"),
    import("node:fs/promises"),
    import("node:path"),
    import("../../config/config-text.ts"),
    import("../../config/config-schema.ts"),
  ]);
  const file = resolve(cwd, given);
  if (!existsSync(file)) {
    if (/\.(?:ya?ml|json5?|toml)$/.test(given)) throw new UsageError(`There is no file ${given}.`);
    return undefined;
  }
  const { value, positionOf } = await parseConfigText(await readFile(file, "utf8"), file);
  const { permissions: ofConfig } = Object(value) as { permissions?: unknown };
  const base = ofConfig === undefined ? [] : ["permissions"];
  const { success, data, error } = configSchema.safeParse({ permissions: ofConfig ?? value });
  if (!success) {
    const [issue] = error.issues;
    throw new UsageError(
      `${given} is not a policy: ${issue?.path.slice(1).join(".") ?? ""} ${issue?.message ?? ""}`,
      "Write allow, ask and deny, as under `permissions` of the configuration.",
    );
  }
  const { allow = [], ask = [], deny = [], defaultMode, defaultPermission } = data.permissions ?? {};
  const lists = { allow, ask, deny };
  const rules = (["deny", "ask", "allow"] as const).flatMap((decision) =>
    lists[decision].map((rule, at) => ({ rule, decision, at })),
  );
  return {
    policy: { ...lists, defaultMode, defaultPermission },
    rules: rules.map(({ rule, decision }) => ({ rule, decision })),
    lineOf(text) {
      const found = rules.find(({ rule }) => rule.trim() === text);
      return found && positionOf([...base, found.decision, found.at])?.line;
    },
  };
}

export const commands = { lint, explain, test, limits, backtest, suggest };

interface Outcome {
  name: string;
  holds: boolean;
  expect: PermissionTest["expect"];
  decision?: PermissionTest["expect"];
  reason: string;
}

/** The server judges, so the rules that it uses are tested. */
async function judge(
  client: Pick<ApiClient, "policy">,
  { name, tool, input = {}, mode, expect }: PermissionTest,
): Promise<Outcome> {
  const title = name ?? `${expect} ${tool} ${JSON.stringify(input)}`;
  try {
    const { verdict } = await client.policy.explain({ tool, input, mode });
    return {
      name: title,
      holds: verdict.decision === expect,
      expect,
      decision: verdict.decision,
      reason: verdict.reason,
    };
  } catch (error) {
    if (!isApiError(error) || error.status === 0 || error.status === 401 || error.code === "forbidden") throw error;
    return { name: title, holds: false, expect, reason: [error.message, error.next].filter(Boolean).join(" ") };
  }
}

interface TestPaths {
  folder: string;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** From the files, or from the configuration of the folder if there are none. */
async function readPolicyTests(
  files: readonly string[],
  { folder, cwd, env }: TestPaths,
): Promise<readonly PermissionTest[]> {
  if (files.length === 0) {
    const { loadConfig } = await import("../../config/load-config.ts");
    const { sources } = await loadConfig({ folder, env });
    return sources.flatMap(({ value }) => value.permissions?.tests ?? []);
  }
  const { resolve } = await import("node:path");
  return (await Promise.all(files.map((file) => readTestFile(resolve(cwd, file))))).flat();
}

async function readTestFile(file: string): Promise<readonly PermissionTest[]> {
  const [{ readFile }, { parseConfigText }, { configSchema }] = await Promise.all([
    import("node:fs/promises"),
    import("../../config/config-text.ts"),
    import("../../config/config-schema.ts"),
  ]);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code}).`);
  });
  const { value } = await parseConfigText(text, file);
  const tests = Array.isArray(value) ? value : (Object(value) as { tests?: unknown }).tests;
  const { success, data, error } = configSchema.safeParse({ permissions: { tests } });
  if (!success) {
    const [issue] = error.issues;
    throw new UsageError(
      `${file} is not a list of examples: ${issue?.path.slice(2).join(".") ?? ""} ${issue?.message ?? ""}`,
      "Write a list of { tool, input, expect: allow|ask|deny }.",
    );
  }
  return data.permissions?.tests ?? [];
}
