import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { type Call, toolOf } from "../core/call.ts";
import { isToolAllowed } from "../gate/permit/tool-policy.ts";
import { createHaft, type HaftOptions } from "../runtime.ts";
import { openWorkspace } from "../workspace.ts";
import { createWebTools } from "./web/web-tools.ts";

const folder = temporaryFolder("haft-names-");
writeFileSync(join(folder, "a.txt"), "one\ntwo\nthree\n");
mkdirSync(join(folder, "sub"));
const { tools } = openWorkspace(folder);
const web = createWebTools({ fetch: () => Promise.reject(new Error("no network in this test")) });
afterAll(() => web.close());

function open(options: Partial<HaftOptions> = {}) {
  const seen: { tool: string; input: unknown }[] = [];
  const haft = createHaft({
    tools: [...tools, ...web.tools],
    folder,
    middleware: [
      {
        name: "look",
        after: "validate",
        enter: (call: Call) => void seen.push({ tool: toolOf(call).name, input: call.accepted }),
      },
    ],
    ...options,
  });
  return { haft, seen };
}

const PATCH = "*** Begin Patch\n*** Update File: a.txt\n-two\n+2\n*** End Patch\n";

describe("calls with the names of other clients", () => {
  test.each<[name: string, input: object, tool: string, expected: object]>([
    ["run_shell_command", { command: "ls", dir_path: "sub" }, "exec", { command: "ls", working_directory: "sub" }],
    ["run_shell_command", { command: "ls", is_background: true }, "exec", { command: "ls", run_in_background: true }],
    [
      "shell_command",
      { command: "ls", workdir: "sub", timeout_ms: 5 },
      "exec",
      { command: "ls", working_directory: "sub", timeout: 5 },
    ],
    ["exec_command", { cmd: "ls", yield_time_ms: 9, tty: true }, "exec", { command: "ls", yield_ms: 9, pty: true }],
    [
      "exec_command",
      { cmd: "ls", sandbox_permissions: "require_escalated", justification: "why" },
      "exec",
      { command: "ls", outside_sandbox: true, description: "why" },
    ],
    [
      "exec_command",
      { cmd: "ls", sandbox_permissions: "use_default", max_output_tokens: 9, login: true, shell: "/bin/bash" },
      "exec",
      { command: "ls" },
    ],
    ["shell", { command: ["bash", "-lc", "ls -a | wc"] }, "exec", { command: "ls -a | wc" }],
    ["shell", { command: ["git", "log", "--format=%h $x"] }, "exec", { command: "git log '--format=%h $x'" }],
    ["exec", { command: "ls", timeout_seconds: 2 }, "exec", { command: "ls", timeout: 2000 }],
    [
      "replace",
      { file_path: "a", instruction: "i", old_string: "b", new_string: "c", allow_multiple: true },
      "edit",
      { path: "a", reason: "i", old_string: "b", new_string: "c", replace_all: true },
    ],
    [
      "replace",
      { file_path: "a", old_string: "b", new_string: "c", expected_replacements: 1 },
      "edit",
      { path: "a", old_string: "b", new_string: "c" },
    ],
    [
      "MultiEdit",
      { file_path: "a", edits: [{ oldText: "b", newText: "c" }] },
      "edit",
      { path: "a", edits: [{ old_string: "b", new_string: "c" }] },
    ],
    [
      "edit",
      { target_file: "a", edits: [{ old_str: "b", new_str: "c", replaceAll: true }] },
      "edit",
      { path: "a", edits: [{ old_string: "b", new_string: "c", replace_all: true }] },
    ],
    [
      "str_replace_based_edit_tool",
      { command: "str_replace", path: "a", old_str: "b", new_str: "" },
      "edit",
      { path: "a", old_string: "b", new_string: "" },
    ],
    [
      "str_replace_based_edit_tool",
      { command: "view", path: "a", view_range: [2, 5] },
      "read",
      { path: "a", offset: 2, limit: 4 },
    ],
    [
      "str_replace_based_edit_tool",
      { command: "view", path: "a", view_range: [2, -1] },
      "read",
      { path: "a", offset: 2 },
    ],
    [
      "str_replace_based_edit_tool",
      { command: "create", path: "a", file_text: "b" },
      "write",
      { path: "a", content: "b" },
    ],
    ["write_to_file", { path: "a", content: "b" }, "write", { path: "a", content: "b" }],
    ["write_file", { target_file: "a", content: "b" }, "write", { path: "a", content: "b" }],
    ["read_file", { file_path: "a", start_line: 3, end_line: 4 }, "read", { path: "a", offset: 3, limit: 2 }],
    ["read_file", { absolute_path: "a", offset: 0, limit: 2 }, "read", { path: "a", offset: 0, limit: 2 }],
    ["read_file", { target_file: "a", start_line: "3" }, "read", { path: "a", offset: 3 }],
    ["read_file", { path: "a", end_line: 4 }, "read", { path: "a", offset: 1, limit: 4 }],
    ["read", { path: "a", head: 7 }, "read", { path: "a", limit: 7 }],
    ["view_image", { path: "a.png" }, "read", { path: "a.png" }],
    [
      "grep_search",
      { pattern: "x", dir_path: "sub", include_pattern: "*.ts" },
      "grep",
      { pattern: "x", path: "sub", include: "*.ts", ignore_case: true },
    ],
    [
      "grep_search",
      { pattern: "x", case_sensitive: true, no_ignore: true },
      "grep",
      { pattern: "x", case_sensitive: true, respect_gitignore: false },
    ],
    [
      "grep_search",
      { pattern: "x", names_only: true, total_max_matches: 5 },
      "grep",
      { pattern: "x", output_mode: "files_with_matches", limit: 5, ignore_case: true },
    ],
    ["grep_files", { pattern: "x" }, "grep", { pattern: "x", output_mode: "files_with_matches" }],
    [
      "glob",
      { pattern: "*", no_ignore: true, respect_gemini_ignore: false },
      "glob",
      { pattern: "*", respect_gitignore: false },
    ],
    ["google_web_search", { query: "x" }, "web_search", { query: "x" }],
    [
      "web_fetch",
      { prompt: "Compare https://a.example/x, and http://b.example." },
      "web_fetch",
      { urls: ["https://a.example/x", "http://b.example"] },
    ],
    ["WebFetch", { url: "https://a.example", prompt: "why?" }, "web_fetch", { url: "https://a.example" }],
    [
      "write_stdin",
      { session_id: 7, chars: "y\n", yield_time_ms: 3 },
      "process",
      { action: "write", id: "7", data: "y\n", wait_ms: 3 },
    ],
    ["write_stdin", { session_id: "7", chars: "" }, "process", { action: "poll", id: "7" }],
    ["write_stdin", { session_id: "7", chars: "\u0003" }, "process", { action: "send-keys", id: "7", keys: ["C-c"] }],
    ["apply_patch", { input: PATCH }, "apply_patch", { patch: PATCH }],
    [
      "update_plan",
      { explanation: "e", plan: [{ step: "a", status: "pending" }] },
      "todo",
      { todos: [{ content: "a", status: "pending" }] },
    ],
    [
      "write_todos",
      { todos: [{ description: "a", status: "completed" }] },
      "todo",
      { todos: [{ content: "a", status: "completed" }] },
    ],
    [
      "TodoWrite",
      { todos: [{ content: "a", status: "in_progress", activeForm: "b" }] },
      "todo",
      { todos: [{ content: "a", status: "in_progress" }] },
    ],
    [
      "ask_user",
      { questions: [{ question: "q", header: "h", type: "yesno", placeholder: "p" }] },
      "ask_user",
      { questions: [{ question: "q", header: "h", options: [{ label: "Yes" }, { label: "No" }] }] },
    ],
    [
      "AskUserQuestion",
      { questions: [{ question: "q", options: [{ label: "a" }, { label: "b" }], multiSelect: true }] },
      "ask_user",
      { questions: [{ question: "q", options: [{ label: "a" }, { label: "b" }], multiple: true }] },
    ],
    [
      "read_many_files",
      { include: ["a.txt"], recursive: true, file_filtering_options: { respect_git_ignore: false } },
      "read_many",
      { paths: ["a.txt"], respect_gitignore: false },
    ],
    ["list_directory", { dir_path: "sub", ignore: ["x"] }, "list_files", { path: "sub", ignore: ["x"] }],
    ["list_dir", { dir_path: "sub", depth: 2, offset: 1 }, "list_files", { path: "sub", depth: 2, recursive: true }],
    // Claude Code
    [
      "Bash",
      { command: "ls", description: "d", timeout: 120000 },
      "exec",
      { command: "ls", description: "d", timeout: 120000 },
    ],
    ["Bash", { command: "ls", run_in_background: true }, "exec", { command: "ls", run_in_background: true }],
    ["Bash", { command: "ls", timeout: 500 }, "exec", { command: "ls", timeout: 500 }],
    ["Bash", { command: "ls", dangerouslyDisableSandbox: true }, "exec", { command: "ls", outside_sandbox: true }],
    ["BashOutput", { bash_id: "1" }, "process", { action: "poll", id: "1" }],
    ["KillBash", { shell_id: "1" }, "process", { action: "kill", id: "1" }],
    ["KillShell", { shell_id: "1" }, "process", { action: "kill", id: "1" }],
    ["TaskOutput", { task_id: "1", block: false, timeout: 30000 }, "process", { action: "poll", id: "1", wait_ms: 0 }],
    [
      "TaskOutput",
      { task_id: "1", block: true, timeout: 30000 },
      "process",
      { action: "poll", id: "1", wait_ms: 30000 },
    ],
    ["TaskStop", { task_id: "1" }, "process", { action: "kill", id: "1" }],
    ["Read", { file_path: "a", offset: 2, limit: 5 }, "read", { path: "a", offset: 2, limit: 5 }],
    ["Write", { file_path: "a", content: "b" }, "write", { path: "a", content: "b" }],
    [
      "Edit",
      { file_path: "a", old_string: "b", new_string: "c", replace_all: false },
      "edit",
      { path: "a", old_string: "b", new_string: "c", replace_all: false },
    ],
    ["Glob", { pattern: "*.ts", path: "sub" }, "glob", { pattern: "*.ts", path: "sub" }],
    [
      "Grep",
      { pattern: "x", glob: "*.ts", "-i": true, "-n": true, head_limit: 3, output_mode: "content" },
      "grep",
      { pattern: "x", include: "*.ts", ignore_case: true, line_numbers: true, limit: 3, output_mode: "content" },
    ],
    ["LS", { path: "sub", ignore: ["x"] }, "list_files", { path: "sub", ignore: ["x"] }],
    ["WebSearch", { query: "x" }, "web_search", { query: "x" }],
    ["TodoRead", {}, "todo", {}],
    // Codex
    ["read_file", { file_path: "a", offset: 1, limit: 2, mode: "slice" }, "read", { path: "a", offset: 1, limit: 2 }],
    [
      "shell",
      { command: ["ls", "-l"], workdir: "sub", timeout_ms: 1000 },
      "exec",
      { command: "ls -l", working_directory: "sub", timeout: 1000 },
    ],
    [
      "exec_command",
      { cmd: "cat", workdir: "sub", tty: false },
      "exec",
      { command: "cat", working_directory: "sub", pty: false },
    ],
    [
      "grep_files",
      { pattern: "x", include: "*.rs", path: "sub", limit: 5 },
      "grep",
      { pattern: "x", include: "*.rs", path: "sub", limit: 5, output_mode: "files_with_matches" },
    ],
    // opencode
    ["read", { filePath: "a", offset: 2, limit: 5 }, "read", { path: "a", offset: 2, limit: 5 }],
    ["write", { filePath: "a", content: "b" }, "write", { path: "a", content: "b" }],
    [
      "edit",
      { filePath: "a", oldString: "b", newString: "c", replaceAll: true },
      "edit",
      { path: "a", old_string: "b", new_string: "c", replace_all: true },
    ],
    [
      "multiedit",
      { filePath: "a", edits: [{ oldString: "b", newString: "c" }] },
      "edit",
      { path: "a", edits: [{ old_string: "b", new_string: "c" }] },
    ],
    ["apply_patch", { patchText: PATCH }, "apply_patch", { patch: PATCH }],
    [
      "bash",
      { command: "ls", timeout: 120000, workdir: "sub", description: "d" },
      "exec",
      { command: "ls", timeout: 120000, working_directory: "sub", description: "d" },
    ],
    ["glob", { pattern: "*.ts", path: "sub" }, "glob", { pattern: "*.ts", path: "sub" }],
    ["grep", { pattern: "x", path: "sub", include: "*.ts" }, "grep", { pattern: "x", path: "sub", include: "*.ts" }],
    [
      "webfetch",
      { url: "https://a.example", format: "markdown", timeout: 30 },
      "web_fetch",
      { url: "https://a.example" },
    ],
    ["websearch", { query: "x", numResults: 3 }, "web_search", { query: "x", limit: 3 }],
    [
      "todowrite",
      { todos: [{ content: "a", status: "pending", priority: "high", id: "1" }] },
      "todo",
      { todos: [{ content: "a", status: "pending" }] },
    ],
    ["todoread", {}, "todo", {}],
    [
      "question",
      {
        questions: [
          {
            question: "q",
            header: "h",
            options: [
              { label: "a", description: "d" },
              { label: "b", description: "e" },
            ],
            multiple: false,
          },
        ],
      },
      "ask_user",
      {
        questions: [
          {
            question: "q",
            header: "h",
            options: [
              { label: "a", description: "d" },
              { label: "b", description: "e" },
            ],
            multiple: false,
          },
        ],
      },
    ],
    // Roo Code
    ["read_file", { path: "a", start_line: 2, end_line: 5 }, "read", { path: "a", offset: 2, limit: 4 }],
    ["read_file", { files: [{ path: "a", line_ranges: [[2, 5]] }] }, "read", { path: "a", offset: 2, limit: 4 }],
    ["read_file", { files: [{ path: "a", line_ranges: ["2-5"] }] }, "read", { path: "a", offset: 2, limit: 4 }],
    ["read_file", { path: "a", mode: "slice", offset: 1, limit: 9 }, "read", { path: "a", offset: 1, limit: 9 }],
    ["write_to_file", { path: "a", content: "b", line_count: 1 }, "write", { path: "a", content: "b" }],
    [
      "apply_diff",
      { path: "a", diff: "<<<<<<< SEARCH\n:start_line:2\n-------\ntwo\n=======\n2\n>>>>>>> REPLACE" },
      "edit",
      { path: "a", edits: [{ old_string: "two", new_string: "2" }] },
    ],
    [
      "apply_diff",
      { path: "a", operations: [{ search: "b", replace: "c" }] },
      "edit",
      { path: "a", edits: [{ old_string: "b", new_string: "c" }] },
    ],
    [
      "search_and_replace",
      { path: "a", operations: [{ search: "b", replace: "c" }] },
      "edit",
      { path: "a", edits: [{ old_string: "b", new_string: "c" }] },
    ],
    [
      "search_replace",
      { file_path: "a", old_string: "b", new_string: "c" },
      "edit",
      { path: "a", old_string: "b", new_string: "c" },
    ],
    [
      "edit_file",
      { file_path: "a", old_string: "b", new_string: "c", expected_replacements: 1 },
      "edit",
      { path: "a", old_string: "b", new_string: "c" },
    ],
    [
      "search_files",
      { path: "sub", regex: "x.*", file_pattern: "*.ts" },
      "grep",
      { path: "sub", pattern: "x.*", include: "*.ts" },
    ],
    ["search_files", { path: "sub", regex: "x.*", file_pattern: null }, "grep", { path: "sub", pattern: "x.*" }],
    ["list_files", { path: "sub", recursive: true }, "list_files", { path: "sub", recursive: true }],
    ["execute_command", { command: "ls", cwd: null }, "exec", { command: "ls" }],
    [
      "execute_command",
      { command: "ls", cwd: "sub", timeout: 30 },
      "exec",
      { command: "ls", working_directory: "sub", timeout: 30000 },
    ],
    [
      "ask_followup_question",
      {
        question: "q",
        follow_up: [
          { text: "a", mode: null },
          { text: "b", mode: "code" },
        ],
      },
      "ask_user",
      { questions: [{ question: "q", options: [{ label: "a" }, { label: "b" }] }] },
    ],
    [
      "update_todo_list",
      { todos: "[x] a\n[-] b\n[ ] c" },
      "todo",
      {
        todos: [
          { content: "a", status: "completed" },
          { content: "b", status: "in_progress" },
          { content: "c", status: "pending" },
        ],
      },
    ],
    ["apply_patch", { patch: PATCH }, "apply_patch", { patch: PATCH }],
    // Cline
    [
      "execute_command",
      { command: "ls", requires_approval: false, timeout: "30" },
      "exec",
      { command: "ls", timeout: 30000 },
    ],
    ["read_file", { path: "a", task_progress: "- [ ] a" }, "read", { path: "a" }],
    [
      "write_to_file",
      { absolutePath: "/a", content: "b", task_progress: "- [ ] a" },
      "write",
      { path: "/a", content: "b" },
    ],
    [
      "replace_in_file",
      {
        path: "a",
        diff: "------- SEARCH\none\n=======\n1\n+++++++ REPLACE\n\n------- SEARCH\ntwo\n=======\n+++++++ REPLACE\n",
      },
      "edit",
      {
        path: "a",
        edits: [
          { old_string: "one", new_string: "1" },
          { old_string: "two", new_string: "" },
        ],
      },
    ],
    ["search_files", { path: ".", regex: "x" }, "grep", { path: ".", pattern: "x" }],
    ["list_files", { path: ".", recursive: "true" }, "list_files", { path: ".", recursive: true }],
    [
      "ask_followup_question",
      { question: "q", options: ["a", "b"] },
      "ask_user",
      { questions: [{ question: "q", options: [{ label: "a" }, { label: "b" }] }] },
    ],
    // Qwen Code
    [
      "run_shell_command",
      { command: "ls", is_background: false, directory: "sub", timeout: 5000 },
      "exec",
      { command: "ls", run_in_background: false, working_directory: "sub", timeout: 5000 },
    ],
    [
      "edit",
      { file_path: "a", old_string: "b", new_string: "c" },
      "edit",
      { path: "a", old_string: "b", new_string: "c" },
    ],
    ["write_file", { file_path: "a", content: "b" }, "write", { path: "a", content: "b" }],
    [
      "list_directory",
      { path: "sub", ignore: ["x"], file_filtering_options: { respect_git_ignore: true } },
      "list_files",
      { path: "sub", ignore: ["x"], respect_gitignore: true },
    ],
    [
      "todo_write",
      { todos: [{ id: "1", content: "a", status: "pending" }] },
      "todo",
      { todos: [{ content: "a", status: "pending" }] },
    ],
    // pi
    ["read", { path: "a", offset: 2, limit: 5 }, "read", { path: "a", offset: 2, limit: 5 }],
    ["edit", { path: "a", oldText: "b", newText: "c" }, "edit", { path: "a", old_string: "b", new_string: "c" }],
    [
      "edit",
      { path: "a", edits: [{ oldText: "b", newText: "c" }] },
      "edit",
      { path: "a", edits: [{ old_string: "b", new_string: "c" }] },
    ],
    ["find", { pattern: "**/*.ts", path: "sub", limit: 5 }, "glob", { pattern: "**/*.ts", path: "sub", limit: 5 }],
    ["ls", { path: "sub", limit: 5 }, "list_files", { path: "sub", limit: 5 }],
    [
      "grep",
      { pattern: "x", glob: "*.ts", ignoreCase: true, literal: true, context: 1, limit: 5 },
      "grep",
      { pattern: "x", include: "*.ts", ignore_case: true, fixed_strings: true, context: 1, limit: 5 },
    ],
    // Cline
    ["read_files", { files: [{ path: "a", start_line: 2, end_line: 3 }] }, "read", { path: "a", offset: 2, limit: 2 }],
    ["read_files", { files: [{ path: "a", start_line: null }, { path: "b" }] }, "read_many", { paths: ["a", "b"] }],
    ["read_files", { paths: ["a", "b"] }, "read_many", { paths: ["a", "b"] }],
    ["run_commands", { commands: ["ls -a"] }, "exec", { command: "ls -a" }],
    ["run_commands", { commands: [{ command: "ls", args: ["a b"] }] }, "exec", { command: "ls 'a b'" }],
    ["search_codebase", { queries: ["x"] }, "grep", { pattern: "(?:x)" }],
    ["search_codebase", { queries: ["x", "y|z"] }, "grep", { pattern: "(?:x)|(?:y|z)" }],
    [
      "editor",
      { path: "a", old_text: "b", new_text: "c", insert_line: null },
      "edit",
      { path: "a", old_string: "b", new_string: "c" },
    ],
    ["editor", { path: "a", old_text: null, new_text: "c" }, "edit", { path: "a", old_string: "", new_string: "c" }],
    // Roo Code, opencode, Codex, Qwen Code
    ["read_file", { args: { file: [{ path: "a" }] } }, "read", { path: "a" }],
    [
      "search_and_replace",
      { path: "a", search: "b", replace: "c", use_regex: false },
      "edit",
      { path: "a", old_string: "b", new_string: "c" },
    ],
    [
      "multiedit",
      { filePath: "a", edits: [{ filePath: "a", oldString: "b", newString: "c" }] },
      "edit",
      { path: "a", edits: [{ old_string: "b", new_string: "c" }] },
    ],
    ["list", { path: "sub" }, "list_files", { path: "sub" }],
    ["patch", { patchText: PATCH }, "apply_patch", { patch: PATCH }],
    ["local_shell", { command: ["ls"], timeout_ms: 5 }, "exec", { command: "ls", timeout: 5 }],
    ["web_search", { query: "x", provider: "google" }, "web_search", { query: "x" }],
    // Claude Code
    [
      "WebSearch",
      { query: "x", allowed_domains: ["a.example", "b.example"], blocked_domains: [] },
      "web_search",
      { query: "x site:a.example OR site:b.example" },
    ],
    ["WebSearch", { query: "x", blocked_domains: ["a.example"] }, "web_search", { query: "x -site:a.example" }],
    // MCP's filesystem server
    ["read_text_file", { path: "a", head: 3 }, "read", { path: "a", limit: 3 }],
    ["read_media_file", { path: "a.png" }, "read", { path: "a.png" }],
    ["read_multiple_files", { paths: ["a", "b"] }, "read_many", { paths: ["a", "b"] }],
    [
      "edit_file",
      { path: "a", edits: [{ oldText: "b", newText: "c" }], dryRun: false },
      "edit",
      { path: "a", edits: [{ old_string: "b", new_string: "c" }] },
    ],
    ["list_directory_with_sizes", { path: "sub", sortBy: "name" }, "list_files", { path: "sub" }],
    [
      "directory_tree",
      { path: "sub", excludePatterns: ["x"] },
      "list_files",
      { path: "sub", ignore: ["x"], recursive: true },
    ],
    ["move_file", { source: "a", destination: "b" }, "move_file", { from: "a", to: "b" }],
    ["search_files", { path: "sub", pattern: "*.ts", excludePatterns: [] }, "glob", { path: "sub", pattern: "*.ts" }],
    ["get_file_info", { path: "a" }, "get_file_info", { path: "a" }],
    [
      "shell",
      { command: ["apply_patch", PATCH], workdir: "sub" },
      "apply_patch",
      { patch: PATCH, working_directory: "sub" },
    ],
  ])("%s %j is %s", async (name, input, tool, expected) => {
    const { haft, seen } = open();
    await haft.execute(name, input);
    expect(seen).toEqual([{ tool, input: expected }]);
  });

  test.each<[name: string, input: object, message: string]>([
    [
      "grep_search",
      { pattern: "x", exclude_pattern: "y" },
      'exclude_pattern: unknown parameter. To leave out files use "exclude"',
    ],
    ["read", { path: "a", tail: 5 }, "tail: unknown parameter. Read with offset"],
    ["read_file", { path: "a", start_line: 9, end_line: 3 }, "the last is not before the first"],
    ["read_file", { absolute_path: "a", offset: 10, limit: 2 }, "send path, with lines counted from 1"],
    ["read", { path: "a", bytes: "0-9", offset: 7, limit: 1 }, "a range of bytes takes no offset or limit"],
    ["read_file", { path: "a", start_line: 2, offset: 7 }, 'start_line: the same as "offset", which was given too'],
    [
      "str_replace_based_edit_tool",
      { command: "insert", path: "a", insert_line: 1, new_str: "x" },
      "the line before the new lines",
    ],
    ["str_replace_based_edit_tool", { command: "undo_edit", path: "a" }, "haft undo"],
    ["replace", { file_path: "a", old_string: "b", new_string: "c", expected_replacements: 3 }, "replace_all"],
    [
      "MultiEdit",
      {
        path: "a",
        edits: [
          { old_string: "a", new_string: "b" },
          { old_string: "b", new_string: "c", replace_all: true },
        ],
      },
      "edits[1]: would also change the new text of edits[0]",
    ],
    ["bash", { command: "ls", timeout: 120 }, "may be seconds or milliseconds"],
    ["BashOutput", { bash_id: "1", filter: "error" }, "filter: unknown parameter"],
    ["run_commands", { commands: ["ls", "pwd"] }, "one call runs one command"],
    ["read_files", { files: [{ path: "a", end_line: 3 }, { path: "b" }] }, "whole files are read"],
    ["editor", { path: "a", new_text: "c", insert_line: 2 }, "the line before the new lines"],
    ["search_and_replace", { path: "a", search: "b", replace: "c", use_regex: true }, "use_regex: unknown parameter"],
    ["multiedit", { path: "a", edits: [{ filePath: "b", oldString: "b", newString: "c" }] }, "unknown parameter"],
    ["read_file", { path: "a", mode: "indentation" }, "send offset and limit"],
    ["read_file", { files: [{ path: "a" }, { path: "b" }] }, "call read_many with paths"],
    ["edit_file", { path: "a", edits: [{ oldText: "b", newText: "c" }], dryRun: true }, "dryRun: unknown parameter"],
    [
      "apply_diff",
      { path: "a", diff: "<<<<<<< SEARCH\ntwo\n=======\n2" },
      "is not a list of SEARCH and REPLACE blocks",
    ],
    ["apply_diff", { path: "a", diff: "<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE" }, "is not a list"],
    ["search_files", { path: "sub", pattern: "*.ts", excludePatterns: ["x"] }, "excludePatterns: unknown parameter"],
    ["list_directory_with_sizes", { path: "sub", sortBy: "size" }, "sortBy: unknown parameter"],
    ["webfetch", { url: "https://a.example", format: "html" }, "Pages are returned as Markdown"],
    ["exec_command", { cmd: "ls", shell: "fish" }, "commands run in bash"],
    ["exec_command", { cmd: "ls", sandbox_permissions: "with_additional_permissions" }, "sandbox_permissions"],
    ["web_fetch", { prompt: "the news" }, "has no URL"],
    ["list_dir", { dir_path: "sub", offset: 100 }, "A listing has no pages"],
    ["read_many_files", { include: ["a"], recursive: false }, "Use patterns without **"],
    ["ask_user", { questions: [{ question: "q", type: "choice" }] }, "needs `options`"],
    ["glob", { pattern: "*", respect_gemini_ignore: true }, ".geminiignore files are not used"],
  ])("%s %j is refused with the right name", async (name, input, message) => {
    const { haft, seen } = open();
    const result = await haft.execute(name, input);
    expect(result).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
    expect(JSON.stringify(result.content)).toContain(JSON.stringify(message).slice(1, -1));
    expect(seen).toEqual([]);
  });
});

test("a command for which Cline's model wants an approval asks, also if it only reads", async () => {
  const { haft } = open();
  const command = { command: "ls", requires_approval: true };
  expect(await haft.execute("execute_command", command)).toMatchObject({ status: "pending" });
  expect(await haft.execute("execute_command", { ...command, requires_approval: "true" })).toMatchObject({
    status: "pending",
  });
});

test("a call in seconds keeps its time when it is run after its approval", async () => {
  const { haft, seen } = open();
  const asked = await haft.execute("execute_command", { command: "touch a.new", timeout: 30 });
  expect(asked.status).toBe("pending");
  const [pending] = await haft.approvals.list();
  await haft.approvals.approve(pending!.id);
  const input = { command: "touch a.new", timeout: 30_000 };
  expect(seen).toEqual([
    { tool: "exec", input },
    { tool: "exec", input },
  ]);
});

test("a pattern of names is refused if only text can be searched", async () => {
  const { haft, seen } = open({ tools: tools.filter(({ name }) => name !== "glob") });
  const result = await haft.execute("search_files", { path: "sub", pattern: "*.ts" });
  expect(result).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
  expect(seen).toEqual([]);
});

describe("a foreign name is the same tool for policy", () => {
  test.each([
    ["exec", "run_shell_command", { command: "ls" }],
    ["exec", "shell", { command: ["ls"] }],
    ["edit", "str_replace_based_edit_tool", { command: "str_replace", path: "a.txt", old_str: "one", new_str: "1" }],
    ["write", "str_replace_based_edit_tool", { command: "create", path: "b.txt", file_text: "1" }],
    ["apply_patch", "exec", { command: `apply_patch <<'EOF'\n${PATCH}EOF\n` }],
    ["grep", "grep_search", { pattern: "x" }],
    ["exec", "execute_command", { command: "ls" }],
    ["process", "KillBash", { shell_id: "1" }],
    ["edit", "replace_in_file", { path: "a.txt", diff: "------- SEARCH\none\n=======\n1\n+++++++ REPLACE" }],
    ["glob", "search_files", { path: ".", pattern: "*" }],
    ["grep", "search_files", { path: ".", regex: "x" }],
    ["search_files", "glob", { pattern: "*" }],
    ["read_files", "read_files", { files: [{ path: "a.txt" }] }],
    ["read_files", "read_files", { files: [{ path: "a.txt" }, { path: "b.txt" }] }],
    ["read", "read_files", { files: [{ path: "a.txt" }] }],
    ["run_commands", "exec", { command: "ls" }],
    ["editor", "editor", { path: "a.txt", old_text: "one", new_text: "1" }],
    [
      "str_replace_based_edit_tool",
      "str_replace_based_edit_tool",
      { command: "create", path: "b.txt", file_text: "1" },
    ],
    ["search_files", "search_files", { path: ".", pattern: "*" }],
  ])("a rule that denies %s denies %s", async (denied, name, input) => {
    const { haft } = open({ rules: { deny: [denied] } });
    expect(await haft.execute(name, input)).toMatchObject({ status: "failed", error: { code: "denied" } });
  });

  test("a tool that the policy hides is hidden under every name", async () => {
    const { haft } = open({ policy: { deny: ["run_shell_command"] } });
    expect(haft.tools.definitions().map(({ name }) => name)).not.toContain("exec");
    expect(await haft.execute("exec", { command: "ls" })).toMatchObject({ status: "failed" });
  });
});

describe("a patch that is typed into the shell", () => {
  test("asks as apply_patch, is recorded as apply_patch, and runs once it is approved", async () => {
    const { haft } = open();
    const command = `cd sub && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new.txt\n+$HOME\n*** End Patch\nEOF\n`;
    const asked = await haft.execute("exec", { command });
    expect(asked).toMatchObject({ status: "pending", toolName: "apply_patch" });
    const [pending] = await haft.approvals.list();
    expect(pending).toMatchObject({ toolName: "apply_patch" });
    const done = await haft.approvals.approve(pending!.id);
    expect(done).toMatchObject({ status: "completed", toolName: "apply_patch" });
    expect(readFileSync(join(folder, "sub/new.txt"), "utf8")).toBe("$HOME\n");
  });

  test("is made in the folder that the call names, under any name", async () => {
    const { haft, seen } = open();
    await haft.execute("exec", { command: `apply_patch <<'EOF'\n${PATCH}EOF\n`, directory: "sub" });
    expect(seen).toMatchObject([{ tool: "apply_patch", input: { working_directory: "sub" } }]);
  });

  test("stays a command if the caller has no apply_patch", async () => {
    const { haft } = open({ tools: tools.filter(({ name }) => name !== "apply_patch") });
    expect(await haft.execute("exec", { command: `apply_patch <<'EOF'\n${PATCH}EOF\n` })).toMatchObject({
      toolName: "exec",
    });
  });
});

describe("a name that means a part of a tool", () => {
  const tool = tools.find(({ name }) => name === "process")!;

  test("never allows the tool, and denies it", () => {
    for (const name of ["BashOutput", "TaskOutput", "KillBash", "KillShell", "TaskStop"]) {
      expect(isToolAllowed(tool, { allow: [name] })).toBe(false);
      expect(isToolAllowed(tool, { deny: [name] })).toBe(false);
    }
    expect(isToolAllowed(tool, { allow: ["process"] })).toBe(true);
    expect(isToolAllowed(tool, { allow: ["Task*"] })).toBe(false);
    // By alias `search_replace` would be meant, too.
    const edit = tools.find(({ name }) => name === "edit")!;
    expect(isToolAllowed(edit, { allow: ["search_*"] })).toBe(false);
  });

  test("takes no other action, and no wrapper with another name", async () => {
    const { haft, seen } = open({ rules: { allow: ["BashOutput"] } });
    const refused = { status: "failed", error: { code: "invalid_input" } };
    expect(await haft.execute("BashOutput", { bash_id: "1", action: "submit", data: "ls" })).toMatchObject(refused);
    const wrapped = { name: "BashOutput", arguments: { bash_id: "1" } };
    expect(await haft.execute("KillShell", wrapped)).toMatchObject(refused);
    expect(seen).toEqual([]);
  });
});
