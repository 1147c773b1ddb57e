import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorkspace } from "../workspace.ts";
import { playTools } from "./play-tools.ts";
import { shownName } from "./shown-name.ts";
import type { Example } from "./tour.ts";

/** In the order in which they are shown. */
const NAMES = ["Read", "Edit", "Write", "Glob", "Grep", "Bash"];

/** What the tour shows: six of the workspace tools, at work in a folder of their own, which is gone when it is closed. */
export function openExample(): Example {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-tour-")));
  const at = (name: string): string => join(folder, name);
  const onDisk = (name: string): string | undefined =>
    existsSync(at(name)) ? readFileSync(at(name), "utf8") : undefined;
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
      happened: () => onDisk("forbidden.txt") !== undefined,
    },
    requested: {
      tool: "Write",
      approved: { file_path: at("to-ada.txt"), contents: "Dear Ada\n" },
      declined: { file_path: at("to-bob.txt"), contents: "Dear Bob\n" },
      shows: "+Dear Ada",
      happened: ({ file_path }) => existsSync(String(file_path)),
    },
    slow: { tool: "Bash", input: { command: "echo begun; sleep 60" }, begins: "begun" },
    chain: {
      steps: [
        { tool: "Read", input: (_previous, input) => input },
        {
          tool: "Write",
          input: (previous) => ({
            file_path: at("copy.md"),
            contents: (previous!.details as { content: string }).content,
          }),
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
