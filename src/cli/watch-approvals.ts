/** `haft approvals watch` at a terminal: one open question at a time, the others by keys. */
import { pause } from "../core/clock.ts";
import type { ApprovalAnswerRequest, ApprovalInfo } from "../contracts/approvals.ts";
import type { ApiClient } from "../contracts/index.ts";
import type { QuestionInfo } from "../contracts/questions.ts";
import { RISK_LEVELS } from "../core/call-summary.ts";
import { textOf } from "../core/content.ts";
import { countOf } from "../core/results/count-of.ts";
import { errorMessage } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import { promptForAnswers } from "./answer-questions.ts";
import type { Invocation } from "./command.ts";
import { EXIT, explainFailedCall, explainFailure, isApiError } from "./exit-codes.ts";
import { cut, widthOf, wrap } from "./layout.ts";
import { answerQuestion, openQuestions, showQuestion } from "./mcp-questions.ts";
import { type Output, safe, safeLine } from "./output.ts";
import { editLine, isSilent, keyOf, TerminalKeys } from "./prompts.ts";
import { readRuleEffects, shortId, showApproval, showApprovalTable, showRisk, toShown } from "./show-approval.ts";
import {
  confirmDanger,
  confirmRules,
  describeAt,
  describeLeftCall,
  editRules,
  toAnswers,
  waitForResult,
  WHY_NOT,
} from "./terminal-approver.ts";
import { columnsOf, type Terminal } from "./terminal.ts";

type WatchClient = Pick<ApiClient, "approvals" | "questions" | "undo" | "policy">;
type Item = { type: "approval"; id: string; info: ApprovalInfo } | { type: "question"; id: string; info: QuestionInfo };

const CHECK_INTERVAL_MS = 1000;
/** A list that takes long to read is read less often. */
const CHECK_SHARE = 5;
/** An answer counts only if nothing was drawn or typed for this time: earlier keys were meant for something else. */
const QUIET_MS = 400;
/** A server that stops, starts or has too much work. */
const OUTAGES = ["unreachable", "shutdown", "overloaded"] as const;
/** Of a result. */
const MAX_RESULT_LINES = 5;

const HELP: readonly (readonly [keys: string, does: string])[] = [
  ["y", "approve once, or answer a question"],
  ["s, a", "approve for this session, or always: the rule is shown first and can be edited"],
  ["d", "deny, or dismiss a question"],
  ["r", "deny with a reason, which the model gets"],
  ["j, k", "next, previous; the arrow keys too"],
  ["1 … 9", "go to a number of the list"],
  ["l", "list all"],
  ["b", "approve several once, after all of them are shown; critical and cut ones are answered one by one"],
  ["u, U", "undo the file changes of the last call that you approved; redo them"],
  ["Enter, v", "show this one again; v: with every argument, ids and hashes in full"],
  ["q, Ctrl-C", "end; what is not answered stays open"],
];

const HELP_INDENT = " ".repeat(13);

/** Returns the exit code: 0 after `q`, 130 after Ctrl-C. */
export async function watchAtTerminal(
  client: WatchClient,
  { terminal, output, interrupted }: Pick<Invocation, "terminal" | "output" | "interrupted">,
): Promise<number> {
  const interrupt = new AbortController();
  const signal = AbortSignal.any([interrupted, interrupt.signal]);
  const keys = new TerminalKeys(terminal.stdin, { onInterrupt: () => interrupt.abort() });
  const watch = new ApprovalWatch(client, { keys, signal, terminal, output });
  try {
    return await watch.run();
  } finally {
    keys.close();
  }
}

interface WatchOptions {
  keys: TerminalKeys;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  terminal: Terminal;
  output: Output;
}

class ApprovalWatch {
  readonly #client: WatchClient;
  readonly #keys: TerminalKeys;
  readonly #signal: AbortSignal;
  readonly #terminal: Terminal;
  readonly #output: Output;
  /** Open ones in the order of their arrival; the shown one stays until the person moves on. */
  #items: Item[] = [];
  #at = 0;
  /** The id of the shown item. */
  #shown: string | undefined;
  /** The shown approval in full: the list has only its summary. */
  #card: ApprovalInfo | undefined;
  /** The shown item can no longer be answered. */
  #isGone = false;
  /** The server has answered before. */
  #hasAnswered = false;
  /** The server does not answer now. */
  #isAway = false;
  /** How many arrived since the list was last shown. */
  #fresh = 0;
  /** Answered here: a list that was read before does not bring them back. */
  readonly #answered = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #lastCallId: string | undefined;
  #lastUndoId: string | undefined;
  /** While a line is typed, messages wait. */
  #isTyping = false;
  #waiting: string[] = [];
  #promptWidth = 0;
  #quietSince = 0;
  readonly #ended = new AbortController();

  constructor(client: WatchClient, { keys, signal, terminal, output }: WatchOptions) {
    this.#client = client;
    this.#keys = keys;
    this.#signal = AbortSignal.any([signal, this.#ended.signal]);
    this.#terminal = terminal;
    this.#output = output;
  }

  async run(): Promise<number> {
    const { stderr } = this.#terminal;
    const onResize = (): void => this.#onResize();
    stderr.on?.("resize", onResize);
    this.#print(["Waiting for approvals. ? shows the keys, Ctrl-C ends this."]);
    let failure: unknown;
    const polling = this.#poll().catch((thrown: unknown) => {
      failure = thrown;
      this.#ended.abort();
    });
    try {
      let isLeaving = false;
      while (!isLeaving) {
        const typed = await this.#keys.next(this.#signal);
        if (typed === undefined) break;
        isLeaving = (await this.#onKey(typed)) === "leave";
      }
      if (isLeaving) await this.#waitForCalls();
      this.#clearPrompt();
      if (failure !== undefined) throw failure;
      return isLeaving && !this.#signal.aborted ? EXIT.done : EXIT.interrupted;
    } finally {
      this.#ended.abort();
      stderr.off?.("resize", onResize);
      await polling;
    }
  }

  async #poll(): Promise<void> {
    while (!this.#signal.aborted) {
      const started = performance.now();
      const open = await this.#readOpen();
      if (this.#signal.aborted) return;
      if ((open === undefined) !== this.#isAway) {
        this.#isAway = open === undefined;
        this.#drawPrompt();
      }
      if (open) this.#update(open.filter(({ id }) => !this.#answered.has(id)));
      const took = performance.now() - started;
      await pause(Math.max(CHECK_INTERVAL_MS, took * CHECK_SHARE), this.#signal);
    }
  }

  /** Undefined while the server does not answer, such as during its restart. Throws if it has never answered. */
  async #readOpen(): Promise<Item[] | undefined> {
    try {
      const [{ items }, questions] = await Promise.all([
        // A server that hangs must not keep the watch from ending.
        this.#client.approvals.list({ state: "pending", brief: true, limit: 500 }, { signal: this.#signal }),
        openQuestions(this.#client, this.#signal),
      ]);
      this.#hasAnswered = true;
      return [
        ...items.map((info): Item => ({ type: "approval", id: info.id, info })).reverse(),
        ...questions.map((info): Item => ({ type: "question", id: info.id, info })),
      ];
    } catch (thrown) {
      if (this.#signal.aborted) return undefined;
      const isOutage = OUTAGES.some((code) => isApiError(thrown, code));
      if (isOutage && this.#hasAnswered) return undefined;
      throw thrown;
    }
  }

  /** New ones come last, and the shown one keeps its place: nothing moves while a person reads. */
  #update(open: readonly Item[]): void {
    const byId = new Map(open.map((item) => [item.id, item]));
    const isShownGone = this.#shown !== undefined && !byId.has(this.#shown) && !this.#isGone;
    const known = new Set(this.#items.map(({ id }) => id));
    const added = open.filter(({ id }) => !known.has(id));
    const kept = this.#items.flatMap((item) => byId.get(item.id) ?? (item.id === this.#shown ? [item] : []));
    this.#items = [...kept, ...added];
    if (this.#shown === undefined) {
      if (this.#items.length > 0) this.#show(0);
      return;
    }
    this.#at = this.#items.findIndex(({ id }) => id === this.#shown);
    if (isShownGone) {
      this.#isGone = true;
      this.#print([`  ${shortId(this.#shown)} was answered elsewhere, or has expired. j goes on.`]);
    }
    this.#fresh += added.length;
    this.#drawPrompt();
  }

  get #current(): Item | undefined {
    return this.#items[this.#at];
  }

  #show(at: number, isVerbose = this.#output.isVerbose): void {
    if (this.#isGone && this.#items[at]?.id !== this.#shown) at = this.#dropGone(at);
    this.#at = Math.max(0, Math.min(at, this.#items.length - 1));
    const item = this.#current;
    this.#shown = item?.id;
    this.#card = undefined;
    if (!item) return this.#note("Nothing waits for an answer.");
    if (item.type === "question") return this.#showCard(showQuestion(item.info));
    this.#drawPrompt();
    this.#client.approvals.get(item.id).then(
      (info) => {
        // The person may have moved on.
        if (this.#shown !== item.id || this.#signal.aborted) return;
        this.#card = info;
        this.#showCard(
          showApproval(toShown(info), { paint: this.#output.paintStderr, columns: this.#columns, isVerbose }),
        );
      },
      (thrown: unknown) => this.#note(safeLine(explainFailure(thrown).message)),
    );
  }

  #showCard(lines: readonly string[]): void {
    this.#print(["", ...lines]);
    this.#quietSince = performance.now();
  }

  /** Removes the shown item, which cannot be answered any more. Returns the new place of the other one. */
  #dropGone(at: number): number {
    const gone = this.#items.findIndex(({ id }) => id === this.#shown);
    this.#isGone = false;
    if (gone < 0) return at;
    this.#items.splice(gone, 1);
    return at > gone ? at - 1 : at;
  }

  async #onKey(typed: string): Promise<"leave" | void> {
    const isQuiet = performance.now() - this.#quietSince >= QUIET_MS;
    this.#quietSince = performance.now();
    // Keys that only move may arrive together; an answer is one key.
    const number = /^([1-9]\d*)[\r\n]$/.exec(typed)?.[1];
    if (number !== undefined) return this.#goTo(number);
    const moves = /^(?:[jk]|\x1b\[[A-D]){2,}$/.test(typed) ? typed.match(/[jk]|\x1b\[[A-D]/g) : undefined;
    if (moves) return this.#move(moves.reduce((by, move) => by + (/[jBC]$/.test(move) ? 1 : -1), 0));
    if (typed === "U") return this.#redo();
    const key = keyOf(typed);
    switch (key) {
      case "q":
      case "\x04":
        return "leave";
      case "j":
      case "\x1b[B":
      case "\x1b[C":
        return this.#move(1);
      case "k":
      case "\x1b[A":
      case "\x1b[D":
        return this.#move(-1);
      case "l":
        return this.#showList();
      case "v":
        return this.#show(this.#at, true);
      case "\r":
      case "\n":
        return this.#show(this.#at);
      case "?":
      case "h":
        return this.#showHelp();
      case "b":
        return this.#batch();
      case "u":
        return this.#undo();
    }
    if (/^[1-9]$/.test(key)) return this.#jump(key);
    if (!/^[ysadrn]$/.test(key)) return isSilent(typed) ? undefined : this.#note("Press one key. ? shows the keys.");
    // A key that was meant for something else answers nothing.
    if (!isQuiet) return;
    const item = this.#current;
    if (!item || this.#isGone) return this.#note("There is nothing to answer here. j goes to the next one.");
    if (item.type === "question") return this.#answerQuestion(item.info);
    // What is not shown yet cannot be answered.
    if (this.#card?.id !== item.id) return;
    return this.#card.questions ? this.#answerUser(this.#card, key) : this.#answer(this.#card, key);
  }

  #move(by: number): void {
    const at = this.#at + by;
    const isBeforeGone = this.#isGone && by > 0;
    if (at < 0) return this.#note("This is the first one.");
    if (at >= this.#items.length && !isBeforeGone) return this.#note("This is the last one.");
    this.#show(at);
  }

  async #answer(info: ApprovalInfo, key: string): Promise<void> {
    const approval = toShown(info);
    const asked = { approval, keys: this.#keys, signal: this.#signal };
    const { stderr } = this.#terminal;
    const request = await this.#type(async (): Promise<ApprovalAnswerRequest | undefined> => {
      if (key === "d") return { decision: "deny" };
      if (key === "r" || key === "n") {
        stderr.write("\n");
        const reason = await this.#readLine(WHY_NOT);
        return reason === undefined ? undefined : { decision: "deny", reason: reason.trim() || undefined };
      }
      if (key !== "y" && approval.suggestedRules.length === 0) {
        stderr.write("\n  No rule covers calls like this one: approve it once with y.\n");
        return undefined;
      }
      const confirmed = await confirmDanger(asked, stderr);
      if (!confirmed) return undefined;
      if (key === "y") return { decision: "once", ...confirmed };
      const decision = key === "a" ? "always" : "session";
      const effects = await readRuleEffects(this.#client, info);
      this.#write(["", ...Array.from(effects, ([rule, effect]) => `  ${rule}: ${effect}.`)]);
      const rules = await editRules(asked, decision, stderr);
      const sentence = (edited: readonly string[]) =>
        describeAt(this.#client)(approval, { scope: decision, rules: edited });
      const confirmedRules = rules && (await confirmRules(asked, { rules, sentence }, stderr));
      return confirmedRules && { decision, rule: rules.join("\n"), ...confirmed, ...confirmedRules };
    });
    if (request === undefined || this.#signal.aborted) return this.#drawPrompt();
    this.#send([info], request);
    this.#showNext([info.id]);
  }

  /** A question of `ask_user`. */
  async #answerUser(info: ApprovalInfo, key: string): Promise<void> {
    const { stderr: output } = this.#terminal;
    const answers = await this.#type(async () => {
      if (key === "d" || key === "r" || key === "n") return "dismissed";
      output.write("\n");
      return promptForAnswers(info.questions ?? [], { keys: this.#keys, output, signal: this.#signal });
    });
    if (answers === undefined || this.#signal.aborted) return this.#drawPrompt();
    this.#send(
      [info],
      answers === "dismissed" ? { decision: "deny" } : { decision: "answer", answers: toAnswers(answers) },
    );
    this.#showNext([info.id]);
  }

  /** The answers are sent while the next question is read; their results are printed when they come. */
  #send(infos: readonly ApprovalInfo[], request: ApprovalAnswerRequest): void {
    const word = sentWord(infos, request);
    for (const info of infos) {
      this.#answered.add(info.id);
      const { id, toolName } = info;
      const sending = this.#client.approvals
        .answer(id, request)
        .then((answered) =>
          request.decision === "deny"
            ? { ...answered, isLeft: false }
            : waitForResult(this.#client, answered, undefined, this.#signal),
        )
        .then(({ approval, result, isLeft }) => {
          if (isLeft) this.#print([`  ${describeLeftCall(approval)}`]);
          if (result?.status === "completed") this.#lastCallId = result.callId;
          if (result && request.decision !== "deny") this.#print(this.#resultLines(info, result));
        })
        .catch((thrown: unknown) => {
          if (this.#signal.aborted) return;
          // Still open: the next check shows it again.
          this.#answered.delete(id);
          const { message, next } = explainFailure(thrown);
          this.#print([
            `  ${shortId(id)} ${safeLine(toolName)}: ${safeLine([message, next].filter(Boolean).join(" "))}`,
          ]);
        });
      const settled = sending.finally(() => this.#running.delete(settled));
      this.#running.add(settled);
    }
    const [first] = infos;
    if (infos.length === 1 && first) this.#print([`  → ${word}: ${subjectOf(first)}`]);
    else this.#print([`  → ${infos.length} ${word}`]);
  }

  #resultLines({ id, toolName }: ApprovalInfo, result: ToolResult): string[] {
    const paint = this.#output.paintStderr;
    const style = result.status === "completed" ? "green" : result.status === "failed" ? "red" : "yellow";
    const text =
      result.status === "failed" ? explainFailedCall(result.error, toolName).message : textOf(result.content);
    const lines = safe(text.trim()).split("\n");
    const rest = lines.length > MAX_RESULT_LINES ? [`⟨${countOf(lines.length - MAX_RESULT_LINES, "more line")}⟩`] : [];
    return [
      `  ${paint(style, result.status)} ${safeLine(toolName)} (${shortId(id)})`,
      ...[...lines.slice(0, MAX_RESULT_LINES), ...rest].map((line) => cut(`  | ${line}`, this.#columns)),
    ];
  }

  #showNext(answered: readonly string[]): void {
    const at = this.#items.slice(0, this.#at).filter(({ id }) => !answered.includes(id)).length;
    this.#items = this.#items.filter(({ id }) => !answered.includes(id));
    this.#isGone = false;
    this.#shown = undefined;
    if (this.#items.length > 0) this.#show(at);
    else this.#note("Nothing waits for an answer.");
  }

  async #answerQuestion(question: QuestionInfo): Promise<void> {
    const { stderr } = this.#terminal;
    await this.#type(async () => {
      stderr.write("\n");
      await answerQuestion(this.#client, question, { keys: this.#keys, stderr, signal: this.#signal });
    });
    this.#drawPrompt();
  }

  #approvals(): ApprovalInfo[] {
    return this.#items.flatMap((item) => (item.type === "approval" ? [item.info] : []));
  }

  /** Of each item in the list, by its id. */
  #numbers(): (item: { id: string }) => number {
    const numbers = new Map(this.#items.map(({ id }, at) => [id, at + 1]));
    return ({ id }) => numbers.get(id) ?? 0;
  }

  #showList(): void {
    this.#fresh = 0;
    const numberOf = this.#numbers();
    const layout = { paint: this.#output.paintStderr, columns: this.#columns };
    const questions = this.#items.flatMap((item) => (item.type === "question" ? [item.info] : []));
    this.#print([
      "",
      ...showApprovalTable(this.#approvals(), layout, numberOf),
      ...questions.map((info) =>
        cut(`${numberOf(info)}  question of ${safeLine(info.server)}: ${safeLine(info.message)}`, this.#columns),
      ),
      `${countOf(this.#items.length, "waits", "wait")} for an answer${this.#levels(this.#approvals())}.`,
    ]);
  }

  /** `: 1 critical, 3 high`. */
  #levels(approvals: readonly ApprovalInfo[]): string {
    const counts = RISK_LEVELS.toReversed().flatMap((level) => {
      const count = approvals.filter(({ risk }) => risk.level === level).length;
      return count === 0 ? [] : [`${count} ${showRisk(level, this.#output.paintStderr)}`];
    });
    return counts.length === 0 ? "" : `: ${counts.join(", ")}`;
  }

  async #batch(): Promise<void> {
    const offered = this.#approvals().filter(
      ({ id, risk, questions, unseen }) =>
        risk.level !== "critical" &&
        questions === undefined &&
        unseen === undefined &&
        !(this.#isGone && id === this.#shown),
    );
    if (offered.length === 0) return this.#note("There is nothing that can be approved together with others.");
    const layout = { paint: this.#output.paintStderr, columns: this.#columns };
    const left = this.#approvals().filter(
      ({ risk, unseen }) => risk.level === "critical" || unseen !== undefined,
    ).length;
    const numberOf = this.#numbers();
    const chosen = await this.#type(async () => {
      this.#write(["", ...showApprovalTable(offered, layout, numberOf)]);
      if (left > 0)
        this.#write([
          `${countOf(left, "other is", "others are")} answered one by one: critical, or not shown in full.`,
        ]);
      const typed = await this.#readLine("Which? (1,3-5 or all) ");
      const picked = typed === undefined ? [] : offered.filter((info) => chooses(typed, numberOf(info)));
      if (picked.length === 0) return [];
      for (const { id } of picked) {
        const whole = toShown(await this.#client.approvals.get(id));
        this.#write(["", ...showApproval(whole, { ...layout, isVerbose: false })]);
      }
      this.#write([`Approve ${picked.length} once${this.#levels(picked)}.`]);
      const sure = await this.#readLine("Type yes: ");
      return sure?.trim().toLowerCase() === "yes" ? picked : [];
    });
    if (this.#signal.aborted) return;
    if (chosen.length === 0) return this.#note("Nothing was approved.");
    this.#send(chosen, { decision: "once" });
    this.#showNext(chosen.map(({ id }) => id));
  }

  async #jump(first: string): Promise<void> {
    const typed = await this.#type(() => this.#readLine("go to ", first));
    if (typed === undefined || this.#signal.aborted) return this.#drawPrompt();
    this.#goTo(typed);
  }

  #goTo(typed: string): void {
    const number = Number(typed);
    if (!Number.isInteger(number) || number < 1 || number > this.#items.length)
      return this.#note(`There is no number ${safeLine(typed)}: there are ${this.#items.length}.`);
    this.#show(number - 1);
  }

  async #undo(): Promise<void> {
    const call = this.#lastCallId;
    if (call === undefined) return this.#note("You have approved nothing here yet.");
    try {
      const { undone, undoId } = await this.#client.undo.run({ call });
      this.#lastUndoId = undoId ?? this.#lastUndoId;
      this.#note(
        undone.length === 0
          ? "The last call changed no files."
          : `Undone: ${undone.map(({ path }) => safeLine(path)).join(", ")}. U takes that back.`,
      );
    } catch (thrown) {
      this.#note(safeLine(errorMessage(thrown)));
    }
  }

  async #redo(): Promise<void> {
    const undo = this.#lastUndoId;
    if (undo === undefined) return this.#note("You have undone nothing here yet.");
    try {
      const { undone: redone } = await this.#client.undo.redo({ undo });
      this.#lastUndoId = undefined;
      this.#note(`Redone: ${redone.map(({ path }) => safeLine(path)).join(", ")}`);
    } catch (thrown) {
      this.#note(safeLine(errorMessage(thrown)));
    }
  }

  #showHelp(): void {
    const lines = HELP.flatMap(([keys, does]) => {
      const [first = "", ...rest] = wrap(does, this.#columns - HELP_INDENT.length);
      const name = this.#output.paintStderr("cyan", keys.padEnd(HELP_INDENT.length - 2));
      return [`  ${name}${first}`, ...rest.map((line) => HELP_INDENT + line)];
    });
    this.#print(["", ...lines]);
  }

  async #waitForCalls(): Promise<void> {
    if (this.#running.size === 0) return;
    this.#print([`${countOf(this.#running.size, "call runs", "calls run")}: waiting. Ctrl-C does not wait.`]);
    const aborted = new Promise<void>((resolve) =>
      this.#signal.addEventListener("abort", () => resolve(), { once: true }),
    );
    await Promise.race([Promise.all(this.#running), aborted]);
  }

  async #type<Typed>(read: () => Promise<Typed>): Promise<Typed> {
    this.#isTyping = true;
    try {
      return await read();
    } finally {
      this.#isTyping = false;
      this.#promptWidth = 0;
      const waiting = this.#waiting;
      this.#waiting = [];
      if (waiting.length > 0) this.#write(waiting);
    }
  }

  async #readLine(prompt: string, text = ""): Promise<string | undefined> {
    const line = await editLine(this.#keys, this.#terminal.stderr, { prompt, text, signal: this.#signal });
    return this.#signal.aborted ? undefined : line;
  }

  #note(text: string): void {
    this.#print([`  ${text}`]);
  }

  get #columns(): number {
    return columnsOf(this.#terminal.stderr, this.#terminal.env);
  }

  /** Above the prompt. */
  #print(lines: readonly string[]): void {
    if (this.#isTyping) return void this.#waiting.push(...lines);
    this.#clearPrompt();
    this.#write(lines);
    this.#drawPrompt();
  }

  #write(lines: readonly string[]): void {
    this.#terminal.stderr.write(lines.map((line) => `${line}\n`).join(""));
  }

  #drawPrompt(): void {
    if (this.#isTyping || this.#signal.aborted) return;
    const prompt = this.#promptText();
    this.#clearPrompt();
    this.#terminal.stderr.write(prompt);
    this.#promptWidth = widthOf(prompt);
  }

  #promptText(): string {
    const item = this.#current;
    const fresh = this.#fresh > 0 ? `, ${this.#fresh} new` : "";
    if (this.#isAway) return cut("The server does not answer. Trying again… › ", this.#columns);
    const place = this.#items.length === 0 ? "nothing waits" : `${this.#at + 1} of ${this.#items.length}${fresh}`;
    const hasRules = this.#card?.rule !== undefined;
    const answers = [
      ["y once"],
      hasRules ? ["s session", "a always"] : [],
      ["d deny", "r reason", "j next", "? help"],
    ].flat();
    const long = `${place} | ${item?.type === "approval" && !item.info.questions ? answers.join("  ") : "y answer  j next  ? help"} › `;
    if (item && widthOf(long) < this.#columns) return long;
    const short = `${place} | ${item ? "y s a d r j k l b " : ""}? › `;
    return widthOf(short) < this.#columns ? short : cut(`${place} › `, this.#columns);
  }

  /** The terminal may have broken the prompt into several rows after it became narrower. */
  #clearPrompt(): void {
    const rows = Math.max(1, Math.ceil(this.#promptWidth / this.#columns));
    this.#terminal.stderr.write(`${rows > 1 ? `\x1b[${rows - 1}A` : ""}\r\x1b[J`);
    this.#promptWidth = 0;
  }

  #onResize(): void {
    if (!this.#isTyping) this.#drawPrompt();
  }
}

function subjectOf({ subject, toolName }: ApprovalInfo): string {
  return cut(safeLine(subject.text === "" ? toolName : subject.text), 50);
}

/** `1,3-5` or `all`. */
function chooses(typed: string, number: number): boolean {
  return typed.split(/[\s,]+/).some((word) => {
    if (/^(?:all|\*)$/i.test(word)) return true;
    const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(word) ?? [];
    return from !== undefined && number >= Number(from) && number <= Number(to);
  });
}

function sentWord(infos: readonly ApprovalInfo[], { decision }: ApprovalAnswerRequest): string {
  if (decision === "answer") return "answered";
  if (decision === "deny") return infos.every(({ questions }) => questions) ? "dismissed" : "denied";
  return `approved, ${decision}`;
}
