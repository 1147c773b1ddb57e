import { describe, expect, test } from "vitest";
import { createExample } from "../src/tour/example-tools.ts";
import { runFormula } from "../src/tour/formula.ts";
import { chooseLanguage, type Language } from "../src/tour/language.ts";
import { runTour } from "../src/tour/run-tour.ts";
import type { Example } from "../src/tour/tour.ts";

async function tour(language: Language, example: Example = createExample(), colour = false) {
  const lines: string[] = [];
  const outcome = await runTour(example, { language, colour, write: (line) => void lines.push(line) });
  return { ...outcome, lines, text: lines.join("\n") };
}

const numbered = (lines: readonly string[]): string[] => lines.filter((line) => /^\d+\. /.test(line));
const ticks = (text: string): number => text.split("✓").length - 1;

describe("the tour", () => {
  test("walks in English, and every tick is a check that held", async () => {
    const { text, lines, held, failed } = await tour("en");
    expect(failed, text).toBe(0);
    expect(ticks(text)).toBe(held);
    expect(text).not.toContain("✗");
    expect(lines[0]).toBe("=== Tool system tour ===");
    expect(numbered(lines)).toEqual([
      "1. Create a tool registry and register the example tools",
      "2. Get a tool by its name",
      "3. Filter read-only and changing tools",
      "4. Plan mode: read-only tools only",
      "5. Find tools by category, tag and words",
      "6. Execute read_note",
      "7. Execute edit_note",
      "8. Execute write_note",
      "9. Execute run_formula",
      "10. Execute list_notes",
      "11. Execute search_notes",
      "12. Register and unregister an MCP tool",
      "13. Build a call, execute it later",
      "14. Validate: what is wrong, and what was meant",
      "15. Policy: a denied tool does not exist",
      "16. Ask a person first",
      "17. Stream: progress while a tool runs, and stop it",
      "18. Chain: several tools are one tool",
      "19. Statistics: every call was counted",
    ]);
    expect(text).toContain(`=== Done: ${held} checks passed ===`);
    expect(text).toMatch(/README\.md[^]*npm test/);
    expect(text).not.toMatch(/\p{Script=Han}/u);
  });

  test("walks the same way in Chinese, under the headings and numbers of its printed example", async () => {
    const { text, lines, held, failed } = await tour("zh");
    expect(failed, text).toBe(0);
    expect(held).toBe((await tour("en")).held);
    expect(lines[0]).toBe("=== 工具系统测试 ===");
    expect(numbered(lines)).toHaveLength(19);
    expect(numbered(lines).filter((line) => !/\p{Script=Han}/u.test(line))).toEqual([]);
    expect(text).toMatch(/^3\. 测试只读\/写入工具过滤\n {3}只读工具: {2}✓ read_note, list_notes, search_notes$/m);
    expect(text).toMatch(/^7\. 测试 edit_note 工具\n {3}结果: {6}✓ 成功.*\n {3}多重匹配: {2}✓ 正确拒绝/m);
    expect(text).toMatch(/^12\. 测试 MCP 工具注册\n {4}MCP 工具注册: {2}✓[^]*注销后: +✓ 已移除/m);
    expect(text).toContain(`=== 测试完成：${held} 项检查全部通过 ===`);
  });

  test("crosses what does not hold, says what came instead, and fails", async () => {
    const example = createExample();
    const [play, ...others] = example.plays;
    const wrong = { ...play!, calls: [{ ...play!.calls[0]!, input: { title: "no such note" } }] };
    const { text, failed } = await tour("en", { ...example, plays: [wrong, ...others] });
    expect(failed).toBe(1);
    expect(text).toContain('✗ success (got: failed: There is no note "no such note".');
    expect(text).toMatch(/=== Done: 1 of \d+ checks FAILED ===/);
    expect(text).not.toContain("What next");
  });

  test("goes on after a step that throws, and counts it as failed", async () => {
    const example = createExample();
    const { lines, text, failed } = await tour("en", { ...example, call: { ...example.call, tool: "gone" } });
    expect(failed).toBeGreaterThan(0);
    expect(text).toContain("✗ ends without an error (got: TypeError");
    expect(numbered(lines)).toHaveLength(19);
  });

  test("has colours only where it is told to", async () => {
    const { lines, text } = await tour("en", createExample(), true);
    expect(lines[0]).toBe("\u001b[1m=== Tool system tour ===\u001b[0m");
    expect(text).toContain("\u001b[32m✓\u001b[0m");
    expect((await tour("en")).text).not.toContain("\u001b");
  });
});

describe("the language of the tour", () => {
  test.each<[string[], Record<string, string>, Language]>([
    [[], {}, "en"],
    [[], { LANG: "zh_CN.UTF-8" }, "zh"],
    [[], { LANG: "en_US.UTF-8" }, "en"],
    [[], { LANG: "zh_CN.UTF-8", LC_ALL: "C" }, "en"],
    [[], { LANG: "C", LC_MESSAGES: "zh_TW" }, "zh"],
    [["--lang", "zh"], {}, "zh"],
    [["--lang=zh"], {}, "zh"],
    [["--lang", "en"], { LANG: "zh_CN.UTF-8" }, "en"],
  ])("with %j and %j is %s", (args, environment, language) => {
    expect(chooseLanguage(args, environment)).toBe(language);
  });

  test.each([[["--lang", "fr"]], [["--lang"]], [["--verbose"]], [["--lang", "zh", "more"]]])(
    "refuses %j and says what it takes",
    (args) => expect(() => chooseLanguage(args, {})).toThrow(/--lang en or --lang zh/),
  );
});

describe("a formula", () => {
  test.each([
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["8 - 4 - 2", 2],
    ["8 / 4 / 2", 1],
    ["-(2 - 5) * 1.5", 4.5],
  ])("%s is %d", (formula, value) => expect(runFormula(formula, new Map())).toBe(value));

  test("keeps what it assigns, and knows it again", () => {
    const variables = new Map<string, number>();
    expect(runFormula("half = 1 / 2", variables)).toBe(0.5);
    expect(runFormula("half + half", variables)).toBe(1);
  });

  test.each(["", "1 +", "(1", "1 2", "1 / 0", "x", "process.exit(1)", "constructor", "2 ** 3", "a == 1"])(
    "%j is refused",
    (formula) => expect(() => runFormula(formula, new Map())).toThrow(/formula|named/),
  );
});
