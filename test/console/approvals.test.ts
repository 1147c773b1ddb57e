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

describe.skipIf("missing" in found)("the approvals page", { timeout: 240_000 }, () => {
  let console: OpenConsole;
  let page: Page;

  beforeAll(async () => {
    if ("missing" in found) return;
    console = await openConsole(found);
    page = await console.open({ width: 1440, height: 900 });
  }, 120_000);
  afterAll(async () => {
    await console?.close();
  });
  const asked: string[] = [];
  // Each test begins with an empty queue, and with a connection that the one before did not break.
  afterEach(async () => {
    await page?.unrouteAll({ behavior: "ignoreErrors" });
    for (const id of asked.splice(0)) await console.host.haft.approvals.cancel(id, "The test has ended");
  });

  const expectShown = (locator: Locator): Promise<void> =>
    locator
      .first()
      .waitFor()
      .catch(async (cause: unknown) => {
        throw new Error(`The page shows: ${await locator.page().locator("main").innerText()}`, { cause });
      });
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
    on.locator(".answers :is(.primary, .critical, .first):enabled").first().waitFor();
  /** Presses a key inside the page as soon as the card is there, however busy the machine is. */
  const pressWhenShown = (key: string, subject: string): Promise<unknown> =>
    page.evaluate(`void new MutationObserver((_, observer) => {
      const shown = document.querySelector(".approval:has(.answers) .card-body")?.textContent ?? "";
      if (!shown.includes("${subject}")) return;
      observer.disconnect();
      setTimeout(() => dispatchEvent(new KeyboardEvent("keydown", { key: "${key}" })), 50);
    }).observe(document, { subtree: true, childList: true })`);
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
    await settled();
    // A key that is pressed before the next card could be seen does nothing.
    await pressWhenShown("y", "keys-2.txt");
    await page.keyboard.press("y");
    await cardOf("keys-2.txt");
    await expectShown(lines().getByText("completed"));
    expect(onDisk("keys-1.txt")).toBe("keys-1.txt\n");
    await settled();
    expect(page.url()).not.toContain(first);
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

  test("names a value that a stranger chose, where it stands, and what the user wrote; a yes covers that value alone", async () => {
    const { haft } = console.host;
    const caller = { user: "ada", session: "mails" };
    await haft.execute("read_mail", {}, { caller, userMessage: "Answer my mails." });
    const input = { iban: "DE89370400440532013000" };
    const id = await ask("transfer", input, caller);
    await go(`/approvals/${id}`);
    const values = card().getByRole("region", { name: "Who chose this value?" });
    await expectShown(values.getByText("a text that somebody else wrote"));
    expect(await values.locator("mark").innerText()).toBe(input.iban);
    await expectShown(values.getByRole("link", { name: "read_mail" }));
    await expectShown(values.getByText("Answer my mails."));
    await settled();
    await page.keyboard.press("y");
    await expectShown(lines().getByText("completed"));
    expect(await haft.execute("transfer", input, { caller })).toMatchObject({ status: "completed" });
    await ask("transfer", { iban: "DE02120300000000202051" }, caller);
    // Several are not approved together without it either.
    await go("/approvals");
    await settled();
    await page.keyboard.press("Shift+A");
    await page.keyboard.press("b");
    const together = page.getByRole("dialog").getByRole("region", { name: "Who chose this value?" });
    await expectShown(together.getByText("DE02120300000000202051"));
  });

  test("lists the keys of the page", async () => {
    await askToWrite("help.txt");
    await go("/approvals");
    await cardOf("help.txt");
    await page.keyboard.press("?");
    const help = page.getByRole("dialog");
    for (const key of ["y", "n", "s", "a", "r", "e", "u", "U", "x", "X", "A", "b", "j", "k", "/"]) {
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

  test("says that an approved call has not started, and follows it from there", async () => {
    const { haft, store } = console.host;
    let end = (): void => undefined;
    const elsewhere = {
      name: "elsewhere",
      description: "A tool that another process has",
      kind: "execute" as const,
      permission: "confirm" as const,
      parameters: [],
      run: () => new Promise<string>((resolve) => (end = () => resolve("done"))),
    };
    haft.register(elsewhere);
    const row = await store.calls.get(await ask("elsewhere", {}));
    if (!row) throw new Error("no call");
    // As another process has made it, which has the tool: this one cannot start it.
    const id = `${row.id}-other`;
    await store.calls.insert({ ...row, id, callId: id, key: undefined });
    asked.push(id);
    haft.tools.registry.unregister("elsewhere");
    await go(`/approvals/${id}`);
    await settled();
    await page.keyboard.press("y");
    await expectShown(lines().getByText("approved, not started yet"));
    expect(await lines().getByText("running…").count()).toBe(0);
    haft.register(elsewhere);
    const ran = haft.approvals.approve(id);
    await expectShown(lines().getByText("running…"));
    end();
    await expectShown(lines().getByText("completed"));
    expect(await ran).toMatchObject({ status: "completed" });
    haft.tools.registry.unregister("elsewhere");
  });

  test("keeps a failed answer on its card, and lets no further key reach another card", async () => {
    const first = await askToWrite("unsent-1.txt");
    const second = await askToWrite("unsent-2.txt");
    await go("/approvals?sort=age");
    await cardOf("unsent-1.txt");
    await settled();
    // The first answer is held back, then its connection breaks.
    let release: (() => void) | undefined;
    await page.route("**/answer", async (route) => {
      await new Promise<void>((resolve) => (release = resolve));
      await route.abort();
    });
    await page.keyboard.press("y");
    await expectShown(card().getByText("Sending…"));
    for (const key of ["y", "n", "y"]) await page.keyboard.press(key);
    release?.();
    await expectShown(card().getByRole("alert").getByText("Not sent."));
    await page.unroute("**/answer");
    expect(page.url()).toContain(first);
    expect(await rows().count()).toBe(2);
    expect(await page.getByText("Approved", { exact: true }).count()).toBe(0);
    expect([onDisk("unsent-1.txt"), onDisk("unsent-2.txt")]).toEqual([undefined, undefined]);
    await pressWhenShown("n", "unsent-2.txt");
    await card().getByRole("button", { name: "Try again" }).click();
    await cardOf("unsent-2.txt");
    await settled();
    await expectShown(lines().getByText("completed"));
    expect(onDisk("unsent-1.txt")).toBe("unsent-1.txt\n");
    expect(await console.host.haft.approvals.get(second)).toMatchObject({ state: "pending" });
  });

  test("shows the whole of a long command and of long arguments, and folds nothing", async () => {
    const notes = Array.from({ length: 400 }, (_, at) => `note ${at}`).join("\n");
    await go(`/approvals/${await ask("exec", { command: `cat > long.txt <<'END'\n${notes}\nrm -rf hidden\nEND` })}`);
    const steps = card().getByRole("list", { name: "Steps of the command" });
    await expectShown(steps.getByText("rm -rf hidden"));
    await go(`/approvals/${await ask("refund", { order: `${notes} last note`, amount: 1 })}`);
    await expectShown(card().getByText(/"order": "note 0.*last note/));
    expect(
      await card()
        .getByRole("button", { name: /more (lines|characters)$/ })
        .count(),
    ).toBe(0);
  });

  test("takes no plain yes for changes that are folded, until they were opened", async () => {
    const text = Array.from({ length: 700 }, (_, at) => `row ${at}`).join("\n");
    const id = await askToWrite("folded.txt", `${text}\n${"x".repeat(900)}hidden${"x".repeat(900)}\n`);
    await go(`/approvals/${id}`);
    await expectShown(card().getByText("row 3", { exact: true }));
    expect(await card().getByText("row 699", { exact: true }).count()).toBe(0);
    await settled();
    await page.keyboard.press("y");
    const step = page.getByRole("alertdialog");
    await expectShown(step.getByText("Parts of the changes are folded."));
    await page.keyboard.press("Escape");
    await step.waitFor({ state: "detached" });
    expect(await console.host.haft.approvals.get(id)).toMatchObject({ state: "pending" });
    // The rest of the file has a line that is folded as well. Closing the file opens nothing.
    await card()
      .getByRole("button", { name: /^Show 201 more of 201 lines$/ })
      .click();
    await expectShown(card().getByText("row 699", { exact: true }));
    await card()
      .getByRole("button", { name: /folded\.txt/, expanded: true })
      .click();
    await expectShown(card().getByRole("button", { name: /Approve once…/ }));
    await card().getByRole("button", { name: "Show 1 folded part" }).click();
    await card()
      .getByRole("button", { name: /folded\.txt/, expanded: false })
      .click();
    await expectShown(card().getByText(/x{900}hidden/));
    await expectShown(card().getByRole("button", { name: "Approve once y", exact: true }));
    await page.keyboard.press("y");
    await expectShown(card().getByRole("region", { name: "completed" }));
    expect(onDisk("folded.txt")).toContain("hidden");
  });

  test("undoes over a later edit only by another key, with both texts, and redoes", async () => {
    const id = await askToWrite("changed.txt", "of the call\n");
    await go("/approvals");
    await settled();
    await page.keyboard.press("y");
    await expectShown(lines().getByRole("button", { name: /Undo/ }));
    const mine = `mine\n${"a line\n".repeat(200)}the last of mine\n`;
    writeFileSync(join(console.folder, "changed.txt"), mine);
    const dialog = page.getByRole("dialog", { name: "Discard later changes?" });
    await page.keyboard.press("u");
    await expectShown(dialog.getByText("the last of mine"));
    await dialog.getByRole("button", { name: /Discard them/, disabled: false }).waitFor();
    for (const key of ["u", "u", "Shift+U"]) await page.keyboard.press(key);
    await expectShown(dialog);
    expect(onDisk("changed.txt")).toBe(mine);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await expectShown(lines().getByRole("button", { name: /Undo/ }));
    expect(onDisk("changed.txt")).toBe(mine);
    await page.keyboard.press("u");
    await dialog.getByRole("button", { name: /Discard them/, disabled: false }).waitFor();
    await page.keyboard.press("Shift+D");
    await expectShown(lines().getByText("undone"));
    expect(onDisk("changed.txt")).toBeUndefined();
    // The page of the call can make it again, and asks as well.
    const { callId = "" } = (await console.host.haft.approvals.get(id)) ?? {};
    await go(`/work/${encodeURIComponent(callId)}`);
    const files = page.getByRole("region", { name: "Changed files" });
    await files.getByRole("button", { name: "Redo" }).click();
    await expectShown(files.getByText("Changed again."));
    expect(onDisk("changed.txt")).toBe(mine);
  });

  test("approves what is not shown only by a second step that says so, and shows all of it", async () => {
    const big = Array.from({ length: 20_000 }, (_, at) => `line ${at}`).join("\n");
    writeFileSync(join(console.folder, "big.txt"), `${big}\n`);
    const caller = { session: "big" };
    await console.host.haft.execute("read", { path: "big.txt" }, { caller });
    const input = { path: "big.txt", old_string: "line", new_string: "LINE", replace_all: true };
    const id = await ask("edit", input, caller);
    await go(`/approvals/${id}`);
    await expectShown(card().getByRole("alert").getByText("Not everything is shown here."));
    // The head counts all of it, and the replacement is summed up.
    await expectShown(card().getByText("20000 lines added"));
    expect(await card().locator(".diff-head .diff-counts").count()).toBe(0);
    await expectShown(card().getByRole("region", { name: "Replaced on many lines" }).getByText("on 20000 lines"));
    await settled();
    await page.keyboard.press("y");
    const step = page.getByRole("alertdialog");
    await expectShown(step.getByText(/Not shown: /));
    await step.getByRole("button", { name: /Approve without seeing all/, disabled: false }).waitFor();
    for (const key of ["y", "s", "a"]) await page.keyboard.press(key);
    await expectShown(step);
    expect(await console.host.haft.approvals.get(id)).toMatchObject({ state: "pending" });
    await page.keyboard.press("Escape");
    await step.waitFor({ state: "detached" });

    const download = await page.request.get(
      new URL((await card().getByRole("link", { name: "Download it" }).getAttribute("href")) ?? "", page.url()).href,
    );
    expect(await download.text()).toContain("LINE 19999");
    await card().getByRole("button", { name: "Show all of it" }).click();
    await expectShown(card().getByRole("button", { name: /^Show more: [\d,]+ of [\d,]+ characters/ }));
    await page.keyboard.press("y");
    await step.getByRole("button", { name: /Approve without seeing all/, disabled: false }).waitFor();
    await page.keyboard.press("Shift+Y");
    await expectShown(card().getByRole("region", { name: "completed" }));
    expect(onDisk("big.txt")).toContain("LINE 19999");
  });

  test("denies with a reason that reaches the model, and keeps it in the history", async () => {
    const id = await askToWrite("no.txt");
    await go(`/approvals/${id}`);
    await settled();
    await page.keyboard.press("r");
    await page.getByLabel("Reason for the model").fill("Not in this folder");
    await page.keyboard.press("Enter");
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

  test("saves for the session what one sentence says, the narrow choice first", async () => {
    const caller = { user: "owner", session: "ticket" };
    const refund = (amount: number) =>
      console.host.haft.execute("refund", { order: "1044", amount }, { caller, id: `refund-${amount}` });
    await go(`/approvals/${await ask("refund", { order: "1044", amount: 180 }, caller)}`);
    await settled();
    await page.keyboard.press("s");
    const choice = page.getByRole("dialog", { name: "What runs without approval in this session" });
    const save = choice.getByRole("button", { name: /Save for this session/, disabled: false });
    await save.waitFor();
    // The key that opened it saves nothing.
    await page.keyboard.press("s");
    await expectShown(choice.getByText(/owner.*session ticket.*refund.*180.*in this session, for 12 hours at most/));
    expect(await choice.getByRole("radio").first().isChecked()).toBe(true);
    expect(await console.host.haft.approvals.list("pending")).toHaveLength(1);
    await page.keyboard.press("Enter");
    await expectShown(lines().getByText(/rule saved: refund\(.*180/));
    expect(await refund(150)).toMatchObject({ success: true });
    const more = await refund(50_000);
    if (more.status !== "pending") throw new Error(more.display);
    asked.push(more.pending.id);

    // A broader one is a choice, and with a high risk it needs a second step.
    await go(`/approvals/${more.pending.id}`);
    await settled();
    await page.keyboard.press("s");
    await choice.getByText("wider than this call").first().click();
    await save.click();
    const step = page.getByRole("alertdialog");
    await expectShown(step.getByText("This allows more than what is shown, and the risk is high."));
    await step.getByRole("button", { name: /Allow all of that/, disabled: false }).waitFor();
    expect(await console.host.haft.approvals.get(more.pending.id)).toMatchObject({ state: "pending" });
    await page.keyboard.press("Shift+Y");
    await expectShown(lines().getByText("rule saved: refund", { exact: true }));
    expect(await refund(70_000)).toMatchObject({ success: true });
  });

  test("saves a rule of one's own, with its effect on earlier calls", async () => {
    await go(`/approvals/${await askToWrite("kept/a.md")}`);
    await settled();
    await page.keyboard.press("a");
    await page.getByRole("radio", { name: "Another rule…" }).check();
    const box = page.getByRole("textbox", { name: "Rule" });
    const save = card().getByRole("button", { name: /Save and always approve/ });
    await box.fill("Edit(");
    await expectShown(card().getByRole("alert"));
    expect(await save.isDisabled()).toBe(true);
    await box.fill("Edit(kept/**)");
    await expectShown(card().getByText(/This rule would have allowed .*calls? of write without approval\./));
    await card().locator(".answers .primary:enabled").waitFor();
    await expectShown(
      card().getByText(/Every caller in this workspace may change.* kept\/\*\* .*until the rule is removed/),
    );
    await page.keyboard.press("Control+Enter");
    await expectShown(lines().getByText("rule saved: Edit(kept/**)"));
    expect(onDisk("kept/a.md")).toBe("kept/a.md\n");
    expect(await console.host.haft.execute("write", { path: "kept/b.md", content: "b" })).toMatchObject({
      success: true,
    });
  });

  test("offers no rule without an effect: a rule that asks is stronger than one that allows", async () => {
    const asks = { rule: "Edit(asked/**)", decision: "ask" };
    const headers = { origin: console.url };
    const early = await askToWrite("asked/early.txt");
    const saved = await page.request.post(`${console.url}/api/policy/rules`, { data: asks, headers });
    expect(saved.status()).toBe(200);
    await go(`/approvals/${early}`);
    await settled();
    await page.keyboard.press("a");
    await expectShown(card().getByText(/would change nothing for the last \d+ calls of write/));
    const save = card().getByRole("button", { name: /Save and always approve/ });
    expect(await save.isDisabled()).toBe(true);
    // A rule of one's own that cannot win either is not offered.
    await page.getByRole("radio", { name: "Another rule…" }).check();
    const box = page.getByRole("textbox", { name: "Rule" });
    await box.fill("Edit(asked/*.txt)");
    await expectShown(card().getByText(/would change nothing for the last \d+ calls of write/));
    await box.press("Control+Enter");
    expect(await save.isDisabled()).toBe(true);
    await box.press("Escape");
    await settled();
    expect(onDisk("asked/early.txt")).toBeUndefined();
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

  test("answers several together, each shown, with one reason and a result for each; critical ones not", async () => {
    const paths = ["batch-1.txt", "batch-2.txt", "batch-3.txt"];
    for (const path of paths) await askToWrite(path);
    await askToWrite("batch-4.txt", `${"x".repeat(900)}hidden${"x".repeat(900)}\n`);
    const critical = await ask("exec", { command: "git push --force origin main" });
    const unseen = await askToWrite("batch-big.txt", "long line\n".repeat(20_000));
    await go("/approvals");
    await cardOf("git push --force origin main");
    await page.keyboard.press("Shift+A");
    await expectShown(page.getByText("6 selected"));
    await page.keyboard.press("b");
    const dialog = page.getByRole("dialog");
    await expectShown(dialog.getByText("5 × write"));
    await expectShown(dialog.getByText("1 critical call is not approved here"));
    await expectShown(dialog.getByText("1 call of which not everything is shown: not approved here"));
    // Each row shows what its call would do. What is folded is not approved.
    expect(await dialog.locator(".batch-row[aria-expanded=true]").count()).toBe(6);
    await expectShown(dialog.locator(".diff-code-insert").getByText("batch-2.txt", { exact: true }));
    await expectShown(dialog.getByText("1 call has folded changes: not approved here"));
    await expectShown(dialog.getByRole("button", { name: "Approve the 3 that you opened" }));
    await dialog.getByRole("listitem").filter({ hasText: "batch-4.txt" }).getByText("Show 1 folded part").click();
    await expectShown(dialog.getByRole("button", { name: "Approve 4 once" }));
    await dialog.getByLabel("One reason for all").fill("All reviewed");
    // Meanwhile somebody else answers one of them.
    const [taken] = (await console.host.haft.approvals.list("pending")).filter(({ toolName }) => toolName === "write");
    await console.host.haft.approvals.deny(taken!.id, "too early", "bob");
    await dialog.getByRole("button", { name: "Approve 4 once" }).click();
    await expectShown(dialog.getByText("3 answered, 1 not."));
    expect(await dialog.getByText("approved", { exact: true }).count()).toBe(3);
    await expectShown(dialog.getByText(/^failed: /));
    await dialog.getByRole("button", { name: "Close" }).click();
    expect(paths.map(onDisk)).toEqual([undefined, "batch-2.txt\n", "batch-3.txt\n"]);
    for (const id of [critical, unseen]) {
      expect(await console.host.haft.approvals.get(id)).toMatchObject({ state: "pending" });
    }
    await expectShown(rows().getByText("git push --force origin main"));
  });

  test("approves of many calls only those that were opened", async () => {
    const paths = Array.from({ length: 21 }, (_, at) => `of-many-${at}.txt`);
    for (const path of paths) await askToWrite(path);
    await go("/approvals?sort=age");
    await cardOf("of-many-0.txt");
    await page.keyboard.press("Shift+A");
    await page.keyboard.press("b");
    const dialog = page.getByRole("dialog");
    const none = dialog.getByRole("button", { name: "Approve the 0 that you opened" });
    await expectShown(none);
    expect(await none.isDisabled()).toBe(true);
    for (const at of [0, 2]) await dialog.getByRole("button", { name: `of-many-${at}.txt` }).click();
    await dialog.getByRole("button", { name: "Approve the 2 that you opened" }).click();
    await expectShown(dialog.getByText("2 answered."));
    await dialog.getByRole("button", { name: "Close" }).click();
    expect(paths.filter((path) => onDisk(path) !== undefined)).toEqual(["of-many-0.txt", "of-many-2.txt"]);
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
    await console.host.haft.approvals.deny(ids[0]!, "not now", "bob");
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
    await diff.locator(".diff-code-insert").waitFor({ state: "hidden" });

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
    // One number everywhere, also with the call that waits for the question.
    await go("/work");
    const count = (await console.host.haft.approvals.list("pending")).length + 1;
    const band = page.getByRole("region", { name: "Now" }).getByRole("button", { name: `${count} need you` });
    await expectShown(band);
    expect(await page.locator(".side .count").innerText()).toContain(`${count}`);
    expect(await page.title()).toContain(`(${count})`);
    await band.click();
    await expect.poll(() => page.locator(".work-rows .work-row").count(), { timeout: 90_000 }).toBe(count);
    const call = page.locator(".work-row").filter({ hasText: "delete_all" });
    await call.getByRole("link", { name: "Review" }).click();
    const question = page.getByRole("article", { name: /modern asks you/ });
    await expectShown(question.getByRole("link", { name: "mcp__modern__delete_all" }));
    await question.getByRole("checkbox").check();
    await question.getByRole("button", { name: "Send" }).click();
    expect(await result).toMatchObject({ details: "deleted" });
    await console.host.mcp.remove("modern");
  });

  test("is an inbox on a phone: list, card, answer, undo, without scrolling sideways", async () => {
    const phone = await console.open({ width: 390, height: 780 });
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
    await expectShown(lines(phone).getByRole("button", { name: /Redo/ }));
    expect(onDisk("phone-1.txt")).toBeUndefined();
    await phone.goBack();
    await expectShown(rows(phone).getByText("phone-2.txt"));
  });

  test("shows on a phone which grant is chosen, its sentence above the button, and nothing too small for a finger", async () => {
    const phone = await console.open({ width: 390, height: 664, touch: true });
    await go(
      `/approvals/${await ask("refund", { order: "77", amount: 50 }, { user: "ann", session: "thumb" })}`,
      phone,
    );
    await settled(phone);
    await phone.getByRole("button", { name: /This session/ }).tap();
    const sheet = phone.getByRole("dialog", { name: "What runs without approval in this session" });
    const save = sheet.getByRole("button", { name: /Save for this session/, disabled: false });
    await save.waitFor();
    const places = [
      sheet.getByRole("heading"),
      sheet.getByRole("radio", { checked: true }),
      sheet.locator("footer p"),
      save,
    ];
    const tops: number[] = [];
    for (const place of places) tops.push((await place.boundingBox())?.y ?? -1);
    expect(tops).toEqual(tops.toSorted((one, other) => one - other));
    expect(tops[0]).toBeGreaterThan(0);
    expect(tops[3]).toBeLessThan(664 - 40);
    await sheet.getByRole("button", { name: "Close" }).tap();
    await expectShown(card(phone).getByRole("button", { name: /Approve once/ }));
    for (const place of ["/approvals", "/policy", "/audit", "/settings", "/mcp", "/sessions", "/work"]) {
      await go(place, phone);
      await phone.locator("h1").waitFor();
      await phone.locator(".skeleton").first().waitFor({ state: "detached" });
      const small = await phone.evaluate(`[...document.querySelectorAll("button, .button, select, summary")]
        .filter((each) => each.checkVisibility() && each.getBoundingClientRect().height > 0)
        .filter((each) => each.getBoundingClientRect().height < 40 || each.getBoundingClientRect().right > 391)
        .map((each) => each.outerHTML.slice(0, 90))`);
      expect(small, place).toEqual([]);
    }
  });

  test("answers one call however often somebody taps, and never hides the call from its answers", async () => {
    const phone = await console.open({ width: 780, height: 360 });
    const first = await askToWrite("tap-1.txt");
    await askToWrite("tap-2.txt");
    await go(`/approvals/${first}`, phone);
    await cardOf("tap-1.txt", phone);
    const inSight = await phone.evaluate(`{
      document.querySelector(".answers").scrollIntoView({ block: "end" });
      const { top, bottom } = document.querySelector(".card-body").getBoundingClientRect();
      Math.min(bottom, innerHeight) - Math.max(top, 0);
    }`);
    expect(inSight).toBeGreaterThan(100);
    await settled(phone);
    // In the page: its timers are late together on a busy machine.
    await phone.evaluate(`new Promise((done) => {
      let taps = 0;
      const timer = setInterval(() => {
        const button = document.querySelector(".answers .button");
        button?.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
        button?.click();
        if (++taps === 30) done(clearInterval(timer));
      }, 100);
    })`);
    await cardOf("tap-2.txt", phone);
    expect([onDisk("tap-1.txt"), onDisk("tap-2.txt")]).toEqual(["tap-1.txt\n", undefined]);
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
    const long = await ask("write", { path: "long-zh.txt", content: "a line\n".repeat(20_000) });
    await go(`/approvals/${long}`, chinese);
    await expectShown(
      card(chinese)
        .getByRole("alert")
        .getByText(/预览只显示了一部分：.*20000/),
    );
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
