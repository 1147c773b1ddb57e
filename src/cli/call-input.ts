import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { errorMessage } from "../core/error.ts";
import { UsageError } from "./arguments.ts";
import type { Terminal } from "./terminal.ts";

/** Stops reading here; the gate has its own limits. */
const MAX_BYTES = 4 * 1024 * 1024;
const WORD = /^([^=:]+)(:?=)([^]*)$/;

interface Sources {
  stdin: Terminal["stdin"];
  cwd: string;
}

/**
 * The input of a call from the words of a command line: `key=text`, `key:=JSON`, `key=@FILE`, `key:=@FILE`, and `-` (or
 * `@FILE`) for the whole input as JSON. A key that is given twice becomes a list. The tool's schema converts texts.
 */
export async function readCallInput(words: readonly string[], sources: Sources): Promise<Record<string, unknown>> {
  let whole: object = {};
  const assigned = new Map<string, unknown[]>();
  for (const word of words) {
    if (word === "-" || word.startsWith("@")) {
      whole = { ...whole, ...parseObject(await readSource(word.replace("@", ""), sources), word) };
      continue;
    }
    const [, key, operator, given = ""] = WORD.exec(word) ?? [];
    if (key === undefined) {
      throw new UsageError(
        `"${word}" is not an argument.`,
        "Write key=text, key:=JSON, key=@FILE, or - for JSON from stdin.",
      );
    }
    const text = given.startsWith("@") ? await readSource(given.slice(1), sources) : given;
    assigned.set(key, [...(assigned.get(key) ?? []), operator === ":=" ? parseJson(text, key) : text]);
  }
  const single = Array.from(assigned, ([key, values]) => [key, values.length === 1 ? values[0] : values] as const);
  return { ...whole, ...Object.fromEntries(single) };
}

/** A file, or stdin as `-`. */
export async function readSource(name: string, { stdin, cwd }: Sources): Promise<string> {
  if (name === "-") return readStdin(stdin);
  try {
    const bytes = await readFile(resolve(cwd, name));
    return decode(bytes, name);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `${name} cannot be read (${code ?? message}).`,
      "After = and := a @ means a file; write a text that starts with @ as key:='\"@text\"'.",
    );
  }
}

async function readStdin(stdin: Terminal["stdin"]): Promise<string> {
  if (stdin.isTTY) throw new UsageError("stdin is a terminal.", "Pipe the input: echo '{…}' | haft tools call NAME -");
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > MAX_BYTES) break;
    chunks.push(part);
  }
  return decode(Buffer.concat(chunks), "stdin", bytes);
}

function decode(bytes: Buffer, name: string, length = bytes.length): string {
  if (length > MAX_BYTES)
    throw new UsageError(`${name} is longer than ${MAX_BYTES / 1024 / 1024} MB, the limit of an input.`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(`${name} is not UTF-8 text.`, "Pass bytes as base64, if the tool takes that.");
  }
}

function parseJson(text: string, key: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(
      `"${key}" is not JSON: ${errorMessage(error)}.`,
      `For a text, write ${key}=… without the colon.`,
    );
  }
}

function parseObject(text: string, from: string): object {
  const value = parseJson(text, from);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new UsageError("The whole input must be a JSON object.", 'Write {"key": value, …}.');
}
