import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { textOf } from "haft";
import { openWorkspace } from "haft/workspace";
import { shownName } from "./steps.mjs";

/** In display order. */
const NAMES = ["Read", "Edit", "Write", "Glob", "Grep", "Bash"];

/** Six of the workspace tools in a temporary folder, which `close` removes. */
export function openExample() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-tour-")));
  const at = (name) => join(folder, name);
  const onDisk = (name) => (existsSync(at(name)) ? readFileSync(at(name), "utf8") : "");
  writeFileSync(at("today.md"), "Buy oil.\nSharpen the axe.\nOil the axe.\n");
  writeFileSync(at("ideas.md"), "A handle for every tool.\n");
  const workspace = openWorkspace(folder);

  return {
    tools: NAMES.flatMap((name) => workspace.tools.filter((tool) => shownName(tool) === name)),
    readOnly: ["Read", "Glob", "Grep"],
    changing: ["Edit", "Write", "Bash"],
    plays: playTools({ at, onDisk }),
    search: { category: ["files", "文件操作"], tag: "file", query: "replace text", finds: "Edit" },
    call: {
      tool: "Read",
      input: { path: at("ideas.md") },
      misspelt: { pth: at("ideas.md") },
      near: "path",
    },
    wrongName: { requested: "Raed", near: "Read" },
    denied: {
      tool: "Bash",
      input: { command: "touch forbidden.txt" },
      happened: () => existsSync(at("forbidden.txt")),
    },
    requested: {
      tool: "Write",
      approved: { file_path: at("to-ada.txt"), contents: "Dear Ada\n" },
      denied: { file_path: at("to-bob.txt"), contents: "Dear Bob\n" },
      shows: "+Dear Ada",
      happened: ({ file_path }) => existsSync(String(file_path)),
    },
    slow: { tool: "Bash", input: { command: "echo started; sleep 60" }, begins: "started" },
    chain: {
      steps: [
        { tool: "Read", input: (_previous, input) => input },
        {
          tool: "Write",
          input: (previous) => ({ file_path: at("copy.md"), contents: previous ? contentOf(previous) : "" }),
        },
        { tool: "Read", input: () => ({ file_path: at("copy.md") }) },
      ],
      input: { file_path: at("ideas.md") },
      gives: "A handle for every tool.",
    },
    async close() {
      await workspace.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const RESULT = ["Result", "结果"];
const SUCCESS = ["success", "成功"];

/** The calls of each tool, in order and in the same folder, with their expected results. */
function playTools({ at, onDisk }) {
  const today = at("today.md");
  const plan = at("plan/first.md");

  return [
    {
      tool: "Read",
      calls: [
        {
          label: RESULT,
          input: { file_path: today },
          holds: (result) => result.success && contentOf(result).startsWith("Buy oil.\n"),
          outcome: SUCCESS,
        },
        {
          label: ["First line only", "只读第一行"],
          input: { file_path: today, limit: 1 },
          holds: (result) => contentOf(result) === "Buy oil.",
          outcome: ["Buy oil.", "Buy oil."],
        },
        {
          label: ["Missing file", "不存在的文件"],
          input: { file_path: at("tomorrow.md") },
          holds: (result) => failedWith(result, "path_not_found"),
          outcome: ["refused", "正确拒绝"],
        },
        {
          label: ["Outside the folder", "目录之外"],
          input: { file_path: "/etc/passwd" },
          holds: (result) => failedWith(result, "path_denied") && textOf(result.content).includes("Allowed paths: "),
          outcome: ["refused, lists the allowed paths", "正确拒绝，并说明允许的路径"],
        },
      ],
    },
    {
      tool: "Edit",
      calls: [
        {
          label: RESULT,
          input: { file_path: today, old_string: "Buy oil", new_string: "Buy $& oil" },
          holds: (result) => result.success && onDisk("today.md").startsWith("Buy $& oil.\n"),
          outcome: ["success, `$&` unchanged", "成功，`$&` 原样保留"],
        },
        {
          label: ["Several matches", "多重匹配"],
          input: { file_path: today, old_string: "axe", new_string: "saw" },
          holds: (result) => failedWith(result, "ambiguous") && !onDisk("today.md").includes("saw"),
          outcome: ["refused, nothing changed", "正确拒绝，内容未变"],
        },
        {
          label: ["Replace all", "全部替换"],
          input: { file_path: today, old_string: "axe", new_string: "saw", replace_all: true },
          holds: (result) => result.success && !onDisk("today.md").includes("axe"),
          outcome: ["both replaced", "两处均已替换"],
        },
        {
          label: ["A file not yet read", "未读过的文件"],
          input: { file_path: at("ideas.md"), old_string: "every", new_string: "no" },
          holds: (result) => failedWith(result, "not_read") && onDisk("ideas.md").includes("every"),
          outcome: ["refused, to be read first", "正确拒绝，须先读取"],
        },
      ],
    },
    {
      tool: "Write",
      calls: [
        {
          label: RESULT,
          input: { file_path: plan, contents: "Sharpen first.\n" },
          holds: (result) => result.success && onDisk("plan/first.md") === "Sharpen first.\n",
          outcome: ["success, with the folder it needs", "成功，并创建所需目录"],
        },
        {
          label: ["Overwritten", "覆盖"],
          input: { file_path: plan, contents: "Cut second.\n" },
          holds: (result) => result.success && onDisk("plan/first.md") === "Cut second.\n",
          outcome: SUCCESS,
        },
      ],
    },
    {
      tool: "Bash",
      calls: [
        {
          label: RESULT,
          input: { command: 'echo "Hello from Bash"' },
          holds: (result) => result.success && textOf(result.content).startsWith("Hello from Bash"),
          outcome: SUCCESS,
          prints: ["Output", "输出"],
        },
        {
          label: ["Failure", "失败处理"],
          input: { command: "echo before; exit 3" },
          holds: (result) => failedWith(result, "exit_code") && textOf(result.content).includes("before"),
          outcome: ["a failed result with its output", "返回失败结果，并保留输出"],
        },
        {
          label: ["Timeout", "超时"],
          input: { command: "sleep 60", timeout: 100 },
          holds: (result) => failedWith(result, "timeout"),
          outcome: ["ended after 100 ms", "100 毫秒后终止"],
        },
      ],
    },
    {
      tool: "Glob",
      calls: [
        {
          label: RESULT,
          input: { pattern: "**/*.md" },
          holds: (result) => linesOf(result) === "ideas.md plan/first.md today.md",
          outcome: ["3 files", "3 个文件"],
        },
      ],
    },
    {
      tool: "Grep",
      calls: [
        {
          label: RESULT,
          input: { pattern: "h.ndle", include: "*.md" },
          holds: (result) =>
            /ideas\.md[^]*A handle for every tool\./.test(textOf(result.content)) && countOf(result) === 1,
          outcome: ["1 line found", "找到 1 行"],
        },
      ],
    },
  ];
}

function failedWith(result, code) {
  return result.status === "failed" && result.error.code === code;
}

function contentOf({ details }) {
  return details?.content ?? "";
}

function countOf({ details }) {
  return details?.count;
}

function linesOf({ content }) {
  return textOf(content).split("\n").sort().join(" ");
}
