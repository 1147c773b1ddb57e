// Questions of ask_user and to-do lists in a real Chromium: for `npm run test:full -- console`. A part of it is in
// approvals.test.ts, which every run has.
import process from "node:process";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBrowser } from "./find-browser.ts";
import { openConsole, type OpenConsole } from "./open-console.ts";

const found = await findBrowser();
const isSkipped = "missing" in found || process.env["HAFT_FULL"] !== "1";
const DATABASE = {
  question: "Which database should the service use?",
  header: "Database",
  options: [{ label: "PostgreSQL", description: "As in the other services" }, { label: "SQLite" }],
};
const PARTS = { question: "Which parts?", options: [{ label: "api" }, { label: "docs" }], multiple: true };

describe.skipIf(isSkipped)("questions to the user", () => {
  let console: OpenConsole;
  let page: Page;

  beforeAll(async () => {
    if ("missing" in found) return;
    console = await openConsole(found);
    page = await console.open({ width: 1280, height: 860 });
  }, 120_000);
  afterAll(async () => {
    await console?.close();
  });

  const ask = async (questions: readonly object[], caller: object = {}): Promise<string> => {
    const result = await console.host.haft.execute("ask_user", { questions }, { caller });
    if (result.status !== "pending") throw new Error(result.display);
    return result.pending.id;
  };
  const go = async (place: string, on = page): Promise<void> => {
    await on.goto("about:blank");
    await on.goto(`${console.url}/#${place}`);
  };
  const card = (on = page): Locator => on.getByRole("article");
  const settled = (on = page): Promise<void> => on.locator(".answers .button:enabled").first().waitFor();
  const answersTo = async (id: string) => (await console.host.haft.approvals.get(id))?.answers;
  const overflow = (on: Page): Promise<number> =>
    on.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");

  test("are answered by keys, and show what was answered", async () => {
    const id = await ask([DATABASE], { session: "s1", user: "ada" });
    await go(`/approvals/${id}`);
    await card().getByText(DATABASE.question).waitFor();
    await settled();
    expect(
      await card()
        .getByRole("button", { name: /Send the answer/ })
        .isDisabled(),
    ).toBe(true);
    expect(
      await card()
        .getByRole("button", { name: /Approve/ })
        .count(),
    ).toBe(0);
    await page.keyboard.press("y");
    await page.keyboard.press("2");
    expect(await card().getByRole("radio", { name: "SQLite" }).isChecked()).toBe(true);
    await page.keyboard.press("y");
    await page.getByRole("list", { name: "Your last answers" }).getByText("Answered").waitFor();
    expect(await answersTo(id)).toEqual([{ choices: ["SQLite"] }]);
    await card().locator(".user-answers").getByText("SQLite").waitFor();
    await go(`/approvals/${id}?tab=answered`);
    await card().getByText("Answered").first().waitFor();
  });

  test("take several options and text, with the mouse and the keyboard of a form", async () => {
    const id = await ask([PARTS, { question: "Why?" }]);
    await go(`/approvals/${id}`);
    await settled();
    await card().getByRole("checkbox", { name: "api" }).check();
    await card().getByRole("checkbox", { name: "docs" }).focus();
    await page.keyboard.press("Space");
    const send = card().getByRole("button", { name: /Send the answer/ });
    expect(await send.isDisabled()).toBe(true);
    await card()
      .getByRole("textbox", { name: /^Why\?/ })
      .fill("<b>because</b>");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("list", { name: "Your last answers" }).getByText("completed").waitFor();
    expect(await answersTo(id)).toEqual([{ choices: ["api", "docs"] }, { text: "<b>because</b>" }]);
  });

  test("are dismissed, and are no part of a batch", async () => {
    const id = await ask([DATABASE]);
    await go("/approvals");
    await card().getByText(DATABASE.question).waitFor();
    expect(await page.locator(".queue-row input[type=checkbox]").count()).toBe(0);
    await settled();
    await page.keyboard.press("n");
    await page.getByRole("list", { name: "Your last answers" }).getByText("Dismissed").waitFor();
    expect(await console.host.haft.approvals.get(id)).toMatchObject({ state: "denied" });
  });

  test("a request for permission has fields on a phone: what is more than asked is marked, and the grant is what they say", async () => {
    const input = { purpose: "Write the notes", tools: ["write", "edit"], minutes: 30, max_uses: 3 };
    const { haft } = console.host;
    const result = await haft.execute("request_permission", input, { caller: { session: "s1", user: "ada" } });
    const id = result.status === "pending" ? result.pending.id : "";
    const phone = await console.open({ width: 390, height: 844 });
    await go(`/approvals/${id}`, phone);
    const field = (name: RegExp): Locator => card(phone).getByLabel(name);
    const send = card(phone).getByRole("button", { name: /Send the answer/ });
    await card(phone).getByText("Write the notes").waitFor();
    expect(await field(/Minutes/).count()).toBe(0);
    await card(phone).getByRole("radio", { name: /^Yes/ }).check();
    await field(/Minutes/).fill("");
    expect(await send.isDisabled()).toBe(true);
    await field(/Minutes/).fill("60");
    await card(phone).getByText("more than asked").waitFor();
    // Another option forgets what was edited.
    await card(phone).getByRole("radio", { name: /^No/ }).check();
    await card(phone).getByRole("radio", { name: /^Yes/ }).check();
    expect(await field(/Minutes/).inputValue()).toBe("30");
    expect(await card(phone).getByText("more than asked").count()).toBe(0);
    await field(/Calls/).fill("1");
    await field(/one rule a line/).fill("write");
    expect(await overflow(phone)).toBe(0);
    await send.click();
    await phone.getByRole("list", { name: "Your last answers" }).getByText("completed").waitFor();
    const [grant] = await haft.policy.grants.list({ isOpen: true });
    expect(grant).toMatchObject({ rules: ["write"], maxUses: 1, why: "Write the notes" });
    expect((grant!.until! - grant!.createdAt) / 60_000).toBeCloseTo(30);
    // The next question of this caller shows what is left, and ends it.
    const asked = await haft.execute("exec", { command: "touch made" }, { caller: { session: "s1", user: "ada" } });
    await go(`/approvals/${asked.status === "pending" ? asked.pending.id : ""}`, phone);
    await card(phone)
      .getByText(/1 of 1 calls left/)
      .waitFor();
    expect(await overflow(phone)).toBe(0);
    await card(phone).getByRole("button", { name: "End now" }).click();
    await card(phone)
      .getByRole("button", { name: /Really end it/ })
      .click();
    await expect
      .poll(async () => (await haft.policy.grants.get(grant!.id))?.ended, { timeout: 60_000 })
      .toBe("revoked");
    await phone.context().close();
  }, 300_000);

  test("fit a phone, in Chinese too", async () => {
    const long = { ...DATABASE, options: [{ label: "x".repeat(90), description: "y ".repeat(200) }, { label: "否" }] };
    const id = await ask([long, PARTS]);
    for (const [language, send] of [
      ["en-US", "Send the answer"],
      ["zh-CN", "发送回答"],
    ] as const) {
      const phone = await console.open({ width: 390, height: 844, language });
      await go(`/approvals/${id}`, phone);
      await card(phone).getByRole("button", { name: send }).waitFor();
      expect(await overflow(phone)).toBe(0);
      const box = await card(phone).locator(".user-option").last().boundingBox();
      expect(box?.height).toBeGreaterThanOrEqual(44);
      await phone.context().close();
    }
    await console.host.haft.approvals.deny(id);
  });

  test("are not answered without the scope", async () => {
    const id = await ask([DATABASE]);
    const reader = await console.open({ scopes: ["read"] });
    await go(`/approvals/${id}`, reader);
    await card(reader).getByText("lacks the scope approve").waitFor();
    expect(await card(reader).getByRole("button", { name: /Send/ }).count()).toBe(0);
    await reader.context().close();
  });

  test("a session shows its to-do list, its question and the answer", async () => {
    const { key, caller } = await console.host.sessions.create({ label: "plan", caller: { user: "ada" } });
    const todos = [
      { content: "Find the parser", status: "completed" },
      { content: "Accept weeks <script>", status: "in_progress" },
      { content: "Test it", status: "pending" },
    ];
    await console.host.haft.execute("todo", { todos }, { caller });
    await console.host.sessions.send(key, { id: "1", kind: "message", text: "ask Shall I go on?" }, { waitMs: 0 });
    await go(`/sessions/${encodeURIComponent(key)}`);
    const list = page.getByRole("region", { name: "To-do list" });
    await list.getByText("1 of 3 done").waitFor();
    expect(await list.getByRole("listitem").allTextContents()).toEqual(todos.map(({ content }) => content));
    await expect.poll(() => list.getByRole("img", { name: "in progress" }).count()).toBe(1);
    await page.getByRole("region", { name: "It waits for you" }).getByText("Shall I go on?").waitFor();
    await settled();
    await page.keyboard.press("1");
    await page.keyboard.press("y");
    const talk = page.getByRole("log");
    // The agent repeats the answer in its own words.
    await talk.getByText("→ yes").first().waitFor();
    // The answer is shown before the messages of the session are read again.
    await expect.poll(() => talk.getByText("Shall I go on?", { exact: true }).count()).toBe(1);
  });

  test("no page asked anybody else, or failed", () => expect(console.strays).toEqual([]));
});
