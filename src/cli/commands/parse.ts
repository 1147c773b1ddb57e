import type { CallRequest } from "../../contracts/calls.ts";
import type { JudgedCall, ParsedAnswer } from "../../contracts/playground.ts";
import type { ToolResult } from "../../core/result.ts";
import { TEXT_FORMATS } from "../../core/text-formats.ts";
import { readSource } from "../call-input.ts";
import { makeCall, showResult } from "../calls.ts";
import { defineCommand, MODE_OPTION } from "../command.ts";
import { EXIT, exitCodeOf } from "../exit-codes.ts";
import { type Output, safe, safeLine, type Style } from "../output.ts";

const STYLES: Readonly<Record<string, Style>> = { allow: "green", ask: "yellow", deny: "red" };

export const parse = defineCommand({
  examples: [
    ["haft parse answer.txt", "the calls that a model wrote as text, and what the policy decides; nothing runs"],
    ["llm 'list my files' | haft parse --run", "make the calls, and print what the model gets"],
    ["haft parse answer.txt --format hermes --json", "only this format, for a program"],
  ],
  operands: [{ name: "FILE", isOptional: true, completes: "file" }],
  options: {
    format: {
      type: "text",
      value: "NAME",
      about: "Format of the text; default: auto",
      oneOf: ["auto", ...TEXT_FORMATS],
    },
    mode: MODE_OPTION,
    session: { type: "text", value: "NAME", about: "The session of the calls" },
    run: { type: "flag", about: "Make the calls, one after the other" },
  },
  notes: ["Exits with 5 if a call cannot be parsed or made; with --run, with the exit code of the first failed call."],
  uses: ["playground", "calls", "approvals", "questions"],
  async run({ connect, terminal, output, interrupted, operands: [file = "-"], options }) {
    const { format, mode, session, run } = options;
    const text = await readSource(file, terminal);
    const client = await connect();
    const parsed = await client.playground.parse({ text, format, mode, session });
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
      const request: CallRequest = { tool: name, input, id, mode, session };
      const result = await makeCall(client, request, { terminal, output, interrupted });
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
  if (calls.length === 0) lines.push("It contains no call.");
  const plainText = safe(text.trim());
  return plainText === "" ? lines : [...lines, "", output.paint("dim", "text:"), plainText];
}

function showCall({ name, input, format, failure, problem, explanation, repairs = [] }: JudgedCall, output: Output) {
  const lines = [`${output.paint("bold", safeLine(name || "?"))} ${output.paint("dim", format)}`];
  if (!failure) lines.push(`  ${safeLine(JSON.stringify(input))}`);
  if (explanation) {
    const { decision, reason } = explanation.verdict;
    lines.push(`  ${output.paint(STYLES[decision] ?? "dim", decision)}: ${safeLine(reason)}`);
  }
  const wrong = failure?.message ?? problem;
  if (wrong !== undefined) lines.push(`  ${output.paint("red", failure ? "not parsed" : "refused")}: ${safe(wrong)}`);
  for (const repair of repairs) lines.push(`  ${output.paint("yellow", "repaired")}: ${safeLine(repair)}`);
  return lines;
}
