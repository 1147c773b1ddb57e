import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { defineConfig } from "vitepress";
import { findPages, INDEX, readIndex, resolveLink, slugOf } from "../pages.mjs";

const root = process.env.HAFT_DOCS_ROOT;
const { name, description, exports, repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const pages = findPages(root);
const files = new Map(Array.from(pages, ([file, page]) => [page, file]));
const addressOf = (page) => `/${page.replace(/(?:^|(?<=\/))index\.md$/, "").replace(/\.md$/, "")}`;

/** Files that are not on the site are shown in the repository, if package.json names it. */
const source = /github\.com[/:](.+?)(?:\.git)?$/.exec(repository?.url ?? repository ?? "")?.[1];

function sidebar() {
  const groups = readIndex(root).map(({ title, items }) => ({
    text: title,
    items: items.map((item) => ({ text: item.title, link: addressOf(pages.get(item.file)) })),
  }));
  const entries = Object.keys(exports).filter((subpath) => !subpath.endsWith(".json"));
  const specifiers = entries.map((subpath) => subpath.replace(".", name));
  const items = specifiers.map((specifier) => ({ text: specifier, link: `/api/${specifier}` }));
  return [...groups, { text: "API reference", items }];
}

/** Links and fences of the repository, as the site needs them. */
function repositoryMarkdown(md) {
  md.core.ruler.push("repository_links", ({ tokens, env }) => {
    const from = files.get(env.relativePath);
    for (const [index, token] of tokens.entries()) {
      if (token.type === "fence") captionFence(token);
      // A header without text is announced as an empty header.
      if (token.type === "th_open" && tokens[index + 1].content === "") token.tag = tokens[index + 2].tag = "td";
      if (from !== undefined) rewriteLinks([token, ...(token.children ?? [])], from);
    }
  });
  const fence = md.renderer.rules.fence;
  md.renderer.rules.fence = (...given) => {
    const { caption } = given[0][given[1]].meta ?? {};
    const shown = fence(...given);
    return caption ? `<p class="fence-caption">${md.utils.escapeHtml(caption)}</p>${shown}` : shown;
  };
}

/** What follows the language is for the program that executes the documents; a reader needs the file's name. */
function captionFence(token) {
  const [language = "", ...rest] = token.info.trim().split(/\s+/);
  const file = rest.map((word) => /^file=(.+)$/.exec(word)?.[1]).find(Boolean);
  const caption = file ?? (rest[0] === "output" ? "Output" : undefined);
  token.info = language === "console" ? "sh" : language;
  token.meta = { ...token.meta, caption };
}

function rewriteLinks(tokens, from) {
  const isDropped = [];
  for (const token of tokens) {
    if (token.type === "link_open") isDropped.push(rewrite(token, "href", from));
    if (token.type === "image") rewrite(token, "src", from);
    if (token.type.startsWith("html_")) token.content = rewriteHtml(token.content, from);
    const drop = token.type === "link_open" ? isDropped.at(-1) : token.type === "link_close" && isDropped.pop();
    if (drop) token.tag = "span";
  }
}

/** Pictures with a dark variant are written as HTML. */
function rewriteHtml(html, from) {
  return html.replaceAll(/\b(src|srcset)="([^"\s]+)"/g, (all, attribute, link) => {
    const target = resolveLink(root, pages, from, link);
    return target?.asset === undefined ? all : `${attribute}="/${target.asset}"`;
  });
}

/** Whether the link has no target on the site. */
function rewrite(token, attribute, from) {
  const target = resolveLink(root, pages, from, token.attrGet(attribute) ?? "");
  if (target === undefined) return false;
  if (target.page !== undefined) token.attrSet(attribute, addressOf(target.page) + target.hash);
  else if (target.asset !== undefined) {
    token.attrSet(attribute, `/${target.asset}`);
    if (attribute === "href") token.attrSet("target", "_self");
  } else if (source) token.attrSet(attribute, `https://github.com/${source}/blob/main/${target.source}`);
  else {
    token.attrs = null;
    return true;
  }
  return false;
}

export default defineConfig({
  title: "Haft",
  description,
  lang: "en",
  base: process.env.HAFT_DOCS_BASE ?? "/",
  srcDir: "pages",
  outDir: process.env.HAFT_DOCS_OUT,
  cacheDir: "cache",
  lastUpdated: false,
  metaChunk: true,
  markdown: {
    anchor: { slugify: slugOf },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    // `{id}` in a heading is a part of a path.
    attrs: { disable: true },
    languageAlias: { mjs: "js", cjs: "js" },
    config: repositoryMarkdown,
    // By default a busy machine gets half-colored code: tokens that take longer than half a second are given up.
    shikiSetup(highlighter) {
      const toHtml = highlighter.codeToHtml;
      highlighter.codeToHtml = (code, options) => toHtml(code, { ...options, tokenizeTimeLimit: 0 });
    },
  },
  // Without `postcss` it would look for a configuration in the repository.
  vite: { build: { chunkSizeWarningLimit: 2000 }, css: { postcss: {} } },
  themeConfig: {
    siteTitle: "Haft",
    nav: [
      { text: "Documents", link: addressOf(pages.get(INDEX)) },
      { text: "API", link: "/api/" },
      { text: "HTTP API", link: "/guides/http-api" },
      { text: "Changelog", link: "/changelog" },
      { text: "中文", link: "/zh-CN" },
    ],
    sidebar: sidebar(),
    outline: { level: [2, 3] },
    search: { provider: "local", options: { detailedView: true } },
    docFooter: { prev: false, next: false },
    ...(source ? { socialLinks: [{ icon: "github", link: `https://github.com/${source}` }] } : {}),
  },
});
