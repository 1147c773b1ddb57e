// Tool calls of 25 small tasks, as models of several clients make them, with the names that those clients use.
// Written down before the tools were changed for them; the expectations never mention how Haft words a result.
//
// A step makes `call` with `input`. It is answered if the call succeeds and its text matches `expect` (default: any
// text). Otherwise the calls of `otherwise` are made, one after the other, until one answers: calls that a wrong, cut
// or refused answer made necessary. `{spill}` is the address that the previous result names.

const read = (path, more = {}) => ({ call: "read", input: { path, ...more } });
const edit = (path, old_string, new_string) => ({ call: "edit", input: { path, old_string, new_string } });
const exec = (command) => ({ call: "exec", input: { command } });

const ROUND = ["return Math.floor(cents * (1 + rate));", "return Math.round(cents * (1 + rate));"];
const SPELLING = ["'canceled'", "'cancelled'"];
const CODEX_PATCH = [
  "*** Begin Patch",
  "*** Update File: src/price.mjs",
  "@@ export function withTax(cents, rate) {",
  `-  ${ROUND[0]}`,
  `+  ${ROUND[1]}`,
  "*** End Patch",
].join("\n");
const UNIFIED_DIFF = [
  "diff --git a/src/price.mjs b/src/price.mjs",
  "--- a/src/price.mjs",
  "+++ b/src/price.mjs",
  "@@ -1,5 +1,5 @@",
  " /** Price with tax, in cents. */",
  " export function withTax(cents, rate) {",
  `-  ${ROUND[0]}`,
  `+  ${ROUND[1]}`,
  " }",
  " ",
  "",
].join("\n");
const ROUNDED = { ...exec("grep -c Math.round src/price.mjs"), expect: /^1\b/ };

export const TRACES = [
  {
    task: "fix a rounding fault and run the tests",
    steps: [
      { ...read("src/price.mjs"), expect: /Math\.floor/ },
      edit("src/price.mjs", ...ROUND),
      { ...exec("node --test"), expect: /pass 2/ },
    ],
  },
  {
    task: "rename a function in all files",
    steps: [
      { call: "grep", input: { pattern: "countOrders" }, expect: /report\.mjs/ },
      read("src/orders/store.mjs"),
      read("src/orders/report.mjs"),
      edit("src/orders/store.mjs", "function countOrders", "function orderCount"),
      {
        call: "edit",
        input: {
          path: "src/orders/report.mjs",
          old_string: "countOrders",
          new_string: "orderCount",
          replace_all: true,
        },
      },
      { ...exec("node --test test/orders.test.mjs"), expect: /pass 1/ },
    ],
  },
  {
    task: "add a module with a test",
    steps: [
      { call: "glob", input: { pattern: "test/*.mjs" }, expect: /price\.test\.mjs/ },
      { call: "write", input: { path: "src/vat.mjs", content: "export const vat = 0.19;\n" } },
      {
        call: "write",
        input: {
          path: "test/vat.test.mjs",
          content:
            'import assert from "node:assert";\nimport { test } from "node:test";\nimport { vat } from "../src/vat.mjs";\n\ntest("vat", () => assert.equal(vat, 0.19));\n',
        },
      },
      { ...exec("node --test test/vat.test.mjs"), expect: /pass 1/ },
    ],
  },
  {
    task: "find the failed payment in the server log",
    steps: [
      { ...read("logs/server.log"), expect: /INFO/ },
      { call: "grep", input: { pattern: "ERROR", path: "logs/server.log" }, expect: /ORD-0815/ },
    ],
  },
  {
    task: "read the same file again later",
    steps: [
      read("src/orders/store.mjs"),
      exec("git --version"),
      read("src/orders/store.mjs"),
      read("src/orders/store.mjs"),
    ],
  },
  {
    task: "get an overview of the repository",
    steps: [
      {
        call: "list_files",
        input: { path: ".", recursive: true },
        expect: /(?=[^]*\bsrc\b)(?=[^]*\btest\b)(?=[^]*\bdata\b)(?=[^]*\bdocs\b)(?=[^]*store\.mjs)/,
        otherwise: [
          { call: "list_files", input: { path: "." }, expect: /never/ },
          { call: "list_files", input: { path: "src", recursive: true }, expect: /store\.mjs/ },
        ],
      },
    ],
  },
  {
    task: "find the error of a long build",
    steps: [
      {
        ...exec("node scripts/build.mjs; true"),
        expect: /TS2345/,
        otherwise: [{ ...exec("node scripts/build.mjs | grep -i error"), expect: /TS2345/ }],
      },
    ],
  },
  {
    task: "look up one order in the result of a tool",
    steps: [
      { call: "list_orders", input: {}, expect: /ORD-0003/ },
      {
        call: "grep",
        input: { pattern: "ORD-1500", path: "{spill}", after: 3 },
        expect: /ORD-1500[^}]*"total"/,
        otherwise: [
          { call: "read", input: { path: "{spill}" }, expect: /ORD-1500[^}]*"total"/ },
          { call: "read", input: { path: "{spill}", offset: 1, column: 100000 }, expect: /ORD-1500[^}]*"total"/ },
          {
            call: "grep",
            input: { pattern: '"ORD-1500"[^}]*', path: "{spill}", output: "only_matching" },
            expect: /ORD-1500[^}]*"total"/,
          },
        ],
      },
    ],
  },
  {
    task: "look up one order in a data file of one line",
    steps: [
      {
        ...read("data/orders.json"),
        expect: /ORD-1500[^}]*"?total/,
        otherwise: [
          { call: "grep", input: { pattern: "ORD-1500", path: "data/orders.json" }, expect: /ORD-1500[^}]*"total"/ },
          {
            ...exec(`node -e "console.log(JSON.stringify(require('./data/orders.json')[1500]))"`),
            expect: /ORD-1500[^}]*"total"/,
          },
        ],
      },
    ],
  },
  {
    task: "remove a debug line",
    steps: [
      read("src/cart.mjs"),
      edit("src/cart.mjs", "      console.log(name);", ""),
      {
        ...exec("sed -n '6,7p' src/cart.mjs"),
        expect: /add\([^\n]*\n\s*lines\.push/,
        otherwise: [edit("src/cart.mjs", "count = 1) {\n\n", "count = 1) {\n")],
      },
    ],
  },
  {
    task: "change a line that holds a no-break space",
    steps: [
      read("docs/guide.md"),
      {
        ...edit("docs/guide.md", "Shipping costs 5 EUR in", "Shipping costs 6 EUR in"),
        otherwise: [
          { ...exec("grep -n Shipping docs/guide.md | od -c | head -5"), expect: /never/ },
          edit("docs/guide.md", "Shipping costs 5\u00a0EUR in", "Shipping costs 6\u00a0EUR in"),
        ],
      },
    ],
  },
  {
    task: "edit a file that cat has shown",
    steps: [
      { ...exec("cat src/price.mjs"), expect: /Math\.floor/ },
      {
        ...edit("src/price.mjs", ...ROUND),
        otherwise: [{ ...read("src/price.mjs"), expect: /never/ }, edit("src/price.mjs", ...ROUND)],
      },
    ],
  },
  {
    task: "edit a line that grep has shown",
    steps: [
      { call: "grep", input: { pattern: "canceled", path: "src" }, expect: /store\.mjs/ },
      {
        ...edit("src/orders/store.mjs", ...SPELLING),
        otherwise: [{ ...read("src/orders/store.mjs"), expect: /never/ }, edit("src/orders/store.mjs", ...SPELLING)],
      },
    ],
  },
  {
    task: "edit lines that sed has shown",
    steps: [
      { ...exec("sed -n '14,18p' src/orders/store.mjs"), expect: /cancelOrder/ },
      {
        ...edit("src/orders/store.mjs", ...SPELLING),
        otherwise: [{ ...read("src/orders/store.mjs"), expect: /never/ }, edit("src/orders/store.mjs", ...SPELLING)],
      },
    ],
  },
  {
    task: "change an order, by the rules of its folder",
    steps: [
      {
        ...read("src/orders/store.mjs"),
        expect: /Never delete an order/,
        otherwise: [{ ...read("src/orders/AGENTS.md"), expect: /Never delete an order/ }],
      },
      edit("src/orders/store.mjs", ...SPELLING),
    ],
  },
  {
    task: "change a cell of a notebook",
    steps: [
      { ...read("notebooks/sales.ipynb"), expect: /groupby/ },
      {
        call: "NotebookEdit",
        input: {
          notebook_path: "notebooks/sales.ipynb",
          cell_id: "plot",
          new_source: "sales.groupby('month').sum().plot()",
        },
        otherwise: [
          { ...edit("notebooks/sales.ipynb", "groupby('year')", "groupby('month')") },
          { ...read("notebooks/sales.ipynb", { offset: 1, limit: 100 }), expect: /never/ },
          { ...edit("notebooks/sales.ipynb", "groupby('year')", "groupby('month')") },
        ],
      },
    ],
  },
  { task: "look at a large picture", steps: [{ ...read("images/banner.png"), image: true }] },
  {
    task: "read three files (Gemini)",
    steps: [
      {
        call: "read_many_files",
        input: { include: ["src/cart.mjs", "src/price.mjs", "src/orders/report.mjs"] },
        expect: /(?=[^]*createCart)(?=[^]*withTax)(?=[^]*findOrder)/,
        otherwise: [
          { ...read("src/cart.mjs"), expect: /never/ },
          { ...read("src/price.mjs"), expect: /never/ },
          { ...read("src/orders/report.mjs"), expect: /findOrder/ },
        ],
      },
    ],
  },
  {
    task: "fix the rounding (Gemini)",
    steps: [
      {
        call: "read_file",
        input: { file_path: "src/price.mjs", start_line: 1, end_line: 4 },
        expect: /Math\.floor/,
        otherwise: [{ ...read("src/price.mjs", { limit: 4 }), expect: /Math\.floor/ }],
      },
      {
        call: "replace",
        input: {
          file_path: "src/price.mjs",
          instruction: "Round instead of floor.",
          old_string: ROUND[0],
          new_string: ROUND[1],
        },
        otherwise: [edit("src/price.mjs", ...ROUND)],
      },
      {
        call: "run_shell_command",
        input: { command: "node --test", description: "Runs the tests" },
        expect: /pass 2/,
        otherwise: [{ ...exec("node --test"), expect: /pass 2/ }],
      },
    ],
  },
  {
    task: "find a word (Gemini)",
    steps: [
      {
        call: "grep_search",
        input: { pattern: "findOrder", include_pattern: "*.mjs" },
        expect: /report\.mjs/,
        otherwise: [{ call: "grep", input: { pattern: "findOrder", include: "*.mjs" }, expect: /report\.mjs/ }],
      },
    ],
  },
  {
    task: "fix the rounding in the shell (Codex)",
    steps: [
      {
        call: "shell",
        input: { command: ["bash", "-lc", "cat src/price.mjs"], workdir: "." },
        expect: /Math\.floor/,
        otherwise: [{ ...exec("cat src/price.mjs"), expect: /Math\.floor/ }],
      },
      {
        call: "shell",
        input: { command: ["bash", "-lc", `apply_patch <<'EOF'\n${CODEX_PATCH}\nEOF`] },
        otherwise: [{ call: "apply_patch", input: { input: CODEX_PATCH } }],
      },
      ROUNDED,
    ],
  },
  {
    task: "apply a unified diff",
    steps: [
      read("src/price.mjs"),
      {
        call: "apply_patch",
        input: { input: UNIFIED_DIFF },
        otherwise: [{ call: "apply_patch", input: { input: CODEX_PATCH } }],
      },
      ROUNDED,
    ],
  },
  {
    task: "make two changes in one call (Claude)",
    steps: [
      { call: "Read", input: { file_path: "src/price.mjs" }, expect: /discount/ },
      {
        call: "MultiEdit",
        input: {
          file_path: "src/price.mjs",
          edits: [
            { old_string: ROUND[0], new_string: ROUND[1] },
            { old_string: "discount(cents, percent)", new_string: "discount(cents, percent = 10)" },
          ],
        },
        otherwise: [
          { ...edit("src/price.mjs", ...ROUND), expect: /never/ },
          edit("src/price.mjs", "discount(cents, percent)", "discount(cents, percent = 10)"),
        ],
      },
      ROUNDED,
    ],
  },
  {
    task: "view and replace (text editor tool of Anthropic)",
    steps: [
      {
        call: "str_replace_based_edit_tool",
        input: { command: "view", path: "src/price.mjs", view_range: [1, 4] },
        expect: /Math\.floor/,
        otherwise: [{ ...read("src/price.mjs", { limit: 4 }), expect: /Math\.floor/ }],
      },
      {
        call: "str_replace_based_edit_tool",
        input: { command: "str_replace", path: "src/price.mjs", old_str: ROUND[0], new_str: ROUND[1] },
        otherwise: [edit("src/price.mjs", ...ROUND)],
      },
      ROUNDED,
    ],
  },
  {
    task: "use a tool among 300 of other servers",
    manyTools: true,
    steps: [
      {
        call: "tool_search",
        input: { query: "refund a payment" },
        expect: /refund|payment/,
      },
    ],
  },
];
