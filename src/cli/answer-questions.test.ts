import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { answerOfWords, promptForAnswers } from "./answer-questions.ts";
import { TerminalKeys } from "./prompts.ts";

const PARTS = { question: "Which?", options: [{ label: "api" }, { label: "docs, all" }], multiple: true };
const ONE = { ...PARTS, multiple: false };
const NUMBERS = { question: "How many?", options: [{ label: "x" }, { label: "2" }, { label: "1" }], multiple: true };

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
  [NUMBERS, "2", { choices: ["2"] }],
  [NUMBERS, "#1", { choices: ["x"] }],
  [NUMBERS, "3,#1", { choices: ["1", "x"] }],
  [{ ...ONE, options: [{ label: "A" }, { label: "a" }] }, "a", { choices: ["a"] }],
])("%j with %j is %j", (asked, words, answer) => expect(answerOfWords(asked, words)).toEqual(answer));

test.each(["1", "x,1"])("%j is refused if a number is the label of another option", (words) =>
  expect(() => answerOfWords(NUMBERS, words)).toThrow(
    '"1" is the number of option 1 and the label of option 3. Write #1 for option 1, or #3 for option 3.',
  ),
);

test("a label with # is not mistaken for a number", () =>
  expect(() => answerOfWords({ ...ONE, options: [{ label: "x" }, { label: "#1" }] }, "#1")).toThrow(
    "Write 1 for option 1, or #2 for option 2.",
  ));

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
