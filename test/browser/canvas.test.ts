// The canvas tool and its frame in the console's server, drawn by a real Chromium.
import { textOf, type ToolResult } from "haft";
import { type HttpServer, serveHttp } from "haft/server";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBrowser } from "../console/find-browser.ts";
import { type Browsing, openBrowsing } from "./open-browsing.ts";

const found = await findBrowser();
const isMissing = "missing" in found;

const HOSTILE = `# Title <script>parent.owned = 1; document.title = "owned"</script>

<img src=x onerror="document.title = 'owned'"> [link](javascript:alert(1))

| a | b |
| - | - |
| 1 | 2 |

\`\`\`mermaid
graph LR; Start-->End
\`\`\`
`;

describe.skipIf(isMissing)("the canvas", () => {
  let at: Browsing;
  let server: HttpServer;
  let browser: Browser;
  let page: Page;

  const draw = (input: Record<string, unknown>, session = "main"): Promise<ToolResult> =>
    at.host.haft.execute("canvas", input, { caller: { session } });
  /** As the console shows it: in a frame of a page of the same server, sandboxed. */
  const framed = async (session = "main") => {
    const address = `/api/canvas/document?session=${session}&v=${Math.random()}`;
    await page.evaluate(`{
      const frame = document.createElement("iframe");
      frame.setAttribute("sandbox", "allow-scripts");
      frame.src = ${JSON.stringify(address)};
      document.body.replaceChildren(frame);
    }`);
    return page.frameLocator("iframe");
  };

  beforeAll(async () => {
    if ("missing" in found) return;
    at = await openBrowsing(found, (path) =>
      path === "/page" ? "<title>Far</title><h1>A page of others</h1>" : undefined,
    );
    server = await serveHttp(at.host, { port: 0 });
    browser = await chromium.launch({ executablePath: found.executablePath, args: found.args });
    page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(45_000);
    // In place of the console: a page of the same server that frames its documents as the console does.
    await page.route("**/frame-host", (route) =>
      route.fulfill({
        contentType: "text/html",
        headers: { "content-security-policy": "frame-src 'self'" },
        body: "<p>",
      }),
    );
    await page.goto(`${server.url}/frame-host`);
    const token = new URL(await server.loginUrl()).hash.replace("#login=", "");
    await page.evaluate(async (body) => {
      await fetch("/api/session", { method: "POST", headers: { "content-type": "application/json" }, body });
    }, JSON.stringify({ token }));
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await at?.close();
  }, 60_000);

  test("shows Markdown with diagrams, and nothing in it runs", async () => {
    const shown = await draw({ action: "present", content: HOSTILE, title: "Plan" });
    expect(shown).toMatchObject({ success: true, details: { kind: "markdown", id: "canvas-markdown", version: 1 } });
    const frame = await framed();
    await frame.locator("svg .nodeLabel", { hasText: "Start" }).first().waitFor();
    expect(await frame.locator("td").allTextContents()).toEqual(["1", "2"]);
    expect(await frame.locator("main script").count()).toBe(0);
    expect(await frame.locator("[onerror], a[href^=javascript]").count()).toBe(0);
    expect(await page.evaluate(() => (globalThis as { owned?: number }).owned)).toBeUndefined();
    const kept = await at.host.artifacts.read({ session: "main", id: "canvas-markdown" });
    expect(kept).toMatchObject({ artifact: { contentType: "text/markdown" }, version: { content: HOSTILE } });
  });

  test("gives HTML a frame without origin and network, in which its own scripts run", async () => {
    const content = `<h1>0</h1><script>
      const seen = [];
      try { seen.push("cookie " + document.cookie) } catch { seen.push("no cookie") }
      try { seen.push(String(parent.document.title)) } catch { seen.push("no parent") }
      fetch("/api/server").then(() => seen.push("fetched"), () => seen.push("no fetch")).then(() => {
        document.querySelector("h1").textContent = seen.join(", ") + ", origin " + origin;
      });
    </script>`;
    await draw({ action: "present", content });
    const frame = await framed();
    await frame.getByText("no cookie, no parent, no fetch, origin null").waitFor();
    const document = await page.context().request.get(`${server.url}/api/canvas/document?session=main`);
    expect(document.headers()["content-security-policy"]).toMatch(
      /default-src 'none'.*sandbox allow-scripts; frame-ancestors 'self'/,
    );
    expect((await fetch(`${server.url}/api/canvas/document?session=main`)).status).toBe(401);
  });

  test("takes pictures for the model, runs scripts in a copy, and keeps every version", async () => {
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40" fill="red"/></svg>`;
    expect(await draw({ action: "present", content: svg })).toMatchObject({ details: { kind: "svg", version: 1 } });
    expect(await draw({ action: "present", content: svg.replace("red", "blue") })).toMatchObject({
      details: { version: 2 },
    });
    const picture = await draw({ action: "snapshot", width: 200, height: 100 });
    expect(picture.content[1], textOf(picture.content)).toMatchObject({ type: "image", mimeType: "image/png" });
    const value = await draw({ action: "eval", script: "document.querySelector('rect').getAttribute('fill')" });
    expect(value.details).toMatchObject({ value: "blue" });
    expect(await draw({ action: "present", kind: "mermaid", content: "graph LR; One-->Two" })).toMatchObject({
      success: true,
    });
    const diagram = await draw({ action: "eval", script: "document.querySelector('svg').textContent" });
    expect(textOf(diagram.content)).toContain("Two");
    const broken = await draw({ action: "present", kind: "mermaid", content: "graph LR; One--" });
    expect(broken).toMatchObject({ success: true });
    expect(textOf((await draw({ action: "eval", script: "document.body.innerText" })).content)).toMatch(/error/i);
  });

  test("shows a page of others as a picture, and refuses what is not to be reached", async () => {
    expect(await draw({ action: "navigate", url: `${at.origin}/page` })).toMatchObject({ details: { kind: "url" } });
    await (await framed()).getByRole("img").waitFor();
    expect(await draw({ action: "eval", script: "1" })).toMatchObject({ error: { code: "invalid_input" } });
    const refused = await draw({ action: "present", url: `http://127.0.0.1:${at.privatePort}/` });
    expect(textOf(refused.content)).toContain("is refused");
    expect(await draw({ action: "present", url: "file:///etc/passwd" })).toMatchObject({
      error: { code: "invalid_input" },
    });
    expect(at.intrusions()).toBe(0);
  });

  test("has one surface a session, which can be hidden", async () => {
    await draw({ action: "present", content: "one" }, "one");
    await draw({ action: "present", content: "two" }, "two");
    const list = async (): Promise<string[]> =>
      (
        (await (await page.context().request.get(`${server.url}/api/canvas`)).json()) as {
          items: { session: string }[];
        }
      ).items.map(({ session }) => session);
    expect((await list()).slice(0, 2)).toEqual(["two", "one"]);
    expect(textOf((await draw({ action: "hide" }, "two")).content)).toContain("hidden");
    expect(await list()).not.toContain("two");
    expect(await draw({ action: "snapshot" }, "two")).toMatchObject({ error: { code: "no_match" } });
  });
});
