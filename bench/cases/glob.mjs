// Finding files by pattern among 50,000, against a bare listing by ripgrep.
import { interleave, median, medianRatio } from "../harness.mjs";
import { openSearch, plantTree, ripgrepAlone, wallMs } from "../search-tree.mjs";

export const name = "glob";

const ROUNDS = 11;
const PATTERNS = { "a fifth of the files": "**/*.d.ts", "one folder": "packages/p3/src/**/*.md", none: "**/*.nowhere" };

export async function run({ report }) {
  const tree = plantTree();
  try {
    const search = await openSearch(tree.root, "native");
    for (const [title, pattern] of Object.entries(PATTERNS)) {
      const alone = () => wallMs(() => ripgrepAlone(tree.root, "--files"));
      const haft = () => wallMs(() => search("glob", { pattern }));
      await haft();
      const times = await interleave({ alone, haft }, ROUNDS);
      report({
        case: `Haft, ${title}, wall`,
        value: medianRatio(times.haft, times.alone),
        unit: "× listing",
        atMost: 1.3,
      });
      report({ case: `rg --files, beside ${title}, wall`, value: median(times.alone), unit: "ms" });
    }
  } finally {
    tree.remove();
  }
}
