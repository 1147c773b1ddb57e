import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { createTool } from "../core/create-tool.ts";
import { openWorkspace } from "../workspace.ts";
import { summarizeCall } from "./summarize-call.ts";

const workspace = openWorkspace(temporaryFolder("haft-summary-"));
afterAll(() => workspace.close());

const summaryOf = (name: string, input: unknown) => {
  const { subject, risk } = summarizeCall(
    workspace.tools.find((tool) => tool.name === name),
    input,
  );
  return { subject: subject.text, type: subject.type, level: risk.level, why: risk.reasons[0]?.key };
};

describe("the summary of a call", () => {
  test.each([
    [
      "exec",
      { command: "git push -f" },
      { subject: "git push -f", type: "command", level: "critical", why: "danger.forcePush" },
    ],
    ["exec", { command: "ls" }, { subject: "ls", type: "command", level: "low", why: "risk.reads" }],
    [
      "exec",
      { command: "ls", outside_sandbox: true },
      { subject: "ls", type: "command", level: "high", why: "risk.outsideSandbox" },
    ],
    [
      "write",
      { path: "a.txt", content: "x" },
      { subject: "a.txt", type: "path", level: "medium", why: "risk.changesFiles" },
    ],
    ["delete_file", { path: "a.txt" }, { subject: "a.txt", type: "path", level: "medium", why: "risk.deletesFiles" }],
    ["read", { path: "a.txt" }, { subject: "a.txt", type: "path", level: "low", why: "risk.reads" }],
    [
      "grep",
      { pattern: "TODO", path: "src" },
      { subject: "TODO in src", type: "text", level: "low", why: "risk.reads" },
    ],
    ["list_files", {}, { subject: ".", type: "path", level: "low", why: "risk.reads" }],
  ])("%s %j", (tool, input, expected) => {
    expect(summaryOf(tool, input)).toEqual(expected);
  });

  test("names the amount of a foreign tool, and does not trust what it does", () => {
    const pay = createTool({
      name: "pay",
      description: "Pays",
      parameters: z.object({ amount: z.number(), currency: z.string() }),
      kind: "execute",
      needsApproval: false,
      run: () => "ok",
    });
    const { subject, risk } = summarizeCall(pay, { amount: 120, currency: "EUR" });
    expect(subject).toEqual({ type: "amount", text: "120 EUR" });
    expect(risk).toMatchObject({ level: "high", reasons: [{ key: "risk.amount", values: { amount: "120 EUR" } }] });
    const transfer = createTool({
      name: "transfer",
      description: "Pays somebody",
      inputSchema: z.object({
        sum: z.number(),
        iban: z.string(),
        cc: z.array(z.string()).default([]),
        memo: z.string(),
      }),
      amount: { parameter: "sum", unit: "EUR" },
      run: () => "",
    });
    const subjectOf = (input: object) => summarizeCall(transfer, { memo: "rent", ...input }).subject;
    expect(subjectOf({ sum: 50, iban: "DE89 3704" })).toEqual({ type: "amount", text: "50 EUR, iban: DE89 3704" });
    expect(subjectOf({ sum: 50, iban: "x\ny", cc: ["a", "b", "c"] }).text).toBe(
      "50 EUR, iban: x ⏎ y, cc[0]: a, cc[1]: b +1",
    );
    // Nothing but a unit stands where a recipient is expected.
    expect(summarizeCall(pay, { amount: 1, currency: "EUR, iban: ann" }).subject.text).toBe("1");
    expect(summarizeCall(undefined, { a: 1 })).toMatchObject({ subject: { text: '{"a":1}' }, risk: { level: "high" } });
  });

  test("names the host that data is sent to", () => {
    const post = createTool({
      name: "post",
      description: "Sends a text",
      kind: "execute",
      parameters: z.object({ url: z.string() }),
      signature: ({ url }) => ({ text: url, urls: [url] }),
      needsApproval: false,
      run: () => "ok",
    });
    const { subject, risk } = summarizeCall(post, { url: "https://example.com/a" });
    expect(subject).toEqual({ type: "url", text: "https://example.com/a" });
    expect(risk).toMatchObject({ level: "high", reasons: [{ key: "risk.sends", values: { host: "example.com" } }] });
  });

  test("is one line, however long and strange the input is", () => {
    const { subject } = summarizeCall(undefined, { command: `a\n\n  b${"c".repeat(10_000)}` });
    expect(subject.text).toMatch(/^a ⏎ bc+…$/);
    expect(subject.text.length).toBe(300);
    expect(summarizeCall(undefined, { text: " \n".repeat(5_000_000) }).subject.text).toBe("");
    expect(summarizeCall(undefined, { text: `a${" ".repeat(10_000_000)}` }).subject.text).toBe("a");
    for (const input of [null, undefined, 7, [], { path: {} }])
      expect(summarizeCall(undefined, input).subject.type).toBe("text");
  });
});
