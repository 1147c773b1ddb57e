import { type Clock, systemClock } from "../core/clock.ts";
import type { ApprovalAnswer } from "../calls/approval.ts";
import { describeApproval, showInline, type ShownApproval } from "../gate/permit/describe-approval.ts";
import { editLine } from "./edit-line.ts";
import { type KeyInput, TerminalKeys } from "./terminal-keys.ts";

export interface TerminalApproverOptions {
  input: KeyInput;
  output: { isTTY?: boolean; write(text: string): unknown };
  clock?: Clock;
  /** Who sits at it. */
  by?: string;
  /** Line by line, for terminals that are not to be read key by key. */
  lineMode?: boolean;
}

/** So long must nothing be typed after the question was drawn: who is still typing something else has not read it. */
const QUIET_MS = 400;

interface Drawn {
  approval: ShownApproval;
  keys: TerminalKeys;
  signal: AbortSignal;
  /** What a line must end with: it was shown just now, so that no line typed before has it. */
  code: string;
}

type Outcome = { answer: ApprovalAnswer | undefined } | "ask again";

/** An `Approver` for `createHaft`, and for questions that came over a wire. */
export type TerminalApprover = (approval: ShownApproval, signal: AbortSignal) => Promise<ApprovalAnswer | undefined>;

/**
 * Asks at a terminal, one question at a time, each in full. Without a terminal nobody is asked, and the question stays
 * open for other doors.
 */
export function createTerminalApprover(options: TerminalApproverOptions): TerminalApprover {
  const { input, output, clock = systemClock, by = "terminal", lineMode = false } = options;
  let line: Promise<unknown> = Promise.resolve();

  return (approval, signal) => {
    if (!input.isTTY || !output.isTTY) return Promise.resolve(undefined);
    const requested = line.then(() => ask(approval, signal));
    line = requested.catch(() => undefined);
    return requested;
  };

  async function ask(approval: ShownApproval, signal: AbortSignal): Promise<ApprovalAnswer | undefined> {
    if (signal.aborted) return undefined;
    const raw = !lineMode && typeof input.setRawMode === "function";
    const keys = new TerminalKeys(input, clock, raw);
    const drawn = { approval, keys, signal, code: approval.id.slice(-3) };
    try {
      for (;;) {
        output.write(`\n${describeApproval(approval).join("\n")}\n${menu(drawn)}`);
        await keys.untilQuiet(QUIET_MS, signal);
        const outcome = await readAnswer(drawn);
        if (outcome !== "ask again") return outcome.answer;
      }
    } finally {
      keys.close();
      if (signal.aborted) output.write("\n  (not asked any more)\n");
    }
  }

  async function readAnswer(drawn: Drawn): Promise<Outcome> {
    for (;;) {
      const typed = await drawn.keys.next(drawn.signal);
      if (typed === undefined) return { answer: undefined };
      const { key, rest } = drawn.keys.isRaw ? { key: typed.toLowerCase(), rest: "" } : readLine(typed, drawn.code);
      const isReusable = drawn.approval.suggestedRules.length > 0;
      if (key === "y") return outcomeOf("once", { approved: true, scope: "once", by });
      if (key === "s" && isReusable) return grant(drawn, "session", rest);
      if (key === "a" && isReusable) return grant(drawn, "always", rest);
      if (key === "n") return refuse(drawn, rest);
      // Ctrl-C and Ctrl-D as well: who leaves has not said no.
      if (key === "q" || key === "\x03" || key === "\x04") return outcomeOf("left open", undefined);
      // Pasted text, arrow keys and what the terminal says of itself are no answer.
      if (!drawn.keys.isRaw) output.write(menu(drawn));
    }
  }

  async function grant(drawn: Drawn, scope: "session" | "always", given: string): Promise<Outcome> {
    if (given !== "") return outcomeOf(scope, { approved: true, scope, rule: given, by });
    const { keys, signal, approval } = drawn;
    const rules: string[] = [];
    if (keys.isRaw)
      output.write(`\n  Saved ${scope === "always" ? "for ever" : "for this session"}; change it, or Enter:\n`);
    for (const rule of approval.suggestedRules) {
      const edited = await editLine(keys, output, { prompt: "  rule: ", text: rule, signal });
      if (edited === undefined || edited.trim() === "") return "ask again";
      rules.push(edited.trim());
    }
    return outcomeOf(`${scope}: ${rules.map(showInline).join(", ")}`, { approved: true, scope, rule: rules, by });
  }

  async function refuse({ keys, signal }: Drawn, given: string): Promise<Outcome> {
    if (keys.isRaw) output.write("\n");
    const why =
      given !== "" || !keys.isRaw ? given : await editLine(keys, output, { prompt: "  why not? ", text: "", signal });
    if (why === undefined) return "ask again";
    return outcomeOf("no", { approved: false, by, reason: why.trim() === "" ? undefined : why.trim() });
  }

  function outcomeOf(word: string, answer: ApprovalAnswer | undefined): Outcome {
    output.write(`  → ${word}\n`);
    return { answer };
  }
}

function menu({ approval, keys, code }: Drawn): string {
  const wide = approval.suggestedRules.length > 0 ? ["s = this session", "a = always"] : [];
  const choices = ["y = once", ...wide, "n = no", "q = leave open"].join(", ");
  if (keys.isRaw) return `  ${choices}: `;
  return `  ${choices}, each with the code ${code} ("y ${code}", "n ${code} because …"): `;
}

/** `y 4f2`, `n 4f2 a reason`, `a 4f2 a rule`. Leaving needs no code. */
function readLine(line: string, code: string): { key: string; rest: string } {
  const [key = "", given, ...rest] = line.trim().split(/\s+/);
  if (key === "q") return { key, rest: "" };
  return given === code ? { key: key.toLowerCase(), rest: rest.join(" ") } : { key: "", rest: "" };
}
