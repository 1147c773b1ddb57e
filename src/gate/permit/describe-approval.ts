import type { Approval } from "../../calls/approval.ts";
import { textOf } from "../../core/content.ts";
import { showHiddenCharacters } from "../../io/shell/terminal-text.ts";
import { ruleExamples } from "./rules/rule-examples.ts";

/** Longer text, and text with several lines, starts on a new line. */
const MAX_INLINE_LENGTH = 80;

/** The shown fields of an approval; some are absent if it came over the network. */
export type ShownApproval = Pick<
  Approval,
  | "id"
  | "toolName"
  | "caller"
  | "reason"
  | "input"
  | "preview"
  | "suggestedRules"
  | "hash"
  | "answeredBy"
  | "note"
  | "scope"
  | "rules"
  | "rulesEdited"
> & {
  state: Approval["state"];
  verdict?: Approval["verdict"];
  binding?: Pick<Approval["binding"], "cwd">;
  expiresAt?: number;
};

/**
 * The whole approval request, line by line, for a terminal or a log: who asks, why, and what exactly would run. Nothing is
 * left out: a call that cannot be shown in full was refused earlier.
 */
export function describeApproval(approval: ShownApproval): string[] {
  const { toolName, caller, verdict, reason, binding, preview, suggestedRules, hash, id, expiresAt } = approval;
  const who = Object.entries({ session: caller.session, agent: caller.agent, user: caller.user, task: caller.task })
    .filter(([, name]) => name !== undefined)
    .map(([what, name]) => `${what} ${showInline(name!)}`);
  if (caller.depth > 0) who.push(`subagent of depth ${caller.depth}`);
  return [
    `${showInline(toolName)} asks for permission (${id})`,
    field("asked by", who.length > 0 ? who.join(", ") : "an unnamed caller"),
    field("because", showInline(reason)),
    ...(verdict?.by === "taint" ? [field("taint", "this session has read untrusted text and sensitive data")] : []),
    ...(verdict?.rule === undefined ? [] : [field("rule", `${showInline(verdict.rule)}${originOf(approval)}`)]),
    ...(binding ? [field("folder", showInline(binding.cwd))] : []),
    ...describeInput(approval.input),
    ...(preview ? [field("preview", showInline(preview.title))] : []),
    ...(preview?.facts ?? []).map((fact) => field("", showInline(fact.text))),
    ...(preview ? showText(textOf(preview.content)) : []),
    ...(preview?.content.some(({ type }) => type !== "text") ? [field("", "(and content that is not text)")] : []),
    ...(preview?.omitted === undefined
      ? []
      : [field("NOT SHOWN", `${showInline(preview.omitted)}; the whole input: haft approvals show ${id} --json`)]),
    ...(preview?.unshown === undefined ? [] : [field("UNSHOWN", showInline(preview.unshown))]),
    field("runs", hash),
    ...(expiresAt === undefined ? [] : [field("until", new Date(expiresAt).toISOString())]),
    ...suggestedRules.flatMap(describeRule),
    ...(approval.state === "pending" ? [] : [field("state", describeState(approval))]),
  ];
}

/** The same for a web page or a chat: escaped, so neither HTML nor Markdown in it is interpreted. */
export function describeApprovalAsMarkup(approval: Approval): string {
  return describeApproval(approval).map(toInertMarkup).join("<br>\n");
}

/** The rule that could be saved, with what it would and would not allow. */
function describeRule(rule: string): string[] {
  const { allows, asks } = ruleExamples(rule);
  const examples = (name: string, list: readonly string[]): string[] =>
    list.length === 0 ? [] : [field(name, list.map(showInline).join(" | "))];
  return [field("may save", showInline(rule)), ...examples("- allows", allows), ...examples("- asks for", asks)];
}

function describeInput(input: unknown): string[] {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return describeValue("arguments", input);
  const fields = Object.entries(input);
  if (fields.length === 0) return [field("arguments", "none")];
  return fields.flatMap(([name, value]) => describeValue(showInline(name), value));
}

function describeValue(name: string, value: unknown): string[] {
  const text = typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? String(value));
  if (text.length <= MAX_INLINE_LENGTH && !text.includes("\n")) {
    return [field(name, typeof value === "string" ? `"${showInline(text)}"` : showInline(text))];
  }
  const lines = text.split("\n").length;
  return [field(name, `(${text.length} characters in ${lines} lines)`), ...showText(text)];
}

function describeState({ state, answeredBy, note, scope, rules = [], rulesEdited }: ShownApproval): string {
  const parts = [
    state,
    answeredBy === undefined ? "" : `by ${showInline(answeredBy)}`,
    scope === undefined || scope === "once" ? "" : `${scope}: ${rules.map(showInline).join(", ")}`,
    rulesEdited ? "(differs from the suggestion)" : "",
    note === undefined ? "" : `(${showInline(note)})`,
  ];
  return parts.filter((part) => part !== "").join(" ");
}

function originOf({ verdict }: ShownApproval): string {
  const origin = verdict?.origin;
  return origin === undefined ? "" : ` in ${showInline(origin)}`;
}

function field(name: string, value: string): string {
  return `  ${name.padEnd(10)} ${value}`;
}

/** Prefix of foreign text, which otherwise could imitate our own lines. */
const GUTTER = "  | ";
const MAX_BLANKS = 16;
const MAX_EMPTY_LINES = 2;

/**
 * Text that a person decides by, line by line: every character is visible. Long runs of blanks and empty lines are
 * counted, because they could push text out of sight.
 */
export function showText(text: string): string[] {
  const lines: string[] = [];
  let empty = 0;
  const flush = (): void => {
    if (empty > MAX_EMPTY_LINES) lines.push(`${GUTTER}⟨${empty} empty lines⟩`);
    else for (let i = 0; i < empty; i++) lines.push(GUTTER.trimEnd());
    empty = 0;
  };
  for (const line of text.split("\n")) {
    if (line === "") {
      empty++;
      continue;
    }
    flush();
    lines.push(GUTTER + showLine(line));
  }
  flush();
  return lines;
}

/** In one line, with line ends escaped. */
export function showInline(text: string): string {
  return showLine(text.replaceAll("\n", "\\n"));
}

function showLine(line: string): string {
  return (
    showHiddenCharacters(line)
      .replace(/ {2,}|\t+/g, (blanks) =>
        blanks.length > MAX_BLANKS ? `⟨${blanks.length} ${blanks[0] === "\t" ? "tabs" : "spaces"}⟩` : blanks,
      )
      // The width of a tab depends on the terminal.
      .replaceAll("\t", "→   ")
      .replace(/ +$/, (blanks) => "·".repeat(blanks.length))
  );
}

/** Escapes HTML and Markdown: a page or a chat shows the text itself. */
function toInertMarkup(text: string): string {
  return text.replace(/[&<>"'`*_~[\]()!#|\\:/]/g, (character) => `&#${character.charCodeAt(0)};`);
}
