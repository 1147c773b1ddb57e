import { unifiedDiff } from "../../files/unified-diff.ts";

/** What a change of a file looks like, for a result: short for the model, whole for a program. */
export interface DescribedChange {
  diff: string;
  added: number;
  removed: number;
  /** For the model: the diff, or where it is long, its beginning. */
  shown: string;
}

const MAX_SHOWN = 4_000;
const HUNK_HEAD = /^@@ -(\d+)((?:,\d+)?) \+(\d+)/gm;

/** Of two texts, or of a part of them that begins after `linesBefore` lines. */
export async function describeChange(
  path: string,
  { before, after, linesBefore = 0 }: { before: string; after: string; linesBefore?: number },
): Promise<DescribedChange> {
  const { text, added, removed } = await unifiedDiff({ before, after }, { path });
  const diff =
    linesBefore === 0
      ? text
      : text.replace(HUNK_HEAD, (_, old, count, fresh) => {
          return `@@ -${Number(old) + linesBefore}${count} +${Number(fresh) + linesBefore}`;
        });
  const shown = diff.length <= MAX_SHOWN ? diff : `${diff.slice(0, MAX_SHOWN)}\n[… the rest of the diff is left out]`;
  return { diff, added, removed, shown };
}
