import { textOf } from "../core/content.ts";
import type { ToolResult } from "../core/result.ts";
import { createNoteTools } from "./note-tools.ts";
import type { Example } from "./tour.ts";

/** What the tour shows: which tools, how each is called, and what must come of it. Other tools change this file alone. */
export function createExample(): Example {
  const notes = new Map([
    ["today", "Buy oil.\nSharpen the axe.\nOil the axe."],
    ["ideas", "A handle for every tool."],
  ]);
  const variables = new Map<string, number>();

  return {
    tools: createNoteTools({ notes, variables }),
    readOnly: ["read_note", "list_notes", "search_notes"],
    changing: ["edit_note", "write_note", "run_formula"],
    search: { category: ["files", "文件操作"], tag: "note", query: "replace text", finds: "edit_note" },
    call: {
      tool: "read_note",
      input: { title: "ideas" },
      misspelt: { titel: "ideas" },
      near: "title",
    },
    wrongName: { asked: "reed_note", near: "read_note" },
    denied: {
      tool: "run_formula",
      input: { formula: "forbidden = 1" },
      happened: () => variables.has("forbidden"),
    },
    chain: {
      steps: [
        { tool: "read_note", input: (_previous, input) => input },
        {
          tool: "write_note",
          input: (previous) => ({ title: "copy", text: previous ? textOf(previous.content) : "" }),
        },
        { tool: "read_note", input: () => ({ title: "copy" }) },
      ],
      input: { title: "ideas" },
      gives: "A handle for every tool.",
    },
    plays: [
      {
        tool: "read_note",
        calls: [
          {
            label: ["Result", "结果"],
            input: { title: "today" },
            holds: (result) => result.success && textOf(result.content).startsWith("Buy oil."),
            outcome: ["success", "成功"],
          },
          {
            label: ["First line only", "只读第一行"],
            input: { title: "today", limit: 1 },
            holds: (result) => textOf(result.content) === "Buy oil.",
            outcome: ["Buy oil.", "Buy oil."],
          },
          {
            label: ["Missing note", "不存在的笔记"],
            input: { title: "tomorrow" },
            holds: (result) => failedWith(result, "path_not_found"),
            outcome: ["refused", "正确拒绝"],
          },
        ],
      },
      {
        tool: "edit_note",
        calls: [
          {
            label: ["Result", "结果"],
            input: { title: "today", old_text: "Buy oil", new_text: "Buy $& oil" },
            holds: (result) => result.success && notes.get("today")!.startsWith("Buy $& oil.\n"),
            outcome: ["success, `$&` kept as it is", "成功，`$&` 原样保留"],
          },
          {
            label: ["Several matches", "多重匹配"],
            input: { title: "today", old_text: "axe", new_text: "saw" },
            holds: (result) => failedWith(result, "ambiguous") && !notes.get("today")!.includes("saw"),
            outcome: ["refused, nothing changed", "正确拒绝，内容未变"],
          },
          {
            label: ["Replace all", "全部替换"],
            input: { title: "today", old_text: "axe", new_text: "saw", replace_all: true },
            holds: (result) => result.success && !notes.get("today")!.includes("axe"),
            outcome: ["both replaced", "两处均已替换"],
          },
        ],
      },
      {
        tool: "write_note",
        calls: [
          {
            label: ["Result", "结果"],
            input: { title: "plan", text: "Sharpen first." },
            holds: (result) => result.success && notes.get("plan") === "Sharpen first.",
            outcome: ["success", "成功"],
          },
          {
            label: ["Overwritten", "覆盖"],
            input: { title: "plan", text: "Cut second." },
            holds: (result) => result.success && notes.get("plan") === "Cut second.",
            outcome: ["success", "成功"],
          },
        ],
      },
      {
        tool: "run_formula",
        calls: [
          {
            label: ["Result", "结果"],
            input: { formula: "total = 6 * (3 + 4)" },
            holds: (result) => result.success && result.details === 42,
            outcome: ["success", "成功"],
          },
          {
            label: ["Output", "输出"],
            input: { formula: "total / 2" },
            holds: (result) => textOf(result.content) === "21",
            outcome: ["21", "21"],
          },
          {
            label: ["Failure", "失败处理"],
            input: { formula: "1 / 0" },
            holds: (result) => failedWith(result, "failed"),
            outcome: ["a failed result, not a crash", "返回失败结果，没有崩溃"],
          },
        ],
      },
      {
        tool: "list_notes",
        calls: [
          {
            label: ["Result", "结果"],
            input: {},
            holds: (result) => JSON.stringify(result.details) === '["today","ideas","plan"]',
            outcome: ["3 notes", "3 条笔记"],
          },
        ],
      },
      {
        tool: "search_notes",
        calls: [
          {
            label: ["Result", "结果"],
            input: { query: "HANDLE" },
            holds: (result) => textOf(result.content) === "ideas: A handle for every tool.",
            outcome: ["1 line found", "找到 1 行"],
          },
        ],
      },
    ],
  };
}

function failedWith(result: ToolResult, code: string): boolean {
  return result.status === "failed" && result.error.code === code;
}
