import { unifiedDiff } from "../../files/unified-diff.ts";

/** What a change of a file looks like, for a result: short for the model, whole for a program. */
export interface DescribedChange {
  diff: string;
  added: number;
  removed: number;
  /** For the model: the diff, or where it is long, its beginning. */
  shown: string;
}

const MOST_SHOWN = 4_000;

export async function describeChange(path: string, before: string, after: string): Promise<DescribedChange> {
  const { text: diff, added, removed } = await unifiedDiff({ before, after }, { path });
  const shown = diff.length <= MOST_SHOWN ? diff : `${diff.slice(0, MOST_SHOWN)}\n[… the rest of the diff is left out]`;
  return { diff, added, removed, shown };
}
