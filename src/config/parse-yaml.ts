import type { Document, Node } from "yaml";
import { ConfigError, type ConfigPath, type SourcePosition } from "./config-problem.ts";
import type { ParsedText } from "./parse-config-text.ts";
import { copyParsed } from "./text-limits.ts";

/** YAML 1.2 (core schema), with every error of the text at once. */
export async function parseYaml(text: string, file: string): Promise<ParsedText> {
  const { isMap, isScalar, isSeq, LineCounter, parseDocument } = await import("yaml");
  const lines = new LineCounter();
  const document: Document = parseDocument(text, { lineCounter: lines, stringKeys: true, prettyErrors: false });
  const positionAt = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  // An unknown tag is only a warning there, and its value then something else than its author thinks.
  const problems = [...document.errors, ...document.warnings].map(({ message, pos }) => ({
    file,
    ...positionAt(pos[0]),
    message: `Not valid YAML: ${message}.`,
  }));
  if (problems.length > 0) throw new ConfigError(problems);

  const step = (node: unknown, part: string | number): { at: number | undefined; next: unknown } => {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      return { at: (pair?.key as Node | undefined)?.range?.[0], next: pair?.value };
    }
    const item = isSeq(node) ? node.items[Number(part)] : undefined;
    return { at: (item as Node | undefined)?.range?.[0], next: item };
  };
  return {
    value: copyParsed(readValue(document, file), file),
    positionOf(path: ConfigPath) {
      let node: unknown = document.contents;
      let offset: number | undefined;
      for (const part of path) {
        const { at, next } = step(node, part);
        // Behind an alias the place of its use is said.
        if (at === undefined) break;
        offset = at;
        node = next;
      }
      return offset === undefined ? undefined : positionAt(offset);
    },
  };
}

function readValue(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new ConfigError([{ file, message: `Not valid YAML: ${(error as Error).message}. Use fewer aliases.` }], {
      cause: error,
    });
  }
}
