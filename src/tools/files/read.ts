import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { ToolContext } from "../../core/tool.ts";
import { isBinary } from "../../files/is-binary.ts";
import { detectMediaType } from "../../files/media-type.ts";
import { type OpenFile, readAll } from "../../files/open-file.ts";
import { isSensitivePath } from "../../files/sensitive-path.ts";
import { encodingNamed } from "./encoding-name.ts";
import { filesOf, type FileToolDependencies, PATH_ALIASES } from "./file-tool.ts";
import { readFolder } from "./read-folder.ts";
import { readImage } from "./read-image.ts";
import { FINGERPRINTED_BYTES } from "./read-ledger.ts";
import { readNotebook } from "./read-notebook.ts";
import { readPdf } from "./read-pdf.ts";
import { readText } from "./read-text.ts";
import { failWithSuggestion } from "./suggest-path.ts";

/** Where reading begins and how much of it is wanted, in whatever the file is made of. */
export interface ReadRange {
  offset?: number;
  limit?: number;
  pages?: string;
  encoding?: string;
}

/** Enough to know what a file is. */
const HEAD_BYTES = 4096;

export function createReadTool({ files, reads, lineIndexes, maxReadBytes }: FileToolDependencies) {
  return createTool({
    name: "read",
    title: "Read",
    description: {
      short: "Reads a file: text by lines, images as images, PDF by pages, notebooks by cells; lists a folder.",
      usageNotes: [
        "Gives up to 2,000 lines from offset (line numbers from 1), each cut at 2,000 characters, 50 KiB in all.",
        "When there is more, the answer says with which offset to go on.",
      ],
      examples: [{ input: { path: "README.md" } }, { input: { path: "server.log", offset: 4000, limit: 100 } }],
    },
    kind: "readonly",
    category: "file",
    tags: ["file"],
    origin: { type: "builtin" },
    labels: ["sensitive_data"],
    labelsOf: ({ path }) => (isSensitivePath(files, path) ? ["sensitive_data"] : []),
    // The window itself is bounded; the gate's own budget must not cut it once more.
    limits: { maxResultBytes: 96 * 1024 },
    dialects: {
      snake: { name: "read_file" },
      claude: { name: "Read", parameters: { path: "file_path" } },
      openclaw: { name: "read" },
    },
    parameters: z.object({
      path: z.string().min(1).describe("The file, relative to the workspace or absolute"),
      offset: z.number().int().min(0).optional().describe("First line wanted, from 1 (0 also means the start)"),
      limit: z.number().int().min(1).optional().describe("How many lines; 2,000 where absent"),
      pages: z.string().optional().describe("Pages of a PDF, such as 1-5; at most 20"),
      encoding: z.string().optional().describe("Of the text; found out where absent"),
    }),
    parameterAliases: PATH_ALIASES,
    signature: ({ path }) => ({ text: path, reads: [path] }),
    run: async ({ path, ...range }, context) => {
      const allowed = filesOf({ files }, context);
      const info = await allowed.info(path).catch((error: unknown) => failWithSuggestion(error, allowed, path));
      if (info.type === "directory") return readFolder(allowed, path, range);
      const file = await allowed.openForRead(path);
      try {
        const output = await readAs(file, allowed.show(file.info.real), knownEncoding(range), context);
        reads.saw(context, file.info, await contentOf(file, context.signal));
        return output;
      } finally {
        file.close();
      }
    },
  });

  async function readAs(file: OpenFile, shown: string, range: ReadRange, context: ToolContext): Promise<ToolOutput> {
    const head = Buffer.alloc(Math.min(HEAD_BYTES, file.info.size));
    const sample = head.subarray(0, file.readNow(head, 0));
    const mediaType = detectMediaType(sample);
    if (mediaType?.startsWith("image/")) return readImage(file, shown, mediaType, context.signal);
    if (mediaType === "application/pdf") return readPdf(file, shown, range, context.signal);
    if (range.encoding === undefined && isBinary(sample)) throw binary(shown, mediaType, file.info.size);
    const asCells = shown.endsWith(".ipynb") && range.offset === undefined && range.limit === undefined;
    const cells = asCells ? await readNotebook(file, shown, context.signal) : undefined;
    return cells ?? readText(file, lineIndexes, { ...range, shown, maxBytes: maxReadBytes, signal: context.signal });
  }
}

/** Most callers say utf-8 without knowing; that is also what is found where it is true. */
function knownEncoding({ encoding, ...range }: ReadRange): ReadRange {
  const named = encoding === undefined ? "utf-8" : encodingNamed(encoding);
  return named === "utf-8" ? range : { ...range, encoding: named };
}

async function contentOf(file: OpenFile, signal: AbortSignal): Promise<Buffer | undefined> {
  if (file.info.size > FINGERPRINTED_BYTES) return undefined;
  return (await readAll(file, { maxBytes: FINGERPRINTED_BYTES, signal })) ?? undefined;
}

function binary(shown: string, mediaType: string | null, size: number): ToolError {
  return toolError("not_regular_file", `${shown} is not text: ${mediaType ?? "binary data"}, ${size} bytes`, {
    next: "Use a program that understands it, through exec.",
    data: { mediaType, size },
  });
}
