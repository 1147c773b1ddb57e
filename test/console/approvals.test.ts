// The approvals page in a real Chromium, as a person uses it who approves all day. Without a browser these tests are
// skipped with a message, or fail if HAFT_REQUIRE lists the browser.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { findBrowser } from "./find-browser.ts";
import { openConsole, type OpenConsole } from "./open-console.ts";

/** `npm run test:full -- console` has ten thousand. */
const MANY = process.env["HAFT_FULL"] === "1" ? 10_000 : 2_000;
const found = await findBrowser();

describe.skipIf("missing" in found)("the approvals page", () => {
  let console: OpenConsole;
  let page: Page;

  beforeAll(async () => {
    if ("missing" in found) return;
    console = await openConsole(found);
    page = await console.open({ width: 1440, height: 900 });
    page.setDefaultTimeout(15_000);
  }, 120_000);
  afterAll(async () => {
    await console?.close();
  });
  const asked: string[] = [];
  // Each test begins with an empty queue.
  afterEach(async () => {
    for (const id of asked.splice(0)) await console.host.haft.approvals.cancel(id, "The test has ended");
  });

  const expectShown = (locator: Locator): Promise<void> => locator.first().waitFor();
  const go = async (place: string, on = page): Promise<void> => {
    // A new document: nothing of the test before is left.
    await on.goto("about:blank");
    await on.goto(`${console.url}/#${place}`);
  };
  const onDisk = (name: string): string | undefined =>
    existsSync(join(console.folder, name)) ? readFileSync(join(console.folder, name), "utf8") : undefined;
  /** Asks, and gives the id of the question. */
  const ask = async (tool: string, input: object, caller: object = {}): Promise<string> => {
    const result = await console.host.haft.execute(tool, input, { caller });
    if (result.status !== "pending") throw new Error(result.display);
    asked.push(result.pending.id);
    return result.pending.id;
  };
  const askToWrite = (path: string, content = `${path}\n`, caller: object = {}): Promise<string> =>
    ask("write", { path, content }, caller);
  const card = (on = page): Locator => on.getByRole("article");
  const rows = (on = page): Locator => on.locator(".queue-row");
  const lines = (on = page): Locator => on.getByRole("list", { name: "Your last answers" });
  /** The answers are off for a moment after another card is shown. */
  const settled = (on = page): Promise<void> =>
    on.locator(".answers :is(.primary, .critical):enabled").first().waitFor();
  const cardOf = (subject: string, on = page): Promise<void> =>
    expectShown(card(on).locator(".card-body").getByText(subject));

  test("approves and denies by keys, goes on to the next question, and undoes in place", async () => {
    const first = await askToWrite("keys-1.txt");
    await askToWrite("keys-2.txt");
    await askToWrite("keys-3.txt");
    await go("/approvals?sort=age");
    await cardOf("keys-1.txt");
    expect(page.url()).toContain(first);
    expect(await page.title()).toMatch(/^\(3\) /);
    // A key that was pressed before the card could be seen does nothing.
    await page.keyboard.press("y");
    await settled();
    expect(onDisk("keys-1.txt")).toBeUndefined();
    await page.keyboard.press("y");
    await cardOf("keys-2.txt");
    await expectShown(lines().getByText("completed"));
    expect(onDisk("keys-1.txt")).toBe("keys-1.txt\n");
    await page.keyboard.press("y");
    await settled();
    expect(onDisk("keys-2.txt")).toBeUndefined();

    await page.keyboard.press("j");
    await cardOf("keys-3.txt");
    await page.keyboard.press("ArrowUp");
    await cardOf("keys-2.txt");
    await settled();
    await page.keyboard.press("n");
    await cardOf("keys-3.txt");
    await expectShown(lines().getByText("Denied"));
    expect(await rows().count()).toBe(1);

    await page.keyboard.press("u");
    await expectShown(lines().getByText("undone"));
    expect(onDisk("keys-1.txt")).toBeUndefined();
  });

  test("answers a question of ask_user with its options, and offers no approval", async () => {
    const options = [{ label: "PostgreSQL" }, { label: "SQLite" }];
    const id = await ask("ask_user", { questions: [{ question: "Which database?", options }] });
    await go("/approvals");
    await cardOf("Which database?");
    const send = card().getByRole("button", { name: /Send the answer/ });
    expect(await send.isDisabled()).toBe(true);
    expect(
      await card()
        .getByRole("button", { name: /Approve/ })
        .count(),
    ).toBe(0);
    await card().locator(".answers .button:enabled").first().waitFor();
    await page.keyboard.press("2");
    await page.keyboard.press("y");
    await expectShown(lines().getByText("Answered"));
    expect(await console.host.haft.approvals.get(id)).toMatchObject({ answers: [{ choices: ["SQLite"] }] });
  });

  test("lists the keys of the page", async () => {
    await askToWrite("help.txt");
    await go("/approvals");
    await cardOf("help.txt");
    await page.keyboard.press("?");
    const help = page.getByRole("dialog");
    for (const key of ["y", "n", "s", "a", "r", "e", "u", "x", "X", "A", "b", "j", "k", "/"]) {
      await expectShown(help.locator("kbd").getByText(key, { exact: true }));
    }
    await page.keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
  });

  test("stays on the last card and shows its result", async () => {
    await askToWrite("last.txt");
    await go("/approvals");
    await settled();
    await card()
      .getByRole("button", { name: /Approve once/ })
      .click();
    await expectShown(card().getByRole("region", { name: "completed" }));
    expect(onDisk("last.txt")).toBe("last.txt\n");
    await lines().getByRole("button", { name: /Undo/ }).click();
    await expectShown(lines().getByText("undone"));
    expect(onDisk("last.txt")).toBeUndefined();
  });

  test("follows an approved call over a restart of the server, and does not call it unanswered", async () => {
    const id = await ask("exec", { command: "until [ -e go-on ]; do sleep 0.1; done; touch went-on" });
    await go(`/approvals/${id}`);
    await settled();
    await page.keyboard.press("y");
    await expectShown(lines().getByText("running…"));
    await console.stopServer();
    await expectShown(page.getByText(/Server not reachable/));
    await console.startServer();
    writeFileSync(join(console.folder, "go-on"), "");
    await expectShown(lines().getByText("completed"));
    expect(onDisk("went-on")).toBe("");
  });

  test("shows what an undo would discard, and undoes it anyway if the person wants it", async () => {
    const id = await askToWrite("changed.txt");
    await go("/approvals");
    await settled();
    await page.keyboard.press("y");
    await expectShown(lines().getByRole("button", { name: /Undo/ }));
    writeFileSync(join(console.folder, "changed.txt"), "mine\n");
    await lines().getByRole("button", { name: /Undo/ }).click();
    await expectShown(lines().getByText("was changed later"));
    await expectShown(lines().getByRole("button", { name: /Undo anyway/ }));
    expect(onDisk("changed.txt")).toBe("mine\n");
    // The page of the call offers the same.
    const { callId = "" } = (await console.host.haft.approvals.get(id)) ?? {};
    await go(`/work/${encodeURIComponent(callId)}`);
    const files = page.getByRole("region", { name: "Changed files" });
    await files.getByRole("button", { name: "Undo" }).click();
    await expectShown(files.getByRole("alert").getByText("mine"));
    await files.getByRole("button", { name: "Undo anyway" }).click();
    await expectShown(files.getByText("Put back as it was."));
    expect(onDisk("changed.txt")).toBeUndefined();
  });

  test("denies with a reason that reaches the model, and keeps it in the history", async () => {
    const id = await askToWrite("no.txt");
    await go(`/approvals/${id}`);
    await settled();
    await page.keyboard.press("r");
    await page.getByLabel("Reason for the model").fill("Not in this folder");
    await page.keyboard.press("Control+Enter");
    await expectShown(
      card()
        .getByRole("region", { name: "failed" })
        .getByText(/Not in this folder/),
    );
    expect(await console.host.haft.approvals.result(id)).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("Not in this folder") },
    });
    await page.getByRole("tab", { name: "Answered" }).click();
    const row = page.getByRole("region", { name: "Answered" }).getByRole("link").first();
    await expectShown(row.getByText("denied"));
    await expectShown(row.getByText(/by owner · “Not in this folder”/));
  });

  test("shows a rule with its effect, lets it be edited, and saves it", async () => {
    await askToWrite("notes/a.md", "a\n", { user: "owner" });
    await go("/approvals");
    await settled();
    await expectShown(card().getByText("Edit(./notes/a.md)"));
    await page.keyboard.press("a");
    await page.getByLabel("Rule").fill("Edit(");
    await expectShown(card().getByRole("alert"));
    expect(
      await card()
        .getByRole("button", { name: /Save for this session/ })
        .isDisabled(),
    ).toBe(true);
    await page.getByLabel("Rule").fill("Edit(notes/**)");
    await expectShown(
      card().getByText(/This rule would have allowed \d+ of the last \d+ calls of write without approval\./),
    );
    await card()
      .getByRole("button", { name: /Save for this session/ })
      .click();
    await expectShown(lines().getByText("rule saved: Edit(notes/**)"));
    expect(onDisk("notes/a.md")).toBe("a\n");
    const again = { caller: { user: "owner" } };
    expect(await console.host.haft.execute("write", { path: "notes/b.md", content: "b" }, again)).toMatchObject({
      success: true,
    });
    await go(`/approvals/${await askToWrite("kept/a.md")}`);
    await settled();
    await page.keyboard.press("a");
    await page.getByLabel("Rule").fill("Edit(kept/**)");
    await card().locator(".answers .primary:enabled").waitFor();
    await page.keyboard.press("Control+Enter");
    await expectShown(lines().getByText("rule saved: Edit(kept/**)"));
  });

  test("offers only choices that have an effect: a rule that asks is stronger than one that allows", async () => {
    const asks = { rule: "Edit(asked/**)", decision: "ask" };
    const headers = { origin: console.url };
    const early = await askToWrite("asked/early.txt");
    const saved = await page.request.post(`${console.url}/api/policy/rules`, { data: asks, headers });
    expect(saved.status()).toBe(200);
    await go(`/approvals/${early}`);
    await settled();
    const session = card().getByRole("button", { name: /This session/ });
    const without = card().getByText(/would change nothing for the last \d+ calls of write/);
    await expectShown(without);
    expect(await session.isDisabled()).toBe(true);
    await page.keyboard.press("s");
    await page.keyboard.press("a");
    const box = page.getByLabel("Rule");
    const save = card().getByRole("button", { name: "Save and always approve" });
    await box.fill("Edit(");
    await expectShown(card().getByRole("alert"));
    // An edited rule that cannot win either is not offered.
    await box.fill("Edit(asked/*.txt)");
    await expectShown(without);
    expect(await save.isDisabled()).toBe(true);
    await box.press("Control+Enter");
    await box.press("Escape");
    await expectShown(session);
    expect(onDisk("asked/early.txt")).toBeUndefined();
    await page.keyboard.press("n");
    await expectShown(lines().getByText("Denied"));

    await go(`/approvals/${await askToWrite("asked/a.txt")}`);
    await settled();
    expect(await session.count()).toBe(0);
    await page.keyboard.press("s");
    await page.keyboard.press("n");
    await expectShown(lines().getByText("Denied"));
    const { origin } = (await (await page.request.get(`${console.url}/api/policy`)).json()).rules.find(
      ({ rule }: { rule: string }) => rule === asks.rule,
    );
    await page.request.post(`${console.url}/api/policy/rules/change`, { data: { ...asks, origin }, headers });
  });

  test("says what changed since the question that a new one replaces", async () => {
    writeFileSync(join(console.folder, "changing.txt"), "one\n");
    const remove = { path: "changing.txt" };
    const options = { id: "again", caller: { session: "again" } };
    const first = await console.host.haft.execute("delete_file", remove, options);
    writeFileSync(join(console.folder, "changing.txt"), "two\n");
    const second = await console.host.haft.execute("delete_file", remove, options);
    if (first.status !== "pending" || second.status !== "pending") throw new Error(second.display);
    asked.push(second.pending.id);
    expect(second.pending.id).not.toBe(first.pending.id);
    await go(`/approvals/${second.pending.id}`);
    await expectShown(card().getByText("What changed since:"));
    await expectShown(card().getByText("what the preview shows"));
    await card().getByRole("link", { name: "the earlier question" }).click();
    await expectShown(card().getByText("Replaced: what it showed is out of date"));
  });

  test("shows each reason of the risk once: beside its step, or below the steps", async () => {
    const command = "echo start && rm -rf precious.txt";
    await go(`/approvals/${await ask("exec", { command, outside_sandbox: true })}`);
    await expectShown(card().locator(".risk-reasons").getByText("It runs outside the sandbox.", { exact: true }));
    const deletes = card().getByText("It deletes files without asking, or whole folders.");
    expect(await deletes.filter({ visible: true }).count()).toBe(1);
  });

  test("approves what is critical only after a separate confirmation", async () => {
    writeFileSync(join(console.folder, "precious.txt"), "precious\n");
    const id = await ask("exec", { command: "echo start && rm -rf precious.txt" });
    await go(`/approvals/${id}`);
    await expectShown(card().getByText("Critical", { exact: true }));
    const steps = card().getByRole("list", { name: "Steps of the command" }).getByRole("listitem");
    expect(await steps.count()).toBe(2);
    await expectShown(steps.nth(1).getByText("It deletes files without asking, or whole folders."));
    // The command is shown once: the exact request is folded.
    const shown = card().locator(".card-body").getByText("rm -rf precious.txt");
    expect(await shown.filter({ visible: true }).count()).toBe(1);
    await page.keyboard.press("e");
    await expectShown(card().getByText(/"command": "echo start/));
    await settled();
    await page.keyboard.press("y");
    const confirm = page.getByRole("button", { name: /Yes, run it/ });
    await expectShown(confirm);
    await page.keyboard.press("y");
    await page.keyboard.press("Escape");
    await confirm.waitFor({ state: "detached" });
    expect(onDisk("precious.txt")).toBe("precious\n");
    await page.keyboard.press("y");
    await page.locator(".confirmation .critical:enabled").waitFor();
    await page.keyboard.press("Shift+Y");
    await expectShown(card().getByRole("region", { name: /completed|failed/ }));
    expect(await console.host.haft.approvals.get(id)).toMatchObject({ state: "approved" });
  });

  test("answers several together, with a summary, one reason and a result for each; critical ones not", async () => {
    const paths = ["batch-1.txt", "batch-2.txt", "batch-3.txt"];
    for (const path of paths) await askToWrite(path);
    const critical = await ask("exec", { command: "git push --force origin main" });
    await go("/approvals");
    await cardOf("git push --force origin main");
    await page.keyboard.press("Shift+A");
    await expectShown(page.getByText("4 selected"));
    await page.keyboard.press("b");
    const dialog = page.getByRole("dialog");
    await expectShown(dialog.getByText("3 × write"));
    await expectShown(dialog.getByText("1 critical call is not approved here"));
    await expectShown(dialog.getByText("batch-2.txt"));
    await dialog.getByLabel("One reason for all").fill("All reviewed");
    // Meanwhile somebody else answers one of them.
    const [taken] = (await console.host.haft.approvals.list("pending")).filter(({ toolName }) => toolName === "write");
    await console.host.haft.deny(taken!.id, "too early", "bob");
    await dialog.getByRole("button", { name: "Approve 3 once" }).click();
    await expectShown(dialog.getByText("2 answered, 1 not."));
    expect(await dialog.getByText("approved", { exact: true }).count()).toBe(2);
    await expectShown(dialog.getByText(/^failed: /));
    await dialog.getByRole("button", { name: "Close" }).click();
    expect(paths.map(onDisk)).toEqual([undefined, "batch-2.txt\n", "batch-3.txt\n"]);
    expect(await console.host.haft.approvals.get(critical)).toMatchObject({ state: "pending" });
    await expectShown(rows().getByText("git push --force origin main"));
  });

  test("moves nothing while someone reads: new questions wait, and answered ones keep their place", async () => {
    const ids = [];
    for (const path of ["read-1.txt", "read-2.txt", "read-3.txt"]) ids.push(await askToWrite(path));
    await go(`/approvals/${ids[1]}`);
    await cardOf("read-2.txt");
    const rowTexts = async (): Promise<string[]> =>
      (await rows().locator(".call-subject").allInnerTexts()).map((text) => text.trim());
    await expect.poll(rowTexts).toEqual(["read-1.txt", "read-2.txt", "read-3.txt"]);
    await ask("exec", { command: "git push --force origin main" });
    await console.host.haft.deny(ids[0]!, "not now", "bob");
    await expectShown(page.getByText("1 new"));
    await expectShown(rows().getByText("no longer open"));
    expect(await rowTexts()).toEqual(["read-1.txt", "read-2.txt", "read-3.txt", "git push --force origin main"]);
    await cardOf("read-2.txt");
    expect(await page.getByRole("status").allInnerTexts()).toContainEqual(
      expect.stringMatching(/New question: Run a command git push|no longer open/),
    );
    await page.keyboard.press(".");
    await expect.poll(rowTexts).toEqual(["git push --force origin main", "read-2.txt", "read-3.txt"]);
    await cardOf("read-2.txt");
  });

  test("keeps its view in the address: filter, order, groups", async () => {
    await askToWrite("view-1.txt", "1\n", { session: "alpha" });
    await askToWrite("view-2.txt", "2\n", { session: "beta", agent: "coder" });
    await ask("exec", { command: "git push" }, { session: "beta" });
    await go("/approvals");
    await page.getByRole("combobox", { name: "Any tool" }).selectOption("write");
    await page.keyboard.press("/");
    await page.getByRole("searchbox").fill("coder");
    await expect.poll(() => rows().count()).toBe(1);
    await expect.poll(() => page.url()).toMatch(/\?tool=write&q=coder$/);
    await page.reload();
    await expect.poll(() => rows().count()).toBe(1);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByLabel("By session").check();
    await expect.poll(() => page.locator(".queue-head").count()).toBe(2);
    await page.getByRole("checkbox", { name: "Select everything of beta" }).check();
    await expectShown(page.getByText("2 selected"));
  });

  test("shows a diff as a review does, and what a deletion loses", async () => {
    const text = Array.from({ length: 30 }, (_, at) => `const value${at} = ${at};`).join("\n");
    writeFileSync(join(console.folder, "code.ts"), `${text}\n`);
    const caller = { session: "diff" };
    await console.host.haft.execute("read", { path: "code.ts" }, { caller });
    const input = { path: "code.ts", old_string: "const value7 = 7;", new_string: "const value7 = 77;" };
    await go(`/approvals/${await ask("edit", input, caller)}`);
    const diff = card().getByRole("region", { name: "Changes" });
    await expectShown(diff.locator(".diff-code-delete .diff-word").getByText("7", { exact: true }));
    await expectShown(diff.locator(".diff-code-insert .diff-word").getByText("77", { exact: true }));
    await expectShown(diff.locator(".hljs-keyword").getByText("const"));
    expect(await diff.locator("tr.diff-insert .diff-sign").allInnerTexts()).toEqual(["+"]);
    await expectShown(diff.getByText("1 line added"));
    await diff.getByRole("button", { name: /code\.ts/ }).click();
    await diff.locator(".diff-code-insert").waitFor({ state: "detached" });

    await go(`/approvals/${await ask("delete_file", { path: "code.ts" })}`);
    await expectShown(diff.getByText("deleted", { exact: true }));
    await expectShown(diff.getByText("const value29 = 29;"));
  });

  test("shows hostile names as text, and changes nothing else by them", async () => {
    const evil = "<img src=x onerror=alert(1)>\u202Ecod.exe";
    const caller = { user: evil, agent: evil, session: evil };
    const id = await askToWrite(`${evil}.txt`, "--- a/other.txt\n+++ b/other.txt\n@@ -1 +1 @@\n-a\n+b\n", caller);
    await go("/approvals");
    await expectShown(rows().getByText("<img src=x onerror=alert(1)>"));
    await expectShown(rows().getByText("U+202E"));
    await expectShown(card().getByText("U+202E"));
    // Lines of the new file that look like another diff are lines of this file.
    expect(await card().locator(".diff-file").count()).toBe(1);
    expect(await card().locator("tr.diff-insert").count()).toBe(5);
    expect(page.url()).toContain(id);
    expect(await page.locator("img[src=x]").count()).toBe(0);
  });

  test("puts the questions of MCP servers into the same queue", async () => {
    const args = [fileURLToPath(new URL("../mcp/modern-server.mjs", import.meta.url))];
    console.host.mcp.add({ name: "modern", transport: "stdio", command: process.execPath, args });
    await console.host.mcp.settled();
    await askToWrite("beside.txt");
    const result = console.host.haft.execute("mcp__modern__delete_all", {}, { mode: "bypassPermissions" });
    await go("/approvals");
    await rows()
      .getByRole("link", { name: /modern/ })
      .click();
    const question = page.getByRole("article", { name: /modern asks you/ });
    await question.getByRole("checkbox").check();
    await question.getByRole("button", { name: "Send" }).click();
    expect(await result).toMatchObject({ details: "deleted" });
    await console.host.mcp.remove("modern");
  });

  test("is an inbox on a phone: list, card, answer, undo, without scrolling sideways", async () => {
    const phone = await console.open({ width: 390, height: 780 });
    phone.setDefaultTimeout(15_000);
    await askToWrite("phone-1.txt", "from afar\n");
    await askToWrite("phone-2.txt");
    const isWide = (): Promise<unknown> =>
      phone.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
    await go("/approvals", phone);
    await expectShown(rows(phone).getByText("phone-2.txt"));
    expect(await card(phone).count()).toBe(0);
    expect(await isWide()).toBe(false);
    const box = await rows(phone).getByRole("checkbox").first().boundingBox();
    expect(Math.min(box!.width, box!.height)).toBeGreaterThanOrEqual(24);
    await rows(phone).getByText("phone-1.txt").click();
    await cardOf("from afar", phone);
    expect(await rows(phone).first().isVisible()).toBe(false);
    expect(await isWide()).toBe(false);
    await card(phone).getByRole("link", { name: "All approvals" }).click();
    await rows(phone).getByText("phone-1.txt").click();
    const button = card(phone).getByRole("button", { name: /Approve once/ });
    const place = await button.boundingBox();
    expect(place!.height).toBeGreaterThanOrEqual(44);
    expect(place!.y + place!.height).toBeLessThanOrEqual(780);
    await settled(phone);
    await button.click();
    await cardOf("phone-2.txt", phone);
    await lines(phone).getByRole("button", { name: /Undo/ }).click();
    await expectShown(lines(phone).getByText("undone"));
    expect(onDisk("phone-1.txt")).toBeUndefined();
    await phone.goBack();
    await expectShown(rows(phone).getByText("phone-2.txt"));
  });

  test("speaks Chinese, with the texts of the server", async () => {
    const chinese = await console.open({ language: "zh-CN", width: 1440 });
    await ask("exec", { command: "git push --force origin main" });
    await go("/approvals", chinese);
    await expectShown(chinese.getByRole("heading", { name: "审批", level: 1 }));
    await expectShown(card(chinese).getByText("极高风险", { exact: true }));
    await expectShown(card(chinese).getByRole("button", { name: /批准一次/ }));
    await expectShown(card(chinese).getByText(/剩余 \d+ 小时 \d+ 分/));
    expect(await card(chinese).getByText("It overwrites the history of a remote branch.").count()).toBe(0);
  });

  test("stays usable with thousands of open questions", async () => {
    const { calls } = console.host.store;
    const row = await calls.get(await askToWrite("many.txt"));
    if (!row?.question) throw new Error("no question");
    const { question } = row;
    const text = (at: number): string => `many-${String(at).padStart(5, "0")}.txt`;
    const inserted = Array.from({ length: MANY }, (_, at) => {
      const summary = question.summary && { ...question.summary, subject: { type: "path" as const, text: text(at) } };
      const caller = { ...row.caller, session: `s${at % 50}` };
      const id = `${row.id}-${at}`;
      const copy = { ...row, id, callId: id, caller, createdAt: row.createdAt + at + 1 };
      return calls.insert({ ...copy, key: undefined, question: { ...question, summary } });
    });
    await Promise.all(inserted);
    await go("/approvals?sort=age");
    // The list is some megabytes: on a busy machine it takes a while.
    await rows().getByText("many-00001.txt").waitFor({ timeout: 60_000 });
    await cardOf("many.txt");
    // Only the visible rows exist.
    await expect.poll(() => page.locator(".queue-row").first().getAttribute("aria-setsize")).toBe(String(MANY + 1));
    expect(await rows().count()).toBeLessThan(60);
    await page.keyboard.press("/");
    await page.getByRole("searchbox").fill(`many-0${MANY - 1}`);
    await expect.poll(() => rows().count()).toBe(1);
    await rows()
      .getByText(`many-0${MANY - 1}.txt`)
      .click();
    await settled();
    await page.keyboard.press("n");
    await expectShown(lines().getByText("Denied"));
  }, 120_000);

  test("met no error, and asked nobody else for anything", () => {
    expect(console.strays).toEqual([]);
  });
});
