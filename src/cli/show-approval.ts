/** A question to a person, laid out for a terminal: its width, its colours, nothing twice, nothing hidden. */
import type { ApprovalInfo } from "../contracts/approvals.ts";
import type { ApiClient } from "../contracts/index.ts";
import type { RiskLevel } from "../core/call-summary.ts";
import { showSpan } from "../core/clock.ts";
import { countOf } from "../core/results/count-of.ts";
import {
  approvalParts,
  type ApprovalPart,
  showInline,
  type ShownApproval,
  stateWord,
} from "../gate/permit/approval-parts.ts";
import { cut, type FittedColumn, showFittedTable, widthOf, wrap } from "./layout.ts";
import { type Paint, safeLine, type Style } from "./output.ts";
import { isDiffOf, showForeignText, type TextLayout } from "./show-diff.ts";

export interface Layout extends TextLayout {
  /** Ids and hashes in full, every argument. */
  isVerbose?: boolean;
  /** Of each rule that could be saved. */
  effects?: RuleEffects;
  now?: number;
}

/** What rules would have meant for past calls, by the text that is shown of each rule. */
export type RuleEffects = ReadonlyMap<string, string>;

/** A sign and a word too: colours may be off, or not seen. */
const RISKS: Readonly<Record<RiskLevel, { sign: string; style: Style }>> = {
  low: { sign: "●", style: "green" },
  medium: { sign: "◆", style: "yellow" },
  high: { sign: "▲", style: "red" },
  critical: { sign: "‼", style: ["bold", "red", "inverse"] },
};

const NOTE_INDENT = "      ";
const NAME_WIDTH = 10;
const INDENT = " ".repeat(2 + NAME_WIDTH + 1);
/** Narrower, names and values are not side by side. */
const MIN_SIDE_BY_SIDE = 50;

/** Everything that a person decides by, in sections: risk, effect, circumstances, rules. */
export function showApproval(approval: ShownApproval, layout: Layout): string[] {
  const sections: string[][] = [showHead(approval, layout), [], [], []];
  let section = 0;
  for (const part of approvalParts(approval, layout)) {
    section = Math.max(section, sectionOf(part));
    sections[section]?.push(...showPart(part, layout));
  }
  return sections.filter((lines) => lines.length > 0).flatMap((lines, at) => (at === 0 ? lines : ["", ...lines]));
}

function sectionOf(part: ApprovalPart): number {
  if (part.type === "risk") return 0;
  if (part.type === "rule") return 3;
  return part.type === "fact" && part.name === "asked by" ? 2 : 1;
}

function showHead({ toolName, id, summary, questions }: ShownApproval, layout: Layout): string[] {
  const { paint, columns, isVerbose } = layout;
  const level = questions ? undefined : summary?.risk.level;
  const shownId = isVerbose ? id : shortId(id);
  const tool = showInline(toolName);
  const asks = questions ? " asks a question" : " asks for permission";
  const riskWidth = level === undefined ? 0 : riskText(level).length + 2;
  const risk = level === undefined ? [] : [showRisk(level, paint)];
  if (riskWidth + widthOf(tool) + asks.length + shownId.length + 3 <= columns)
    return [[...risk, `${paint("bold", tool)}${asks} ${paint("dim", `(${shownId})`)}`].join("  ")];
  const lines = wrap(`${tool}${asks}`, columns - 2).map((line) => `  ${paint("bold", line)}`);
  return [...risk, ...lines, `  ${paint("dim", shownId)}`];
}

function showPart(part: ApprovalPart, layout: Layout): string[] {
  const { paint, columns } = layout;
  switch (part.type) {
    case "risk":
      return wrap(part.value, columns - 2).map((line) => `  ${paint(RISKS[part.level].style, line)}`);
    case "step": {
      const style = part.level === "low" ? "dim" : RISKS[part.level].style;
      const notes = part.notes.length === 0 ? [] : wrap(part.notes.join(" "), columns - NOTE_INDENT.length);
      return [...showForeignText(part.text, layout, "bold"), ...notes.map((note) => NOTE_INDENT + paint(style, note))];
    }
    case "text":
      return showTextPart(part, layout);
    case "fact":
      return showFact(part, layout);
    case "rule":
      return showRule(part, layout);
  }
}

function showTextPart({ name, value, text }: ApprovalPart & { type: "text" }, layout: Layout): string[] {
  const title = name === "preview" ? value || "preview" : `${name} ${value}`;
  // The label of a diff says what happens to the file.
  const hasTitle = name !== "preview" || !isDiffOf(text, value);
  const head = hasTitle ? wrap(title, layout.columns - 2).map((line) => `  ${layout.paint("bold", line)}`) : [];
  return text === "" ? head : [...head, ...showForeignText(text, layout)];
}

function showFact({ name, value, isWarning }: ApprovalPart & { type: "fact" }, layout: Layout): string[] {
  const { paint, isVerbose } = layout;
  const shown = name === "call hash" && !isVerbose ? shortHash(value) : value;
  return showNamed(name, shown, layout, isWarning ? (text) => paint("yellow", text) : undefined);
}

function showNamed(
  name: string,
  value: string,
  { paint, columns }: Layout,
  paintValue: (text: string) => string = (text) => text,
): string[] {
  if (name === "") return wrap(value, columns - 2).map((line) => `  ${paintValue(line)}`);
  if (columns < MIN_SIDE_BY_SIDE) {
    const lines = wrap(`${name}: ${value}`, columns - 4);
    return lines.map((line, at) => `${at === 0 ? "  " : "    "}${paintValue(line)}`);
  }
  const lines = wrap(value, columns - INDENT.length);
  return lines.map((line, at) => {
    const label = at === 0 ? `  ${paint("dim", name.padEnd(NAME_WIDTH))} ` : INDENT;
    return label + paintValue(line);
  });
}

function showRule({ value, allows, asks }: ApprovalPart & { type: "rule" }, layout: Layout): string[] {
  const effect = layout.effects?.get(value);
  return [
    ...showNamed("may save", value, layout, (text) => layout.paint("cyan", text)),
    ...(allows.length === 0 ? [] : showNamed("  allows", allows.join(" | "), layout)),
    ...(asks.length === 0 ? [] : showNamed("  asks for", asks.join(" | "), layout)),
    ...(effect === undefined ? [] : showNamed("  effect", effect, layout)),
  ];
}

export function showRisk(level: RiskLevel, paint: Paint): string {
  return paint(RISKS[level].style, riskText(level));
}

function riskText(level: RiskLevel): string {
  return `${RISKS[level].sign} ${level.toUpperCase()}`;
}

const SHORT_ID_DIGITS = 8;
const SHORT_HASH_DIGITS = 12;

/** Commands accept it in place of the id. */
export function shortId(id: string): string {
  const [prefix = "", rest = ""] = /^([a-z]+_)(.+)$/.exec(id)?.slice(1) ?? [];
  return rest.length > SHORT_ID_DIGITS ? prefix + rest.slice(0, SHORT_ID_DIGITS) : id;
}

function shortHash(hash: string): string {
  return hash.replace(/^(sha256:)?([0-9a-f]+)$/, (_whole, _name, digits: string) => digits.slice(0, SHORT_HASH_DIGITS));
}

/** A table of approvals that fits the terminal. */
export function showApprovalTable(
  approvals: readonly ApprovalInfo[],
  { paint, columns, isVerbose, now = Date.now() }: Layout,
  numbers?: (approval: ApprovalInfo) => number,
): string[] {
  const hasStates = approvals.some(({ state }) => state !== "pending");
  const table: FittedColumn<ApprovalInfo>[] = [
    ...(numbers ? [{ name: "#", cell: (row: ApprovalInfo) => String(numbers(row)), style: "bold" as const }] : []),
    { name: "id", cell: ({ id }) => (isVerbose ? id : shortId(id)), style: "bold", leftOut: numbers ? 3 : undefined },
    {
      name: "risk",
      cell: ({ risk, questions }) => (questions ? "? asks" : `${RISKS[risk.level].sign} ${risk.level}`),
      style: ({ risk, questions }) => (questions ? "cyan" : RISKS[risk.level].style),
    },
    {
      name: "subject",
      cell: ({ subject, toolName }) => safeLine(subject.text) || safeLine(toolName),
      isFlexible: true,
    },
    { name: "tool", cell: ({ toolName }) => cut(safeLine(toolName), 20), style: "cyan", leftOut: 2 },
    { name: "who", cell: ({ caller }) => cut(safeLine(whoOf(caller)), 12), leftOut: 4 },
    { name: "age", cell: ({ askedAt }) => showSpan(now - askedAt), style: "dim", leftOut: 1 },
    hasStates
      ? { name: "state", cell: stateWord }
      : {
          name: "expires",
          cell: ({ expiresAt }) => (expiresAt === undefined ? "" : `in ${showSpan(expiresAt - now)}`),
          style: "dim",
          leftOut: 5,
        },
  ];
  return showFittedTable(approvals, table, { paint, width: columns });
}

function whoOf({ agent, user, session }: ApprovalInfo["caller"]): string {
  return agent ?? user ?? session ?? "";
}

/** An approval of the API in the form that the gate describes. */
export function toShown({ rule, cwd, hash = "", subject, risk, steps, ...info }: ApprovalInfo): ShownApproval {
  return {
    ...info,
    hash,
    summary: { subject, risk, steps },
    binding: cwd === undefined ? undefined : { cwd },
    suggestedRules: rule === undefined ? [] : rule.split("\n"),
  };
}

/** What the commands of approvals print of one. */
export function showApprovalInfo(approval: ApprovalInfo, layout: Layout): string[] {
  return showApproval(toShown(approval), layout);
}

/** Computed through the whole policy, over the newest calls of the tool. */
export async function readRuleEffects(
  client: Pick<ApiClient, "policy">,
  { toolName, rule: rules }: Pick<ApprovalInfo, "toolName" | "rule">,
): Promise<RuleEffects> {
  const effects = new Map<string, string>();
  for (const rule of rules?.split("\n") ?? []) {
    try {
      const { judged, changed, problem } = await client.policy.effect({ rule, tool: toolName });
      if (judged === 0 && problem === undefined) continue;
      const calls =
        changed === 1 && judged === 1 ? "the last call" : `${changed} of the last ${countOf(judged, "call", "calls")}`;
      const meaning = `This rule would have allowed ${calls} of ${safeLine(toolName)} without approval.`;
      effects.set(showInline(rule), problem === undefined ? meaning : safeLine(problem));
    } catch {
      // The choice is offered without it; a token may not read the policy.
    }
  }
  return effects;
}
