import type { Approval } from "../../calls/approval.ts";
import { textOf } from "../../core/content.ts";
import { showHiddenCharacters } from "../../io/shell/terminal-text.ts";

/** Longer texts, and those of several lines, stand on lines of their own. */
const MAX_INLINE_LENGTH = 80;

/** What of a question is shown: also where it came over a wire, which says less. */
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
 * The whole question, line by line, for a terminal or a log: who asks, why, what exactly would run. Nothing is left out;
 * what cannot be shown in full was refused before it became a question.
 */
export function describeApproval(approval: ShownApproval): string[] {
  const { toolName, caller, verdict, reason, binding, preview, suggestedRules, hash, id, expiresAt } = approval;
  const who = Object.entries({ session: caller.session, agent: caller.agent, user: caller.user, task: caller.task })
    .filter(([, name]) => name !== undefined)
    .map(([what, name]) => `${what} ${showInline(name!)}`);
  if (caller.depth > 0) who.push(`subagent of depth ${caller.depth}`);
  return [
    `${showInline(toolName)} asks for permission (${id})`,
    field("asked by", who.length > 0 ? who.join(", ") : "nobody in particular"),
    field("because", showInline(reason)),
    ...(verdict?.by === "taint" ? [field("taint", "this session has read untrusted text and sensitive data")] : []),
    ...(verdict?.rule === undefined ? [] : [field("rule", `${showInline(verdict.rule)}${originOf(approval)}`)]),
    ...(binding ? [field("folder", showInline(binding.cwd))] : []),
    ...describeInput(approval.input),
    ...(preview ? [field("preview", showInline(preview.title)), ...showText(textOf(preview.content))] : []),
    ...(preview?.content.some(({ type }) => type !== "text") ? [field("", "(and what is no text)")] : []),
    field("runs", hash),
    ...(expiresAt === undefined ? [] : [field("until", new Date(expiresAt).toISOString())]),
    ...suggestedRules.map((rule) => field("may save", showInline(rule))),
    ...(approval.state === "pending" ? [] : [field("state", describeState(approval))]),
  ];
}

/** The same for a page or a chat: text that no reader of HTML or Markdown takes for anything else. */
export function describeApprovalAsMarkup(approval: Approval): string {
  return describeApproval(approval).map(toInertMarkup).join("<br>\n");
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
    rulesEdited ? "(not what was suggested)" : "",
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

/** Before a line of somebody else's text, so that none of it can look like ours. */
const GUTTER = "  | ";
const MAX_BLANKS = 16;
const MAX_EMPTY_LINES = 2;

/**
 * Text for somebody who decides by it, line by line: every character visible, nothing pushed out of sight by blanks or
 * empty lines, which are counted instead.
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

/** In one line: line ends are spelled out as well. */
export function showInline(text: string): string {
  return showLine(text.replaceAll("\n", "\\n"));
}

function showLine(line: string): string {
  return (
    showHiddenCharacters(line)
      .replace(/ {2,}|\t+/g, (blanks) =>
        blanks.length > MAX_BLANKS ? `⟨${blanks.length} ${blanks[0] === "\t" ? "tabs" : "spaces"}⟩` : blanks,
      )
      // A terminal's own tab stops decide how wide it is.
      .replaceAll("\t", "→   ")
      .replace(/ +$/, (blanks) => "·".repeat(blanks.length))
  );
}

/** Neither HTML nor Markdown: what a page or a chat shows is the text itself, and nothing in it acts. */
function toInertMarkup(text: string): string {
  return text.replace(/[&<>"'`*_~[\]()!#|\\:/]/g, (character) => `&#${character.charCodeAt(0)};`);
}
