import { expect, test } from "vitest";
import { ruleExamples } from "./rule-examples.ts";

test.each([
  ["Bash(npm test *)", ["npm test", "npm test --silent"], ["npm test --script-shell=FILE", "npm test --output=FILE"]],
  ["Bash(git log *)", ["git log", "git log --binary"], ["git log --output=FILE", "git log $X"]],
  ["Bash(make lint *)", ["make lint", "make lint --keep-going"], ["make lint SHELL=FILE", "make lint --output=FILE"]],
  ["Bash(npm run build)", ["exactly this command"], ["npm run with other words"]],
  ["Bash(for i in 1; do npm t; done)", ["exactly this command"], ["for i with other words"]],
  ["Edit(./src/\\[id\\].ts)", ["every change of ./src/[id].ts"], ["a change of any other file"]],
  ["WebFetch(domain:example.com)", ["every address of example.com"], ["sub.example.com"]],
  ["deploy", ["every call of deploy"], []],
  ["pay(amount<=100)", ["calls with amount<=100"], ["any other call"]],
  ["Bash(", [], []],
])("the examples of %s", (rule, allows, asks) => {
  expect(ruleExamples(rule)).toEqual({ rule, allows, asks });
});
