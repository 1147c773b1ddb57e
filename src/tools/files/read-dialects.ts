import type { AnyTool, ToolDialect } from "../../core/tool.ts";
import { isObject } from "../../schema/json-schema.ts";
import { flagOf, ForeignInput, integerOf } from "../../core/adopt/foreign-input.ts";

/** `read` as Gemini CLI shows it. */
export const GEMINI_READ: ToolDialect = {
  name: "read_file",
  description: {
    short: "Reads a file: text by lines, images as images, PDF by pages, notebooks by cells; lists a folder.",
    usageNotes: [
      "Returns lines from start_line to end_line: 2,000 by default, at most 10,000, about 12,000 tokens in total.",
      "If there is more, the result gives an offset: send it as start_line.",
    ],
    examples: [{ input: { file_path: "server.log", start_line: 4000, end_line: 4100 } }],
  },
  parameters: { path: "file_path", offset: "start_line" },
  schema: {
    type: "object",
    properties: {
      file_path: { type: "string", minLength: 1, description: "The file, relative to the workspace or absolute" },
      start_line: { type: "integer", minimum: 1, description: "First line, from 1" },
      end_line: { type: "integer", minimum: 1, description: "Last line, from 1, inclusive" },
      column: { type: "integer", minimum: 1, description: "First character of the first line, from 1, for long lines" },
      bytes: { type: "string", description: "Range of bytes instead of lines, from 0, such as 0-4095 or 4096-" },
      pages: { type: "string", description: "Pages of a PDF, at most 20, or cells of a notebook, such as 1-5" },
      encoding: { type: "string", description: "Encoding of the text. Default: detected" },
    },
    required: ["file_path"],
    additionalProperties: false,
  },
};

const LINES = ["start_line", "startLine", "start_line_one_indexed"];
const LAST_LINES = ["end_line", "endLine", "end_line_one_indexed_inclusive"];

/** Ranges of other clients as `offset` and `limit`: first and last line, a pair of them, or the first lines. */
export function convertRange(input: Record<string, unknown>): ForeignInput {
  const foreign = new ForeignInput(input);
  const { args } = input;
  if (isObject(args) && Object.keys(args).join() === "file") foreign.move("args", "files", () => [args["file"]].flat());
  convertFiles(foreign);
  if (input["mode"] === "slice") foreign.drop("mode", "lines are always returned as they are");
  foreign.refuse("mode", 'Only "slice" is known: send offset and limit.');
  foreign.refuse("indentation", "Blocks are not found by their indentation: send offset and limit.");
  foreign.drop("task_progress", "the to-do list has its own tool");
  // Older versions of Gemini CLI count it from 0, but results here name offsets from 1.
  if (foreign.has("absolute_path") && Number(input["offset"] ?? 0) > 0) {
    foreign.problems.push("absolute_path: with it lines may count from 0; send path, with lines counted from 1");
  }
  foreign.move("absolute_path", "path");
  const range = foreign.has("view_range") ? foreign.take("view_range") : undefined;
  const [first, last] = Array.isArray(range) ? range : [];
  if (range !== undefined) convertLines(foreign, { name: "view_range", first, last, isPair: true });
  const firstName = LINES.find((name) => foreign.has(name));
  const lastName = LAST_LINES.find((name) => foreign.has(name));
  if (firstName !== undefined || lastName !== undefined) {
    convertLines(foreign, {
      name: firstName ?? lastName ?? "",
      // "start_line" of Gemini was renamed before.
      first: firstName ? foreign.take(firstName) : input["offset"],
      last: lastName && foreign.take(lastName),
      isPair: false,
    });
  }
  if (foreign.has("head")) foreign.move("head", "limit", integerOf);
  foreign.refuse(
    "tail",
    "Read with offset; a result names the number of lines. For the last lines of a log use exec: tail -n N.",
  );
  if (foreign.take("should_read_entire_file") === true && foreign.has("offset")) {
    foreign.problems.push("should_read_entire_file: contradicts the given lines; send one of them");
  }
  const isGiven = (name: string): boolean => input[name] !== undefined && input[name] !== null;
  const lines = ["offset", "limit", "column"].filter(isGiven);
  if (isGiven("bytes") && lines.length > 0) {
    foreign.problems.push(`bytes: a range of bytes takes no ${lines.join(" or ")}; send one of them`);
  }
  if (foreign.has("detail")) foreign.drop("detail", "images have the size that models accept");
  return foreign;
}

/** A list of one file, with one range of lines at most, as Roo Code and Cline send it. */
function convertFiles(foreign: ForeignInput): void {
  const files = foreign.input["files"];
  if (!Array.isArray(files) || foreign.has("path")) return;
  const [file, ...others] = files.map((each: unknown) => (typeof each === "string" ? { path: each } : each));
  if (!isObject(file) || others.length > 0) {
    foreign.problems.push("files: one call reads one file; send path, or call read_many with paths");
    return;
  }
  foreign.take("files");
  const { path, line_ranges: ranges = [], ...lines } = file;
  foreign.set("path", path, "files");
  for (const [name, value] of Object.entries(lines)) foreign.set(name, value, `files[0].${name}`);
  const [range, ...moreRanges] = Array.isArray(ranges) ? (ranges as unknown[]) : [ranges];
  if (moreRanges.length > 0)
    foreign.problems.push("files[0].line_ranges: one call reads one range; send the others apart");
  else if (range !== undefined)
    foreign.set("view_range", typeof range === "string" ? range.split("-").map(Number) : range, "line_ranges");
}

interface GivenLines {
  name: string;
  first: unknown;
  last: unknown;
  isPair: boolean;
}

/** A last line of -1 is the end of the file, only in a pair. */
function convertLines(foreign: ForeignInput, { name, first, last, isPair }: GivenLines): void {
  const from = first === undefined ? 1 : integerOf(first);
  const to = last === undefined || (isPair && last === -1) ? Infinity : integerOf(last);
  if (from === undefined || to === undefined || from < 1 || to < from) {
    foreign.problems.push(
      `${name}: lines are counted from 1, and the last is not before the first; send offset and limit`,
    );
    return;
  }
  foreign.set("offset", from, name);
  if (to !== Infinity) foreign.set("limit", to - from + 1, name);
}

/** Gemini's options of what to leave out, as `respect_gitignore`. */
export function convertFiltering(foreign: ForeignInput): void {
  foreign.moveInverted("no_ignore", "respect_gitignore");
  if (!foreign.has("file_filtering_options")) return;
  const name = "file_filtering_options";
  const options = foreign.take(name);
  const respects = isObject(options) ? flagOf(options["respect_git_ignore"]) : undefined;
  if (respects !== undefined) foreign.set("respect_gitignore", respects, `${name}.respect_git_ignore`);
  if (isObject(options) && flagOf(options["respect_gemini_ignore"]) === true) {
    foreign.problems.push(`${name}.respect_gemini_ignore: .geminiignore files are not used; leave it out`);
  }
}

/** One file, of which Cline may want a part. */
export const redirectOne: NonNullable<AnyTool["redirect"]> = ({ files, ...rest }, calledAs) =>
  calledAs === "read_files" && Array.isArray(files) && files.length === 1
    ? { name: "read", input: { files, ...rest } }
    : undefined;

/** Parameters of Gemini's `read_many_files`, and Cline's list of files. */
export function convertReadMany(input: Record<string, unknown>): ForeignInput {
  const foreign = new ForeignInput(input);
  const { paths } = input;
  if (Array.isArray(paths) && paths.some(isObject)) {
    const isWhole = (file: unknown): boolean =>
      isObject(file) && Object.entries(file).every(([name, value]) => name === "path" || value === null);
    if (paths.every(isWhole)) input["paths"] = paths.map((file: Record<string, unknown>) => file["path"]);
    else foreign.problems.push("paths: whole files are read; for a part of one call read with offset and limit");
  }
  convertFiltering(foreign);
  const isDefault = (name: string): boolean => flagOf(input[name]) === true;
  if (isDefault("recursive")) foreign.drop("recursive", "the patterns decide it");
  foreign.refuse("recursive", "Use patterns without **.");
  if (isDefault("useDefaultExcludes")) foreign.drop("useDefaultExcludes", ".gitignore files decide what is left out");
  foreign.refuse("useDefaultExcludes", "To read what .gitignore files exclude, set respect_gitignore to false.");
  return foreign;
}
