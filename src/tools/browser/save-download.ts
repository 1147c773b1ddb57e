import type { Download } from "playwright-core";
import { ToolError, toolError } from "../../core/error.ts";
import type { Files } from "../../files/files.ts";

export interface DownloadTarget {
  files: Files;
  /** In the workspace. */
  folder: string;
  maxBytes: number;
}

const MAX_NAMES = 100;

/** Puts what a page gave into the workspace, never over something that is there; answers where it is. */
export async function saveDownload(
  download: Download,
  target: DownloadTarget,
): Promise<{ path: string; bytes: number }> {
  const stream = await download.createReadStream();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > target.maxBytes) {
      await download.cancel();
      throw toolError("too_large", `it is larger than ${target.maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return saveNew(Buffer.concat(chunks), download.suggestedFilename(), target);
}

export async function saveNew(
  bytes: Uint8Array,
  name: string,
  { files, folder }: Pick<DownloadTarget, "files" | "folder">,
): Promise<{ path: string; bytes: number }> {
  const [, stem = "file", extension = ""] = /^(.*?)(\.[^.]*)?$/s.exec(safeName(name)) ?? [];
  for (let count = 1; ; count += 1) {
    const path = `${folder}/${stem}${count === 1 ? "" : `-${count}`}${extension}`;
    try {
      const { info } = await files.writeFileAtomic(path, bytes, { ifAbsent: true });
      return { path: files.show(info.real), bytes: bytes.length };
    } catch (error) {
      if (!(error instanceof ToolError) || error.code !== "path_exists" || count === MAX_NAMES) throw error;
    }
  }
}

/** The name is the page's choice: no folders, nothing hidden, nothing that a system reads as more than a name. */
export function safeName(name: string): string {
  const plain = name
    .normalize("NFC")
    .replace(/[^\p{L}\p{N} ._()+-]/gu, "_")
    .replace(/^[. _-]+|[. ]+$/g, "");
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(plain)?.[0] ?? "";
  return plain.slice(0, plain.length - extension.length).slice(0, 100) + extension || "file";
}
