import { z } from "zod";
import { createTool } from "../core/create-tool.ts";
import { toolError } from "../core/error.ts";
import type { AnyTool } from "../core/tool.ts";
import { runFormula } from "./formula.ts";

/** What the example tools work on. */
export interface NoteBook {
  readonly notes: Map<string, string>;
  readonly variables: Map<string, number>;
}

/** Six small tools over notes in memory, in the roles and the order of Read, Edit, Write, Glob, Grep and Bash. */
export function createNoteTools({ notes, variables }: NoteBook): AnyTool[] {
  const title = z.string().min(1).describe("The title of a note");

  const readNote = createTool({
    name: "read_note",
    kind: "readonly",
    category: "file",
    tags: ["note"],
    description: { short: "Read a note", usageNotes: ["Use list_notes to see which notes there are"] },
    parameters: z.object({ title, limit: z.int().min(1).max(1000).optional().describe("At most so many lines") }),
    run: ({ title, limit }) => {
      const lines = noteOf(title).split("\n").slice(0, limit);
      return { content: lines.join("\n"), display: `${title} (${lines.length} lines)`, details: { title, lines } };
    },
  });
  const editNote = createTool({
    name: "edit_note",
    kind: "write",
    category: "file",
    tags: ["note"],
    description: { short: "Replace text in a note", important: ["The old text must stand in the note exactly once"] },
    parameters: z.object({
      title,
      old_text: z.string().min(1).describe("The text to replace"),
      new_text: z.string().describe("The text to put in its place"),
      replace_all: z.boolean().default(false).describe("Replace it wherever it stands"),
    }),
    locks: ({ title }) => [`note:${title}`],
    run: ({ title, old_text, new_text, replace_all }) => {
      const parts = noteOf(title).split(old_text);
      const found = parts.length - 1;
      if (found === 0) throw toolError("no_match", "The old text is not in the note", { next: "Read the note first." });
      if (found > 1 && !replace_all) {
        throw toolError("ambiguous", `The old text stands in the note ${found} times`, {
          next: "Give more of the text around it, or set replace_all.",
        });
      }
      notes.set(title, parts.join(new_text));
      return { content: `Replaced ${found} of ${found}.`, details: { replaced: found } };
    },
  });
  const writeNote = createTool({
    name: "write_note",
    kind: "write",
    category: "file",
    tags: ["note"],
    description: "Write a note; one with the same title is overwritten",
    parameters: z.object({ title, text: z.string().describe("The whole text") }),
    locks: ({ title }) => [`note:${title}`],
    run: ({ title, text }) => {
      notes.set(title, text);
      return { content: `Wrote "${title}".`, details: { characters: text.length } };
    },
  });
  const listNotes = createTool({
    name: "list_notes",
    kind: "readonly",
    category: "search",
    tags: ["note"],
    description: "List the titles of all notes, or of those that begin with a text",
    parameters: z.object({ prefix: z.string().optional().describe("What the titles begin with") }),
    run: ({ prefix = "" }) => Array.from(notes.keys()).filter((name) => name.startsWith(prefix)),
  });
  const searchNotes = createTool({
    name: "search_notes",
    kind: "readonly",
    category: "search",
    description: "Search the text of all notes",
    parameters: z.object({ query: z.string().min(1).describe("What to look for, in any case") }),
    run: ({ query }) => {
      const hits = Array.from(notes).flatMap(([name, text]) =>
        linesWith(text, query).map((line) => `${name}: ${line}`),
      );
      return { content: hits.join("\n") || "Nothing found.", details: { hits } };
    },
  });
  const runFormulaTool = createTool({
    name: "run_formula",
    kind: "execute",
    category: "runtime",
    isConcurrencySafe: false,
    description: { short: "Run a formula and keep what it assigns", usageNotes: ["For example: total = 6 * 7"] },
    parameters: z.object({ formula: z.string().min(1).max(200).describe("Numbers, names, + - * /, brackets and =") }),
    run: ({ formula }) => runFormula(formula, variables),
  });

  return [readNote, editNote, writeNote, listNotes, searchNotes, runFormulaTool];

  function noteOf(name: string): string {
    const found = notes.get(name);
    if (found !== undefined) return found;
    throw toolError("path_not_found", `There is no note "${name}"`, {
      next: `Notes are: ${[...notes.keys()].join(", ")}.`,
    });
  }
}

function linesWith(text: string, query: string): string[] {
  return text.split("\n").filter((line) => line.toLowerCase().includes(query.toLowerCase()));
}
