import { expect, test } from "vitest";
import { linesWithCause } from "./connection.ts";

const lines = (text: string): string[] => text.split("\n").filter((line) => line.trim() !== "");

test.each([
  [
    "Node",
    "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\nError: Cannot find module 'x'\nRequire stack:\n- /srv/a.js\n    at a (b:1)\n  code: 'MODULE_NOT_FOUND',\n}\nNode.js v20.20.2",
    ["Error: Cannot find module 'x'", "Require stack:", "- /srv/a.js"],
  ],
  ["a stack", "TypeError: no key\n    at main (a.js:1)\n    at b\nNode.js v20", ["TypeError: no key"]],
  [
    "npm",
    "npm error code E404\nnpm error 404 Not Found - GET /gone\nnpm error 404\nnpm error 404 more\nnpm error A complete log of this run can be found in: /x",
    ["npm error code E404", "npm error 404 Not Found - GET /gone", "npm error 404"],
  ],
  ["Python", 'Traceback (most recent call last):\n  File "a.py"\nValueError: no key', ["ValueError: no key"]],
  ["a program without an error", "one\ntwo\nthree\nfour", ["two", "three", "four"]],
])("the message about a server that ends names the cause: %s", (_name, text, shown) => {
  expect(linesWithCause(lines(text))).toEqual(shown);
});
