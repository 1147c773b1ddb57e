import { z } from "zod";
import type { Caller } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { toolError } from "../../core/error.ts";
import { callOf } from "../../core/gate.ts";
import { type QuestionField, readFields } from "../../core/questions/question-fields.ts";
import { attachQuestions } from "../../core/questions/user-question.ts";
import { isOneLine } from "../../calls/approval.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";
import { requirePerson } from "./ask-user.ts";

/** What a person allows: for how long, how often, how much. */
export interface PermissionBounds {
  minutes: number;
  maxUses?: number | undefined;
  budget?: { max: number; unit: string } | undefined;
}

export interface RequestPermissionOptions {
  /** What the rules would allow the caller, in a sentence. Throws if a rule is none, or a bound is beyond its cap. */
  describe(rules: readonly string[], caller: Caller, bounds: PermissionBounds): string;
  /** Gives the grant, and returns its id. */
  give(request: GivenPermission, caller: Caller): Promise<string>;
  /** Nobody can answer. */
  isUnattended?: boolean | undefined;
}

export interface GivenPermission {
  rules: readonly string[];
  bounds: PermissionBounds;
  purpose: string;
  by?: string | undefined;
}

const MAX_RULES = 8;
const NO = "No";
const YES = "Yes";

const Line = (max: number) =>
  z.string().trim().min(1).max(max).refine(isOneLine, "has a line break; write it in one line");

/** What an answer may be in, beside the unit of the budget. */
const MINUTES = /^(?:m|min|mins|minutes?|分钟?)$/i;
const HOURS = /^(?:h|hrs?|hours?|小时)$/i;
const CALLS = /^(?:calls?|uses?|times?|x|次)$/i;
const OTHER_TIMES = /^(?:s|secs?|seconds?|秒|d|days?|天|weeks?|months?|years?)$/i;

/** In the answer `5 calls`, a unit with this name would be another bound than the person means. */
const Unit = z
  .string()
  .min(1)
  .max(20)
  .refine(
    (unit) =>
      ![MINUTES, HOURS, CALLS, OTHER_TIMES].some((word) => word.test(unit.normalize("NFKC").replace(/[^\p{L}]/gu, ""))),
    "is a word for time or calls, not a unit of a budget",
  );

const Parameters = z.object({
  purpose: Line(300).describe("What it is for, as you would say it to the person"),
  tools: z
    .array(Line(300))
    .min(1)
    .max(MAX_RULES)
    .describe("Permission rules, as narrow as possible: `Bash(npm test)`, `Edit(src/**)`, `pay(amount<=50)`"),
  minutes: z.number().positive().describe("How long you need it"),
  max_uses: z.number().int().positive().optional().describe("How many calls. Default: any number within the time"),
  budget: z
    .object({ amount: z.number().positive(), unit: Unit.describe("As the tool names it: EUR") })
    .optional()
    .describe("How much in all, of tools that have an amount"),
});
type Request = z.output<typeof Parameters>;

/** Asks a person to allow several calls at once. What they allow is a grant; nothing else gives one to an agent. */
export function createRequestPermissionTool({ describe, give, isUnattended = false }: RequestPermissionOptions) {
  const tool = createTool({
    name: "request_permission",
    title: "Request permission",
    description: {
      short: "Asks the user to allow calls for a task without a question each, for some minutes and within bounds.",
      usageNotes: [
        "Use it before several calls that would each ask. Ask for no more than the task needs.",
        "The user may allow less. A rule that denies or asks still does.",
      ],
      examples: [
        { input: { purpose: "Run the tests until they pass", tools: ["Bash(npm test)"], minutes: 30, max_uses: 20 } },
      ],
    },
    parameters: Parameters,
    kind: "execute",
    category: ToolCategory.SESSION,
    tags: ["permission", "approval", "grant", "allow", "person"],
    builtIn: {
      zh: { title: "请求授权", short: "请用户在一段时间和限额内允许一项任务的多次调用，不再逐次询问。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({
      granted: field.flag("Whether it may be done now"),
      "grant?": field.text(),
      "bounds?": field.text("What the user allowed"),
      "said?": field.text("What the user wrote instead"),
    }),
    signature: ({ tools }) => tools.join(", "),
    async run({ purpose, tools, ...asked }, context) {
      const { caller, asked: answered } = callOf(context);
      const [answer] = answered?.answers ?? [];
      // Whatever permitted the call: only a person's answer gives a grant.
      if (!answer) throw toolError("no_answer", "Nobody was asked", { next: "Make each call; it asks if it must." });
      const allowed = allowedBy(answer, { rules: tools, bounds: readRequest(asked) });
      if (!allowed) {
        const said = answer.text;
        const why = said === undefined ? "The user said no." : `The user allowed nothing and wrote: ${said}`;
        return { content: [text(why)], display: "no", details: { granted: false, said } };
      }
      const { rules, bounds } = allowed;
      // What the person wrote is checked like what was asked for.
      describe(rules, caller, bounds);
      const grant = await give({ rules, bounds, purpose, by: answered?.by }, caller);
      const shown = showBounds(bounds);
      return {
        content: [text(`Granted (${grant}): ${rules.join(", ")}, ${shown}.`)],
        display: shown,
        details: { granted: true, grant, bounds: shown },
      };
    },
  });
  return attachQuestions(tool, ({ purpose, tools, ...asked }: Request, asking) => {
    requirePerson(asking, isUnattended);
    const bounds = readRequest(asked);
    const sentence = describe(tools, asking.caller, bounds);
    return [
      {
        header: "Permission",
        // Escaped: it may not end its own quotation and go on as if it were the question.
        question: `${sentence}\nThe agent says what for: ${JSON.stringify(purpose)}`,
        options: [
          {
            label: YES,
            description: `${showBounds(bounds)}. Or write other bounds: 10 min, 5 calls`,
            fields: fieldsOf({ rules: tools, bounds }),
          },
          { label: NO, description: "Each call asks as before" },
        ],
      },
    ];
  });
}

function readRequest({ minutes, max_uses, budget }: Omit<Request, "purpose" | "tools">): PermissionBounds {
  return { minutes, maxUses: max_uses, budget: budget && { max: budget.amount, unit: budget.unit } };
}

/** What a person allows. */
type Allowed = Pick<GivenPermission, "rules" | "bounds">;

/** What the person may change of a request. */
function fieldsOf({ rules, bounds: { minutes, maxUses, budget } }: Allowed): QuestionField[] {
  const fields: QuestionField[] = [
    { name: "minutes", value: String(minutes), kind: "number" },
    { name: "calls", value: maxUses === undefined ? "" : String(maxUses), kind: "number" },
    { name: "allow", value: rules.join("\n"), kind: "lines" },
  ];
  if (budget) fields.splice(2, 0, { name: "budget", value: String(budget.max), kind: "number", unit: budget.unit });
  return fields;
}

/** Undefined if the person did not say yes. Words that are no bounds are no yes. */
function allowedBy(
  { choices = [], text: written }: { choices?: readonly string[]; text?: string },
  asked: Allowed,
): Allowed | undefined {
  if (choices.includes(NO)) return undefined;
  if (written === undefined) return choices.includes(YES) ? asked : undefined;
  const values = readFields(fieldsOf(asked), written);
  if (!values) {
    const bounds = readBounds(written, asked.bounds);
    return bounds && { ...asked, bounds };
  }
  const { minutes, calls = "", budget: max, allow = "" } = values;
  const { budget } = asked.bounds;
  const bounds: PermissionBounds = {
    minutes: Number(minutes),
    maxUses: calls === "" ? undefined : Number(calls),
    budget: budget && { ...budget, max: Number(max) },
  };
  return { rules: allow.split("\n"), bounds };
}

/** `10 min, 5 calls, 20 EUR`: what is not written stays as it was asked for. */
function readBounds(written: string, asked: PermissionBounds): PermissionBounds | undefined {
  const bounds = { ...asked };
  const parts = written.replace(/^yes\b[\s:,]*/i, "");
  for (const part of parts === "" ? [] : parts.split(",")) {
    const [, number = "", word = ""] = /^\s*(\d+(?:\.\d+)?)\s*([^\s\d]\S*)\s*$/.exec(part) ?? [];
    if (number === "") return undefined;
    const value = Number(number);
    if (MINUTES.test(word)) bounds.minutes = value;
    else if (HOURS.test(word)) bounds.minutes = value * 60;
    else if (CALLS.test(word)) bounds.maxUses = value;
    else if (word === asked.budget?.unit) bounds.budget = { max: value, unit: word };
    else return undefined;
  }
  return bounds;
}

export function showBounds({ minutes, maxUses, budget }: PermissionBounds): string {
  const parts = [
    `${minutes} min`,
    maxUses === undefined ? undefined : `${maxUses} calls`,
    budget && `budget ${budget.max} ${budget.unit} in all`,
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}
