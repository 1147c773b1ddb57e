// The console in a real Chromium, as a person walks through it. Where no browser is to be had these tests say what to do and
// are reported as not run; on CI that is a failure.
import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBrowser } from "./find-browser.ts";
import { openConsole, type OpenConsole } from "./open-console.ts";

const found = await findBrowser();
const isMissing = "missing" in found;
if (isMissing) process.stderr.write(`\n${found.missing}\n\n`);

test("a browser is there on CI", () => {
  expect(process.env["CI"] && isMissing ? found.missing : "").toBe("");
});

describe.skipIf(isMissing)("the console", () => {
  let console: OpenConsole;
  let page: Page;

  beforeAll(async () => {
    if ("missing" in found) return;
    console = await openConsole(found);
    page = await console.open();
    page.setDefaultTimeout(15_000);
  }, 120_000);
  afterAll(async () => {
    await console?.close();
  });

  /** There, and to be seen; waits until it is. */
  const expectShown = (locator: Locator): Promise<void> => locator.first().waitFor();
  const go = async (place: string, on = page): Promise<void> => {
    await on.goto(`${console.url}/#${place}`);
  };
  const onDisk = (name: string): string | undefined =>
    existsSync(join(console.folder, name)) ? readFileSync(join(console.folder, name), "utf8") : undefined;
  const askToWrite = async (path: string, content: string): Promise<void> => {
    await go("/tools/write");
    await page.locator("#root_path").fill(path);
    await page.locator("#root_content").fill(content);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("link", { name: "Answer it" }).first().click();
    await expectShown(page.getByRole("article"));
  };

  test("shows the tools at the first start, and the first steps, and keeps the token out of the address", async () => {
    await expectShown(page.getByRole("heading", { name: "Tools", level: 1 }));
    expect(page.url()).not.toContain("login=");
    await expectShown(page.getByText("First steps").or(page.getByText("Call a tool")));
    await expectShown(page.getByRole("link", { name: /^read / }));
    await page.getByRole("searchbox").fill("patch");
    await expectShown(page.getByRole("link", { name: /^apply_patch / }));
    expect(await page.getByRole("link", { name: /^read / }).count()).toBe(0);
    await page.getByRole("searchbox").fill("");
  });

  test("calls a tool through the form that its schema makes", async () => {
    await go("/tools/list_files");
    await page.getByRole("button", { name: "Run" }).click();
    await expectShown(page.getByRole("region", { name: "completed" }));
  });

  test("shows output while it comes, and cancels", async () => {
    await go("/tools/count_slowly");
    await page.locator("#root_to").fill("200");
    await page.getByRole("button", { name: "Run" }).click();
    await expectShown(page.getByLabel("Output so far").getByText("number 2"));
    await expectShown(page.getByRole("progressbar"));
    await page.getByRole("button", { name: "Cancel" }).click();
    await expectShown(page.getByRole("region", { name: "failed" }).getByText("cancelled"));
  });

  test("asks before a write, shows the difference, runs it after a yes, and undoes it", async () => {
    await askToWrite("hello.txt", "Hello from the console\n");
    const question = page.getByRole("article");
    await expectShown(question.getByText("Hello from the console"));
    expect(await page.title()).toMatch(/^\(1\) /);
    expect(onDisk("hello.txt")).toBeUndefined();
    await question.getByRole("button", { name: /Allow once/ }).click();
    await expectShown(question.getByRole("region", { name: "completed" }));
    expect(onDisk("hello.txt")).toBe("Hello from the console\n");

    await question
      .getByRole("link", { name: "The call" })
      .or(question.getByRole("link", { name: "This call" }))
      .first()
      .click();
    await page.getByRole("button", { name: "Undo" }).click();
    await expectShown(page.getByText("Put back as it was."));
    expect(onDisk("hello.txt")).toBeUndefined();
  });

  test("refuses with a reason that reaches the model", async () => {
    await askToWrite("no.txt", "no\n");
    await page.getByLabel(/Reason/).fill("Not in this folder");
    await page.getByRole("button", { name: /Refuse/ }).click();
    await expectShown(page.getByRole("region", { name: "failed" }).getByText(/Not in this folder/));
    expect(onDisk("no.txt")).toBeUndefined();
  });

  test("answers by keys, but not by keys that were pressed before the question was seen", async () => {
    await askToWrite("keys.txt", "k\n");
    await page.keyboard.press("y");
    expect(onDisk("keys.txt")).toBeUndefined();
    await expectShown(page.locator(".answers .primary:enabled"));
    await page.keyboard.press("y");
    await expectShown(page.getByRole("region", { name: "completed" }));
    expect(onDisk("keys.txt")).toBe("k\n");
  });

  test("keeps a rule that a person has seen and edited, with its effect on past calls", async () => {
    await askToWrite("notes/a.md", "a\n");
    await page.getByText("Do not ask again for…").click();
    await page.getByLabel("Rule").fill("Edit(notes/**)");
    await expectShown(page.getByText(/Would have allowed \d+ of the last \d+ calls/));
    await page.getByRole("button", { name: "For this session" }).click();
    await expectShown(page.getByText("Rule kept:"));
    expect(onDisk("notes/a.md")).toBe("a\n");
    const again = { caller: { user: "owner" } };
    expect(await console.host.haft.execute("write", { path: "notes/b.md", content: "b" }, again)).toMatchObject({
      success: true,
    });
  });

  test("finds a call in the audit log, whose chain is whole", async () => {
    await go("/audit");
    await expectShown(page.getByText(/Chain whole, \d+ entries/));
    const narrowed = page.waitForResponse((response) => response.url().includes("search=keys.txt"));
    await page.getByRole("searchbox").fill("keys.txt");
    await narrowed;
    await expectShown(page.getByText("Chain whole"));
    await page
      .getByRole("link", { name: /call_begun.*write|call_ended.*write/ })
      .first()
      .click();
    await expectShown(page.getByText(/keys\.txt/));
  });

  test("replays a call", async () => {
    await go("/tools/list_files");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("region", { name: "completed" }).getByRole("link", { name: "This call" }).click();
    await expectShown(page.getByRole("button", { name: "Run again" }));
    const before = page.url();
    await page.getByRole("button", { name: "Run again" }).click();
    await page.waitForURL((url) => url.href !== before && url.hash.startsWith("#/calls/"));
    await expectShown(page.getByRole("region", { name: "completed" }));
  });

  test("explains a verdict, and tries a rule on past calls", async () => {
    await go("/policy");
    await page.getByLabel("Input as JSON").fill('{ "command": "git push" }');
    await page.getByRole("button", { name: "Explain" }).click();
    await expectShown(page.getByRole("status").getByText("asks first"));
    const simulator = page.getByRole("region", { name: "Try a rule on past calls" });
    await simulator.getByLabel("Rule").fill("Edit(keys.txt)");
    await simulator.getByRole("button", { name: "Simulate" }).click();
    await expectShown(simulator.getByText(/[1-9]\d* of \d+ past calls would be judged differently/));
  });

  test("shows hostile output as text", async () => {
    await go("/tools/speak_evil");
    await page.getByRole("button", { name: "Run" }).click();
    const shown = page.getByRole("region", { name: "completed" });
    await expectShown(shown.getByText("<script>alert(1)</script>"));
    await expectShown(shown.getByText("U+202E"));
    await expectShown(shown.getByText("U+200B"));
    expect(await page.title()).not.toContain("owned");
  });

  test("lets a person answer on a phone, without scrolling sideways", async () => {
    const phone = await console.open({ width: 390, height: 780 });
    await console.host.haft.execute("write", { path: "phone.txt", content: "from afar\n" });
    await go("/approvals", phone);
    await expectShown(phone.getByText("from afar"));
    const isWide = await phone.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
    expect(isWide).toBe(false);
    const button = phone.getByRole("button", { name: /Allow once/ });
    expect((await button.boundingBox())!.height).toBeGreaterThanOrEqual(44);
    await button.click();
    await expectShown(phone.getByRole("region", { name: "completed" }));
    expect(onDisk("phone.txt")).toBe("from afar\n");
  });

  test("speaks Chinese to who reads it", async () => {
    const chinese = await console.open({ language: "zh-CN" });
    await expectShown(chinese.getByRole("heading", { name: "工具", level: 1 }));
    await go("/approvals", chinese);
    await expectShown(chinese.getByRole("heading", { name: "审批", level: 1 }));
  });

  test.each([
    ["light", false],
    ["dark", true],
  ])(
    "has no serious fault of accessibility on any page (%s)",
    async (_theme, dark) => {
      const checked = await console.open({ dark });
      await console.host.haft.execute("write", { path: "axe.txt", content: `${String(dark)}\n` });
      const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
      const faults: string[] = [];
      for (const place of ["/tools/exec", "/approvals", "/calls", "/audit", "/policy", "/mcp", "/statistics"]) {
        await go(place, checked);
        await checked.locator(".page-head h1").waitFor();
        await checked.waitForTimeout(400);
        await checked.evaluate(readFileSync(axe, "utf8"));
        const violations = await checked.evaluate(async () => {
          const { axe: checker } = globalThis as unknown as { axe: { run(): Promise<{ violations: AxeFault[] }> } };
          return (await checker.run()).violations;
        });
        for (const { id, impact, nodes } of violations) {
          if (impact === "serious" || impact === "critical") faults.push(`${place} ${id}: ${nodes[0]?.html}`);
        }
      }
      expect(faults).toEqual([]);
    },
    90_000,
  );

  test("asked nobody else for anything, and met no error", () => {
    expect(console.strays).toEqual([]);
  });
});

interface AxeFault {
  id: string;
  impact: string;
  nodes: { html: string }[];
}
