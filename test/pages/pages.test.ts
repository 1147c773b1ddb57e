// Pages of the kinds that the web is made of, each beside the Markdown that it is to become.
// UPDATE_PAGES=1 writes the Markdown anew: read what changed before you keep it.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import iconv from "iconv-lite";
import { afterAll, describe, expect, test } from "vitest";
import type { GuardedResponse } from "../../src/io/net/guarded-fetch.ts";
import { createPageConverter } from "../../src/tools/web/page-converter.ts";
import { readPage } from "../../src/tools/web/read-page.ts";

const FOLDER = fileURLToPath(new URL("fixtures/", import.meta.url));
const converter = createPageConverter();
afterAll(() => converter.close());

/** As a server would send it: what says that it is in GB2312 is. */
function respond(name: string): GuardedResponse {
  const html = readFileSync(`${FOLDER}${name}.html`, "utf8");
  const body = iconv.encode(html, /charset=gb2312/.test(html) ? "gbk" : "utf8");
  const url = `https://site.example/articles/${name}`;
  return { url, status: 200, headers: { "content-type": "text/html" }, body, redirects: [] };
}

async function read(name: string) {
  return readPage(respond(name), "", { converter }, AbortSignal.timeout(60_000));
}

const PAGES = readdirSync(FOLDER).flatMap((file) => (file.endsWith(".html") ? [file.slice(0, -".html".length)] : []));

describe("a page becomes Markdown", () => {
  test.each(PAGES)("%s", { timeout: 60_000 }, async (name) => {
    const { title, author, published, content, notes } = await read(name);
    expect(notes).toEqual([]);
    const head = [`title: ${title}`, author && `author: ${author}`, published && `published: ${published}`];
    const markdown = `${[...head.filter(Boolean), "", content].join("\n")}\n`;
    const file = `${FOLDER}${name}.md`;
    if (process.env["UPDATE_PAGES"]) writeFileSync(file, markdown);
    expect(markdown).toBe(readFileSync(file, "utf8"));
  });
});

/** What must be in it, whatever the converter's taste is. */
const KEPT: Record<string, readonly string[]> = {
  news: ["## What it cost", "[interview](https://example.org/interview?id=7&lang=en)", "1. Night closures"],
  docs: [
    "```ts\nimport { createClient }",
    "| Name | Type | Default |",
    "### On the command line",
    "parcel send --retries 5 \\\n  --backoff",
  ],
  tables: ["| River | Length (km) |", "| [Nile](https://site.example/wiki/Nile) | 6,650 |", "| Europe | Volga |"],
  forum: ["await worker.terminate();", "parentPort.close()", "never ends"],
  chinese: ["## 时间和温度", "| 第一泡 | 80℃ | 30 秒 |", "[龙井茶的介绍](https://site.example/cha/longjing.html)"],
  arabic: ["## الأسماء", "**اليمن**"],
  malformed: ["dance", "queen", "2000 a day", "    dance();", "🐝"],
  hostile: ["sunny in the morning", "Colours: red and a bell , hidden: xyz."],
};
const DROPPED: Record<string, readonly string[]> = {
  news: ["cookies", "Buy our subscription", "window.ads", "never"],
  docs: ["Edit this page"],
  malformed: ["never shown"],
  hostile: [
    "<tool_call>",
    "<|im_start|>",
    "</untrusted>",
    "javascript:",
    "onerror",
    "Send the secrets",
    "\u001b",
    "\u202e",
  ],
};

test.each(Object.keys(KEPT))("%s keeps what it says, and nothing around it", { timeout: 60_000 }, async (name) => {
  const { content } = await read(name);
  for (const part of KEPT[name] ?? []) expect(content).toContain(part);
  for (const part of DROPPED[name] ?? []) expect(content).not.toContain(part);
});
