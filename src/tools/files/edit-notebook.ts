import { createHash } from "node:crypto";
import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import { toolError } from "../../core/error.ts";
import type { ToolContext } from "../../core/tool.ts";
import { decodeText, encodeText } from "../../io/files/text-encoding.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";
import { isObject } from "../../schema/json-schema.ts";
import {
  CHANGE_FIELDS,
  describeChange,
  failWithSuggestion,
  filesOf,
  type FileToolDependencies,
  hasTooManyCells,
  joinSource,
  MAX_CELLS,
  PATH_ALIASES,
  pathLock,
  previewChanges,
} from "./file-access.ts";
import { reportDiagnostics } from "./report-diagnostics.ts";

const MAX_NOTEBOOK_BYTES = 50 * 1024 * 1024;
const CELL_TYPES = ["code", "markdown", "raw"] as const;
type CellType = (typeof CELL_TYPES)[number];

export function createEditNotebookTool(dependencies: FileToolDependencies) {
  const { files, reads, diagnostics } = dependencies;
  return createTool({
    name: "edit_notebook",
    title: "Edit notebook",
    description: {
      short: "Changes one cell of a Jupyter notebook (.ipynb): replaces, inserts or deletes it.",
      usageNotes: [
        "A cell is named by cell_id, or by its number as read shows it (from 1).",
        "insert adds a cell after the named one, without a name at the beginning.",
        "The outputs of a changed code cell are removed. Everything else in the file stays the same.",
      ],
      important: ["The notebook must have been read in this session."],
      examples: [{ input: { path: "plot.ipynb", cell: 2, source: "plt.show()" } }],
    },
    kind: "write",
    category: "file",
    tags: ["file", "jupyter"],
    builtIn: {
      zh: { title: "编辑笔记本", short: "修改 Jupyter 笔记本（.ipynb）的一个单元：替换、插入或删除。" },
      isCore: true,
      knownAs: ["notebookedit", "notebook_edit"],
      sameAs: { opencode: ["edit"], gemini: ["replace"] },
    },
    output: describeOutput({
      ...CHANGE_FIELDS,
      mode: field.text("replace, insert or delete"),
      cell: field.integer("Its number, from 1"),
      "cellId?": field.text(),
      cellType: field.text(),
      cells: field.integer("How many cells the notebook has now"),
    }),
    permission: "confirm",
    aliases: ["notebook_edit"],
    dialects: {
      claude: { name: "NotebookEdit", parameters: { path: "notebook_path", source: "new_source", mode: "edit_mode" } },
    },
    parameters: z.object({
      path: z.string().min(1).describe("The notebook, relative to the workspace or absolute"),
      cell_id: z.string().min(1).optional().describe("The id of the cell"),
      cell: z.number().int().min(1).optional().describe("The number of the cell, from 1, instead of its id"),
      source: z.string().optional().describe("The new text of the cell. Not for delete"),
      cell_type: z.enum(CELL_TYPES).optional().describe("Default: as it is; of a new cell, code"),
      mode: z.enum(["replace", "insert", "delete"]).default("replace").describe("What to do with the cell"),
    }),
    parameterAliases: { ...PATH_ALIASES, new_source: "source", edit_mode: "mode", notebook_path: "path" },
    signature: ({ path }) => ({ text: path, changes: [path] }),
    locks: ({ path }) => [pathLock(files, path)],
    preview: async (input, context) => {
      const { allowed, edited, shown } = await prepare(input, context, "requireRead");
      await allowed.checkWrite(input.path);
      const what = describe(edited, shown);
      return previewChanges(what, [await describeCell(shown, edited)], { summary: edited.notes });
    },
    run: async (input, context) => {
      const { allowed, before, edited, bytes, shown, stamp } = await prepare(input, context, "requireFresh");
      const outcome = await allowed.writeFileAtomic(input.path, bytes, { ifStamp: stamp });
      reads.saw(context, outcome.info, { bytes, seen: "as before" });
      const change = await describeCell(shown, edited);
      const changed = { file: outcome.info.real, before, after: bytes };
      const found = await reportDiagnostics(diagnostics, [changed], { context, show: allowed.show.bind(allowed) });
      const what = describe(edited, shown);
      const { mode, number, id, type, count } = edited;
      return {
        content: `${[[what, ...edited.notes].join(" "), change.shown].filter((line) => line !== "").join("\n")}${found.text}`,
        display: `${what} +${change.added} −${change.removed}`,
        details: {
          path: shown,
          created: false,
          mode,
          cell: number,
          cellId: id,
          cellType: type,
          cells: count,
          bytesWritten: bytes.length,
          diff: change.diff,
          diffOmitted: change.omitted,
          added: change.added,
          removed: change.removed,
          diagnostics: found.problems,
        },
      };
    },
  });

  /** Used by the preview and the edit: neither may reveal the content of an unread file. */
  async function prepare(input: NotebookInput, context: ToolContext, check: "requireRead" | "requireFresh") {
    if (!/\.ipynb$/i.test(input.path)) {
      throw toolError("invalid_input", `${input.path} is not a notebook: its name does not end with .ipynb`, {
        next: "Use edit for other files.",
      });
    }
    const allowed = filesOf({ files }, context, "edit_notebook");
    const { bytes: before, info } = await allowed
      .readWhole(input.path, { signal: context.signal })
      .catch((error: unknown) => failWithSuggestion(error, allowed, input.path));
    const shown = allowed.show(info.real);
    if (dependencies.requireRead !== false) reads[check](context, { info, bytes: before }, shown);
    if (before.length > MAX_NOTEBOOK_BYTES) {
      throw toolError("too_large", `${shown} has ${before.length} bytes; the limit is ${MAX_NOTEBOOK_BYTES}`, {
        next: "Remove outputs first, for example with exec and jupyter nbconvert --clear-output.",
      });
    }
    const decoded = decodeText(before);
    // The same id in the preview and in the run, which may be in another process.
    const newId = createHash("sha256")
      .update(`${context.callId}\0${input.source ?? ""}`)
      .digest("hex");
    const edited = editNotebook(decoded.text, { ...input, shown, newId });
    return { allowed, before, edited, shown, bytes: encodeText(edited.text, decoded), stamp: info.stamp };
  }
}

interface NotebookInput {
  path: string;
  cell_id?: string;
  cell?: number;
  source?: string;
  cell_type?: CellType;
  mode: "replace" | "insert" | "delete";
}

interface EditedNotebook {
  text: string;
  mode: NotebookInput["mode"];
  /** From 1; of a deleted cell, the one that it had. */
  number: number;
  id?: string;
  type: string;
  /** Cells after the change. */
  count: number;
  before: string;
  after: string;
  /** What changes besides the source. */
  notes: string[];
}

function describe({ mode, number, id, type }: EditedNotebook, shown: string): string {
  const verb = { replace: "Replace", insert: "Insert", delete: "Delete" }[mode];
  return `${verb} cell ${number} (${type}${id === undefined ? "" : ` ${id}`}) of ${shown}.`;
}

function describeCell(shown: string, { number, before, after }: EditedNotebook) {
  return describeChange(`${shown}#${number}`, { before: withLineEnd(before), after: withLineEnd(after) });
}

function withLineEnd(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

/** Changes one cell in the text of a notebook. Everything outside of it stays the same, character for character. */
export function editNotebook(
  text: string,
  input: Omit<NotebookInput, "path"> & { shown: string; newId: string },
): EditedNotebook {
  const { mode, shown } = input;
  const notebook = parseNotebook(text, shown);
  const index = findCell(notebook, input);
  const cell = index === undefined ? undefined : notebook.cells[index];
  if (mode !== "insert" && (index === undefined || cell === undefined)) throw noCell(shown);
  const source = input.source ?? "";
  if (mode === "delete" ? source !== "" : input.source === undefined) {
    throw toolError("invalid_input", mode === "delete" ? "delete takes no source" : `${mode} needs source`, {
      next: mode === "delete" ? "Leave source out, or use replace." : "Send the whole new text of the cell.",
    });
  }
  const make = { insert: insertCell, delete: deleteCell, replace: replaceCell }[mode];
  const edited = make(notebook, { cell, index: index ?? -1, source, type: input.cell_type, newId: input.newId });
  return { ...edited, mode, count: countCells(edited.text, shown) };
}

/** Also checks the result before it is written. */
function countCells(text: string, shown: string): number {
  try {
    return (JSON.parse(text) as { cells: unknown[] }).cells.length;
  } catch (cause) {
    throw toolError("internal", `The changed text of ${shown} would not be JSON, so nothing was changed`, {
      next: "Use edit for the text of the file.",
      cause,
    });
  }
}

interface CellEdit {
  /** The cell that was named. */
  cell?: Cell;
  index: number;
  source: string;
  type?: CellType;
  newId: string;
}

type MadeEdit = Omit<EditedNotebook, "mode" | "count">;

function replaceCell({ text, style }: Notebook, { cell, index, source, type }: CellEdit): MadeEdit {
  const { value, span } = cell as Cell;
  const members = membersOf(text, span.start);
  const before = cellType(value);
  const after = type ?? before;
  const place = members.get("source");
  if (!place) throw toolError("invalid_input", `Cell ${index + 1} has no source`, { next: "Delete it." });
  const indent = indentAt(text, place.key);
  const lines = Array.isArray(value["source"]) || typeof value["source"] !== "string";
  const edits: TextEdit[] = [{ ...place.value, text: style.write(lines ? splitSource(source) : source, indent) }];
  const notes: string[] = [];
  const put = (name: string, written: string): void => {
    const found = members.get(name);
    if (found) edits.push({ ...found.value, text: written });
    else
      edits.push({ start: place.key, end: place.key, text: `"${name}":${style.colon}${written},${style.gap(indent)}` });
  };
  if (after !== before) {
    put("cell_type", JSON.stringify(after));
    notes.push(`Its type becomes ${after} (was ${before}).`);
  }
  if (after === "code") {
    const outputs = Array.isArray(value["outputs"]) ? value["outputs"].length : 0;
    put("execution_count", "null");
    put("outputs", "[]");
    if (outputs > 0) notes.push(`Its outputs are removed (${outputs}).`);
  } else {
    edits.push(...removeMembers(span, members, new Set(["execution_count", "outputs"])));
    if (before === "code") notes.push("Its outputs are removed.");
  }
  return {
    text: applyEdits(text, edits),
    number: index + 1,
    id: idOf(value),
    type: after,
    before: joinSource(value["source"]),
    after: source,
    notes,
  };
}

function insertCell(notebook: Notebook, { index, source, type = "code", newId }: CellEdit): MadeEdit {
  const { text, style, cells, array } = notebook;
  const id = notebook.hasIds ? freeId(cells, newId) : undefined;
  const asText = typeof cells[0]?.value["source"] === "string";
  const isCode = type === "code";
  // The order of Jupyter's own files.
  const value = {
    cell_type: type,
    execution_count: isCode ? null : undefined,
    id,
    metadata: {},
    outputs: isCode ? [] : undefined,
    source: asText ? source : splitSource(source),
  };
  const previous = cells[index];
  const next = cells[index + 1];
  const outer = indentAt(text, array.start);
  const indent = cells[0] ? indentAt(text, cells[0].span.start) : outer + style.unit;
  const written = style.write(value, indent);
  const edit = previous
    ? { start: previous.span.end, end: previous.span.end, text: `,${style.gap(indent)}${written}` }
    : next
      ? { start: next.span.start, end: next.span.start, text: `${written},${style.gap(indent)}` }
      : { ...array, text: `[${style.edge(indent)}${written}${style.edge(outer)}]` };
  return { text: applyEdits(text, [edit]), number: index + 2, id, type, before: "", after: source, notes: [] };
}

function deleteCell({ text, cells, array }: Notebook, { cell, index }: CellEdit): MadeEdit {
  const { span, value } = cell as Cell;
  const [previous, next] = [cells[index - 1], cells[index + 1]];
  const edit = next
    ? { start: span.start, end: next.span.start, text: "" }
    : previous
      ? { start: previous.span.end, end: span.end, text: "" }
      : { ...array, text: "[]" };
  return {
    text: applyEdits(text, [edit]),
    number: index + 1,
    id: idOf(value),
    type: cellType(value),
    before: joinSource(value["source"]),
    after: "",
    notes: [],
  };
}

/** The index of the cell that the call names; undefined if it names none. */
function findCell({ cells }: Notebook, { cell_id: id, cell, shown }: Omit<NotebookInput, "path"> & { shown: string }) {
  if (id === undefined && cell === undefined) return undefined;
  const count = `${shown} has ${cells.length} ${cells.length === 1 ? "cell" : "cells"}`;
  if (cell !== undefined && cell > cells.length) {
    throw toolError("bad_range", `${count}; there is no cell ${cell}`, { next: "Read the notebook again." });
  }
  if (id === undefined) return cell === undefined ? undefined : cell - 1;
  const found = cells.flatMap(({ value }, index) => (idOf(value) === id ? [index] : []));
  const [index] = found;
  if (index === undefined || found.length > 1) {
    const known = cells.flatMap(({ value }) => idOf(value) ?? []);
    const how =
      known.length === 0 ? "Its cells have no ids: use cell, the number from 1." : `Ids: ${known.join(", ")}.`;
    const what = found.length > 1 ? `${found.length} cells with the id` : "no cell with the id";
    throw toolError("no_match", `${shown} has ${what} ${JSON.stringify(id)}`, { next: how.slice(0, 1_000) });
  }
  if (cell !== undefined && cell !== index + 1) {
    throw toolError("invalid_input", `The cell with the id ${JSON.stringify(id)} is number ${index + 1}, not ${cell}`, {
      next: "Send only one of cell_id and cell.",
    });
  }
  return index;
}

function noCell(shown: string) {
  return toolError("invalid_input", `Which cell of ${shown}?`, { next: "Send cell_id, or cell, its number from 1." });
}

interface Span {
  start: number;
  end: number;
}

interface Member {
  /** Where the key begins. */
  key: number;
  value: Span;
}

interface Cell {
  span: Span;
  value: Record<string, unknown>;
}

interface Notebook {
  text: string;
  array: Span;
  cells: Cell[];
  /** Since nbformat 4.5 every cell has an id. */
  hasIds: boolean;
  style: JsonStyle;
}

function parseNotebook(text: string, shown: string): Notebook {
  const fail = (why: string, cause?: unknown) =>
    toolError("invalid_input", `${shown} is not a notebook of format 4: ${why}`, {
      next: "Use edit for the text of the file.",
      cause,
    });
  if (hasTooManyCells(text)) throw tooManyCells(shown);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw fail("it is not JSON", cause);
  }
  if (!isObject(parsed) || !Array.isArray(parsed["cells"]) || !parsed["cells"].every(isObject)) {
    throw fail("it has no list of cells");
  }
  if (parsed["cells"].length > MAX_CELLS) throw tooManyCells(shown);
  const { cells: values, nbformat, nbformat_minor: minor } = parsed as { cells: Cell["value"][] } & typeof parsed;
  const array = membersOf(text, skipBlanks(text, 0)).get("cells")?.value as Span;
  const cells = elementsOf(text, array.start).map((span, index): Cell => ({ span, value: values[index] ?? {} }));
  const hasIds = Number(nbformat) > 4 || (Number(nbformat) === 4 && Number(minor) >= 5);
  return { text, array, cells, hasIds, style: styleOf(text) };
}

function tooManyCells(shown: string) {
  return toolError("too_large", `${shown} has more than ${MAX_CELLS} cells`, {
    next: "Use edit for the text of the file.",
  });
}

function cellType(value: Cell["value"]): string {
  return typeof value["cell_type"] === "string" ? value["cell_type"] : "code";
}

function idOf({ id }: Cell["value"]): string | undefined {
  return typeof id === "string" ? id : undefined;
}

/** Lines with their line ends, as Jupyter stores them. */
function splitSource(source: string): string[] {
  return source === "" ? [] : source.split(/(?<=\n)/);
}

function freeId(cells: readonly Cell[], hash: string): string {
  const taken = new Set(cells.map(({ value }) => idOf(value)));
  let length = 8;
  while (taken.has(hash.slice(0, length)) && length < hash.length) length++;
  return hash.slice(0, length);
}

interface TextEdit extends Span {
  text: string;
}

/** The edits do not overlap; several at one place are made in the order given. */
function applyEdits(text: string, edits: readonly TextEdit[]): string {
  let result = "";
  let at = 0;
  for (const edit of edits.toSorted((one, other) => one.start - other.start)) {
    result += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + text.slice(at);
}

/** Each with the comma after it; those at the end with the comma before the first of them. */
function removeMembers(object: Span, members: Map<string, Member>, names: ReadonlySet<string>): TextEdit[] {
  const all = [...members].sort(([, one], [, other]) => one.key - other.key);
  const lastKept = all.findLastIndex(([name]) => !names.has(name));
  const edits = all.slice(0, lastKept + 1).flatMap(([name, { key }], index): TextEdit[] => {
    const next = all[index + 1]?.[1];
    return next && names.has(name) ? [{ start: key, end: next.key, text: "" }] : [];
  });
  const last = all.at(-1)?.[1];
  if (!last || lastKept === all.length - 1) return edits;
  return [...edits, { start: all[lastKept]?.[1].value.end ?? object.start + 1, end: last.value.end, text: "" }];
}

/** How the file writes JSON. */
interface JsonStyle {
  /** One step of indentation; empty if the file has no lines. */
  unit: string;
  colon: string;
  /** Between two members or elements, after the comma. */
  gap(indent: string): string;
  /** After an opening bracket, and before the closing one. */
  edge(indent: string): string;
  write(value: unknown, indent: string): string;
}

function styleOf(text: string): JsonStyle {
  const [, lineEnd, unit = ""] = /^\s*\{(\r?\n)([ \t]*)"/.exec(text) ?? [];
  const [, colon = " "] = /"\s*:(\s?)/.exec(text) ?? [];
  const space = /,([ ]?)\s*"/.exec(text)?.[1] ?? " ";
  // Python escapes what is not ASCII, if it is not asked to keep it.
  const escapes = !/[^\0-\x7f]/.test(text) && /\\u[0-9a-f]{4}/i.test(text);
  const escape = (json: string): string =>
    escapes ? json.replace(/[^\0-\x7f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`) : json;
  if (lineEnd === undefined) {
    const write = (value: unknown): string => {
      if (Array.isArray(value)) return `[${value.map(write).join(`,${space}`)}]`;
      if (!isObject(value)) return escape(JSON.stringify(value));
      const members = Object.entries(value).filter(([, each]) => each !== undefined);
      return `{${members.map(([key, each]) => `"${key}":${colon}${write(each)}`).join(`,${space}`)}}`;
    };
    return { unit: "", colon, gap: () => space, edge: () => "", write };
  }
  const line = (indent: string): string => lineEnd + indent;
  const write = (value: unknown, indent: string): string =>
    escape(JSON.stringify(value, null, unit)).replaceAll("\n", lineEnd + indent);
  return { unit, colon, gap: line, edge: line, write };
}

/** The blanks at the start of the line. */
function indentAt(text: string, position: number): string {
  const start = text.lastIndexOf("\n", position - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, position))?.[0] ?? "";
}

/** The members of the object at a position. Of equal keys the last one, as JSON.parse takes it. The text must be valid JSON. */
function membersOf(text: string, object: number): Map<string, Member> {
  const members = new Map<string, Member>();
  let at = skipBlanks(text, object + 1);
  while (text[at] === '"') {
    const end = endOfString(text, at);
    const start = skipBlanks(text, skipBlanks(text, end) + 1);
    const value = { start, end: endOfValue(text, start) };
    members.set(JSON.parse(text.slice(at, end)) as string, { key: at, value });
    at = skipBlanks(text, value.end);
    if (text[at] === ",") at = skipBlanks(text, at + 1);
  }
  return members;
}

function elementsOf(text: string, array: number): Span[] {
  const elements: Span[] = [];
  let at = skipBlanks(text, array + 1);
  while (text[at] !== "]") {
    const end = endOfValue(text, at);
    elements.push({ start: at, end });
    at = skipBlanks(text, end);
    if (text[at] === ",") at = skipBlanks(text, at + 1);
  }
  return elements;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && " \t\r\n".includes(text.charAt(at))) at++;
  return at;
}

function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); ; at = text.indexOf('"', at + 1)) {
    if (at === -1) return text.length;
    let slashes = 0;
    while (text[at - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
}

function endOfValue(text: string, start: number): number {
  const first = text.charAt(start);
  if (first === '"') return endOfString(text, start);
  if (first !== "{" && first !== "[") {
    const literal = /[\s,\]}]/g;
    literal.lastIndex = start;
    return literal.exec(text)?.index ?? text.length;
  }
  const token = /["[\]{}]/g;
  token.lastIndex = start;
  let depth = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [found] = match;
    if (found === '"') token.lastIndex = endOfString(text, match.index);
    else depth += found === "{" || found === "[" ? 1 : -1;
    if (depth === 0) return match.index + 1;
  }
  return text.length;
}
