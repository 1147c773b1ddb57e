import { expect, test } from "vitest";
import { findElisions, refuseElisions } from "./elided-text.ts";

test.each([
  "// ... rest of code",
  "  // ... existing code ...",
  "# ... rest of the function ...",
  "# rest of the methods remain unchanged",
  "/* … */",
  "<!-- ... -->",
  "{/* ... existing code ... */}",
  "-- ... other columns omitted ...".replace("columns", "fields"),
  "(unchanged)",
  "// (unchanged)",
  "// ... (rest of the implementation)".replace("(", "").replace(")", ""),
  "// existing code here",
  "/* ... keep the remaining styles ... */",
  "; rest of file unchanged",
  "... existing code ...",
  "// 其余代码不变",
  "# 其他方法保持不变",
  "// ……省略……",
  "// ... 原有代码 ...",
  "（其余部分省略）",
])("%s is a placeholder", (line) => {
  expect(findElisions(`before();\n${line}\nafter();`)).toMatchObject([{ line: 2, text: line }]);
});

test.each([
  'const message = "// ... rest of code";',
  "return value; // rest of code ...",
  "// ...props,",
  "{/* ...options.headers */}",
  "...",
  "def f(): ...",
  "[...]",
  "// loading...",
  "// the rest of the request is read lazily",
  "// unchanged",
  "// no change",
  "## Unchanged",
  "* No changes",
  "// TODO: the rest of the parser",
  "// 同上",
  "// 不变",
  "// 其他用户的订单",
  "# type: ignore",
])("%s is ordinary text", (line) => {
  expect(findElisions(line)).toEqual([]);
});

test("a placeholder that the old text also has is allowed", () => {
  expect(findElisions("a\n  // ... existing code ...", "// ...  existing code ...\nb")).toEqual([]);
  expect(findElisions("// ... existing code ...", "// ... rest of code ...")).toHaveLength(1);
});

test("the error names the line and the next step", () => {
  expect(() => refuseElisions("a\n// ... rest of code\n", "a\n", "new_string")).toThrow(
    expect.objectContaining({
      code: "elided",
      message: expect.stringMatching(/Line 2 of new_string.*Write the full text/s),
    }),
  );
});
