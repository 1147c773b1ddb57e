import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { chooseLanguage, type Language } from "../src/tour/page.ts";
import { openExample } from "../src/tour/example.ts";
import { type Example, runTour } from "../src/tour/run-tour.ts";

interface Semaphore {
  colour?: boolean;
  change?: (example: Example) => Partial<Example>;
}

async function tour(language: Language, { colour = false, change = () => ({}) }: Semaphore = {}) {
  const lines: string[] = [];
  const example = openExample();
  const folder = dirname(String(example.call.input["path"]));
  expect(existsSync(folder)).toBe(true);
  const write = (line: string): void => void lines.push(line);
  try {
    const outcome = await runTour({ ...example, ...change(example) }, { language, colour, write });
    return { ...outcome, lines, text: lines.join("\n") };
  } finally {
    await example.close();
    expect(existsSync(folder), `${folder} is left behind`).toBe(false);
  }
}

const numbered = (lines: readonly string[]): string[] => lines.filter((line) => /^\d+\. /.test(line));
const ticks = (text: string): number => text.split("✅").length - 1;

describe("the tour", () => {
  test("runs in English, and every tick is a passed check", async () => {
    const { text, lines, passed, failed } = await tour("en");
    expect(failed, text).toBe(0);
    expect(ticks(text)).toBe(passed);
    expect(text).not.toContain("❌");
    expect(lines[0]).toBe("=== Tool system tour ===");
    expect(numbered(lines)).toEqual([
      "1. Create a tool registry and register the built-in tools",
      "2. Get a tool by its name",
      "3. Filter read-only and changing tools",
      "4. Plan mode: read-only tools only",
      "5. Find tools by category, tag and words",
      "6. Execute Read",
      "7. Execute Edit",
      "8. Execute Write",
      "9. Execute Bash",
      "10. Execute Glob",
      "11. Execute Grep",
      "12. Register and unregister an MCP tool",
      "13. Build a call, execute it later",
      "14. Validate: the error, and what was meant",
      "15. Policy: a denied tool does not exist",
      "16. Ask a person first",
      "17. Stream: progress while a tool runs, and stop it",
      "18. Chain: several tools are one tool",
      "19. Statistics: every call was counted",
    ]);
    expect(text).toContain(`=== Done: ${passed} checks passed ===`);
    expect(text).toMatch(/README\.md[^]*npm test/);
    expect(text).not.toMatch(/\p{Script=Han}/u);
  });

  test("walks the same way in Chinese, under the headings and numbers of its printed example", async () => {
    const { text, lines, passed, failed } = await tour("zh");
    expect(failed, text).toBe(0);
    expect(passed).toBe((await tour("en")).passed);
    expect(lines[0]).toBe("=== 工具系统测试 ===");
    expect(numbered(lines)).toHaveLength(19);
    expect(numbered(lines).filter((line) => !/\p{Script=Han}/u.test(line))).toEqual([]);
    expect(text).toMatch(
      /^3\. 测试只读\/写入工具过滤\n {3}只读工具: {2}✅ Read, Glob, Grep\n {3}写入工具: {2}✅ Edit, Write, Bash$/m,
    );
    expect(text).toMatch(/^7\. 测试 Edit 工具\n {3}结果: +✅ 成功.*\n {3}多重匹配: +✅ 正确拒绝/m);
    expect(text).toMatch(/^9\. 测试 Bash 工具\n {3}结果: +✅ 成功\n {3}输出: +Hello from Bash$/m);
    expect(text).toMatch(/^12\. 测试 MCP 工具注册\n {4}MCP 工具注册: +✅[^]*注销后: +✅ 已移除/m);
    expect(text).toContain(`=== 测试完成：${passed} 项检查全部通过 ===`);
  });

  test("marks failed checks, prints the actual result, and fails", async () => {
    const { text, failed } = await tour("en", {
      change: ({ plays: [play, ...others] }) => {
        const wrong = { ...play!, calls: [{ ...play!.calls[0]!, input: { file_path: "no-such-file.md" } }] };
        // The edits of the next step would fail too, because nothing was read.
        return { plays: [wrong, ...others.filter(({ tool }) => tool !== "Edit")] };
      },
    });
    expect(failed).toBe(1);
    expect(text).toContain('❌ success (got: failed: File not found: "no-such-file.md".');
    expect(text).toMatch(/=== Done: 1 of \d+ checks FAILED ===/);
    expect(text).not.toContain("What next");
  });

  test("continues after a step that throws, and counts it as failed", async () => {
    const { lines, text, failed } = await tour("en", {
      change: ({ call }) => ({ call: { ...call, tool: "missing" } }),
    });
    expect(failed).toBeGreaterThan(0);
    expect(text).toContain("❌ ends without an error (got: Error: The example");
    expect(numbered(lines)).toHaveLength(19);
  });

  test("has colours only if enabled", async () => {
    const { lines } = await tour("en", { colour: true });
    expect(lines[0]).toBe("\u001b[1m=== Tool system tour ===\u001b[0m");
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
    "rejects %j with the accepted options",
    (args) => expect(() => chooseLanguage(args, {})).toThrow(/--lang en or --lang zh/),
  );
});

test("prints the numbered walk of the design document in its order, and all of it holds", async () => {
  const { failed, lines } = await tour("zh");
  const printed = lines.map((line) => line.replace(/: +/, ": "));
  expect(failed, lines.join("\n")).toBe(0);
  const expected = [
    "=== 工具系统测试 ===",
    "1. 创建工具注册表并注册内置工具",
    "   已注册 6 个工具: Read, Edit, Write, Glob, Grep, Bash",
    "   内置工具: 6",
    "   MCP 工具: 0",
    "3. 测试只读/写入工具过滤",
    "   只读工具: ✅ Read, Glob, Grep",
    "   写入工具: ✅ Edit, Write, Bash",
    "7. 测试 Edit 工具",
    "   结果: ✅ 成功",
    "   多重匹配: ✅ 正确拒绝",
    "9. 测试 Bash 工具",
    "   结果: ✅ 成功",
    "   输出: Hello from Bash",
    "12. 测试 MCP 工具注册",
    "    MCP 工具注册: ✅",
    "    注销后: ✅ 已移除",
    "=== 测试完成",
  ];
  // In this order, other lines between them.
  let at = 0;
  for (const line of expected) {
    const found = printed.findIndex((each, index) => index >= at && each.startsWith(line));
    expect(found, `${line} in\n${printed.slice(at).join("\n")}`).toBeGreaterThanOrEqual(0);
    at = found + 1;
  }
});
