import { createHash } from "node:crypto";
import { dirname, join, relative, sep } from "node:path";
import { attempt } from "../../core/error.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import type { Caller } from "../../core/call.ts";
import { callOf, hostOf } from "../../core/gate.ts";
import { keysOf } from "../../core/options.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { ToolContext } from "../../core/tool.ts";
import { disarmText, wrapUntrusted } from "../../core/untrusted-text.ts";
import type { Files } from "../../io/files/files.ts";
import { lstatIfExists } from "../../io/files/path-anchor.ts";
import { isInside } from "../../io/files/path-name.ts";
import { filesOf } from "./file-access.ts";
import type { ReadPath } from "./read.ts";

/** How instructions of folders, such as `src/AGENTS.md`, are delivered with the first read of a file below them. */
export interface FolderInstructionOptions {
  /**
   * Whether a person has trusted the workspace, or when. They are marked as text that is no instruction if not, and those
   * that changed after that time. `true`: the time when the workspace is opened. Default: false.
   */
  trusted?: boolean | Date | (() => boolean | Date);
  /** Whether a caller is also given those of the workspace itself: false if its prompt has them. Default: true. */
  root?(caller: Caller): boolean;
}

export const FOLDER_INSTRUCTION_KEYS = keysOf<FolderInstructionOptions>({ trusted: true, root: true });

const NAMES = ["AGENTS.md", "CLAUDE.md"];
/** Text of others: packages that a program installed. */
const FOREIGN_FOLDERS = new Set("node_modules bower_components vendor third_party .venv venv site-packages".split(" "));
const MAX_FILE_BYTES = 8 * 1024;
const MAX_RESULT_BYTES = 16 * 1024;
const MAX_DEPTH = 32;
const MAX_SESSIONS = 1_000;
const MAX_FOLDERS = 1_000;
/** A folder is looked at again after this time. */
const FRESH_MS = 500;

interface Instructions {
  /** As shown to a model. */
  file: string;
  real: string;
  text: string;
  isCut: boolean;
  digest: string;
  /** It was written after the workspace was trusted: by an agent, a command, or a person. */
  changedMs: number;
}

interface LookedAt {
  at: number;
  /** It is a repository of its own, so its text and that of the folders below it was written by others. */
  isForeign: boolean;
  found: Promise<readonly Instructions[]>;
}

/** Adds the instructions of the folders above a file to the result of its reading, once per session and content. */
export function withFolderInstructions(
  readPath: ReadPath,
  { files, trusted = false, root = () => true }: FolderInstructionOptions & { files: Files },
): ReadPath {
  const openedAt = Date.now();
  const trustedNow = () => (typeof trusted === "function" ? trusted() : trusted);
  const trustedAt = () => {
    const at = trustedNow();
    return at instanceof Date ? at.getTime() : openedAt;
  };
  const folders = new BoundedMap<string, LookedAt>(MAX_FOLDERS);
  /** By user and session: the digests that it was given. */
  const given = new BoundedMap<string, Set<string>>(MAX_SESSIONS);

  return async (path, options) => {
    const output = await readPath(path, options);
    const { context } = options;
    const { user, session, agent } = context.caller;
    // A program that calls a tool has no conversation.
    if (session === undefined && agent === undefined) return output;
    const key = JSON.stringify(session === undefined ? [user, null, agent] : [user, session]);
    const fresh = await freshFor(key, { path, isWhole: showsAll(output), context });
    return fresh.length === 0 ? output : addTo(output, fresh);
  };

  async function freshFor(
    session: string,
    { path, isWhole, context }: { path: string; isWhole: boolean; context: ToolContext },
  ): Promise<Instructions[]> {
    const allowed = filesOf({ files }, context);
    const real = realPathOf(allowed, path);
    if (real === undefined || !isInside(real, files.policy.workspace)) return [];
    const known = digestsOf(session);
    const fresh: Instructions[] = [];
    let bytes = 0;
    for (const folder of foldersAbove(real, files.policy.workspace)) {
      if (folder === files.policy.workspace && !root(context.caller)) continue;
      const looked = look(folder);
      if (looked.isForeign) break;
      for (const one of await looked.found) {
        const key = `${one.real}\0${one.digest}`;
        if (known.has(key) || !mayRead(one.real, allowed, context)) continue;
        // The reading itself shows it.
        if (one.real === real) {
          if (!isWhole) continue;
        } else {
          if (bytes + one.text.length > MAX_RESULT_BYTES) return fresh;
          bytes += one.text.length;
          if (!fresh.some(({ text }) => text === one.text)) fresh.push(one);
        }
        known.add(key);
      }
    }
    return fresh;
  }

  function digestsOf(session: string): Set<string> {
    const known = given.get(session) ?? new Set<string>();
    given.set(session, known);
    return known;
  }

  function look(folder: string): LookedAt {
    const now = performance.now();
    const before = folders.get(folder);
    if (before && now - before.at < FRESH_MS) return before;
    const isForeign = folder !== files.policy.workspace && isOfOthers(folder);
    const found = isForeign ? Promise.resolve([]) : readFolder(folder);
    const looked: LookedAt = { at: now, isForeign, found };
    folders.set(folder, looked);
    return looked;
  }

  function isOfOthers(folder: string): boolean {
    if (FOREIGN_FOLDERS.has(folder.slice(folder.lastIndexOf(sep) + 1))) return true;
    // Rules hide `.git` from tools. Whether it exists is no content.
    return lstatIfExists(join(folder, ".git")) !== null;
  }

  async function readFolder(folder: string): Promise<Instructions[]> {
    const read = await Promise.all(NAMES.map((name) => readOne(join(folder, name))));
    const found = read.filter((one) => one !== undefined);
    // Many projects have the line @AGENTS.md in the other file.
    return found.length < 2 ? found : found.filter(({ text }) => !/^\s*@(?:\.\/)?AGENTS\.md\s*$/.test(text));
  }

  async function readOne(path: string): Promise<Instructions | undefined> {
    const file = await files.openForRead(path).catch(() => undefined);
    if (!file) return undefined;
    try {
      const { real, size, changedMs } = file.info;
      // A link would show a file that rules name by its own path. Some file systems ignore case.
      if (real.toLowerCase() !== path.toLowerCase()) return undefined;
      const bytes = Buffer.alloc(Math.min(size, MAX_FILE_BYTES));
      const text = new TextDecoder().decode(bytes.subarray(0, await file.read(bytes, 0))).replace(/\ufffd+$/, "");
      if (text.trim() === "") return undefined;
      const digest = createHash("sha256").update(text).digest("base64");
      return {
        file: files.show(real),
        real,
        text,
        isCut: size > MAX_FILE_BYTES,
        digest,
        changedMs,
      };
    } finally {
      file.close();
    }
  }

  function addTo(output: ToolOutput, instructions: readonly Instructions[]): ToolOutput {
    const text = instructions
      .map((one) => present(one, { trusted: trustedNow() !== false, isLate: one.changedMs > trustedAt() }))
      .join("\n\n");
    const content =
      typeof output.content === "string"
        ? `${output.content}\n\n${text}`
        : [...output.content, { type: "text" as const, text }];
    const details = { ...(output.details as object), instructions: instructions.map(({ file }) => file) };
    return { ...output, content, details };
  }
}

function present(
  { file, text, isCut }: Instructions,
  { trusted, isLate }: { trusted: boolean; isLate: boolean },
): string {
  const body = `${text.trim()}${isCut ? `\n[Cut. Read ${file} for the rest.]` : ""}`;
  if (trusted && !isLate) {
    return `[Instructions of the project for the files in ${dirname(file)}, from ${file}:]\n${body}\n[End of ${file}.]`;
  }
  const why = trusted ? "changed after a person trusted the workspace" : "a workspace that no person has trusted";
  return wrapUntrusted(disarmText(body), `${file} (instructions of a folder: ${why})`);
}

/** From the workspace down to the folder of the file. */
function foldersAbove(real: string, workspace: string): string[] {
  const names = relative(workspace, dirname(real))
    .split(sep)
    .filter((name) => name !== "");
  const folders = [workspace];
  for (const name of names.slice(0, MAX_DEPTH)) folders.push(join(folders.at(-1) ?? workspace, name));
  return folders;
}

/** Rules and allowed paths apply to it as to a `read` of this caller. */
function mayRead(real: string, allowed: Files, context: ToolContext): boolean {
  const host = hostOf(context);
  const read = host.find("read");
  return (
    read !== undefined && realPathOf(allowed, real) !== undefined && host.allows(callOf(context), read, { path: real })
  );
}

function showsAll({ details }: ToolOutput): boolean {
  const { firstLine, truncated } = details as { firstLine?: number; truncated?: boolean };
  return firstLine === 1 && truncated === false;
}

function realPathOf(files: Files, path: string): string | undefined {
  return attempt(() => files.realPath(path));
}
