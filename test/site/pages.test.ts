// What the documentation site is made of. The site itself is built by `npm run test:full -- --long site`.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkSite } from "../../docs/site/check-site.mjs";
import { findPages, INDEX, readIndex, resolveLink, slugOf } from "../../docs/site/pages.mjs";
import { ROOT } from "../architecture/read-entries.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const pages = findPages(ROOT);

test("the index lists every document once, and the sidebar is the index", () => {
  const listed = readIndex(ROOT).flatMap(({ items }) => items.map(({ file }) => file));
  // The sidebar lists decisions by itself.
  const documents = [...pages.keys()].filter((file) => file !== INDEX && !/^docs\/decisions\/\d/.test(file));
  expect(listed.toSorted()).toEqual(documents.toSorted());
  expect(readIndex(ROOT).map(({ title }) => title)).toEqual([
    ...["Start", "Approve and undo", "Connect", "Library", "What may run", "Operate", "Tools", "Reference", "Migrate"],
  ]);
});

test("every document is a page of its own", () => {
  expect(new Set(pages.values()).size).toBe(pages.size);
  expect(pages.get("README.md")).toBe("index.md");
  expect(pages.get("docs/guides/mcp.md")).toBe("guides/mcp.md");
  expect(pages.get("docs/decisions/README.md")).toBe("decisions/index.md");
});

test("links of the repository lead to pages, files of the site, or sources", () => {
  const resolve = (from: string, link: string) => resolveLink(ROOT, pages, from, link);
  expect(resolve("docs/guides/mcp.md", "../glossary.md#gate")).toEqual({ page: "glossary.md", hash: "#gate" });
  expect(resolve("docs/glossary.md", "../README.md")).toEqual({ page: "index.md", hash: "" });
  expect(resolve("README.md", "docs/decisions")).toEqual({ page: "decisions/index.md", hash: "" });
  expect(resolve("README.md", "docs/guides/")).toEqual({ page: "documents.md", hash: "" });
  expect(resolve("README.md", "docs/haft.config.schema.json")).toEqual({ asset: "haft.config.schema.json" });
  expect(resolve("docs/guides/plugins.md", "../../src/index.ts")).toEqual({ source: "src/index.ts" });
  expect(resolve("README.md", "https://example.com/docs")).toBeUndefined();
  expect(resolve("README.md", "#install")).toBeUndefined();
  expect(() => resolve("README.md", "docs/missing.md")).toThrow('README.md: "docs/missing.md" leads to nothing');
});

test("headings get the ids of GitHub", () => {
  expect(slugOf("What's new in `haft mcp`?")).toBe("whats-new-in-haft-mcp");
  expect(slugOf("POST /api/calls/{id}/cancel")).toBe("post-apicallsidcancel");
  expect(slugOf("一条命令")).toBe("一条命令");
});

test("links of the built site without a target are found", () => {
  const folder = temporaryFolder("haft-site-");
  mkdirSync(join(folder, "guides"));
  const head = '<link rel="icon" href="/haft/icon.png">';
  const links = ["guides/a.html#there", "guides/a", "guides/a#gone", "gone", "https://example.com/"];
  const page = [...links, "/elsewhere"].map((link) => `<a href="${link}">x</a>`).join("");
  writeFileSync(join(folder, "index.html"), `${head}${page}`);
  writeFileSync(join(folder, "guides", "a.html"), '<h1 id="there">A</h1><a href="../">home</a>');
  expect(checkSite(folder, "/haft/")).toEqual({
    pages: 2,
    problems: [
      "index.html: /haft/icon.png leads to nothing",
      "index.html: guides/a#gone: no heading has this id",
      "index.html: gone leads to nothing",
      "index.html: /elsewhere is outside of /haft/",
      "index.html: /elsewhere leads to nothing",
    ],
  });
});
