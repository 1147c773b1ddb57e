import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeApi } from "../../src/api/openapi.ts";
import { contracts } from "../../src/contracts/index.ts";
import { ROOT } from "../architecture/read-entries.ts";
import { type ApiDocument, formatReference } from "./api-reference.ts";
import { readContractComments } from "./contract-comments.ts";

const PUBLISHED = join(ROOT, "docs", "http-api-reference.md");
const document = describeApi(contracts, { version: "" }) as unknown as ApiDocument;
const text = formatReference(document, readContractComments());

test("the published reference is that of the contracts (HAFT_UPDATE_SCHEMA=1 rewrites it)", () => {
  if (process.env["HAFT_UPDATE_SCHEMA"]) writeFileSync(PUBLISHED, text);
  expect(readFileSync(PUBLISHED, "utf8")).toBe(text);
});

test("it has every endpoint and every shape, each under a heading of its own", () => {
  const headings = Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading]) => heading);
  expect(new Set(headings.map((heading) => heading?.toLowerCase())).size).toBe(headings.length);
  const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(headings).toEqual(expect.arrayContaining([...routes, ...Object.keys(document.components.schemas)]));
  for (const [, name] of text.matchAll(/\]\(#(\w+)\)/g)) {
    expect(headings.map((heading) => heading?.toLowerCase())).toContain(name);
  }
});

test("fields have the comments of the contracts, those of spreads and of extended shapes too", () => {
  const shape = (name: string) => text.split(`\n### ${name}\n`)[1]?.split("\n### ")[0];
  expect(shape("CallRequest")).toContain("Two calls with the same id, token, tool and input are one call.");
  expect(shape("ApprovalAnswerRequest")).toContain("| `rule`? | `string` | One rule a line");
  expect(shape("CallDetail")).toContain("When a person was asked.");
  expect(shape("CallDetail")).toContain("Only the last ones.");
});
