import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import { callOf } from "../../core/gate.ts";
import {
  answerLine,
  type Asking,
  attachQuestions,
  DECIDE,
  type UserAnswer,
} from "../../core/questions/user-question.ts";
import { isOneLine } from "../../calls/approval.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";
import { convertQuestions } from "./conversation-dialects.ts";

export interface AskUserOptions {
  /** Nobody can answer, and the conversation ends with this process. */
  isUnattended?: boolean;
}

const MAX_QUESTIONS = 4;
const MAX_OPTIONS = 8;
const MAX_QUESTION_LENGTH = 2000;

const ONE_LINE = "has a line break; write it in one line";

const Option = z.object({
  label: z
    .string()
    .trim()
    .min(1)
    .max(100)
    .refine(isOneLine, ONE_LINE)
    .refine((label) => looksOf(label) !== "", "has no visible character")
    .describe("What the person chooses, 1 to 5 words"),
  description: z.string().max(500).optional().describe("What choosing it means"),
});

const Question = z.object({
  question: z.string().trim().min(1).max(MAX_QUESTION_LENGTH).describe("The whole question"),
  header: z.string().trim().max(40).refine(isOneLine, ONE_LINE).optional().describe("A title of one or two words"),
  options: z
    .array(Option)
    .max(MAX_OPTIONS)
    .refine(
      (options) => new Set(options.map(({ label }) => looksOf(label))).size === options.length,
      "two have the same label, or labels that look the same",
    )
    .optional()
    .describe("The best one first. Omit them if the answer is text"),
  multiple: z.boolean().optional().describe("Whether several options may be chosen. Default: one"),
  free_text: z.boolean().optional().describe("Whether the person may write their own answer. Default: true"),
});

/** Without characters that are not seen, and in one form: a person tells the options apart by what they see. */
function looksOf(label: string): string {
  return label
    .normalize("NFKC")
    .replace(/[\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]/gu, "")
    .replace(/\s+/gu, " ")
    .trim();
}

const Parameters = z.object({ questions: z.array(Question).min(1).max(MAX_QUESTIONS) });

/** Asks a person. The gate keeps the question as it keeps approvals; this code runs once there is an answer. */
export function createAskUserTool({ isUnattended = false }: AskUserOptions = {}) {
  const tool = createTool({
    name: "ask_user",
    title: "Ask the user",
    description: {
      short: "Asks the user up to four questions, each with options to choose from or a text to write.",
      usageNotes: [
        "Use it if the answer changes what you do and you cannot find it out yourself. Otherwise decide, and say so.",
        "An answer permits nothing: a call that needs an approval still asks for it.",
      ],
      examples: [
        {
          input: {
            questions: [{ question: "Which database?", options: [{ label: "PostgreSQL" }, { label: "SQLite" }] }],
          },
        },
      ],
    },
    parameters: Parameters,
    dialects: { claude: { name: "AskUserQuestion" }, codex: { name: "request_user_input" } },
    aliases: ["ask_question", "ask_user_question", "ask_followup_question", "question"],
    convertInput: convertQuestions,
    kind: "readonly",
    category: ToolCategory.SESSION,
    tags: ["question", "clarify", "choose", "person", "input"],
    builtIn: {
      zh: { title: "询问用户", short: "向用户提出最多四个问题，每个问题可选择选项或填写文字。" },
      sameAs: { opencode: ["question"], gemini: ["ask_user"] },
    },
    output: describeOutput({
      answers: field.list(
        field.object({
          question: field.text(),
          "choices?": field.list(field.text(), "The labels of the chosen options"),
          "text?": field.text("In the person's own words"),
        }),
        "In the order of the questions",
      ),
      "answeredBy?": field.text(),
    }),
    // What a person answers does not become outdated by running it twice.
    idempotent: true,
    signature: ({ questions: [first] }) => first?.question ?? "",
    run({ questions }, context) {
      const { answers, by } = callOf(context).asked ?? {};
      if (!answers) throw unanswered("Nobody was asked");
      const lines = questions.map(
        ({ question, header }, at) => `- ${header || question} → ${answerLine(answers[at] ?? {})}`,
      );
      const said: (UserAnswer & { question: string })[] = questions.map(({ question }, at) => ({
        question,
        ...answers[at],
      }));
      return {
        content: [text(`The user answered:\n${lines.join("\n")}`)],
        display: answers.map(answerLine).join("; "),
        details: { answers: said, answeredBy: by },
        metadata: { isPrivate: true },
      };
    },
  });
  return attachQuestions(tool, ({ questions }: z.output<typeof Parameters>, asking) => {
    requirePerson(asking, isUnattended);
    return questions;
  });
}

/** Throws if nobody can answer. */
export function requirePerson({ caller, mode }: Asking, isUnattended: boolean): void {
  if (caller.depth > 0) throw unanswered("A subagent cannot ask the user");
  if (mode === "dontAsk") throw unanswered("In the mode dontAsk nobody is asked");
  if (isUnattended) throw unanswered("Nobody can answer in this run");
}

/** Not a denial: the model goes on without the answer. */
function unanswered(why: string): ToolError {
  return toolError("no_answer", why, { next: DECIDE });
}
