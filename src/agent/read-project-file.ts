import type { Files } from "../files/files.ts";

/** What a project tells agents, first name first; one of them is read. */
const NAMES = ["AGENTS.md", "CLAUDE.md"];
const MAX_BYTES = 64 * 1024;

/** The project's instructions, where it has some. A file that is too large is cut, and says so. */
export async function readProjectFile(files: Files): Promise<{ file: string; text: string } | undefined> {
  for (const file of NAMES) {
    let opened;
    try {
      opened = await files.openForRead(file);
    } catch {
      continue;
    }
    try {
      const bytes = Buffer.alloc(Math.min(opened.info.size, MAX_BYTES));
      const length = await opened.read(bytes, 0);
      const text = new TextDecoder().decode(bytes.subarray(0, length));
      const isCut = opened.info.size > MAX_BYTES;
      if (text.trim() === "") continue;
      return { file, text: isCut ? `${text}\n\n(cut: read ${file} for the rest)` : text };
    } finally {
      opened.close();
    }
  }
  return undefined;
}
