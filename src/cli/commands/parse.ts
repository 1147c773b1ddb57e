import { TEXT_FORMATS } from "../../models/text/text-format.ts";
import type { JudgedCall, ParsedAnswer, ParseRequest, ToolResult } from "../../http/wire.ts";
import { defineCommand } from "../command.ts";
import { EXIT, exitCodeOf } from "../exit-code.ts";
import { makeCall } from "../make-call.ts";
import { type Output, safe, safeLine, type Style } from "../output.ts";
import { readSource } from "../read-call-input.ts";
import { showResult } from "../show-result.ts";

const STYLES: Readonly<Record<string, Style>> = { allow: "green", ask: "yellow", deny: "red" };

export const command = defineCommand({
  examples: [
    ["haft parse answer.txt", "the calls that a model wrote as text, and what the policy says to each; nothing runs"],
    ["llm 'list my files' | haft parse --run", "make them, and print what goes back to the model"],
    ["haft parse answer.txt --format hermes --json", "in one format alone, for a program"],
  ],
  operands: [{ name: "FILE", isOptional: true, completes: "file" }],
  options: {
    format: { type: "text", value: "NAME", about: "Of the text; auto where absent", oneOf: ["auto", ...TEXT_FORMATS] },
    mode: {
      type: "text",
      value: "MODE",
      about: "How much is asked",
      oneOf: ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"],
    },
    session: { type: "text", value: "NAME", about: "The session that the calls belong to" },
    run: { type: "flag", about: "Make the calls, one after the other" },
  },
  notes: [
    "Exits with 5 where a call could not be read or cannot be made; with --run as the first call that failed does.",
  ],
  async run({ connect, terminal, output, interrupted, operands: [file = "-"], options }) {
    const { format, mode, session, run } = options;
    const text = await readSource(file, terminal);
    const client = await connect();
    const words = { mode: mode as ParseRequest["mode"], session };
    const parsed = await client.playground.parse({ text, format: format as ParseRequest["format"], ...words });
    for (const warning of parsed.warnings) output.warn(safeLine(warning));
    if (!run) {
      output.data(parsed, (shown) => showParsed(shown, output));
      return parsed.calls.some(({ failure, problem }) => failure || problem) ? EXIT.toolFailed : EXIT.done;
    }
    let exitCode: number = EXIT.done;
    const answers: string[] = [];
    const results: ToolResult[] = [];
    for (const { id, name, input, format: written, answer } of parsed.calls) {
      if (interrupted.aborted) return EXIT.interrupted;
      if (answer !== undefined) {
        answers.push(answer);
        exitCode ||= EXIT.toolFailed;
        continue;
      }
      const result = await makeCall(client, { tool: name, input, id, ...words }, { terminal, output, interrupted });
      results.push(result);
      exitCode ||= exitCodeOf(result);
      if (result.status === "pending") showResult(result, { ...output, format: "text" });
      answers.push((await client.playground.answer({ callId: result.callId, format: written })).text);
    }
    if (output.format === "text") output.lines(answers.map(safe));
    else output.data({ ...parsed, results, answers }, () => []);
    return exitCode;
  },
});

function showParsed({ calls, text }: ParsedAnswer, output: Output): string[] {
  const lines = calls.flatMap((call) => showCall(call, output));
  if (calls.length === 0) lines.push("There is no call in it.");
  const plainText = safe(text.trim());
  return plainText === "" ? lines : [...lines, "", output.paint("dim", "text:"), plainText];
}

function showCall({ name, input, format, failure, problem, explanation, repairs = [] }: JudgedCall, output: Output) {
  const lines = [`${output.paint("bold", safeLine(name || "?"))} ${output.paint("dim", format)}`];
  if (!failure) lines.push(`  ${safeLine(JSON.stringify(input))}`);
  if (explanation) {
    const { decision, reason } = explanation.verdict;
    lines.push(`  ${output.paint(STYLES[decision]!, decision)}: ${safeLine(reason)}`);
  }
  const wrong = failure?.message ?? problem;
  if (wrong !== undefined) lines.push(`  ${output.paint("red", failure ? "not read" : "refused")}: ${safe(wrong)}`);
  for (const repair of repairs) lines.push(`  ${output.paint("yellow", "mended")}: ${safeLine(repair)}`);
  return lines;
}
