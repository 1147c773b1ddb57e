import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTool } from "../core/create-tool.ts";
import { textOf } from "../core/content.ts";
import { openTokenizer } from "../models/tokenizer.ts";
import { createHaft, type HaftOptions } from "../runtime.ts";
import { cutMiddle, MemorySpill } from "./bound.ts";

const bytesOf = (text: string): number => Buffer.byteLength(text);

describe("cutMiddle", () => {
  test("does not change text that fits", () => {
    expect(cutMiddle("short", 5, () => "there")).toBe("short");
  });

  test("keeps whole lines of head and tail, and says how much is missing and where it is", () => {
    const lines = Array.from({ length: 1000 }, (_, i) => `line ${i}`);
    const cut = cutMiddle(lines.join("\n"), 1000, () => "Look there.");
    const [head = "", tail = ""] = cut.split(/\n\n\[….*\]\n\n/);
    expect(lines).toEqual(expect.arrayContaining(head.split("\n")));
    expect(lines).toEqual(expect.arrayContaining(tail.split("\n")));
    expect(head.startsWith("line 0\nline 1\n")).toBe(true);
    expect(tail.endsWith("line 998\nline 999")).toBe(true);
    expect(cut).toMatch(/\[… \d+ of \d+ bytes left out here\. Look there\.\]/);
  });

  test("states the number of missing bytes exactly", () => {
    const text = "0123456789\n".repeat(500);
    const cut = cutMiddle(text, 1000, () => "x");
    const [, missing] = /… (\d+) of/.exec(cut)!;
    const kept = cut.replace(/\n\n\[….*?\]\n\n/s, "");
    expect(bytesOf(kept) + Number(missing)).toBe(bytesOf(text));
  });

  test("cuts inside a line only if no line end is near", () => {
    const cut = cutMiddle("x".repeat(100_000), 5000, () => "x");
    expect(bytesOf(cut)).toBeLessThanOrEqual(5000);
    expect(bytesOf(cut)).toBeGreaterThan(4900);
  });

  test.each(["é", "漢", "😀"])("does not split %s inside a line", (character) => {
    for (let budget = 200; budget < 212; budget++) {
      const cut = cutMiddle(character.repeat(1000), budget, () => "w");
      expect(cut).not.toContain("\uFFFD");
      expect(bytesOf(cut)).toBeLessThanOrEqual(budget);
    }
  });

  test("never exceeds its budget, nor splits a character, nor loses head and tail", () => {
    const piece = fc.constantFrom("a", "é", "漢", "😀", "\n", "a line of text\n");
    fc.assert(
      fc.property(
        fc.array(piece, { minLength: 200, maxLength: 2000 }),
        fc.integer({ min: 100, max: 1500 }),
        (pieces, budget) => {
          const text = pieces.join("");
          const cut = cutMiddle(text, budget, () => "w");
          expect(bytesOf(cut)).toBeLessThanOrEqual(Math.max(budget, bytesOf(text) <= budget ? bytesOf(text) : budget));
          expect(cut).not.toContain("\uFFFD");
          const [head = "", tail = ""] = cut.split(/\n\n\[….*?\]\n\n/s);
          expect(text.startsWith(head)).toBe(true);
          expect(text.endsWith(tail)).toBe(true);
        },
      ),
    );
  });

  test.each([0, 1, 2, 60, 100])("with a budget of %d gives hardly more than the notice", (budget) => {
    expect(bytesOf(cutMiddle("some line\n".repeat(10_000), budget, () => "w"))).toBeLessThanOrEqual(160);
  });
});

function toolOf(output: unknown, limits: object = {}) {
  return createTool({ name: "big", description: "", parameters: [], limits, needsApproval: false, run: () => output });
}

function run(output: unknown, options: HaftOptions = {}, limits: object = {}) {
  return createHaft({ ...options, tools: [toolOf(output, limits)] }).execute("big", {}, { id: "c1" });
}

const LONG = Array.from({ length: 20_000 }, (_, i) => `row ${i} 漢字`).join("\n");
const BUDGET = 50 * 1024;

describe("an output over the budget", () => {
  test("is cut to head and tail, and the rest can be read at the named place", async () => {
    const spill = new MemorySpill();
    const result = await run(LONG, { spill });
    const text = textOf(result.content);
    expect(bytesOf(text)).toBeLessThanOrEqual(BUDGET);
    expect(text).toMatch(/^row 0 /);
    expect(text).toMatch(/row 19999 漢字$/);
    expect(result.metadata.spill).toEqual({ ref: "spill:c1", bytes: bytesOf(LONG) });
    expect(text).toContain(result.metadata.spill!.ref);
    expect(spill.read(result.metadata.spill!.ref)).toBe(LONG);
    expect(result.details).toBe(text);
  });

  test("that exactly fits is not changed", async () => {
    const exact = "x".repeat(BUDGET);
    expect(textOf((await run(exact)).content)).toBe(exact);
    expect((await run(`${exact}y`)).metadata.spill).toBeDefined();
  });

  test("is counted in bytes, not in characters", async () => {
    const result = await run("漢".repeat(BUDGET / 2));
    expect(bytesOf(textOf(result.content))).toBeLessThanOrEqual(BUDGET);
    expect(result.metadata.spill).toBeDefined();
  });

  test("has 12,000 tokens by default, unless it may have more bytes", async () => {
    const log = Array.from(
      { length: 400 },
      (_, i) => `2026-11-16T12:00:00.${i}Z INFO GET /users/${i * 7919}?page=${i}`,
    ).join("\n");
    const tokens = openTokenizer();
    const long = log.repeat(3);
    expect(bytesOf(long)).toBeLessThan(BUDGET + 20_000);
    const shown = textOf((await run(long)).content);
    expect(tokens.count(shown)).toBeGreaterThan(9000);
    expect(tokens.count(shown)).toBeLessThan(14_000);
    expect(textOf((await run(long, { maxResultBytes: 100_000 })).content)).toBe(long);
    expect(textOf((await run(long, {}, { maxResultBytes: 100_000 })).content)).toBe(long);
  });

  test("has the runtime's budget, or the tool's own", async () => {
    expect(bytesOf(textOf((await run(LONG, { maxResultBytes: 2000 })).content))).toBeLessThanOrEqual(2000);
    const own = await run(LONG, { maxResultBytes: 2000 }, { maxResultBytes: 5000 });
    expect(bytesOf(textOf(own.content))).toBeGreaterThan(2000);
    expect(bytesOf(textOf(own.content))).toBeLessThanOrEqual(5000);
  });

  test("in many blocks keeps the budget for all of them together, and the other blocks", async () => {
    const blocks = Array.from({ length: 300 }, (_, i) => ({ type: "text", text: `block ${i}\n`.repeat(100) }));
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    const result = await run({ content: [...blocks, image] }, { maxResultBytes: 3000 });
    const bytes = result.content.reduce((sum, block) => sum + (block.type === "text" ? bytesOf(block.text) : 0), 0);
    expect(bytes).toBeLessThanOrEqual(3000);
    expect(result.content).toContainEqual(image);
    expect(textOf(result.content)).toContain("spill:c1");
  });

  test("as the text of a resource is cut as well, and the resource stays one", async () => {
    const resource = { uri: "file:///long", mimeType: "text/plain", text: LONG };
    const result = await run({ content: [{ type: "resource", resource }] }, { maxResultBytes: 3000 });
    const [block] = result.content;
    if (block?.type !== "resource") throw new Error("expected a resource");
    expect(block.resource).toMatchObject({ uri: "file:///long", mimeType: "text/plain" });
    expect(bytesOf(block.resource.text ?? "")).toBeLessThanOrEqual(3000);
    expect(block.resource.text).toContain("spill:c1");
  });

  test("of plain data keeps the data for programs", async () => {
    const rows = Array.from({ length: 10_000 }, (_, i) => ({ i }));
    const result = await run(rows);
    expect(result.details).toEqual(rows);
    expect(bytesOf(textOf(result.content))).toBeLessThanOrEqual(BUDGET);
  });

  test("as an error message is cut in the error as well", async () => {
    const result = await run({ content: "x", error: { code: "exit_code", message: LONG } });
    expect(result.status === "failed" && bytesOf(result.error.message)).toBeLessThanOrEqual(BUDGET);
  });

  test("is still returned, and says that the rest is lost, if it cannot be spilled", async () => {
    const failing = [
      { save: () => Promise.reject(new Error("disk full")), read: () => undefined },
      {
        save: (): never => {
          throw new Error("disk full");
        },
      },
    ];
    for (const { save } of failing) {
      const result = await run(LONG, { spill: { save, read: () => undefined } });
      expect(result).toMatchObject({ status: "completed" });
      expect(textOf(result.content)).toContain("could not be saved");
      expect(result.metadata.spill).toBeUndefined();
      expect(bytesOf(textOf(result.content))).toBeLessThanOrEqual(BUDGET);
    }
  });

  test("is bounded even if the gate's own message about an input is long", async () => {
    const haft = createHaft({
      tools: [
        createTool({
          name: "strict",
          description: "",
          parameters: [{ name: "path", type: "string" }],
          needsApproval: false,
          run: () => 1,
        }),
      ],
    });
    const wrong = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`unknown_parameter_${i}`, i]));
    for (const input of [wrong, { ["k".repeat(5_000_000)]: 1 }, { path: 1, list: [] }]) {
      const result = await haft.execute("strict", input);
      expect(result).toMatchObject({ error: { code: "invalid_input" } });
      expect(JSON.stringify(result).length).toBeLessThan(300_000);
    }
  });
});

describe("the memory spill", () => {
  const caller = { depth: 0 };

  test("keeps the outputs of sessions apart, also if their calls have the same id", () => {
    const spill = new MemorySpill();
    const [ann, bob] = ["ann", "bob"].map((session) => ({ depth: 0, session }));
    const { ref } = spill.save({ callId: "c", text: "of ann", caller: ann! });
    const other = spill.save({ callId: "c", text: "of bob", caller: bob! });
    expect(spill.readOwn(ref, ann!)).toBe("of ann");
    expect(spill.readOwn(other.ref, bob!)).toBe("of bob");
    expect(spill.readOwn(ref, bob!)).toBeUndefined();
    expect(spill.readOwn(ref, { ...ann!, user: "eve" })).toBeUndefined();
  });

  test("drops the oldest first, by number and by size", () => {
    const few = new MemorySpill(2);
    for (const callId of ["a", "b", "c"]) few.save({ callId, text: callId, caller });
    expect(["a", "b", "c"].map((id) => few.read(`spill:${id}`))).toEqual([undefined, "b", "c"]);
    const small = new MemorySpill(100, 10);
    for (const callId of ["a", "b", "c"]) small.save({ callId, text: "12345", caller });
    expect(["a", "b", "c"].map((id) => small.read(`spill:${id}`))).toEqual([undefined, "12345", "12345"]);
  });
});

describe("a budget in tokens", () => {
  const print = (output: string, limits = {}) =>
    createTool({ name: "print", description: "Prints", kind: "readonly", parameters: [], limits, run: () => output });
  const show = async (output: string, options: HaftOptions, limits = {}): Promise<string> => {
    const haft = createHaft({ ...options, tools: [print(output, limits)] });
    return textOf((await haft.execute("print")).content);
  };
  const tokens = openTokenizer();
  const prose = Array.from({ length: 3000 }, (_, line) => `Line ${line} says something of interest.`).join("\n");

  test.each([
    ["prose", prose],
    ["Chinese", "这是一个很长的结果。".repeat(4000)],
    ["one long word", "x".repeat(60_000)],
    ["numbers", Array.from({ length: 20_000 }, (_, i) => i * 7919).join(" ")],
  ])("holds for %s, and most of it is used", async (_, output) => {
    const taken = tokens.count(await show(output, { maxResultTokens: 1000 }));
    expect(taken).toBeLessThanOrEqual(1000);
    expect(taken).toBeGreaterThan(750);
  });

  test("does not change text that fits, and counts besides the bytes", async () => {
    expect(await show("short", { maxResultTokens: 1 })).toBe("short");
    expect(await show(prose, { maxResultTokens: 1_000_000, maxResultBytes: 500_000 })).toBe(prose);
    expect(bytesOf(await show(prose, { maxResultTokens: 1_000_000, maxResultBytes: 2000 }))).toBeLessThanOrEqual(2000);
  });

  test("of a tool replaces the runtime's", async () => {
    const taken = tokens.count(await show(prose, { maxResultTokens: 1000 }, { maxResultTokens: 4000 }));
    expect(taken).toBeGreaterThan(3000);
    expect(taken).toBeLessThanOrEqual(4000);
  });
});
