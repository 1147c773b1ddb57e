import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { toolError } from "../core/error.ts";
import type { Anchor } from "./anchoring.ts";
import { deniedPath } from "./explain-failure.ts";
import type { Entry, FileAccess } from "./locate-entry.ts";
import { quotePath, type PathName } from "./path-name.ts";
import { checkPath } from "./path-policy.ts";

const MAX_ENTRIES = 100_000;

/**
 * A protected file inside stops the whole: otherwise a renamed or deleted ancestor would carry it away. With `to`,
 * what the tree would become is judged as well.
 */
export async function checkTree(
  entry: Entry,
  { name, access, to }: { name: PathName; access: FileAccess; to?: string },
): Promise<void> {
  let seen = 0;
  const visit = async (parent: Anchor, base: string, target: string | undefined): Promise<void> => {
    const directory = access.anchoring(parent.at(base), { directory: true, noFollow: true });
    try {
      for (const child of await readdir(directory.at("."), { withFileTypes: true })) {
        seen += 1;
        if (seen > MAX_ENTRIES) {
          throw toolError("too_large", `${quotePath(name.given)} holds more than ${MAX_ENTRIES} entries`, {
            next: "Work on the folders inside it one by one.",
          });
        }
        const childTarget = target === undefined ? undefined : join(target, child.name);
        for (const path of [join(directory.real, child.name), childTarget]) {
          const refusal = path === undefined ? null : checkPath(access.policy, path, "write");
          if (refusal !== null)
            throw deniedPath({ ...name, given: `${name.given} (for ${child.name} inside it)` }, refusal, access.policy);
        }
        if (child.isDirectory()) await visit(directory, child.name, childTarget);
      }
    } finally {
      directory.close();
    }
  };
  await visit(entry.parent, entry.base, to);
}
