// The documentation site as a reader has it: built under a base path, served, shown by a real browser. `npm run test:full -- --long site`.
import { spawnSync } from "node:child_process";
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import process from "node:process";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readEntries, ROOT } from "../architecture/read-entries.ts";
import { findAxeFaults, scrollsSideways } from "../console/every-page.ts";
import { findBrowser } from "../console/find-browser.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const BASE = "/haft/";
const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
/** The theme's search button shows its shortcut, which its label does not have. */
const THEME_FAULT = 'label-content-name-mismatch: <button type="button" class="DocSearch';
const BUILD_MS = 10 * 60_000;

const found = process.env["HAFT_FULL"] ? await findBrowser() : { missing: "HAFT_FULL is not set" };

describe.skipIf("missing" in found)("the documentation site", () => {
  const out = temporaryFolder("haft-site-");
  const server = createServer(({ url = "" }, response) => {
    const { pathname } = new URL(url, "http://site");
    const place = join(out, decodeURI(pathname.slice(BASE.length)));
    const file = [place, `${place}.html`, join(place, "index.html")].find(
      (each) => existsSync(each) && statSync(each).isFile(),
    );
    if (!pathname.startsWith(BASE) || file === undefined) return response.writeHead(404).end();
    response.setHeader("content-type", TYPES[extname(file)] ?? "application/octet-stream");
    return createReadStream(file).pipe(response);
  });
  let browser: Browser;
  let address = "";
  const faults: string[] = [];

  beforeAll(async () => {
    if ("missing" in found) return;
    const parameters = [join(ROOT, "docs", "site", "build.mjs"), "--base", BASE, "--out", out];
    const { status, stdout, stderr } = spawnSync(process.execPath, parameters, { encoding: "utf8" });
    if (status !== 0) throw new Error(`The site was not built.\n${stdout}${stderr}`);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    address = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    browser = await chromium.launch({ executablePath: found.executablePath, args: found.args });
  }, BUILD_MS);

  afterAll(async () => {
    await browser?.close();
    server.close();
  });

  async function open(path: string, { width = 1280, dark = false } = {}): Promise<Page> {
    const colorScheme = dark ? "dark" : "light";
    const context = await browser.newContext({ viewport: { width, height: 860 }, colorScheme });
    const page = await context.newPage();
    page.on("pageerror", ({ message }) => faults.push(message));
    page.on("request", (request) => {
      if (!request.url().startsWith(address + BASE)) faults.push(`${request.url()} is not of the site`);
    });
    page.on("response", (response) => {
      if (response.status() >= 400) faults.push(`${response.url()}: ${response.status()}`);
    });
    await page.goto(`${address}${BASE}${path}`);
    return page;
  }

  /** The text of a heading is followed by its permalink. */
  function heading(page: Page, title: string): Promise<void> {
    return page.locator("main").locator("h1, h2, h3").filter({ hasText: title }).first().waitFor();
  }

  /** Searches, and follows the first result whose title has the text. */
  async function search(page: Page, words: string, title: string): Promise<void> {
    await page.getByRole("button", { name: "Search" }).first().click();
    await page.getByRole("searchbox").fill(words);
    await page.getByRole("option").filter({ hasText: title }).first().click();
  }

  test.each([
    ["wide", "light", { width: 1280 }],
    ["wide", "dark", { width: 1280, dark: true }],
    ["phone", "light", { width: 390 }],
    ["phone", "dark", { width: 390, dark: true }],
  ] as const)("on a %s %s screen: a search leads to a guide, and to a name of the API", async (_, theme, options) => {
    const page = await open("", options);
    expect(await page.evaluate("document.documentElement.classList.contains('dark')")).toBe(theme === "dark");
    await search(page, "idempotency token call again safely", "Repeat a call safely");
    await heading(page, "Repeat a call safely");
    expect(page.url()).toContain(`${BASE}guides/http-api`);
    await search(page, "createTool", "createTool()");
    await heading(page, "createTool()");
    expect(page.url()).toContain(`${BASE}api/haft`);
    await page.context().close();
  });

  test("the sidebar leads to a guide, and the guide to a document in another folder", async () => {
    const page = await open("");
    await page.getByRole("navigation").getByRole("link", { name: "HTTP API", exact: true }).last().click();
    await heading(page, "HTTP API");
    await page.getByRole("main").getByRole("link", { name: "reference" }).first().click();
    await heading(page, "HTTP API reference");
    expect(page.url()).toContain(`${BASE}http-api-reference`);
    await page.context().close();
  });

  test.each(readEntries().map(({ specifier }) => specifier))(
    "%s has a page of the API with its example",
    async (name) => {
      const page = await open("api/");
      await page.getByRole("main").getByRole("link", { name, exact: true }).click();
      await heading(page, name);
      await heading(page, "Example");
      expect(page.url()).toContain(`${BASE}api/${name}`);
      await page.context().close();
    },
  );

  test.each(["", "documents", "guides/http-api", "api/haft/agent", "zh-CN", "changelog"])(
    "%j passes axe in both themes and fits a phone",
    async (path) => {
      for (const options of [{}, { dark: true }, { width: 390 }]) {
        const page = await open(path, options);
        await page.locator("h1").first().waitFor();
        const axeFaults = await findAxeFaults(page, { onlyColours: "dark" in options });
        expect(axeFaults.filter((fault) => !fault.startsWith(THEME_FAULT))).toEqual([]);
        expect(await scrollsSideways(page)).toBe(false);
        await page.context().close();
      }
    },
  );

  test("no page failed, and nothing was loaded from elsewhere", () => {
    expect(faults).toEqual([]);
  });
});
