// Which files of the repository are pages of the site, and where. Uses nothing but Node: tests read it without the site's packages.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";

/** The list of all documents by task, which is also the sidebar. */
export const INDEX = "docs/README.md";

const ROOT_PAGES = {
  "README.md": "index.md",
  "README.zh-CN.md": "zh-CN.md",
  "CHANGELOG.md": "changelog.md",
  "CONTRIBUTING.md": "contributing.md",
  "SECURITY.md": "security-policy.md",
  "CODE_OF_CONDUCT.md": "code-of-conduct.md",
};

/** Folders of `docs/` without documents: this one, and pictures. */
const NOT_DOCUMENTS = new Set(["site", "images"]);

/** Every document of the repository: path in the repository → path in the site. */
export function findPages(root) {
  const pages = new Map(Object.entries(ROOT_PAGES).filter(([file]) => existsSync(join(root, file))));
  pages.set(INDEX, "documents.md");
  for (const file of markdownUnder(root, "docs")) {
    if (file !== INDEX) pages.set(file, file.replace(/^docs\//, "").replace(/(^|\/)README\.md$/, "$1index.md"));
  }
  for (const file of markdownUnder(root, "examples")) {
    pages.set(file, file.replace(/(?:\/README)?\.md$/, file === "examples/README.md" ? "/index.md" : ".md"));
  }
  return pages;
}

/** @returns {string[]} */
function markdownUnder(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = posix.join(folder, entry.name);
      if (entry.isDirectory()) {
        const isSkipped = entry.name === "node_modules" || (folder === "docs" && NOT_DOCUMENTS.has(entry.name));
        return isSkipped ? [] : markdownUnder(root, path);
      }
      return entry.name.endsWith(".md") ? [path] : [];
    })
    .sort();
}

/** The groups of the index: its second-level headings, each with the linked documents of its list. */
export function readIndex(root) {
  const groups = [];
  for (const line of readFileSync(join(root, INDEX), "utf8").split("\n")) {
    const heading = /^## (.+)$/.exec(line)?.[1];
    if (heading !== undefined) groups.push({ title: heading, items: [] });
    const [, title, link] = /^- \[([^\]]+)\]\(([^)#]+)\)/.exec(line) ?? [];
    if (title !== undefined && link !== undefined) {
      groups.at(-1)?.items.push({ title, file: posix.join(posix.dirname(INDEX), link) });
    }
  }
  return groups;
}

/**
 * Where a link of a document leads on the site: `{ page }` or `{ asset }` (paths in the site), or `{ source }` (a path in the
 * repository that is not on the site). Undefined: the link does not name a file of the repository.
 */
export function resolveLink(root, pages, from, link) {
  if (/^(?:[a-z][a-z\d+.-]*:|#|\/\/)/i.test(link)) return undefined;
  const [path = "", hash = ""] = link.split(/(?=#)/);
  const target = posix.join(posix.dirname(from), decodeURI(path)).replace(/\/$/, "");
  const page = pages.get(target) ?? pages.get(posix.join(target, "README.md"));
  if (page !== undefined) return { page, hash };
  if (target === "docs/guides") return { page: pages.get(INDEX) ?? "", hash };
  const place = join(root, target);
  if (!existsSync(place)) throw new Error(`${from}: "${link}" leads to nothing in the repository.`);
  return target.startsWith("docs/") && statSync(place).isFile() ? { asset: target.slice(5) } : { source: target };
}

/** The id of a heading as GitHub makes it, so that links to headings work in both places. */
export function slugOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
    .replaceAll(" ", "-");
}
