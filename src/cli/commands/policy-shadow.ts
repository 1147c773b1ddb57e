import type { ApiClient } from "../../contracts/index.ts";
import type { PolicyChange, PromoteRequest, PromotionInfo, ShadowReport } from "../../contracts/policy.ts";
import { PROVENANCE_MODES } from "../../core/call-summary.ts";
import { showTime } from "../../core/clock.ts";
import { countOf } from "../../core/results/count-of.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand, type Invocation } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { showColumns } from "../layout.ts";
import { type Output, safeLine, type Style } from "../output.ts";
import { confirm, withYes } from "../prompts.ts";
import { isInteractive } from "../terminal.ts";
import { readPolicyFile, showBacktest } from "./policy.ts";

const STYLES: Readonly<Record<string, Style>> = { allow: "green", ask: "yellow", deny: "red" };
const SHOWN_CALLS = 20;

const CHANGE_OPTIONS = {
  as: { type: "text", value: "WORD", about: "What a RULE does; default: allow", oneOf: ["allow", "ask", "deny"] },
  remove: { type: "flag", about: "As if the active RULE were gone" },
  add: { type: "flag", about: "Add the rules of FILE to the active ones. Default: they replace all of them" },
  provenance: { type: "text", value: "MODE", about: "Another mode of provenance", oneOf: PROVENANCE_MODES },
} as const;

interface ChangeOptions {
  as?: "allow" | "ask" | "deny" | undefined;
  remove: boolean;
  add: boolean;
  provenance?: (typeof PROVENANCE_MODES)[number] | undefined;
}

/** Undefined if nothing is given. */
async function readChange(
  given: string | undefined,
  { as: decision = "allow", remove, add, provenance }: ChangeOptions,
  cwd: string,
): Promise<{ name: string; change: PolicyChange } | undefined> {
  if (given === undefined) {
    if (remove || add) throw new UsageError("Name a FILE or a RULE.");
    return provenance === undefined ? undefined : { name: `provenance: ${provenance}`, change: { provenance } };
  }
  const file = await readPolicyFile(given, cwd);
  if (file && remove) throw new UsageError("--remove takes a RULE, not a file.");
  if (!file && add) throw new UsageError("A RULE is always added. --add is for a file.");
  if (file) return { name: given, change: add ? { add: file.rules, provenance } : { policy: file.policy, provenance } };
  const change: PolicyChange = remove ? { remove: [given] } : { add: [{ rule: given, decision }] };
  return { name: remove ? `without ${given}` : `${decision} ${given}`, change: { ...change, provenance } };
}

const shadow = defineCommand({
  examples: [
    ["haft policy shadow 'Bash(npm test *)'", "from now on, also judge calls with this rule, without effect"],
    ["haft policy shadow new-policy.yml", "the same with a policy file"],
    ["haft policy shadow --provenance ask", "the same with another mode of provenance"],
    ["haft policy shadow", "the calls that it decided in another way"],
    ["haft policy shadow --stop", "end it"],
  ],
  operands: [{ name: "FILE|RULE", isOptional: true, completes: "file" }],
  options: { ...CHANGE_OPTIONS, stop: { type: "flag", about: "End it" } },
  notes: ["A shadow decides nothing. It lasts until it is stopped, for all processes of this workspace."],
  uses: ["policy"],
  async run({ connect, terminal, output, operands: [given], options: { stop, ...options } }) {
    const wanted = await readChange(given, options, terminal.cwd);
    if (stop && wanted) throw new UsageError("--stop takes nothing else.");
    const client = await connect({ connectsMcp: false });
    if (stop) {
      await client.policy.stopShadow();
      return output.info("The shadow policy has ended.");
    }
    if (wanted) {
      const started = await client.policy.startShadow(wanted);
      return output.data(started, ({ name }) => [
        `Calls are judged by this policy too, without effect: ${safeLine(name)}`,
        "`haft policy shadow` shows the differences.",
      ]);
    }
    output.data(await client.policy.shadow(), (report) => showReport(report, output));
  },
});

function showReport(
  { shadow: of, calls, failed, newly, tools, changed, promotion }: ShadowReport,
  output: Output,
): string[] {
  const { paint, columns } = output;
  const last = promotion ? [paint("dim", `Last promoted: ${safeLine(promotion.name)}, ${showTime(promotion.at)}`)] : [];
  if (!of) return ["No shadow policy runs.", ...last];
  const styleOf = (cell: string): Style | undefined => STYLES[cell];
  const shown = output.isVerbose ? changed : changed.slice(0, SHOWN_CALLS);
  const total = newly.allow + newly.ask + newly.deny;
  const by = of.startedBy ? ` by ${safeLine(of.startedBy)}` : "";
  return [
    `${paint("bold", safeLine(of.name))}, since ${showTime(of.startedAt)}${by}`,
    `${countOf(calls, "recorded call")}: ${newly.allow} newly allowed, ${newly.ask} newly asked, ${newly.deny} newly denied.`,
    ...(failed > 0 ? [`${countOf(failed, "call")} could not be judged by it.`] : []),
    ...(tools.length > 0 ? [""] : []),
    ...showColumns(
      tools.map(({ tool, before, after, count }) => [safeLine(tool), before, after, countOf(count, "call")]),
      { paint, styles: ["bold"], styleOf },
    ),
    ...(shown.length > 0 ? [""] : []),
    ...showColumns(
      shown.map(({ at, before, after, toolName, subject, rule, callId }) => [
        showTime(at),
        before,
        after,
        safeLine(`${toolName} ${subject.text}`),
        safeLine(output.isVerbose ? `${rule ?? ""} ${callId}` : (rule ?? "")),
      ]),
      { paint, columns, styles: ["dim"], styleOf },
    ),
    ...(shown.length < total ? [paint("dim", `… and ${total - shown.length} more; --json has the newest`)] : []),
    ...last,
  ];
}

const promote = defineCommand({
  examples: [
    ["haft policy promote", "make the shadow policy active, after its report"],
    ["haft policy promote new-policy.yml --add", "add the rules of a file, after a backtest"],
    ["haft policy promote --yes", "without a question, in CI"],
  ],
  operands: [{ name: "FILE|RULE", isOptional: true, completes: "file" }],
  options: { ...CHANGE_OPTIONS, yes: { type: "flag", about: "Do not ask" } },
  notes: ["One change, in the place of saved rules. `haft policy rollback` takes it back."],
  uses: ["policy"],
  async run({ connect, operands: [given], options: { yes, ...options }, ...rest }) {
    const wanted = await readChange(given, options, rest.terminal.cwd);
    const client = await connect({ connectsMcp: true });
    const running = wanted ? undefined : await client.policy.shadow();
    if (running && !running.shadow)
      throw new UsageError("No shadow policy runs.", "Start one: haft policy shadow, or name a FILE or a RULE.");
    return activate(client, { request: wanted ?? { shadow: running?.shadow?.id }, running, yes }, rest);
  },
});

const add = defineCommand({
  examples: [
    ["haft policy add 'Bash(npm test *)'", "allow these calls, after a report of what that newly allows"],
    ["haft policy add 'Write(./docs/**)' --as deny", "deny them; a rule that only forbids is not asked about"],
  ],
  operands: [{ name: "RULE" }],
  options: { as: CHANGE_OPTIONS.as, yes: { type: "flag", about: "Do not ask" } },
  notes: ["One change, in the saved rules of this workspace. `haft policy rollback` takes it back."],
  uses: ["policy"],
  async run({ connect, operands: [rule = ""], options: { as: decision = "allow", yes }, ...rest }) {
    const client = await connect({ connectsMcp: true });
    for (const { message } of (await client.policy.lint({ rule, decision })).items) rest.output.warn(safeLine(message));
    const request = { name: `${decision} ${rule}`, change: { add: [{ rule, decision }] } };
    return activate(client, { request, yes: yes || decision !== "allow" }, rest);
  },
});

interface Activation {
  request: PromoteRequest;
  running?: ShadowReport | undefined;
  yes: boolean;
}

/** After a report and a question. */
async function activate(
  client: Pick<ApiClient, "policy">,
  { request, running, yes }: Activation,
  { argv, terminal, output, interrupted }: Pick<Invocation, "argv" | "terminal" | "output" | "interrupted">,
): Promise<number> {
  const preview = await client.policy.promote({ ...request, isPreview: true });
  const report = running ? showReport(running, output) : [];
  const { provenance, ...change } = request.change ?? {};
  if (Object.values(change).some((value) => value !== undefined))
    report.push(...showBacktest(await client.policy.simulate({ ...change, calls: 10_000 }), output));
  if (provenance !== undefined)
    report.push("A mode of provenance is not tried on the record. A shadow shows what it asks.");
  for (const line of [...report, "", ...showPlan(preview, output)]) output.info(line);
  if (!yes && !isInteractive(terminal)) {
    output.notice(`Nothing was changed yet. Read the report, then run \`${withYes(argv)}\`.`);
    return EXIT.pending;
  }
  if (!yes && !(await confirm("Make this policy active?", { terminal, signal: interrupted }))) return EXIT.pending;
  const made = await client.policy.promote(request);
  output.data(made, ({ name }) => [`Active now: ${safeLine(name)}. \`haft policy rollback\` takes it back.`]);
  return EXIT.done;
}

function showPlan({ plan }: PromotionInfo, { paint }: Output): string[] {
  const { add, remove, defaultMode, defaultPermission, provenance } = plan;
  const settings = Object.entries({ defaultMode, defaultPermission, "provenance.mode": provenance });
  return [
    ...add.map(({ list, rule }) => paint("green", `  + ${list}  ${safeLine(rule)}`)),
    ...remove.map(({ list, rule }) => paint("red", `  - ${list}  ${safeLine(rule)}`)),
    ...settings.flatMap(([name, value]) => (value === undefined ? [] : [`  ${name}: ${value}`])),
  ];
}

const rollback = defineCommand({
  examples: [["haft policy rollback", "take the last promotion back, exactly"]],
  notes: ["Refused if the saved rules were changed since."],
  uses: ["policy"],
  async run({ connect, output }) {
    const client = await connect({ connectsMcp: false });
    output.data(await client.policy.rollback(), ({ name }) => [`As before the promotion of ${safeLine(name)}.`]);
  },
});

export const commands = { shadow, add, promote, rollback };
