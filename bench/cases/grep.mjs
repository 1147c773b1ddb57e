// Searching 50,000 files for something rare, common and absent: the tool, its fall-back, and ripgrep alone.
import { interleave, median, medianRatio } from "../harness.mjs";
import { openSearch, plantTree, ripgrepAlone, wallMs } from "../search-tree.mjs";

export const name = "grep";

const ROUNDS = 7;
const FALLBACK_ROUNDS = 3;
const PATTERNS = { rare: "rareNeedle", common: "import", "no match": "nowhereToBeFound" };

export async function run({ report }) {
  const tree = plantTree();
  try {
    const [native, wasm] = [await openSearch(tree.root, "native"), await openSearch(tree.root, "wasm")];
    for (const [title, pattern] of Object.entries(PATTERNS)) {
      const alone = () => wallMs(() => ripgrepAlone(tree.root, "--line-number", `--regexp=${pattern}`));
      const tool = (search) => () => wallMs(() => search("grep", { pattern }));
      await tool(native)();
      const times = await interleave({ alone, haft: tool(native) }, ROUNDS);
      report({
        case: `Haft, ${title}, wall`,
        value: medianRatio(times.haft, times.alone),
        unit: "× ripgrep",
        atMost: 1.15,
      });
      report({ case: `ripgrep alone, ${title}, wall`, value: median(times.alone), unit: "ms" });
      const slow = await interleave({ alone, haft: tool(wasm) }, FALLBACK_ROUNDS);
      report({
        case: `Haft, ${title}, fall-back, wall`,
        value: medianRatio(slow.haft, slow.alone),
        unit: "× ripgrep",
        atMost: 8,
      });
    }
  } finally {
    tree.remove();
  }
}
