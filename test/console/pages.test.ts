// The pages Sessions, MCP, Jobs, Schedules and Policy in a real Chromium. Without a browser these tests are skipped with a
// message, or fail if HAFT_REQUIRE lists the browser.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openOAuthServer } from "../mcp/oauth-server.fixture.ts";
import { findBrowser } from "./find-browser.ts";
import { openConsole, type OpenConsole } from "./open-console.ts";

const found = await findBrowser();
const MODERN = fileURLToPath(new URL("../mcp/modern-server.mjs", import.meta.url));

describe.skipIf("missing" in found)("the pages of the console", { timeout: 240_000 }, () => {
  let console: OpenConsole;
  let page: Page;

  beforeAll(async () => {
    if ("missing" in found) return;
    // Calls of agents wait for the answer, as those of a server do.
    console = await openConsole(found, { approvalWaitMs: 600_000 });
    page = await console.open();
  }, 120_000);
  afterAll(async () => {
    await console?.close();
  });

  const expectShown = (locator: Locator): Promise<void> => locator.first().waitFor();
  const go = async (place: string, on = page): Promise<void> => {
    await on.goto(`${console.url}/#${place}`);
  };
  const onDisk = (name: string): string | undefined =>
    existsSync(join(console.folder, name)) ? readFileSync(join(console.folder, name), "utf8") : undefined;

  test("talks with an agent: streamed, with its usage, and a stop", async () => {
    await go("/sessions");
    await expectShown(page.getByText("No sessions yet"));
    // The main action of the page has a key.
    await page.keyboard.press("n");
    const say = page.getByLabel("Say something");
    await say.fill("good morning");
    await page.getByRole("button", { name: "Send" }).click();
    const chat = page.getByRole("region", { name: "Conversation" });
    await expectShown(chat.getByText("You said: good morning"));
    await expectShown(page.getByText("12 tokens in, 3 out"));
    // Markdown is drawn as elements: no tag of it exists, no picture is fetched, and a link says where it leads.
    await say.fill(
      "**bold** <b id=evil>x</b> ![p](https://a.example/p.png) [here](https://b.example/) [js](javascript:1)",
    );
    await page.getByRole("button", { name: "Send" }).click();
    const reply = chat.getByRole("article", { name: "Agent" }).filter({ hasText: "bold" });
    await expectShown(reply.locator("strong").getByText("bold"));
    await expectShown(reply.getByText("<b id=evil>"));
    await expectShown(reply.getByText("(b.example)"));
    expect(await reply.locator("img, #evil, a[href^=javascript]").count()).toBe(0);
    await say.fill("for ever");
    await say.press("Enter");
    await expectShown(chat.getByRole("article", { name: "It speaks" }).getByText("You said: for ever"));
    await expectShown(page.locator(".page-head").getByText("at work"));
    await page.getByRole("button", { name: "Stop" }).click();
    await expectShown(chat.getByText("The turn: stopped"));
    await go("/sessions?state=stopped");
    await expectShown(page.getByRole("list", { name: "Sessions" }).getByText("stopped"));
    await page.getByRole("button", { name: "idle" }).click();
    await expectShown(page.getByText("No session is in this state"));
    expect(page.url()).toContain("?state=idle");
  });

  test("says that a session waits, with the question in place, in the list and on its page", async () => {
    const { sessions } = console.host;
    await sessions.create({ key: "writer", label: "Writer", caller: { user: "owner" } });
    await sessions.create({ key: "writer/helper", label: "Helper", parent: "writer", caller: { user: "owner" } });
    await sessions.send("writer", { id: "1", kind: "message", text: "write from-chat.txt" });
    await go("/sessions");
    const row = page.getByRole("listitem").filter({ hasText: "Writer" });
    await expectShown(row.getByText("waits for you"));
    await expectShown(row.getByText("from-chat.txt"));
    await expectShown(row.getByText("Medium"));
    expect(await row.getByText("at work").count()).toBe(0);
    await row.getByRole("link", { name: "Answer" }).click();

    const head = page.locator(".page-head");
    const question = page.getByRole("region", { name: "It waits for you" });
    await expectShown(head.getByText("waits for you"));
    // What the turn has used so far, although it has not ended.
    await expectShown(page.getByText("12 tokens in, 3 out"));
    await expectShown(question.getByText("from a chat"));
    const family = page.getByRole("navigation", { name: "Sessions of this task" });
    await expectShown(family.getByRole("link", { name: "Helper" }));
    expect(onDisk("from-chat.txt")).toBeUndefined();
    await question
      .getByRole("button", { name: /^Approve/ })
      .first()
      .click();
    const chat = page.getByRole("region", { name: "Conversation" });
    await expectShown(chat.getByText("You said: write from-chat.txt"));
    expect(onDisk("from-chat.txt")).toBe("from a chat\n");
    await expectShown(chat.locator(".call-line").getByText("completed"));
    await question.waitFor({ state: "detached" });
    await expectShown(head.getByText("idle"));
    await expectShown(page.getByText("24 tokens in, 6 out"));
  });

  test("adds an MCP server after a look at what runs, says why it fails, and removes it", async () => {
    await go("/mcp");
    await expectShown(page.getByText("No MCP server is configured"));
    await page.keyboard.press("n");
    const form = page.getByRole("region", { name: "Add an MCP server" });
    await form.getByLabel("Name", { exact: true }).fill("broken");
    const script = "process.stderr.write('LICENCE is not set\\n'); process.exit(3)";
    await form.getByLabel("Command line").fill(`"${process.execPath}" -e "${script.replaceAll("\\", "\\\\")}`);
    await form.getByRole("button", { name: "Look at it" }).click();
    await expectShown(form.getByText("A quote in the command line is not closed."));
    await form.getByLabel("Command line").press("End");
    await form.getByLabel("Command line").pressSequentially('"');
    await form.getByRole("button", { name: "Look at it" }).click();
    await expectShown(form.getByText("confined; network: all"));
    expect(onDisk(".mcp.json")).toBeUndefined();
    await form.getByRole("button", { name: "Trust and start" }).click();
    const card = page.getByRole("region", { name: "broken" });
    await expectShown(card.getByText(/exited with code 3.*LICENCE is not set/));
    // The reason stays while it is tried again.
    await expectShown(card.getByText(/Attempt [2-9]/));
    await expectShown(card.getByText(/exited with code 3.*LICENCE is not set/));
    expect(onDisk(".mcp.json")).toContain("broken");
    await card.getByRole("button", { name: "Remove" }).click();
    await card.getByRole("button", { name: "Really remove?" }).click();
    await card.waitFor({ state: "detached" });
    expect(onDisk(".mcp.json")).not.toContain("broken");
  });

  test("starts a server of a file only after a person trusts it, and shows its tools and protocol", async () => {
    const old = '{"name":"add","description":"Adds nothing"}';
    await console.host.store.pins.put({ server: "modern", tool: "add", hash: "old", definition: old, pinnedAt: 1 });
    const entry = { command: process.execPath, args: [MODERN] };
    writeFileSync(join(console.folder, ".mcp.json"), JSON.stringify({ mcpServers: { modern: entry } }));
    await go("/mcp");
    await page.reload();
    const waiting = page.getByRole("region", { name: "Not trusted yet" });
    const start = waiting.locator(".fact", { hasText: "Starts" });
    await expectShown(start.getByText(`${process.execPath} ${MODERN}`));
    await waiting.getByRole("button", { name: "Trust and start" }).click();
    await go("/mcp/modern");
    const card = page.getByRole("region", { name: "modern" });
    await expectShown(card.getByText("Adds nothing"));
    await card.getByRole("button", { name: "Approve what it is now" }).click();
    await card.getByText("definition changed").waitFor({ state: "detached" });
    await card.getByRole("tab", { name: "Resources and prompts" }).click();
    await expectShown(card.getByText("note://1"));
    await card.getByRole("tab", { name: "Protocol" }).click();
    expect(page.url()).toContain("/mcp/modern?tab=protocol");
    const message = card.getByRole("listitem").filter({ hasText: "tools/list" }).filter({ hasText: "answer" });
    await message.first().click();
    await expectShown(message.getByText('"inputSchema"'));
    await page.getByRole("tab", { name: "Cursor" }).click();
    const link = page.getByRole("link", { name: "Add it with one click" });
    const config = new URL((await link.getAttribute("href"))!).searchParams.get("config")!;
    expect(JSON.parse(Buffer.from(config, "base64").toString())).toEqual({
      command: "haft",
      args: ["mcp", "--folder", console.folder],
    });
  });

  test("leads from the card of another agent's call to the state of its hook, or to how one is installed", async () => {
    for (const agent of ["codex", "claude"]) {
      const caller = { agent, session: `${agent}:1`, user: "owner" };
      const asked = await new Promise<string>((onApprovalRequested) => {
        const options = { caller, onApprovalRequested };
        void console.host.haft.execute("refund", { order: agent, amount: 5 }, options);
      });
      await go(`/approvals/${asked}`);
      await page.getByRole("link", { name: "its hook" }).click();
      const hooks = page.getByRole("region", { name: "Hooks in other agents" });
      await expectShown(hooks.getByText("/home/ann/.codex/hooks.json"));
      expect(await hooks.getByText("haft hook install claude").count()).toBe(agent === "claude" ? 1 : 0);
      await console.host.haft.approvals.deny(asked, "ann");
    }
    const hook = page.getByRole("region", { name: "codex" });
    await expectShown(hook.getByText("as Haft wrote it"));
    await expectShown(hook.getByText("takes too long"));
    await hook.getByRole("button", { name: "Try it" }).click();
    await expectShown(hook.getByText("It was called, and denied."));
  });

  test("signs in to an MCP server, and comes back with it ready", async () => {
    const api = await openOAuthServer();
    console.host.mcp.add({ name: "guarded", transport: "http", url: api.url });
    await console.host.mcp.settled();
    await go("/mcp");
    const card = page.getByRole("region", { name: "guarded" });
    await card.getByRole("button", { name: "Sign in" }).click();
    await expectShown(card.getByText("ready"));
    expect(page.url()).toBe(`${console.url}/#/mcp`);
    expect(api.registered.at(-1)).toMatchObject({ redirect_uris: [`${console.url}/`] });
    await console.host.mcp.remove("guarded");
    // Where the browser was sent, and nowhere else.
    const isOwnOrigin = (stray: string): boolean => stray.startsWith(api.origin);
    expect(console.strays.filter(isOwnOrigin)).toHaveLength(1);
    console.strays.splice(0, console.strays.length, ...console.strays.filter((stray) => !isOwnOrigin(stray)));
  });

  test("follows a job while it runs, cancels it by a key, and runs it again", async () => {
    const caller = { user: "owner" };
    await console.host.haft.execute("count_slowly", { to: 200 }, { caller, background: true });
    await console.host.haft.execute("count_slowly", { to: 3 }, { caller, background: { delayMs: 3_600_000 } });
    await go("/jobs");
    await expectShown(page.getByText(/Not before/));
    await page.getByRole("button", { name: /^running/ }).click();
    expect(page.url()).toContain("?state=running");
    const row = page.getByRole("listitem").filter({ hasText: "to: 200" });
    await row.getByRole("link", { name: "count_slowly" }).click();
    await expectShown(page.getByRole("log").getByText("number 3"));
    await expectShown(page.getByRole("progressbar"));
    await page.keyboard.press("c");
    await expectShown(page.locator(".facts").getByText("cancelled"));
    await page.keyboard.press("r");
    await expectShown(page.locator(".facts").getByText("running"));
    await expectShown(page.getByRole("log").getByText("number 2"));
    await page.getByRole("button", { name: "Cancel" }).click();
    await expectShown(page.locator(".facts").getByText("cancelled"));
    await go("/jobs?state=delayed");
    const delayed = page.getByRole("listitem").filter({ hasText: "Not before" });
    await delayed.getByRole("button", { name: "Cancel" }).click();
    await expectShown(page.getByText("No job matches"));
  });

  test("shows a schedule in words and in both time zones, runs it, changes it, pauses and removes it", async () => {
    console.host.schedules.start();
    await go("/schedules");
    await expectShown(page.getByText("No schedules"));
    await page.keyboard.press("n");
    const form = page.getByRole("region", { name: "Add a schedule" });
    await form.getByLabel("Name", { exact: true }).fill("Look around");
    await form.getByLabel("Time zone").fill("Asia/Tokyo");
    await form.getByLabel("Minute, hour, day, month, weekday").fill("61 8 * * 1-5");
    await expectShown(form.locator(".field-error"));
    await form.getByLabel("Minute, hour, day, month, weekday").fill("30 8 * * 1-5");
    await expectShown(form.getByRole("status").getByText("At 08:30, Monday through Friday"));
    await form.getByLabel("Tool").selectOption("list_files");
    await form.getByRole("button", { name: "Add", exact: true }).click();
    const card = page.getByRole("region", { name: "Look around" });
    await expectShown(card.getByText("At 08:30, Monday through Friday"));
    await card.getByRole("button", { name: "Run now" }).click();
    await expectShown(card.getByText("completed"));
    await card.getByRole("link", { name: "Look around" }).click();
    await expectShown(card.getByText(/requested by/));
    await expectShown(card.getByRole("columnheader", { name: "Asia/Tokyo" }));
    await expectShown(card.getByRole("columnheader", { name: /Your time/ }));
    await page.keyboard.press("e");
    await card.getByLabel("Time zone").fill("Europe/Berlin");
    await card.getByRole("button", { name: "Save" }).click();
    await expectShown(card.getByRole("columnheader", { name: "Europe/Berlin" }));
    await page.keyboard.press("p");
    await expectShown(card.getByText("paused", { exact: true }));
    await card.getByRole("button", { name: "Resume" }).click();
    await expectShown(card.getByRole("button", { name: "Pause" }));
    await card.getByRole("button", { name: "Remove" }).click();
    await card.getByRole("button", { name: "Really remove?" }).click();
    await card.waitFor({ state: "detached" });
    await expectShown(page.getByText("No schedules"));
  });

  test("adds a rule, counts its hits, edits it in place, and revokes it", async () => {
    const write = (path: string) =>
      console.host.haft.execute("write", { path, content: "x" }, { caller: { user: "owner" } });
    const change = (path: string): Locator => page.getByRole("listitem", { name: path, exact: true });
    await go("/policy");
    await expectShown(page.getByText("No rules yet"));
    await page.keyboard.press("n");
    const form = page.getByRole("form", { name: "Add a rule" });
    await form.getByLabel("Decision").selectOption("deny");
    await form.getByLabel("Rule", { exact: true }).fill("Edit(secret/**)");
    await expectShown(form.getByText(/It matches 0 of the last \d+ calls/));
    await form.getByRole("button", { name: "Add" }).click();
    const row = change("Edit(secret/**)");
    await expectShown(row.getByText("never used"));
    await expectShown(row.getByText(/:\d+$/));
    expect(await write("secret/a.txt")).toMatchObject({ success: false, error: { code: "denied" } });
    await page.reload();
    await expectShown(row.getByText("decided 1"));

    await row.getByRole("button", { name: "Edit" }).click();
    const edit = page.getByRole("form", { name: "Edit" });
    await edit.getByLabel("Rule", { exact: true }).fill("Edit(hidden/**)");
    await edit.getByRole("button", { name: "Save" }).click();
    await row.waitFor({ state: "detached" });
    await expectShown(change("Edit(hidden/**)"));
    expect(await write("hidden/a.txt")).toMatchObject({ success: false, error: { code: "denied" } });

    // A finding names its rule and its place, and can be acted on.
    await console.host.haft.policy.add("Edit(hidden/**)", "ask");
    await page.reload();
    const findings = page.getByRole("region", { name: "Probable mistakes" });
    await expectShown(findings.getByText(/is checked first and always decides/));
    await findings.getByRole("button", { name: "Revoke the rule" }).click();
    await findings.waitFor({ state: "detached" });
    await change("Edit(hidden/**)").nth(1).waitFor({ state: "detached" });
    expect(console.host.haft.policy.rules.rules()).toMatchObject([{ text: "Edit(hidden/**)", list: "deny" }]);

    await change("Edit(hidden/**)").getByRole("button", { name: "Revoke" }).click();
    await change("Edit(hidden/**)").getByRole("button", { name: "Really revoke?" }).click();
    await expectShown(page.getByText("No rules yet"));
    expect(console.host.haft.policy.rules.rules()).toEqual([]);
  });

  test("a grant that lasts shows what is left, and ends at once", async () => {
    const { grants } = console.host.haft.policy;
    const draft = { holder: { session: "review" }, rules: ["Edit(notes/**)"], why: "clean up the notes" };
    const { id } = await grants.give({ ...draft, minutes: 90, maxUses: 4 });
    await go("/policy");
    const row = page.getByRole("region", { name: "Grants that last" }).getByRole("listitem");
    await expectShown(row.getByText("4 of 4 calls left"));
    await expectShown(row.getByText(/1 h 2\d min left/));
    await row.getByRole("button", { name: "End now" }).click();
    await row.getByRole("button", { name: "Really end it?" }).click();
    await row.waitFor({ state: "detached" });
    expect(await grants.get(id)).toMatchObject({ ended: "revoked", endedBy: "owner" });
  });

  test("explains a past call, and tries a rule on the whole history", async () => {
    const { callId } = await console.host.haft.execute("list_files", {}, { caller: { user: "owner" } });
    await go(`/policy?call=${callId}`);
    await expectShown(page.getByRole("status").getByText("allowed"));
    await page.getByLabel("Tool").selectOption("exec");
    await page.getByLabel("Input as JSON").fill('{ "command": "git push" }');
    await page.getByRole("button", { name: "Explain" }).click();
    await expectShown(page.getByRole("status").getByText("asks first"));
    await page.getByRole("tab", { name: "Simulator" }).click();
    expect(page.url()).toContain("/policy?tab=try");
    const simulator = page.getByRole("region", { name: "Try rules on the whole history" });
    await simulator.getByLabel("Rule").fill("Edit(from-chat.txt)");
    await simulator.getByRole("button", { name: "Simulate" }).click();
    await expectShown(simulator.getByText(/1 of \d+ past calls would be judged differently/));
    await expectShown(simulator.getByRole("link", { name: /from-chat\.txt/ }));
  });

  test("works in Chinese at the width of a phone: no page scrolls sideways", async () => {
    const timing = { type: "cron", expression: "30 8 * * 1-5", timeZone: "Asia/Tokyo" } as const;
    const target = { type: "call", toolName: "list_files", input: {} } as const;
    await console.host.schedules.add({ timing, target }, { caller: { depth: 0 } });
    const phone = await console.open({ language: "zh-CN", width: 390, height: 780 });
    const texts = {
      "/sessions": "已停止",
      "/sessions/writer": "此任务的会话",
      "/mcp/modern": "未受信任",
      "/mcp?add=yes": "信任",
      "/jobs": "已取消",
      "/schedules": "星期一至星期五",
      "/schedules?add=yes": "时区",
      "/policy?add=yes": "添加规则",
      "/policy?tab=try": "在全部历史上试用规则",
    };
    for (const [place, text] of Object.entries(texts)) {
      await go(place, phone);
      await expectShown(phone.locator(".main").getByText(text).locator("visible=true"));
      const sizes = "[document.querySelector('.main').scrollWidth, document.querySelector('.main').clientWidth]";
      const [content, width] = await phone.evaluate<[number, number]>(sizes);
      expect(`${place} ${content}`).toBe(`${place} ${width}`);
    }
    await phone.close();
  });

  test("asked nobody else for anything, and met no error", () => {
    expect(console.strays).toEqual([]);
  });
});
