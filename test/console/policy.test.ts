// Proposals, the shadow policy and the figures of questions in a real Chromium. Without a browser these tests are skipped with
// a message, or fail if HAFT_REQUIRE lists the browser.
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBrowser } from "./find-browser.ts";
import { openConsole, type OpenConsole } from "./open-console.ts";

const found = await findBrowser();

describe.skipIf("missing" in found)("what the record says about the policy", { timeout: 240_000 }, () => {
  let console: OpenConsole;
  let page: Page;

  const ask = async (path: string, session: string, isApproved?: boolean): Promise<void> => {
    const { haft } = console.host;
    const result = await haft.execute("write", { path, content: "x" }, { caller: { session, user: "owner" } });
    if (result.status !== "pending") throw new Error(`${path}: ${result.status}`);
    if (isApproved === true) await haft.approvals.approve(result.pending.id, { by: "owner" });
    if (isApproved === false) await haft.approvals.deny(result.pending.id, "no", { by: "owner" });
  };
  const go = async (place: string, on = page): Promise<void> => {
    await on.goto(`${console.url}/#${place}`);
  };
  const expectShown = (locator: Locator): Promise<void> => locator.first().waitFor();
  const rules = (): string[] => console.host.haft.policy.rules.rules().map(({ text }) => text);

  beforeAll(async () => {
    if ("missing" in found) return;
    console = await openConsole(found);
    for (const at of [1, 2, 3, 4, 5, 6]) await ask(`docs/page-${at}.md`, `s${at % 3}`, true);
    for (const at of [1, 2, 3, 4, 5, 6]) await ask(`notes/day-${at}.txt`, `s${at % 3}`, true);
    await ask("secret/x.txt", "s1", false);
    await console.host.store.audit.flush();
    page = await console.open();
  }, 240_000);
  afterAll(async () => {
    await console?.close();
  });

  test("shows a shadow with its calls, and stops it", async () => {
    const change = { add: [{ rule: "Edit(docs/**)", decision: "allow" }] };
    const token = await console.issueToken(["read", "approve"]);
    const started = await fetch(`${console.url}/api/policy/shadow`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "allow Edit(docs/**)", change }),
    });
    expect(started.status).toBe(200);
    // What decides about the policy as a whole needs more than the right to answer questions.
    for (const path of ["promote", "rollback"]) {
      const refused = await fetch(`${console.url}/api/policy/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: path === "promote" ? "{}" : null,
      });
      expect(refused.status).toBe(403);
    }
    await ask("docs/page-7.md", "s9");
    await console.host.store.audit.flush();
    await go("/policy");
    const panel = page.getByRole("region", { name: "Shadow policy" });
    await expectShown(panel.getByText("1 newly allowed"));
    await panel.locator("summary").click();
    await expectShown(panel.getByText("docs/page-7.md"));
    await panel.getByRole("button", { name: "Stop" }).click();
    await panel.getByRole("button", { name: "Really stop?" }).click();
    await panel.waitFor({ state: "detached" });
    expect(rules()).toEqual([]);
  });

  test("shows the same figures of questions as the API, in English and Chinese", async () => {
    const token = await console.issueToken(["read"]);
    const response = await fetch(`${console.url}/api/statistics/questions`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { asked, yes, no, open } = (await response.json()) as Record<string, number>;
    expect({ asked, yes, no, open }).toEqual({ asked: 14, yes: 12, no: 1, open: 1 });
    await go("/statistics?range=day");
    const panel = page.getByRole("region", { name: "Requests for approval" });
    await expectShown(panel.getByText(`${asked} requests: ${yes} yes, ${no} no, ${open} open`));
    const owner = panel.getByRole("row").filter({ hasText: "owner" });
    await expectShown(owner.getByText("92 %"));
    const chinese = await console.open({ language: "zh-CN", width: 390, height: 844 });
    await go("/statistics?range=day", chinese);
    await expectShown(chinese.getByText(`共 ${asked} 次请求`));
    await go("/policy", chinese);
    await expectShown(chinese.getByRole("region", { name: "建议的规则" }).getByText("6"));
    await chinese.close();
  });

  test("proposes a rule on the card after the fifth yes, and never again what nobody wants", async () => {
    await go("/policy");
    const panel = page.getByRole("region", { name: "Proposed rules" });
    await expectShown(panel.getByText("Would have saved 6 questions"));
    const notes = panel.getByRole("listitem").filter({ hasText: "notes" });
    await notes.getByRole("button", { name: "Never propose this" }).click();
    await notes.getByRole("button", { name: "Really never?" }).click();
    await notes.waitFor({ state: "detached" });
    await page.reload();
    await expectShown(panel.getByText("docs"));
    expect(await panel.getByText("notes").count()).toBe(0);

    // A call that the rule would not have saved has no proposal on its card.
    await ask("other/a.txt", "s9");
    await go("/approvals");
    await page.getByText("other/a.txt").first().click();
    const card = page.getByRole("article", { name: /write/ });
    await expectShown(card.getByText("other/a.txt"));
    const proposal = page.getByRole("region", { name: /You have said yes 6 times/ });
    expect(await proposal.count()).toBe(0);
    await page.getByText("docs/page-7.md").first().click();
    await expectShown(proposal.getByText("Write(./docs/*.md)"));
    await page.keyboard.press("p");
    await expectShown(page.getByText("The rules are saved. This call still waits for your answer."));
    expect(rules()).toEqual(["Write(./docs/*.md)"]);
    await go("/policy");
    await expectShown(page.getByText("Write(./docs/*.md)"));
    expect(await panel.count()).toBe(0);
  });
});
