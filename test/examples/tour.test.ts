import { expect, test } from "vitest";
import { openExample } from "./open-example.ts";

const STEPS = [
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
];

/** The lines of the design document, in its order. */
const PRINTED = [
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

const numbered = (lines: readonly string[]): string[] => lines.filter((line) => /^\d+\. /.test(line));

test("the tour checks each step, in the language of the locale", async () => {
  const tour = await openExample("tour");
  const english = await tour.start({ LANG: "en_US.UTF-8" }).end();
  expect(english.code, english.stdout).toBe(0);
  expect(numbered(english.stdout.split("\n"))).toEqual(STEPS);
  const ticks = english.stdout.split("✅").length - 1;
  expect(english.stdout).toContain(`=== Done: ${ticks} checks passed ===`);
  expect(english.stdout).not.toMatch(/\p{Script=Han}|\u001b/u);

  const chinese = await tour.start({ LANG: "zh_CN.UTF-8" }).end();
  expect(chinese.code, chinese.stdout).toBe(0);
  const lines = chinese.stdout.split("\n").map((line) => line.replace(/: +/, ": "));
  expect(numbered(lines)).toHaveLength(STEPS.length);
  expect(lines).toContain(`=== 测试完成：${ticks} 项检查全部通过 ===`);
  // In this order, with other lines between them.
  let left = lines;
  for (const expected of PRINTED) {
    const at = left.findIndex((line) => line.startsWith(expected));
    expect(at, `${expected} in\n${left.join("\n")}`).toBeGreaterThanOrEqual(0);
    left = left.slice(at + 1);
  }
});
