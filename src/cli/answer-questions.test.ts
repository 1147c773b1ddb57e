import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { answerOfWords, promptForAnswers } from "./answer-questions.ts";
import { TerminalKeys } from "./prompts.ts";

const PARTS = { question: "Which?", options: [{ label: "api" }, { label: "docs, all" }], multiple: true };
const ONE = { ...PARTS, multiple: false };

test.each([
  [PARTS, "1", { choices: ["api"] }],
  [PARTS, "API", { choices: ["api"] }],
  [PARTS, "docs, all", { choices: ["docs, all"] }],
  [PARTS, "2, api", { choices: ["docs, all", "api"] }],
  [PARTS, "api, cli", { text: "api, cli" }],
  [PARTS, "1,9", { choices: ["1,9"] }],
  [ONE, "1,2", { choices: ["1,2"] }],
  [ONE, "neither of them", { text: "neither of them" }],
  [{ question: "How many?" }, "7", { text: "7" }],
])("%j with %j is %j", (asked, words, answer) => expect(answerOfWords(asked, words)).toEqual(answer));

test.each([
  ["-\n", "dismissed"],
  ["\n", undefined],
  ["1\n-\n", "dismissed"],
  ["9\n2\nbecause\n", [{ choices: ["docs, all"] }, { text: "because" }]],
])("the lines %j give %j", async (lines, expected) => {
  const input = new PassThrough();
  const keys = new TerminalKeys(input, { raw: false });
  let output = "";
  const typed = promptForAnswers([ONE, { question: "Why?" }], {
    keys,
    output: { write: (text) => (output += text) },
    signal: new AbortController().signal,
  });
  input.write(lines);
  expect(await typed).toEqual(expected);
  keys.close();
  expect(output.includes('"9" is not one of the options')).toBe(lines.startsWith("9"));
});
