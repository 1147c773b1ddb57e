// CALLS: serves a store with so many recorded calls, opens the console in Chromium, and prints what a person waits for.
// The store is kept in the folder for temporary files: writing it takes minutes.
import { accessSync, constants, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { DIST, median, percentile } from "../harness.mjs";
import { openHistory, WORDS } from "./fill-history.mjs";

const ROUNDS = 5;
const CARDS = 50;
const calls = Number(process.argv[2]);
const executablePath = findChromium();
if (executablePath === undefined) {
  process.stdout.write(JSON.stringify({ missing: "no Chromium was found: install one, or set HAFT_BROWSER" }));
  process.exit(0);
}

const { home, work, stateDir, fillSeconds, indexSeconds } = await openHistory(calls);
const load = (file) => import(pathToFileURL(join(DIST, file)).href);
const [{ openHaft }, { serveHttp }, { chromium }] = await Promise.all([
  load("host.js"),
  load("server.js"),
  import("playwright-core"),
]);
const host = await openHaft(work, { env: { HAFT_STATE_DIR: stateDir }, home });
const server = await serveHttp(host, { port: 0, console: join(DIST, "console") });
const args = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"];
const browser = await chromium.launch({ executablePath, args });
try {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.goto(await server.loginUrl());
  await page.locator("nav:visible").first().waitFor();
  const storageState = await context.storageState();
  const figures = {
    fillSeconds: fillSeconds + indexSeconds,
    ...(await timeFirstRows(storageState)),
    ...(await timeSearch(page)),
    ...(await timeScrolling(page)),
    ...(await timeCards(page)),
  };
  process.stdout.write(JSON.stringify(figures));
} finally {
  await browser.close();
  await server.close();
  await host.close();
}

/** In a new browser each time, so nothing is cached. */
async function timeFirstRows(storageState) {
  const taken = [];
  let firstLoadKb = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, storageState });
    const page = await context.newPage();
    const files = [];
    page.on("request", (request) => {
      const path = new URL(request.url()).pathname;
      if (!path.startsWith("/api/")) files.push(path === "/" ? "/index.html" : path);
    });
    const start = performance.now();
    await page.goto(`${server.url}/#/work`);
    await page.locator(".work-rows > li").first().waitFor();
    taken.push(performance.now() - start);
    const bytes = files.map((file) => gzipSync(readFileSync(join(DIST, "console", file))).length);
    firstLoadKb = bytes.reduce((sum, each) => sum + each, 0) / 1024;
    await context.close();
  }
  return { firstRows: median(taken), firstLoadKb };
}

async function timeSearch(page) {
  await page.goto(`${server.url}/#/work`);
  await page.locator(".work-rows > li").first().waitFor();
  /** From the last key to the rows of the list. */
  const search = async (text) => {
    await page.getByRole("searchbox").fill("");
    await page.locator('.work-panel[data-filter=""] .work-rows > li').first().waitFor();
    const filter = new URLSearchParams({ q: text }).toString();
    const start = performance.now();
    await page.getByRole("searchbox").fill(text);
    await page.locator(`.work-panel[data-filter="${filter}"] :is(.work-rows > li, .empty)`).first().waitFor();
    return performance.now() - start;
  };
  const measure = async (texts) => {
    const taken = [];
    for (const text of texts) taken.push(await search(text));
    return median(taken);
  };
  const searchRare = await measure(["needle", WORDS[3999], WORDS[3900]]);
  const searchTwo = await measure([
    `${WORDS[40]} ${WORDS[700]}`,
    `${WORDS[41]} ${WORDS[702]}`,
    `${WORDS[9]} ${WORDS[99]}`,
  ]);
  const searchFrequent = await measure([WORDS[0], WORDS[1], WORDS[2]]);
  await page.getByRole("searchbox").fill("");
  await page.locator('.work-panel[data-filter=""] .work-rows > li').first().waitFor();
  const start = performance.now();
  await page.getByRole("button", { name: /^High risk/ }).click();
  await page.locator('.work-panel[data-filter="risk=high"] .work-rows > li').first().waitFor();
  const filter = performance.now() - start;
  await page.goto(`${server.url}/#/tools`);
  const opened = performance.now();
  await page.goto(`${server.url}/#/work?user=user-7`);
  await page.getByRole("button", { name: /^deploy/ }).waitFor();
  return { searchRare, searchTwo, searchFrequent, filter, facets: performance.now() - opened };
}

/** With the wheel, as fast as a person turns it. Frames are measured in the page. */
async function timeScrolling(page) {
  await page.goto(`${server.url}/#/work`);
  await page.locator(".work-rows > li").first().waitFor();
  await page.evaluate(() => {
    const frames = (globalThis.benchFrames = []);
    let last = performance.now();
    const next = (now) => {
      frames.push(now - last);
      last = now;
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  await page.locator(".work-scroll").hover();
  let documentRows = 0;
  for (let step = 0; step < 200; step++) {
    await page.mouse.wheel(0, 900);
    if (step % 20 === 0) documentRows = Math.max(documentRows, await page.locator(".work-rows > li").count());
    await page.waitForTimeout(20);
  }
  const frames = await page.evaluate(() => globalThis.benchFrames.slice(5));
  const height = await page.locator(".work-rows").evaluate((list) => list.clientHeight);
  return {
    longestFrame: Math.max(...frames),
    frame95: percentile(frames, 0.95),
    scrolledRows: Math.round(height / 52),
    documentRows,
  };
}

/** From the call of the tool to the question on the page, both by the clock of this machine. */
async function timeCards(page) {
  await page.goto(`${server.url}/#/approvals`);
  await page.locator("h1").first().waitFor();
  await page.evaluate(() => {
    const seen = (globalThis.benchSeen = {});
    const look = () => {
      for (const found of document.body.innerText.matchAll(/card-\d+\.txt/g)) seen[found[0]] ??= Date.now();
    };
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  const taken = [];
  for (let card = 0; card < CARDS; card++) {
    const path = `card-${card}.txt`;
    const start = Date.now();
    const { pending } = await host.haft.execute("write", { path, content: "measured\n" });
    await page.waitForFunction((name) => globalThis.benchSeen[name] !== undefined, path);
    taken.push((await page.evaluate((name) => globalThis.benchSeen[name], path)) - start);
    await host.haft.approvals.deny(pending.id);
    await page.waitForTimeout(300);
  }
  return { card50: median(taken), card95: percentile(taken, 0.95) };
}

function findChromium() {
  if (process.env["HAFT_BROWSER"]) return process.env["HAFT_BROWSER"];
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    for (const name of names) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // Not there.
      }
    }
  }
  return undefined;
}
