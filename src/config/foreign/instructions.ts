import { lstatSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { errorMessage, ToolError } from "../../core/error.ts";
import { createFiles, type Files } from "../../io/files/files.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { isInside } from "../../io/files/path-name.ts";
import { noteLook } from "../config-watch.ts";
import type { RawSource } from "../sources.ts";
import type { LocatedSetting } from "./settings-reader.ts";

/** The instruction files of a project. All that exist are read. */
const FILES = ["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"];
const INSTRUCTIONS = "Instructions of the agent.";
const MAX_BYTES = 64 * 1024;
const MAX_FILES = 50;
/** How many files may import each other in a row, as in Claude Code. */
const MAX_DEPTH = 5;

export interface InstructionOptions {
  folder: string;
  /** Reads files of the folder. Default: with the default rules. */
  files?: Files;
  /** Default: the home folder. */
  home?: string;
  /** Whether a file of the home folder may be read. A folder's file must be trusted to name one. */
  mayRead?(path: string): boolean;
}

export interface Instructions {
  /** In the order in which a model gets them; imported files after the file that imports them. */
  files: { file: string; text: string }[];
  lines: LocatedSetting[];
  /** Files of the home folder that are imported, as real paths. */
  fromHome: { path: string; by: string }[];
}

/** Reads the instructions of a project, with the files that they import by `@path`. */
export async function readInstructions(options: InstructionOptions): Promise<Instructions> {
  const { folder, home = homedir(), mayRead = () => false } = options;
  let { files } = options;
  const found: Instructions = { files: [], lines: [], fromHome: [] };
  const seen = new Set<string>();
  let homeFiles: Files | undefined;

  const report = (file: string, setting: string, outcome: LocatedSetting["outcome"], reason: string): void => {
    found.lines.push({ file, setting, outcome, reason, at: [file, setting] });
  };

  const add = async (path: string, depth: number): Promise<boolean> => {
    const isHome = !isInside(path, folder);
    const reader = isHome
      ? (homeFiles ??= createFiles(createPathPolicy({ workspace: home })))
      : (files ??= createFiles(createPathPolicy({ workspace: folder })));
    const read = await readText(reader, path);
    if (read === undefined) return false;
    if (seen.has(read.path) || found.files.some(({ text }) => text === read.text)) return true;
    seen.add(read.path);
    const name = isHome ? path : relative(folder, path);
    if (read.text.trim() !== "") found.files.push({ file: name, text: read.text });
    for (const { written, line } of importsOf(read.text)) await follow(written, { from: path, line, depth });
    return true;
  };

  const follow = async (written: string, by: { from: string; line: number; depth: number }): Promise<void> => {
    const path = written.startsWith("~/") ? join(home, written.slice(2)) : resolve(dirname(by.from), written);
    const setting = `@${written}`;
    const leave = (reason: string): void => {
      found.lines.push({
        file: by.from,
        line: by.line,
        setting,
        outcome: "not_applied",
        reason,
        at: [by.from, setting],
      });
    };
    if (by.depth >= MAX_DEPTH) return leave(`More than ${MAX_DEPTH} files import each other.`);
    if (found.files.length >= MAX_FILES) return leave(`More than ${MAX_FILES} files.`);
    if (!isInside(path, folder)) {
      if (!isInside(path, home)) return leave("It is outside the workspace and the home folder.");
      if (!/\.(?:md|mdx|txt)$/i.test(path)) return leave("Only .md and .txt files of the home folder are imported.");
      // A file of the home folder is the user's own, and may name others.
      const needsTrust = isInside(by.from, folder);
      if (needsTrust) found.fromHome.push({ path, by: by.from });
      if (needsTrust && !mayRead(path))
        return leave("It is outside the workspace and not trusted. To trust it: haft trust");
    }
    try {
      if (await add(path, by.depth + 1)) report(by.from, setting, "applied", "The file is part of the instructions.");
      // Mentions, such as @name, are no imports.
      else if (/[./]/.test(written)) leave("There is no such file.");
    } catch (error) {
      leave(errorMessage(error));
    }
  };

  for (const name of FILES) {
    const file = join(folder, name);
    try {
      noteLook(file);
      // Without any of them no rules for paths are made: they take as long as all else that is read for the configuration.
      if (lstatSync(file, { throwIfNoEntry: false }) === undefined) continue;
      const at = found.lines.length;
      const line: LocatedSetting = { file, setting: "", outcome: "applied", reason: INSTRUCTIONS, at: [file] };
      // Before the lines of its imports.
      if (await add(file, 0)) found.lines.splice(at, 0, line);
    } catch (error) {
      report(file, "", "not_applied", errorMessage(error));
    }
  }
  return found;
}

/** Undefined if there is no such file. A file that is too large is truncated, with a note. */
async function readText(files: Files, path: string): Promise<{ path: string; text: string } | undefined> {
  noteLook(path);
  let opened;
  try {
    opened = await files.openForRead(path);
  } catch (error) {
    if (error instanceof ToolError && ["path_not_found", "is_directory"].includes(error.code)) return undefined;
    throw error;
  }
  try {
    const bytes = Buffer.alloc(Math.min(opened.info.size, MAX_BYTES));
    const length = await opened.read(bytes, 0);
    const text = new TextDecoder().decode(bytes.subarray(0, length));
    const isCut = opened.info.size > MAX_BYTES;
    return {
      path: files.realPath(path),
      text: isCut ? `${text}\n\n(truncated: read ${files.show(files.realPath(path))} for the rest)` : text,
    };
  } finally {
    opened.close();
  }
}

/** `@path` after a blank or at the start of a line, outside of code. */
function importsOf(text: string): { written: string; line: number }[] {
  const found: { written: string; line: number }[] = [];
  let fence: string | undefined;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const [, mark] = /^\s*(```+|~~~+)/.exec(line) ?? [];
    if (mark !== undefined) {
      if (fence === undefined) fence = mark;
      else if (mark.startsWith(fence)) fence = undefined;
      continue;
    }
    if (fence !== undefined) continue;
    for (const [, path = ""] of line.replace(/`[^`]*`/g, "").matchAll(/(?:^|\s)@([^\s`]+)/g)) {
      const written = path.replace(/[.,;:!?)\]]+$/, "");
      if (written !== "") found.push({ written, line: index + 1 });
    }
  }
  return found;
}

/** The files of the home folder that the instructions of a folder import. They are read after a person has trusted them. */
export async function readInstructionSource(folder: string, home: string): Promise<RawSource | undefined> {
  const { fromHome, lines } = await readInstructions({ folder, home });
  const [first] = lines;
  if (!first) return undefined;
  const imports = [...new Set(fromHome.map(({ path }) => path))];
  const imported = lines.map((line): LocatedSetting => {
    const path = pathOf(line, home);
    if (path === undefined || !imports.includes(path)) return line;
    const at = ["imports", imports.indexOf(path)];
    return { ...line, at, outcome: "applied", reason: "The file is part of the instructions." };
  });
  const file = fromHome[0]?.by ?? first.file;
  return {
    origin: "project",
    kind: "instructions",
    file,
    folder,
    value: { imports },
    positionOf: () => undefined,
    imported,
  };
}

function pathOf({ setting, file }: LocatedSetting, home: string): string | undefined {
  if (!setting.startsWith("@")) return undefined;
  const written = setting.slice(1);
  return written.startsWith("~/") ? join(home, written.slice(2)) : resolve(dirname(file), written);
}
