import type { Approval } from "../../calls/approval.ts";
import type { CommandStep, RiskLevel } from "../../core/call-summary.ts";
import { shownInput } from "../../calls/shown-question.ts";
import { quoteText, textOf } from "../../core/content.ts";
import { countOf } from "../../core/results/count-of.ts";
import { answerLine, type UserQuestion } from "../../core/questions/user-question.ts";
import type { Preview } from "../../core/tool.ts";
import { showSpan, showTime } from "../../core/clock.ts";
import { showHiddenCharacters } from "../../io/shell/terminal-text.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { UnvouchedValue } from "../../core/call.ts";
import type { RuleExamples } from "./rules/rule-examples.ts";

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
  | "unseen"
  | "grants"
  | "suggestedRules"
  | "questions"
  | "answers"
  | "hash"
  | "answeredBy"
  | "note"
  | "scope"
  | "rules"
  | "rulesEdited"
  | "summary"
  | "replaces"
> & {
  state: Approval["state"];
  verdict?: Approval["verdict"];
  binding?: Pick<Approval["binding"], "cwd">;
  /** What each suggested rule would and would not allow. */
  ruleExamples?: readonly RuleExamples[];
  askedAt?: number;
  expiresAt?: number;
  waitsUntil?: number;
  hasCallerEnded?: boolean;
};

/**
 * One part of what a person decides by. `value`, `notes`, `allows` and `asks` have no hidden characters and no line ends;
 * `text` is as it was written.
 */
export type ApprovalPart =
  | { type: "risk"; level: RiskLevel; value: string }
  | { type: "step"; text: string; level: RiskLevel; notes: readonly string[] }
  | { type: "text"; name: string; value: string; text: string }
  | { type: "fact"; name: string; value: string; isWarning?: boolean }
  | { type: "rule"; value: string; allows: readonly string[]; asks: readonly string[] };

export interface PartOptions {
  now?: number;
  /** Every argument, even if the preview shows it. */
  isVerbose?: boolean;
}

/** Everything that a person decides by, the most important first and nothing twice. Interfaces lay it out. */
export function approvalParts(approval: ShownApproval, options: PartOptions = {}): ApprovalPart[] {
  const { now = Date.now(), isVerbose = false } = options;
  if (approval.questions) return questionParts(approval, approval.questions, now);
  const { verdict, reason, binding, preview, unseen, hash, id, summary } = approval;
  const parts: ApprovalPart[] = [];
  const fact = (name: string, value: string, isWarning?: boolean): void =>
    void parts.push({ type: "fact", name, value, isWarning });
  const command = commandOf(approval);
  for (const text of riskReasons(summary, command))
    parts.push({ type: "risk", level: summary?.risk.level ?? "high", value: showInline(text) });
  if (command !== undefined) parts.push(...commandParts(command, summary?.steps));
  for (const { key, values, text } of preview?.facts ?? [])
    if (key !== "preview.folder" || values?.["folder"] !== binding?.cwd) fact("", showInline(text));
  // A diff of one file that is shown in full has its counts in its head.
  if (preview?.counts && (preview.omitted !== undefined || preview.counts.files > 1))
    fact("changes", countsText(preview.counts));
  for (const { before, after, lines } of preview?.replacements ?? [])
    fact("replaces", `"${showInline(before)}" by "${showInline(after)}" on ${lines} lines`);
  const shown = previewText(approval);
  if (preview && (shown !== "" || command === undefined)) {
    const value = command === undefined ? showInline(preview.title) : "";
    parts.push({ type: "text", name: "preview", value, text: shown });
  }
  if (preview?.content.some(({ type }) => type !== "text")) fact("", "(and content that is not text)");
  if (preview?.output !== undefined) parts.push({ type: "text", name: "it printed", value: "", text: preview.output });
  if (unseen !== undefined)
    fact(
      "NOT SHOWN",
      `${showInline(unseen.replace(/^Not shown: /, ""))} All of it: haft approvals show ${id} --whole`,
      true,
    );
  parts.push(...argumentParts(approval, command, isVerbose));
  fact("asked by", `${describeCaller(approval)}${askedText(approval, now)}`);
  fact("because", showInline(reason));
  parts.push(...originParts(approval));
  if (verdict?.rule !== undefined) fact("rule", `${showInline(verdict.rule)}${originOf(approval)}`);
  if (binding) fact("folder", showInline(binding.cwd));
  if (approval.replaces) fact("changed", approval.replaces.changes.map(showInline).join(", "), true);
  if (hash !== "") fact("call hash", hash);
  if (approval.expiresAt !== undefined) fact("until", deadlineText(approval, now));
  parts.push(...ruleParts(approval));
  if (approval.state !== "pending") fact("state", describeState(approval));
  return parts;
}

/** Where the values that nobody vouches for come from, and what the user wrote. */
function originParts({ verdict }: ShownApproval): ApprovalPart[] {
  const parts: ApprovalPart[] = [];
  const fact = (name: string, value: string, isWarning?: boolean): void =>
    void parts.push({ type: "fact", name, value: showInline(value), isWarning });
  for (const { argument, value, authority, origin, source } of verdict?.unvouched ?? []) {
    if (authority === "call") fact("nobody named", "anything of this call", true);
    else fact(`nobody named ${argument}`, `"${value}"${ORIGIN_TEXTS[origin]}`, true);
    if (source)
      fact(
        "first seen",
        `${source.toolName}, call ${source.callId}${source.field === "" ? "" : `, ${source.field}`}: "${source.excerpt}"`,
      );
  }
  if (verdict?.userText !== undefined) fact("you wrote", `"${verdict.userText}"`);
  if (verdict?.unvouched) fact("a yes", "approves these values until the session ends");
  else if (isOfLabels(verdict)) fact("taint", "this session has read untrusted text and sensitive data", true);
  return parts;
}

const ORIGIN_TEXTS: Readonly<Record<UnvouchedValue["origin"], string>> = {
  text: ", a text of somebody else has it",
  unnamed: ", it is in your data, but you did not name it",
  nowhere: ", it stands in no text that was read",
  unread: ", not all texts that were read are still here",
};

function isOfLabels(verdict: ShownApproval["verdict"]): boolean {
  return verdict?.by === "provenance" || verdict?.by === "taint";
}

function countsText({ files, added, removed }: NonNullable<Preview["counts"]>): string {
  return `${countOf(files, "file")}, +${added} −${removed} lines`;
}

/** What "session" and "always" would save: the narrow choice with examples, then the broader ones. */
function ruleParts({ suggestedRules, grants = [], ruleExamples }: ShownApproval): ApprovalPart[] {
  const parts: ApprovalPart[] = suggestedRules.map((rule) => {
    const { allows = [], asks = [] } = ruleExamples?.find((examples) => examples.rule === rule) ?? {};
    return { type: "rule", value: showInline(rule), allows: allows.map(showInline), asks: asks.map(showInline) };
  });
  for (const { scope, sentence, rules, isBroader } of grants) {
    if (!isBroader) parts.push({ type: "fact", name: `- ${scope}`, value: showInline(sentence) });
    else if (scope === "session")
      parts.push({ type: "fact", name: "- broader", value: rules.map(showInline).join(", "), isWarning: true });
  }
  return parts;
}

/** Questions of `ask_user`: there is no effect to judge. */
function questionParts(approval: ShownApproval, questions: readonly UserQuestion[], now: number): ApprovalPart[] {
  const parts: ApprovalPart[] = questions.map((asked, at) => ({
    type: "text",
    name: questions.length > 1 ? `question ${at + 1}` : "question",
    value: asked.header === undefined ? "" : showInline(asked.header),
    text: [asked.question, ...optionLines(asked)].join("\n"),
  }));
  const fact = (name: string, value: string): void => void parts.push({ type: "fact", name, value });
  fact("asked by", `${describeCaller(approval)}${askedText(approval, now)}`);
  if (approval.expiresAt !== undefined) fact("until", deadlineText(approval, now));
  for (const answer of approval.answers ?? []) fact("answer", showInline(answerLine(answer)));
  if (approval.state !== "pending") fact("state", describeState(approval));
  return parts;
}

/** Numbered, as they can be answered at a terminal. One line each: a text of several lines could add a false option. */
function optionLines({ options = [] }: UserQuestion): string[] {
  return options.map(({ label, description }, at) => {
    const about = description ? `: ${showInline(description)}` : "";
    return `  ${at + 1}. ${showInline(label)}${about}`;
  });
}

/** The command of a call that runs one. */
function commandOf({ summary, input }: ShownApproval): string | undefined {
  const isCommand = summary === undefined || summary.subject.type === "command";
  const shown = shownInput(input);
  const command = isObject(shown) ? shown["command"] : undefined;
  return isCommand && typeof command === "string" ? command : undefined;
}

/** Without those that stand beside a step. */
function riskReasons(summary: ShownApproval["summary"], command: string | undefined): string[] {
  const { steps = [] } = summary ?? {};
  const besides = new Set(command !== undefined && steps.length > 1 ? steps.map(({ asks }) => asks?.text) : []);
  return (summary?.risk.reasons ?? []).flatMap(({ text }) => (besides.has(text) ? [] : [text]));
}

/** The command, once: by its steps if they are all of it, otherwise as one, with notes on each. */
function commandParts(command: string, steps: readonly CommandStep[] = []): ApprovalPart[] {
  const written = steps.map(({ operator, text }) => (operator === undefined ? text : `${operator} ${text}`));
  const withoutBlanks = (text: string): string => text.replace(/\s+/g, "");
  if (steps.length > 1 && withoutBlanks(written.join("")) === withoutBlanks(command))
    return steps.map(({ level, ...step }, at) => ({
      type: "step",
      text: written[at] ?? "",
      level,
      notes: notesOf(step),
    }));
  const notes = steps.flatMap((step) =>
    // Why the only step asks is a reason of the risk.
    steps.length === 1 ? notesOf({ does: step.does }) : notesOf(step).map((note) => `${startOf(step.text)}: ${note}`),
  );
  return [{ type: "step", text: command, level: "low", notes }];
}

function notesOf({ does, asks }: Pick<CommandStep, "does" | "asks">): string[] {
  return [does, asks].flatMap((note) => (note === undefined ? [] : [showInline(note.text)]));
}

function startOf(text: string): string {
  const shown = showInline(text);
  return shown.length > 30 ? `${shown.slice(0, 29)}…` : shown;
}

/** Without a text that is only the subject again. */
function previewText({ preview, summary }: ShownApproval): string {
  const text = textOf(preview?.content ?? []).replace(/\n$/, "");
  return text === summary?.subject.text ? "" : text;
}

/** What the diff of a preview shows completely. */
const IN_DIFF = new Set(["content", "old_string", "new_string", "edits", "patch"]);

/** The arguments that nothing else shows. */
function argumentParts(
  { input: given, preview, summary }: ShownApproval,
  command: string | undefined,
  isVerbose: boolean,
): ApprovalPart[] {
  const input = shownInput(given);
  if (!isObject(input)) return [argumentPart("arguments", input)];
  const fields = Object.entries(input);
  if (fields.length === 0) return [{ type: "fact", name: "arguments", value: "none" }];
  const isComplete = preview !== undefined && preview.omitted === undefined && preview.unshown === undefined;
  const previewed = isComplete ? textOf(preview.content) : "";
  const hasDiff = /^@@ /m.test(previewed) && summary?.subject.type === "path";
  return fields.flatMap(([name, value]) => {
    if (name === "command" && value === command) return [];
    if (isVerbose) return [argumentPart(showInline(name), value)];
    if (hasDiff && IN_DIFF.has(name)) return [];
    const subject = summary?.subject.text ?? "";
    if (name === "path" && isComplete && value === subject && preview.title.endsWith(subject)) return [];
    if (command !== undefined && isComplete && isInCommandPreview(preview, name, value)) return [];
    return [argumentPart(showInline(name), value)];
  });
}

/** Whether the preview of a command has an argument in full. */
function isInCommandPreview({ facts = [], content }: Preview, name: string, value: unknown): boolean {
  const has = (fact: string, values: Readonly<Record<string, string>>): boolean =>
    facts.some(
      (each) => each.key === fact && Object.entries(values).every(([key, text]) => each.values?.[key] === text),
    );
  if (name === "description") return has("preview.purpose", { purpose: showHiddenCharacters(String(value)) });
  if (name === "stdin")
    return textOf(content).endsWith(`Its input:\n${quoteText(showHiddenCharacters(String(value)))}`);
  if (name !== "env" || !isObject(value)) return false;
  const variables = Object.entries(value);
  return variables.every(([key, each]) =>
    has("preview.variable", { name: key, value: showHiddenCharacters(String(each)) }),
  );
}

function argumentPart(name: string, value: unknown): ApprovalPart {
  const text = typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? String(value));
  if (text.length <= MAX_INLINE_LENGTH && !text.includes("\n")) {
    return { type: "fact", name, value: typeof value === "string" ? `"${showInline(text)}"` : showInline(text) };
  }
  return {
    type: "text",
    name,
    value: `(${text.length} characters in ${countOf(text.split("\n").length, "line")})`,
    text,
  };
}

function describeCaller({ caller: { session, agent, user, task, depth } }: ShownApproval): string {
  const who = Object.entries({ session, agent, user, task }).flatMap(([what, name]) =>
    name === undefined ? [] : [`${what} ${showInline(name)}`],
  );
  if (depth > 0) who.push(`subagent of depth ${depth}`);
  return who.length > 0 ? who.join(", ") : "an unnamed caller";
}

function askedText({ askedAt, state }: ShownApproval, now: number): string {
  return askedAt === undefined || state !== "pending" || askedAt > now ? "" : `, ${showSpan(now - askedAt)} ago`;
}

/** When nobody can answer any more, and how long the caller waits. */
function deadlineText(approval: ShownApproval, now: number): string {
  const { expiresAt = 0, waitsUntil = 0, hasCallerEnded, state } = approval;
  if (state !== "pending" || expiresAt <= now) return showTime(expiresAt);
  const waits = waitsUntil > now ? `; the caller waits ${showSpan(waitsUntil - now)} more` : "";
  const caller = hasCallerEnded ? "; its caller has ended" : waits;
  return `${showTime(expiresAt)}, in ${showSpan(expiresAt - now)}${caller}`;
}

function describeState(approval: ShownApproval): string {
  const { answeredBy, note, scope, rules = [], rulesEdited } = approval;
  const parts = [
    stateWord(approval),
    answeredBy === undefined ? "" : `by ${showInline(answeredBy)}`,
    scope === undefined || scope === "once" ? "" : `${scope}: ${rules.map(showInline).join(", ")}`,
    rulesEdited ? "(differs from the suggestion)" : "",
    note === undefined ? "" : `(${showInline(note)})`,
  ];
  return parts.filter((part) => part !== "").join(" ");
}

/** A question is answered or dismissed, an approval is given or denied. */
export function stateWord({ state, questions }: Pick<ShownApproval, "state" | "questions">): string {
  if (!questions) return state;
  return state === "approved" ? "answered" : state === "denied" ? "dismissed" : state;
}

function originOf({ verdict }: ShownApproval): string {
  const origin = verdict?.origin;
  return origin === undefined ? "" : ` in ${showInline(origin)}`;
}

const MAX_BLANKS = 16;
const MAX_EMPTY_LINES = 2;

/**
 * Text that a person decides by, line by line: every character is visible. Long runs of blanks and empty lines are
 * counted, because they could push text out of sight.
 */
export function visibleLines(text: string): string[] {
  const lines: string[] = [];
  let empty = 0;
  const flush = (): void => {
    if (empty > MAX_EMPTY_LINES) lines.push(`⟨${empty} empty lines⟩`);
    else for (let i = 0; i < empty; i++) lines.push("");
    empty = 0;
  };
  for (const line of text.split("\n")) {
    if (line === "") {
      empty++;
      continue;
    }
    flush();
    lines.push(showLine(line));
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
