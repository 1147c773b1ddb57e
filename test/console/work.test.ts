// The work view, the audit log and the statistics in a real Chromium. Without a browser these tests are skipped with a
// message, or fail if HAFT_REQUIRE lists the browser.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { findBrowser } from "./find-browser.ts";
import { openConsole, type OpenConsole } from "./open-console.ts";

const found = await findBrowser();

describe.skipIf("missing" in found)("the work view", { timeout: 240_000 }, () => {
  let console: OpenConsole;
  let page: Page;
  const caller = { user: "ada", agent: "mcp:claude-code", session: "release" };

  beforeAll(async () => {
    if ("missing" in found) return;
    console = await openConsole(found);
    page = await console.open();
  }, 120_000);
  afterAll(async () => {
    await console?.close();
  });
  // A test that failed leaves no request held.
  afterEach(() => page?.unrouteAll({ behavior: "ignoreErrors" }));

  const expectShown = (locator: Locator): Promise<void> => locator.first().waitFor();
  const go = async (place: string, on = page): Promise<void> => {
    await on.goto(`${console.url}/#${place}`);
  };
  const rows = (on = page): Locator => on.locator(".work-rows .work-row");
  /** Without those that wait for a person, which stay above the list. */
  const listed = (on = page): Locator => on.locator(".work-scroll .work-row");
  const row = (text: string, on = page): Locator => rows(on).filter({ hasText: text });
  const onDisk = (name: string): string => readFileSync(join(console.folder, name), "utf8");

  test("shows what each call is about, who made it and how it stands, and leads to the card of what waits", async () => {
    await console.host.haft.execute("list_files", { path: "." }, { caller });
    await console.host.haft.execute("write", { path: "approve-me.txt", content: "yes\n" }, { caller });
    await console.host.haft.execute("exec", { command: "git push --force origin main" }, { caller });
    await go("/work");
    const write = row("approve-me.txt");
    await expectShown(write.getByText("claude-code"));
    await expectShown(write.getByText("release"));
    await expectShown(write.locator(".risk-medium"));
    // A row does not show what a call does: it is approved on its card.
    expect(await page.getByRole("button", { name: /Approve/ }).count()).toBe(0);
    await write.getByRole("link", { name: "Review" }).click();
    await page.locator(".answers .primary:enabled").waitFor();
    await page.keyboard.press("y");
    await expectShown(page.getByText("completed"));
    await go("/work");
    await expectShown(row("approve-me.txt").getByText("completed"));
    expect(onDisk("approve-me.txt")).toBe("yes\n");
  });

  test("undoes a change and makes a call again, by keys", async () => {
    await go("/work?tool=write");
    await expectShown(row("approve-me.txt").getByRole("button", { name: "Undo" }));
    await page.keyboard.press("j");
    await expectShown(page.locator(".work-row[data-selected]"));
    await page.keyboard.press("u");
    await expectShown(page.getByRole("status").getByText("1 change was undone."));
    expect(() => onDisk("approve-me.txt")).toThrow("ENOENT");
    await go("/work?tool=list_files");
    await expectShown(rows());
    await page.keyboard.press("j");
    await page.keyboard.press("r");
    await expectShown(page.getByRole("status").getByText("list_files was started again."));
    await expectShown(rows().nth(1));
  });

  test("stays open if the answer of a card is confirmed after the page was left", async () => {
    await console.host.haft.execute("write", { path: "late.txt", content: "late\n" }, { caller });
    let confirm = (): void => undefined;
    const held = new Promise<void>((resolve) => (confirm = resolve));
    await page.route("**/api/approvals/*/answer", async (route) => {
      const response = await route.fetch();
      await held;
      await route.fulfill({ response });
    });
    await go("/work?tool=write");
    await row("late.txt").getByRole("link", { name: "Review" }).click();
    await page.locator(".answers .primary:enabled").waitFor();
    await page.keyboard.press("y");
    await expect.poll(() => existsSync(join(console.folder, "late.txt")), { timeout: 90_000 }).toBe(true);
    await go("/work?tool=write");
    await expectShown(row("late.txt").getByText("completed"));
    const confirmed = page.waitForResponse("**/api/approvals/*/answer");
    confirm();
    await (await confirmed).finished();
    // What the console reads after the confirmation.
    await page.waitForResponse("**/api/approvals?*");
    expect(page.url()).toContain("#/work");
    await expectShown(row("late.txt").getByText("completed"));
    await page.unroute("**/api/approvals/*/answer");
  });

  test("stays open if the approvals take a key while they are left", async () => {
    for (const path of ["one.txt", "two.txt"])
      await console.host.haft.execute("write", { path, content: "1\n" }, { caller });
    await go("/approvals");
    await page.locator(".answers").waitFor();
    // The browser says that the address has changed only after this.
    await page.evaluate(`
      location.hash = "/work?tool=write";
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "x", bubbles: true }));
    `);
    await expectShown(row("two.txt"));
    expect(page.url()).toContain("#/work");
  });

  test("keeps the search and the filters in the address, over a reload", async () => {
    await go("/work");
    await expectShown(rows());
    await page.keyboard.press("/");
    await page.keyboard.type("force");
    await expectShown(row("git push --force"));
    await expect.poll(() => row("list_files").count(), { timeout: 90_000 }).toBe(0);
    await page
      .getByRole("complementary")
      .getByRole("button", { name: /^waits for you/ })
      .click();
    await page.waitForURL((url) => url.hash.includes("q=force") && url.hash.includes("status=waiting"));
    await page.reload();
    await expectShown(row("git push --force"));
    expect(await rows().count()).toBe(1);
    expect(await page.getByRole("searchbox").inputValue()).toBe("force");
    await page.getByRole("button", { name: "Clear filters" }).click();
    await expectShown(row("list_files"));
  });

  test("leaves room for what a call is about at every width", async () => {
    await go("/work");
    await expectShown(rows());
    const room = (): Promise<number> =>
      rows()
        .first()
        .locator(".work-link")
        .evaluate(({ clientWidth }: { clientWidth: number }) => clientWidth);
    for (const width of [768, 1024, 1200, 1440]) {
      await page.setViewportSize({ width, height: 860 });
      await expect.poll(room).toBeGreaterThan(160);
    }
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  test("shows the first row after the page, its script and, beside it, the first answers: few bytes and no further round trip", async () => {
    const visitor = await console.open();
    await visitor.goto("about:blank");
    const network = await visitor.context().newCDPSession(visitor);
    await network.send("Network.enable");
    await network.send("Network.setCacheDisabled", { cacheDisabled: true });
    let bytes = 0;
    network.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
    const zipped: Promise<number>[] = [];
    visitor.on("response", (response) => {
      const isAnswer = new URL(response.url()).pathname.startsWith("/api/");
      if (!isAnswer) zipped.push(response.body().then((body) => gzipSync(body).length));
    });
    const asked: string[] = [];
    let hasScript = false;
    await visitor.route("**/api/**", async (route) => {
      // What the script asks for is never answered.
      if (hasScript) return;
      asked.push(route.request().url().slice(console.url.length));
      await route.continue();
    });
    await visitor.route("**/assets/index-*.js", async (route) => {
      await expect.poll(() => asked.length, { timeout: 60_000 }).toBe(6);
      hasScript = true;
      await route.continue();
    });
    await go("/work", visitor);
    await expectShown(listed(visitor));
    await expectShown(visitor.locator(".work-pinned .work-row"));
    expect(asked).toContain("/api/calls?limit=50");
    expect(bytes).toBeGreaterThan(60 * 1024);
    expect(bytes).toBeLessThan(124 * 1024);
    // Without TLS a browser does not accept Brotli.
    const sizes = await Promise.all([...zipped]);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(140 * 1024);
    await visitor.unrouteAll({ behavior: "ignoreErrors" });
    await visitor.close();
  });

  test("goes back to the same list with one press", async () => {
    await go("/work?tool=write");
    await row("approve-me.txt").getByRole("link").first().click();
    await expectShown(page.getByRole("heading", { name: "write", level: 1 }));
    await page.goBack();
    await expectShown(row("approve-me.txt"));
    expect(page.url()).toContain("#/work?tool=write");
    await row("approve-me.txt").getByRole("link").first().click();
    await expectShown(page.getByRole("heading", { name: "write", level: 1 }));
    await page.keyboard.press("Escape");
    await expectShown(row("approve-me.txt"));
    expect(page.url()).toContain("#/work?tool=write");
  });

  test("does not move what is read: new calls wait behind a button", async () => {
    for (let at = 0; at < 40; at++) await console.host.haft.execute("list_files", { path: "." }, { caller });
    await go("/work");
    await expectShown(rows());
    const scroller = page.locator(".work-scroll");
    type Size = { scrollHeight: number; clientHeight: number };
    const below = () => scroller.evaluate(({ scrollHeight, clientHeight }: Size) => scrollHeight - clientHeight);
    await expect.poll(below, { timeout: 90_000 }).toBeGreaterThan(600);
    await scroller.hover();
    await page.mouse.wheel(0, 600);
    await expect
      .poll(() => scroller.evaluate(({ scrollTop }: { scrollTop: number }) => scrollTop), { timeout: 90_000 })
      .toBe(600);
    const read = await rows().nth(12).getAttribute("data-call");
    const place = async () => (await page.locator(`[data-call="${read}"]`).boundingBox())!.y;
    const before = await place();
    await console.host.haft.execute("read", { path: "nothing-new.txt" }, { caller });
    const fresh = page.getByRole("button", { name: "1 new" });
    await expectShown(fresh);
    expect(await place()).toBe(before);
    await fresh.click();
    await expectShown(row("nothing-new.txt"));
    // Back at the top without the button: what waits is added in its order, and no longer announced.
    await scroller.hover();
    await page.mouse.wheel(0, 600);
    await expect
      .poll(() => scroller.evaluate(({ scrollTop }: { scrollTop: number }) => scrollTop), { timeout: 90_000 })
      .toBe(600);
    await console.host.haft.execute("read", { path: "waits.txt" }, { caller });
    await expectShown(fresh);
    await page.mouse.wheel(0, -600);
    await expect
      .poll(() => scroller.evaluate(({ scrollTop }: { scrollTop: number }) => scrollTop), { timeout: 90_000 })
      .toBe(0);
    await fresh.waitFor({ state: "detached" });
    await expectShown(listed().nth(0).getByText("waits.txt"));
    await console.host.haft.execute("read", { path: "comes-after.txt" }, { caller });
    await expectShown(listed().nth(0).getByText("comes-after.txt"));
    await expectShown(listed().nth(1).getByText("waits.txt"));
  });

  test("is live: a running call appears at the top, is stopped in its row, and says why it ended", async () => {
    await go("/work");
    await expectShown(listed());
    const slow = console.host.haft.execute("count_slowly", { to: 10_000 }, { caller });
    const running = listed().nth(0).filter({ hasText: "count_slowly" });
    await expectShown(running.getByText("running"));
    const band = page.getByRole("region", { name: "Now" });
    await expectShown(band.getByRole("button", { name: "1 running" }));
    await running.getByRole("button", { name: "Stop" }).click();
    expect(await slow).toMatchObject({ status: "failed", error: { code: "cancelled" } });
    await expectShown(row("count_slowly").getByText("A person stopped the call"));
    await expectShown(band.getByRole("button", { name: "0 running" }));
  });

  test("folds what fails again and again, names the schedule, and keeps what needs a person above", async () => {
    const target = { type: "call", toolName: "read", input: { path: "no-stock.txt" } } as const;
    const timing = { type: "every", everyMs: 3_600_000 } as const;
    const { id } = await console.host.schedules.add({ name: "stock check", timing, target }, { caller: { depth: 0 } });
    for (let at = 0; at < 4; at++) await console.host.schedules.run(id);
    await go("/work");
    const folded = row("no-stock.txt");
    await expectShown(folded.getByText("stock check"));
    await expectShown(folded.getByText("File not found"));
    const more = folded.getByRole("button", { name: "4 × the same, show each" });
    await expectShown(more);
    expect(await folded.count()).toBe(1);
    await more.click();
    await expect.poll(() => folded.count(), { timeout: 90_000 }).toBe(5);
    await page.getByRole("list", { name: "Waiting for you" }).getByRole("link", { name: "Review" }).first().waitFor();
    await page.getByRole("button", { name: /^\d+ needs? you$/ }).click();
    await page.waitForURL((url) => url.hash.includes("status=waiting"));
    await expect.poll(() => folded.count(), { timeout: 90_000 }).toBe(0);
    await console.host.schedules.remove(id);
  });

  test("gives what was denied a state of its own, with its reason and a filter", async () => {
    await console.host.haft.execute("read", { path: "/etc/shadow" }, { caller });
    await go("/work?status=denied");
    const denied = row("/etc/shadow");
    await expectShown(denied.getByText("denied", { exact: true }));
    await expectShown(denied.getByText("Access denied"));
    expect(await rows().filter({ hasText: "no-stock.txt" }).count()).toBe(0);
  });

  test("shows the calls of a program as a tree with a time axis, and how long a call waited for a person", async () => {
    const code =
      "await tools.list_files({ path: '.' }); return await tools.write({ path: 'nested.txt', content: 'n' });";
    const { approvals } = console.host.haft;
    const asks = async () => (await approvals.list("pending")).filter(({ toolName }) => toolName !== "exec");
    void console.host.haft.execute("run_code", { code }, { id: "program", caller });
    await expect.poll(asks, { timeout: 90_000 }).not.toEqual([]);
    await go("/work/program");
    const timeline = page.getByRole("region", { name: "Timeline" });
    // An open question goes on: its end is not known.
    await expectShown(timeline.getByRole("img", { name: /waiting for a person.*not ended/ }));
    await expect
      .poll(
        async () => {
          for (const { id } of await asks()) await console.host.haft.approvals.approve(id);
          return (await console.host.store.audit.calls({ tool: "run_code" })).entries[0]?.status;
        },
        { timeout: 90_000 },
      )
      .toBe("completed");
    await expectShown(timeline.getByRole("link", { name: /list_files/ }));
    await expectShown(timeline.getByRole("img", { name: /^running: / }));
    await expectShown(timeline.getByRole("img", { name: /^waiting for a person: [\d.]+ (ms|s)$/ }));
    await expectShown(timeline.locator(".timeline-tick", { hasText: /\d (ms|s)$/ }));
  });

  test("stays after a restart of the server, under an open page, and old links work", async () => {
    writeFileSync(join(console.folder, "shot.png"), await page.screenshot());
    const { callId } = await console.host.haft.execute("read", { path: "shot.png" }, { caller });
    await go("/work");
    await expectShown(row("shot.png"));
    await console.stopServer();
    await console.startServer();
    await expectShown(page.getByText("Live", { exact: true }));
    await console.host.haft.execute("read", { path: "after-restart.txt" }, { caller });
    await expectShown(row("after-restart.txt"));
    await expectShown(row("shot.png"));
    await go(`/calls/${encodeURIComponent(callId)}`);
    await page.waitForURL((url) => url.hash.startsWith(`#/work/${callId}`));
    await expectShown(page.locator("img.picture[src^='data:image/png']"));
    await expectShown(page.getByRole("button", { name: "curl" }));
    const before = page.url();
    await page.getByRole("button", { name: "Replay" }).click();
    await page.waitForURL((url) => url.href !== before && url.hash.startsWith("#/work/"));
    await expectShown(page.getByRole("region", { name: "completed" }));
  });

  test("is one list of two-line rows on a phone, with the filters in a sheet", async () => {
    await page.setViewportSize({ width: 390, height: 780 });
    await go("/work");
    await expectShown(row("after-restart.txt"));
    expect(await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")).toBe(
      false,
    );
    await page.getByRole("button", { name: "Filters" }).click();
    await page
      .getByRole("dialog", { name: "Filters" })
      .getByRole("button", { name: /^failed/ })
      .click();
    await page.getByRole("dialog", { name: "Filters" }).getByRole("button", { name: "Close" }).click();
    await page.waitForURL((url) => url.hash.includes("status=failed"));
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  test("finds entries of the audit log by what they are about, and shows them field by field", async () => {
    await go("/audit");
    await expectShown(page.getByText(/Chain whole, [\d,]+ entries/));
    await page.getByRole("searchbox").fill("approve-me.txt");
    await page.waitForURL((url) => url.hash.includes("q=approve-me.txt"));
    const entry = page.getByRole("link", { name: /Call ended.*approve-me\.txt/ });
    await expectShown(entry);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export CSV" }).click();
    const csv = readFileSync(await (await saved).path(), "utf8").split("\r\n");
    expect(csv[0]).toMatch(/^id,time,type,tool,/);
    expect(csv.join("\n")).toMatch(/^\d+,2\d{3}-.*,call_ended,write,/m);
    await entry.first().click();
    await expectShown(page.getByText("Waited for a person"));
    expect(await page.locator(".facts").innerText()).not.toMatch(/\d{13}/);
    await page.getByText("Raw entry").click();
    await expectShown(page.getByText('"callId"'));
  });

  test("counts waiting for people apart from the run time, by tool and by caller, whatever the locale is", async () => {
    await go("/statistics");
    await expectShown(page.getByRole("heading", { name: "Time waited for people per 1 min" }));
    await expectShown(page.getByRole("row", { name: /^write \d+ / }));
    await page.getByRole("tab", { name: "By caller" }).click();
    await expectShown(page.getByRole("row", { name: /^mcp:claude-code \d+/ }));
    expect(page.url()).toContain("by=caller");
    const costs = page.locator("section", { has: page.getByRole("heading", { name: "What tools cost the context" }) });
    await expectShown(costs.getByText(/Shown to a model: \d+ \/ \d+, [\d,]+ tokens\./));
    await costs.getByRole("button", { name: /^Show all/ }).click();
    await expectShown(costs.getByRole("row", { name: /^session_status \d+ \d+ yes 0/ }));
    expect(console.strays).toEqual([]);
  });
});
