import type { ToolOutput } from "../../core/result.ts";
import { type OpenFile, readAll } from "../../files/open-file.ts";
import { decodeText } from "../../files/text-encoding.ts";

const MAX_BYTES = 20 * 1024 * 1024;
const MAX_OUTPUT_LENGTH = 2_000;

type Text = string | string[];

interface Cell {
  id?: string;
  cell_type?: string;
  source?: Text;
  outputs?: CellOutput[];
}

interface CellOutput {
  text?: Text;
  data?: Record<string, unknown>;
  ename?: string;
  evalue?: string;
}

/** A Jupyter notebook as its cells with their outputs, without the JSON around them; undefined for what is none. */
export async function readNotebook(
  file: OpenFile,
  shown: string,
  signal: AbortSignal,
): Promise<ToolOutput | undefined> {
  const bytes = await readAll(file, { maxBytes: MAX_BYTES, signal });
  const cells = bytes === null ? undefined : cellsOf(decodeText(bytes).text);
  if (bytes === null || cells === undefined) return undefined;
  const content = cells.map((cell, i) => showCell(cell, i + 1)).join("\n\n") || "(a notebook without cells)";
  return {
    content: `${content}\n[Cells of a notebook. Read it with offset=1 for the JSON that edit works on.]`,
    display: `Read notebook ${shown}: ${cells.length} ${cells.length === 1 ? "cell" : "cells"}`,
    details: {
      content,
      size: bytes.length,
      path: shown,
      cells: cells.map((cell, i) => ({ index: i + 1, id: cell.id, type: cell.cell_type, source: join(cell.source) })),
    },
  };
}

function cellsOf(text: string): Cell[] | undefined {
  try {
    const { cells } = JSON.parse(text) as { cells?: unknown };
    return Array.isArray(cells) && cells.every((cell) => typeof cell === "object" && cell !== null) ? cells : undefined;
  } catch {
    return undefined;
  }
}

function showCell({ cell_type, id, source, outputs }: Cell, number: number): string {
  const head = `[${number}] ${cell_type ?? "cell"}${id ? ` ${id}` : ""}`;
  const shown = (Array.isArray(outputs) ? outputs : []).map(showOutput).filter((output) => output !== "");
  return [head, join(source), ...shown.map((output) => `→ ${output}`)].join("\n");
}

function showOutput({ text, data, ename, evalue }: CellOutput): string {
  if (ename !== undefined) return `${ename}: ${evalue ?? ""}`;
  const shown = join(text ?? (data?.["text/plain"] as Text | undefined));
  if (shown === "" && data) return `(${Object.keys(data).join(", ")})`;
  return shown.length > MAX_OUTPUT_LENGTH ? `${shown.slice(0, MAX_OUTPUT_LENGTH)}…` : shown;
}

function join(source: Text | undefined): string {
  return Array.isArray(source) ? source.join("") : (source ?? "");
}
