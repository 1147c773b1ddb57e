// The TypeScript blocks of the design documents: found by fences, named by document, heading and number.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A document is named by the three digits that its file name begins with. Throws if there is none. */
export function readDocuments(folder) {
  const files = readdirSync(folder).filter((name) => /^\d{3}[_.-]/.test(name));
  if (files.length === 0) throw new Error(`${folder} has no documents: their file names begin with three digits.`);
  return files.sort().flatMap((name) => readBlocks(name.slice(0, 3), readFileSync(join(folder, name), "utf8")));
}

function readBlocks(document, text) {
  const blocks = [];
  let heading = "";
  let open;
  for (const line of text.split(/\r?\n/)) {
    const fence = /^```(\w*)\s*$/.exec(line);
    if (open !== undefined) {
      if (fence === null) open.lines.push(line);
      else {
        if (open.language === "typescript" || open.language === "ts") {
          blocks.push({ document, heading, block: blocks.length + 1, code: open.lines.join("\n") });
        }
        open = undefined;
      }
    } else if (fence !== null) open = { language: fence[1], lines: [] };
    else heading = /^#{1,6}\s+(.+?)\s*$/.exec(line)?.[1] ?? heading;
  }
  return blocks;
}
