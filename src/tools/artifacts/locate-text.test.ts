import { expect, test } from "vitest";
import { locateText } from "./fuzzy-replace.ts";

async function replaced(text: string, quoted: string, by = "[x]"): Promise<string> {
  const located = await locateText(quoted, text);
  if (located.kind !== "found") return located.kind;
  const { start, end, step } = located.range;
  return `${step}: ${text.slice(0, start)}${by}${text.slice(end)}`;
}

test("an exact quote is found, and a duplicate is ambiguous", async () => {
  expect(await replaced("alpha beta gamma", "beta")).toBe("exact: alpha [x] gamma");
  expect(await replaced("one two one", "one")).toBe("ambiguous");
  expect(await replaced("aaa", "aa")).toBe("ambiguous");
});

test("an exact quote is ambiguous if another passage looks the same", async () => {
  expect(await replaced("a  \nb\na\nb", "a\nb")).toBe("ambiguous");
  expect(await replaced("caf\u00e9 and cafe\u0301", "caf\u00e9")).toBe("ambiguous");
  expect(await replaced("a\r\nb c\na\nb", "a\nb")).toBe("ambiguous");
  expect(await replaced("你好,世界 你好，世界", "你好,世界")).toBe("exact: [x] 你好，世界");
  expect(await replaced('“yes” and "yes"', '"yes"')).toBe("exact: “yes” and [x]");
});

test("look-alikes match, and the surrounding text is preserved", async () => {
  expect(await replaced("ｆｕｌｌ　width，yes！", "full width,yes!")).toBe("normalised: [x]");
  expect(await replaced("a cafe\u0301 b", "caf\u00e9")).toBe("normalised: a [x] b");
  expect(await replaced("a caf\u00e9 b", "cafe\u0301")).toBe("normalised: a [x] b");
  expect(await replaced("“Yes” — he said", `"Yes" - he`)).toBe("normalised: [x] said");
  expect(await replaced("one  \r\ntwo\r\nthree", "one\ntwo")).toBe("normalised: [x]\r\nthree");
  expect(await replaced("在 Node 20 上运行", "在Node 20上")).toBe("normalised: [x]运行");
  expect(await replaced("\u1112\u1161\u11ab글", "한글")).toBe("normalised: [x]");
  expect(await replaced("a\ufeffb\u200bc d", "abc")).toBe("normalised: [x] d");
});

test("a quote with trailing blanks includes those of the text, and never half a character", async () => {
  expect(await replaced("你好， 世界", "你好, ", "Hi, ")).toBe("normalised: Hi, 世界");
  expect(await replaced("5㎏ of it", "5k")).toBe("missing");
});

test("blanks inside a line and at its beginning are significant", async () => {
  expect(await replaced("if x:\n    go()", "if x:\n  go()")).not.toMatch(/^normalised/);
  expect(await replaced("a b", "ab")).toBe("missing");
});

test("a quote with small mistakes is found if it is unique, in whole words", async () => {
  const text = "The quick brown foxes jumped over the lazy dog.\nNothing else is here.";
  expect(await replaced(text, "The quik brown foxes jumpd over the lazy")).toBe(
    "fuzzy: [x] dog.\nNothing else is here.",
  );
  expect(await replaced(text, "quick brown fox jumped over")).toBe(
    "fuzzy: The [x] the lazy dog.\nNothing else is here.",
  );
  expect(await replaced("人工智能正在改变我们的生活方式和工作方式。", "人工智能正在改变我门的生活方式和工作")).toBe(
    "fuzzy: [x]方式。",
  );
});

test("the similarity is returned, and a low one is no match", async () => {
  const found = await locateText("The color of the walls is gray", "x\nThe colour of the walls is grey\ny");
  expect(found).toMatchObject({ kind: "found", range: { step: "fuzzy", start: 2, end: 33 } });
  expect(found.kind === "found" && found.range.similarity).toBeCloseTo(1 - 2 / 30, 5);
  const far = await locateText("The color of the moon was white then", "x\nThe colour of the walls is grey\ny");
  expect(far).toMatchObject({ kind: "missing", nearest: { start: 2 } });
  expect(await locateText("short one", "shirt one")).toMatchObject({ kind: "missing", nearest: { start: 0 } });
  expect(await locateText("entirely other words", "x".repeat(50))).toEqual({ kind: "missing" });
});

test("a quote that is similar to two passages is ambiguous", async () => {
  const text = "- the price of tea is 12 yuan\n- the price of tee is 13 yuan\n";
  expect(await replaced(text, "- the price of teas is 12 yuan")).toBe("ambiguous");
});

test("an empty quote matches nothing, and a gigantic comparison is refused", async () => {
  expect(await locateText("\u200b \n", "abc")).toEqual({ kind: "missing" });
  expect(await locateText("q".repeat(30_000), "abc")).toEqual({ kind: "missing", tooLong: true });
});

test("a long search yields to the event loop", async () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `Line ${i} speaks of number ${(i * 7919) % 100_003}.`);
  const text = lines.join("\n");
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  const quoted = `${lines[9_000]!.replace("speaks", "speeks")}\n${lines[9_001]!}\n${lines[9_002]!}`;
  const found = await locateText(quoted, text);
  clearInterval(timer);
  expect(found).toMatchObject({ kind: "found", range: { step: "fuzzy", start: text.indexOf(lines[9_000]!) } });
  expect(turns).toBeGreaterThan(0);
});
