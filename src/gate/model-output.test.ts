import { describe, expect, test } from "vitest";
import { z } from "zod";
import { textOf } from "../core/content.ts";
import { createTool } from "../core/create-tool.ts";
import { createHaft } from "../runtime.ts";

const outputSchema = z.object({ rows: z.array(z.string()), secret: z.string().optional() });

function openTool(toModelOutput: (shown: never) => unknown, config: object = { outputSchema }) {
  const query = createTool({
    name: "query",
    description: "Queries.",
    kind: "readonly",
    inputSchema: z.object({ n: z.number() }),
    execute: ({ n }: { n: number }) => ({ rows: Array.from({ length: n }, (_, at) => `row ${at}`), secret: "s3cret" }),
    toModelOutput,
    ...config,
  } as never);
  return { query };
}

function open(toModelOutput: (shown: never) => unknown, config?: object) {
  const haft = createHaft({ tools: [openTool(toModelOutput, config).query] });
  return { haft, run: (n = 2) => haft.execute("query", { n }, { id: "c" }) };
}

describe("toModelOutput", () => {
  test("gets the input and the validated output; the model gets what it returns, a program the whole", async () => {
    const seen: unknown[] = [];
    const { run } = open((shown) => {
      seen.push(shown);
      return "2 rows";
    });
    const result = await run();
    const output = { rows: ["row 0", "row 1"], secret: "s3cret" };
    expect(result).toMatchObject({ status: "completed", details: output, display: "2 rows" });
    expect(result.content).toEqual([{ type: "text", text: "2 rows" }]);
    expect(seen).toEqual([{ toolCallId: "c", input: { n: 2 }, output }]);
  });

  test.each([
    ["a block", { type: "text", text: "a" }, "a"],
    ["blocks", [{ type: "text", text: "a" }], "a"],
    ["text of the AI SDK", { type: "text", value: "a" }, "a"],
    ["data of the AI SDK", { type: "json", value: { a: 1 } }, '{"a":1}'],
    ["parts of the AI SDK", { type: "content", value: [{ type: "text", text: "a" }] }, "a"],
    ["data", { rows: 2 }, '{"rows":2}'],
    ["a promise", Promise.resolve("later"), "later"],
  ] as [string, unknown, string][])("takes %s", async (_what, shown, expected) => {
    expect(textOf((await open(() => shown).run()).content)).toBe(expected);
  });

  test("takes images of the AI SDK", async () => {
    const value = [{ type: "image-data", data: "AAAA", mediaType: "image/png" }];
    const { content } = await open(() => ({ type: "content", value })).run();
    expect(content).toEqual([{ type: "image", data: "AAAA", mimeType: "image/png" }]);
  });

  test.each([
    [() => Promise.reject(new Error("no template"))],
    [
      () => {
        throw new Error("no template");
      },
    ],
  ])("that fails hides the output, and the call stays completed", async (fails) => {
    const result = await open(fails as never).run();
    expect(result).toMatchObject({ status: "completed", details: { secret: "s3cret" } });
    expect(textOf(result.content)).toMatch(/has done its work.*no template/);
    expect(JSON.stringify(result.content)).not.toContain("s3cret");
  });

  test("that reports an error makes a failed result, with the output for programs", async () => {
    const result = await open(() => ({ type: "error-text", value: "No rows." })).run();
    expect(result).toMatchObject({ status: "failed", error: { message: "No rows." }, details: { secret: "s3cret" } });
  });

  test("is not called for output that is not valid, or a call that failed", async () => {
    let calls = 0;
    const count = (): string => `${++calls}`;
    const wrong = await open(count, { outputSchema: z.object({ other: z.string() }) }).run();
    expect(wrong).toMatchObject({ status: "failed", error: { code: "bad_output" } });
    const thrown = await open(count, {
      execute: () => {
        throw new Error("x");
      },
    }).run();
    expect(thrown.status).toBe("failed");
    expect(calls).toBe(0);
  });

  test.each([
    ["output that is not plain data", () => ({ secret: "s3cret", n: 1n })],
    ["a failure that it reports", () => ({ content: "s3cret", error: { code: "failed", message: "No." } })],
    ["a cycle", () => Object.assign({ secret: "s3cret" }, { self: globalThis })],
  ])("does not let a model see the output of %s", async (_what, execute) => {
    const result = await open(() => "safe", { execute }).run();
    expect(result.status).toBe("failed");
    expect(JSON.stringify([result.content, result.display, "error" in result && result.error])).not.toContain("s3cret");
  });

  test("does not let a model see what its schema quotes", async () => {
    const outputSchema = { type: "object", properties: { card: { type: "string", pattern: "^x$" } } };
    const result = await open(() => "safe", { outputSchema, execute: () => ({ card: "s3cret" }) }).run();
    expect(result).toMatchObject({ status: "failed", error: { code: "bad_output" }, details: { card: "s3cret" } });
    expect(JSON.stringify([result.content, result.display, "error" in result && result.error])).not.toContain("s3cret");
  });

  test("holds for programs that a model writes", async () => {
    const { query } = openTool(() => "2 rows");
    const haft = createHaft({ tools: [query], code: {} });
    const result = await haft.execute("run_code", { code: "return await tools.query({ n: 2 })" });
    expect(result.status).toBe("completed");
    expect(textOf(result.content)).toContain("2 rows");
    expect(JSON.stringify(result)).not.toContain("s3cret");
  });

  test("that throws something without a text ends nothing", async () => {
    for (const thrown of [
      Object.create(null),
      {
        toString: () => {
          throw new Error("x");
        },
      },
    ]) {
      const result = await open((async () => {
        throw thrown;
      }) as never).run();
      expect(result).toMatchObject({ status: "completed", details: { secret: "s3cret" } });
    }
  });

  test("what it shows is bounded and recorded as any content", async () => {
    const { run } = open(() => "x".repeat(200_000));
    const result = await run();
    expect(Buffer.byteLength(textOf(result.content))).toBeLessThan(60_000);
    expect(result.metadata.spill).toBeDefined();
  });
});
