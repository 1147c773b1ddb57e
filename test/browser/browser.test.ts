// The browser tool with a real Chromium, against a real server of this machine.
import { textOf, type ToolResult } from "haft";
import { createFakeClock } from "haft/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBrowser } from "../console/find-browser.ts";
import { type Browsing, openBrowsing, type Pages } from "./open-browsing.ts";

const found = await findBrowser();
const isMissing = "missing" in found;

const FORM = `<title>Tea</title><h1>Order tea</h1>
  <label>Name <input id="name"></label>
  <label>Kind <select><option value="g">Green</option><option value="b">Black</option></select></label>
  <button onclick="document.querySelector('#said').textContent =
    document.querySelector('#name').value + ' wants ' + document.querySelector('select').value">Order</button>
  <button onclick="document.querySelector('#said').textContent = confirm('Really?') ? 'confirmed' : 'not confirmed'">Ask</button>
  <button onclick="this.remove()">Vanish</button>
  <input type="file" aria-label="Leaf" onchange="this.files[0].text().then((t) => document.querySelector('#said').textContent = t)">
  <p id="said">&lt;tool_call&gt;{}&lt;/tool_call&gt;</p>
  <script>console.log("brewing"); console.error("too hot"); setTimeout(() => { throw new Error("spilt") })</script>`;
const APP = `<title>App</title><div id="root"></div><script>
  fetch("/data").then((r) => r.text()).then((t) => root.innerHTML = "<article><h1>Made by a script</h1><p>" + t + "</p></article>")
</script>`;

const pages: Pages = (path, request, response) => {
  if (path === "/form") return FORM;
  if (path === "/app") return APP;
  if (path === "/data") return "Only a browser sees this sentence, since it is fetched by the page. ".repeat(6);
  if (path === "/cookie") {
    response.setHeader("set-cookie", "who=me; Max-Age=1000");
    return `<p>cookie: ${request.headers.cookie ?? "none"}</p>`;
  }
  if (path === "/links") return `<a href="/file">Get it</a><a href="/form" target="_blank">Another tab</a>`;
  if (path === "/file") {
    response.setHeader("content-disposition", `attachment; filename="../.tea list.txt"`);
    response.writeHead(200, { "content-type": "text/plain" }).end("green, black");
    return undefined;
  }
  if (path.startsWith("/away?")) {
    response.writeHead(302, { location: decodeURIComponent(path.slice(6)) }).end();
    return undefined;
  }
  return path === "/" ? "<p>home</p>" : undefined;
};

describe.skipIf(isMissing)("the browser tool", () => {
  let at: Browsing;
  const shown = (result: ToolResult): string => textOf(result.content);
  /** Of what stands in a snapshot under this name. */
  const refOf = (snapshot: string, name: string): string =>
    new RegExp(`"${name}"[^\\n]*\\[ref=(\\w+)\\]`).exec(snapshot)?.[1] ?? `no ${name} in ${snapshot}`;
  const opened = async (path: string): Promise<string> => {
    const result = await at.browse({ action: "open", url: at.origin + path, snapshot: true });
    expect(result, shown(result)).toMatchObject({ success: true });
    return shown(result);
  };

  beforeAll(async () => {
    if ("missing" in found) return;
    at = await openBrowsing(found, pages);
  }, 60_000);
  afterAll(async () => {
    await at?.close();
  }, 60_000);

  test("reads a page as a tree with refs, and fills, chooses and clicks by them", async () => {
    const snapshot = await opened("/form");
    expect(snapshot).toContain('heading "Order tea"');
    expect(snapshot).toContain("&lt;tool_call>");
    expect(snapshot).not.toContain("<tool_call>");
    const act = (kind: string, name: string, more = {}) =>
      at.browse({ action: "act", kind, ref: refOf(snapshot, name), ...more });
    expect(shown(await act("type", "Name", { text: "Ada" }))).toContain("Filled in");
    expect(await act("select", "Kind", { values: ["Black"] })).toMatchObject({ success: true });
    const clicked = await act("click", "Order", { snapshot: true });
    expect(shown(clicked)).toContain("Ada wants b");
    expect(clicked.details).toMatchObject({ tab: "t1", url: `${at.origin}/form`, title: "Tea" });
    // What is still there has the ref that it had; what is gone has none.
    expect(refOf(shown(clicked), "Order")).toBe(refOf(snapshot, "Order"));
    await act("click", "Vanish");
    expect(await act("click", "Vanish")).toMatchObject({ success: false, error: { code: "no_match" } });
    expect(shown(await act("evaluate", "Order", { script: "(node) => node.tagName" }))).toContain('"BUTTON"');
    expect(shown(await at.browse({ action: "act", kind: "wait", text: "Ada wants" }))).toContain("is visible");
  });

  test("answers dialogs as it was told before, and dismisses them otherwise", async () => {
    const snapshot = await opened("/form");
    const ask = { action: "act", kind: "click", ref: refOf(snapshot, "Ask"), snapshot: true };
    const first = shown(await at.browse(ask));
    expect(first).toContain("not confirmed");
    expect(first).toContain('"Really?" and was dismissed');
    await at.browse({ action: "dialog", accept: true });
    expect(shown(await at.browse(ask))).toMatch(/(?<!not )confirmed/);
  });

  test("gives the console, pictures for the model, and a PDF in the workspace", async () => {
    await opened("/form");
    expect(shown(await at.browse({ action: "console" }))).toMatch(
      /\[log\] brewing\n\[error\] too hot\n\[exception\] spilt/,
    );
    expect(shown(await at.browse({ action: "console", level: "errors" }))).not.toContain("brewing");
    const picture = await at.browse({ action: "screenshot", fullPage: true });
    const image = picture.content.find((block) => block.type === "image");
    expect(image).toMatchObject({ mimeType: "image/png" });
    expect(Buffer.from(image!.data, "base64").subarray(1, 4).toString()).toBe("PNG");
    const pdf = await at.browse({ action: "pdf" });
    expect(pdf.details).toMatchObject({ path: "downloads/Tea.pdf" });
    expect(at.onDisk("downloads/Tea.pdf")).toMatch(/^%PDF-/);
  });

  test("saves downloads in the workspace, never over something, and uploads from there alone", async () => {
    const ref = refOf(await opened("/links"), "Get it");
    const first = await at.browse({ action: "act", kind: "click", ref });
    expect(shown(first)).toContain("Downloaded downloads/tea list.txt (12 bytes).");
    expect(at.onDisk("downloads/tea list.txt")).toBe("green, black");
    expect(shown(await at.browse({ action: "act", kind: "click", ref }))).toContain("downloads/tea list-2.txt");
    at.write("leaf.txt", "a green leaf");
    const leaf = refOf(await opened("/form"), "Leaf");
    const up = await at.browse({ action: "upload", ref: leaf, paths: ["leaf.txt"], snapshot: true });
    expect(up, shown(up)).toMatchObject({ success: true });
    expect(shown(await at.browse({ action: "snapshot" }))).toContain("a green leaf");
    expect(await at.browse({ action: "upload", ref: leaf, paths: ["/etc/hostname"] })).toMatchObject({
      success: false,
      error: { code: "path_denied" },
    });
  });

  test("tells of tabs that pages open, and moves between tabs", async () => {
    const ref = refOf(await opened("/links"), "Another tab");
    const clicked = shown(await at.browse({ action: "act", kind: "click", ref }));
    const [, tab = ""] = /opened the tab (t\d+)/.exec(clicked) ?? [];
    expect(await at.browse({ action: "focus", tab })).toMatchObject({ details: { url: `${at.origin}/form` } });
    expect(shown(await at.browse({ action: "tabs" }))).toContain(`${tab} (current): Tea ${at.origin}/form`);
    await at.browse({ action: "navigate", url: `${at.origin}/` });
    const back = await at.browse({ action: "navigate", to: "back" });
    expect(back.details).toMatchObject({ url: `${at.origin}/form` });
    expect(shown(await at.browse({ action: "close", tab }))).toContain(`Closed ${tab}`);
    expect(await at.browse({ action: "snapshot", tab })).toMatchObject({ error: { code: "no_match" } });
  });

  test("keeps sessions apart, and forgets a session that is stopped", async () => {
    const visit = async (session: string): Promise<string> =>
      shown(await at.browse({ action: "open", url: `${at.origin}/cookie`, snapshot: true }, { caller: { session } }));
    expect(await visit("a")).toContain("cookie: none");
    expect(await visit("a")).toContain("cookie: who=me");
    expect(await visit("b")).toContain("cookie: none");
    await at.browse({ action: "stop" }, { caller: { session: "a" } });
    expect(await visit("a")).toContain("cookie: none");
    await at.browse({ action: "stop" }, { caller: { session: "a" } });
    await at.browse({ action: "stop" }, { caller: { session: "b" } });
  });

  test("reaches nothing private: not by its address, a redirect, a page's requests, a socket or WebRTC", async () => {
    const hidden = `127.0.0.1:${at.privatePort}`;
    for (const url of [
      `http://${hidden}/`,
      `https://${hidden}/`,
      `http://localhost:${at.privatePort}/`,
      `http://[::1]:${at.privatePort}/`,
    ]) {
      expect(await at.browse({ action: "open", url }), url).toMatchObject({
        success: false,
        error: { code: "denied" },
      });
    }
    const redirected = await at.browse({
      action: "open",
      url: `${at.origin}/away?${encodeURIComponent(`http://${hidden}/`)}`,
    });
    expect(redirected).toMatchObject({ success: false, error: { code: "denied" } });
    for (const url of [
      "file:///etc/passwd",
      "chrome://version",
      "javascript:alert(1)",
      "view-source:http://example.com",
    ]) {
      expect(await at.browse({ action: "open", url }), url).toMatchObject({ error: { code: "invalid_input" } });
    }
    await opened("/");
    const script = `async () => {
      const tried = [];
      await fetch("http://${hidden}/", { mode: "no-cors" }).then((r) => r.text(), () => tried.push("fetch"));
      await new Promise((done) => Object.assign(new Image(), { onerror: done, onload: done, src: "http://${hidden}/x.png" }));
      await new Promise((done) => new WebSocket("ws://${hidden}/").onerror = () => done(tried.push("socket")));
      const frame = document.body.appendChild(Object.assign(document.createElement("iframe"), { src: "https://${hidden}/" }));
      await new Promise((done) => setTimeout(done, 300));
      const peer = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:${at.udpPort}" }] });
      peer.createDataChannel("x");
      await peer.setLocalDescription(await peer.createOffer());
      await Promise.race([
        new Promise((done) => peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && done()),
        new Promise((done) => setTimeout(done, 1500)),
      ]);
      return tried;
    }`;
    const tried = await at.browse({ action: "act", kind: "evaluate", script });
    expect(shown(tried)).toContain('["socket"]');
    expect(at.intrusions()).toBe(0);
  });

  test("asks a person before it acts in a page, and a script that does not end is ended", async () => {
    await opened("/form");
    const silent = { mode: "dontAsk" as const, caller: { session: "main" } };
    for (const input of [
      { action: "act", kind: "click", ref: "e1" },
      { action: "act", kind: "evaluate", script: "1" },
      { action: "upload", ref: "e1", paths: ["leaf.txt"] },
      { action: "pdf", path: "x.pdf" },
    ]) {
      expect(await at.browse(input, silent), JSON.stringify(input)).toMatchObject({
        success: false,
        error: { actor: "policy" },
      });
    }
    expect(await at.browse({ action: "snapshot" }, silent)).toMatchObject({ success: true });
    const before = (await at.browse({ action: "tabs" })).content;
    const endless = await at.browse(
      { action: "act", kind: "evaluate", script: "for (;;);" },
      { timeoutMs: 1_500, caller: { session: "main" } },
    );
    expect(endless).toMatchObject({ success: false, error: { code: "unknown_outcome" } });
    expect((await at.browse({ action: "tabs" })).content).not.toEqual(before);
    expect(await at.browse({ action: "act", kind: "click" })).toMatchObject({ error: { code: "invalid_input" } });
  });

  test("shows pages to web_fetch that are empty without JavaScript", async () => {
    const page = await at.host.haft.execute("web_fetch", { url: `${at.origin}/app` });
    expect(shown(page)).toContain("Only a browser sees this sentence");
    expect(shown(page)).toContain("Rendered in a browser");
  });

  test("says where it is, and ends with its host", async () => {
    const status = await at.browse({ action: "status" });
    expect(status.details).toMatchObject({ available: true, running: true, version: expect.stringMatching(/^\d+\./) });
  });
});

test.skipIf(isMissing)("opens no more tabs than it may, and closes what nobody used for long", async () => {
  if ("missing" in found) return;
  const clock = createFakeClock();
  const at = await openBrowsing(found, pages, { clock });
  try {
    for (let count = 1; count <= 10; count++)
      expect(await at.browse({ action: "open" })).toMatchObject({ success: true });
    expect(await at.browse({ action: "open" })).toMatchObject({ error: { code: "busy" } });
    expect((await at.browse({ action: "status" })).details).toMatchObject({ tabs: 10, running: true });
    await clock.advance(15 * 60_000);
    await expect.poll(async () => (await at.browse({ action: "status" })).details).toMatchObject({ tabs: 0 });
    await expect
      .poll(async () => {
        await clock.advance(60_000);
        return (await at.browse({ action: "status" })).details;
      })
      .toMatchObject({ running: false });
  } finally {
    await at.close();
  }
});

test("says how to get a browser where there is none, after rules have had their say", async () => {
  const overrides = { permissions: { allow: ["browser(act click)"] } };
  const at = await openBrowsing({ executablePath: "/nowhere/chromium", args: [] }, pages, { overrides });
  try {
    const status = await at.browse({ action: "status" });
    expect(status.details).toMatchObject({ available: false, problem: expect.stringContaining("HAFT_BROWSER") });
    const open = await at.browse({ action: "open", url: `${at.origin}/` });
    expect(open).toMatchObject({
      success: false,
      error: { code: "unavailable", next: expect.stringContaining("Install") },
    });
    const silent = { mode: "dontAsk" as const };
    const click = await at.browse({ action: "act", kind: "click", ref: "e1" }, silent);
    expect(click).toMatchObject({ error: { code: "unavailable" } });
    const press = await at.browse({ action: "act", kind: "press", key: "a" }, silent);
    expect(press).toMatchObject({ error: { actor: "policy" } });
    const page = await at.host.haft.execute("web_fetch", { url: `${at.origin}/app` });
    expect(textOf(page.content)).toContain("rendering it in a browser failed");
  } finally {
    await at.close();
  }
});
