// The console in a real Chromium, as a person walks through it. Without a browser these tests are skipped with a
// message, or fail if HAFT_REQUIRE lists the browser.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBrowser } from "./find-browser.ts";
import { openConsole, type OpenConsole } from "./open-console.ts";

const found = await findBrowser();
const isMissing = "missing" in found;

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

  test("shows the tools, and keeps the token out of the address", async () => {
    await go("/tools");
    await expectShown(page.getByRole("heading", { name: "Tools", level: 1 }));
    expect(page.url()).not.toContain("login=");
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

  test("reads what a model wrote, runs it, and shows what goes back", async () => {
    await go("/playground");
    const written = '<tool_call>{"name": "list_files", "arguments": {}}</tool_call><tool_call>{"name": "write", "ar';
    await page.getByLabel("What the model said").fill(`Look.\n${written}`);
    await page.getByRole("button", { name: "Read" }).click();
    const call = page.getByRole("region", { name: "list_files" });
    await expectShown(call.getByText("allowed"));
    await expectShown(page.getByRole("region", { name: "Text for a person" }).getByText("Look."));
    const broken = page.getByRole("region", { name: "write" });
    await expectShown(broken.getByText("could not be read"));
    await expectShown(broken.getByRole("region", { name: "What goes back" }).getByText("<tool_response>"));
    expect(await broken.getByRole("button", { name: "Run" }).count()).toBe(0);
    await call.getByRole("button", { name: "Run" }).click();
    await expectShown(call.getByRole("region", { name: "completed" }));
    await expectShown(call.getByRole("region", { name: "What goes back" }).getByText("<tool_response>"));
    await page.getByLabel("Format").selectOption("glm");
    await page.getByRole("button", { name: "Example" }).click();
    await expectShown(page.getByRole("region", { name: "read" }).getByText("glm"));
  });

  test("shows a document, its versions and what changed, and restores an older one", async () => {
    const call = (tool: string, input: object) =>
      console.host.haft.execute(tool, { id: "report", ...input }, { caller: { session: "walk", agent: "lead" } });
    await go("/artifacts");
    await expectShown(page.getByRole("heading", { name: "No artifacts yet" }));
    await call("create_artifact", { title: "Tea <b>report</b>", content: "# Tea\n\nGreen is first.\n" });
    await call("update_artifact", { old_str: "Green is frist.", new_str: "Black is first." });
    await page.getByRole("link", { name: /^report v2/ }).click();
    await expectShown(page.getByText("Tea <b>report</b> · version 2"));
    await expectShown(page.getByLabel("Text", { exact: true }).getByText("Black is first."));
    await expectShown(page.getByRole("region", { name: "Versions" }).getByText(/8\d% like what was quoted/));
    await page.getByRole("tab", { name: "Changes" }).click();
    await expectShown(page.locator(".diff-code-delete").getByText("Green is first."));
    await expectShown(page.locator(".diff-code-insert").getByText("Black is first."));
    await page.getByRole("button", { name: "v1" }).click();
    await page.getByRole("tab", { name: "Text" }).click();
    await expectShown(page.getByLabel("Text", { exact: true }).getByText("Green is first."));
    await page.getByRole("button", { name: "Restore this version" }).click();
    await expectShown(page.getByText("Restored as a new version."));
    await expectShown(page.getByRole("button", { name: "v3" }));
    expect(await console.host.artifacts.read({ session: "walk", id: "report" })).toMatchObject({
      version: { version: 3, type: "rewrite", content: "# Tea\n\nGreen is first.\n" },
    });
  });

  test("shows what an agent presents in a frame without origin, and hides it", async () => {
    const { haft } = console.host;
    const options = { caller: { session: "painter" } };
    await go("/canvas");
    await expectShown(page.getByText("Nothing is shown"));
    const content = `# Plan\n\n<script>parent.document.title = "owned"</script>\n\n\`\`\`mermaid\ngraph LR; Tea-->Cup\n\`\`\``;
    await haft.execute("canvas", { action: "present", content, title: "The plan" }, options);
    const frame = page.frameLocator("iframe.canvas");
    await expectShown(frame.locator("svg .nodeLabel", { hasText: "Cup" }));
    expect(await page.title()).not.toBe("owned");
    const html = "<h1>?</h1><script>document.querySelector('h1').textContent = origin</script>";
    await haft.execute("canvas", { action: "present", content: html }, options);
    await expectShown(frame.getByRole("heading", { name: "null" }));
    await page.getByRole("button", { name: "Hide" }).click();
    await expectShown(page.getByText("Nothing is shown"));
  });

  test("lists message channels, and sends a test message through the gate", async () => {
    await go("/channels");
    const broken = page.getByRole("region", { name: "team" });
    await expectShown(broken.getByText("set `token`"));
    expect(await broken.getByRole("button", { name: "Send a test message" }).isDisabled()).toBe(true);
    const notes = page.getByRole("region", { name: "notes" });
    await notes.getByLabel("Target: notes").selectOption("bob");
    await notes.getByRole("button", { name: "Send a test message" }).click();
    await expectShown(notes.getByRole("region", { name: "completed" }).getByText("Kept for bob."));
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

  test("speaks Chinese to who reads it", async () => {
    const chinese = await console.open({ language: "zh-CN" });
    await go("/tools", chinese);
    await expectShown(chinese.getByRole("heading", { name: "工具", level: 1 }));
    await go("/approvals", chinese);
    await expectShown(chinese.getByRole("heading", { name: "审批", level: 1 }));
  });

  test("has no serious fault of accessibility on any page, in light and dark", async () => {
    const checked = await console.open();
    await console.host.haft.execute("write", { path: "axe.txt", content: "checked\n" });
    await console.host.haft.execute("speak_evil", {}, { background: true });
    const timing = { type: "every", everyMs: 3_600_000 } as const;
    const target = { type: "call", toolName: "list_files", input: {} } as const;
    const nobody = { caller: { depth: 0 } };
    const { id } = await console.host.schedules.add({ name: "To be checked", timing, target }, nobody);
    await console.host.schedules.run(id);
    if (!(await console.host.sessions.get("walk"))) await console.host.sessions.create({ key: "walk", label: "walk" });
    await console.host.sessions.send("walk", { id: "axe", kind: "message", text: "write chat.txt" });
    const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
    const faults: string[] = [];
    for (const place of [
      "/tools/exec",
      "/approvals",
      "/work",
      "/sessions",
      "/sessions/walk",
      "/jobs",
      "/schedules",
      "/artifacts/report/walk",
      "/canvas",
      "/audit",
      "/policy",
      "/playground",
      "/channels",
      "/mcp",
      "/statistics",
    ]) {
      await go(place, checked);
      await checked.locator(".page-head h1").waitFor();
      await checked.waitForTimeout(400);
      await checked.evaluate(readFileSync(axe, "utf8"));
      for (const colorScheme of ["light", "dark"] as const) {
        await checked.emulateMedia({ colorScheme });
        // The structure of a page is the same in both.
        const rules = colorScheme === "dark" ? { runOnly: ["color-contrast"] } : {};
        const violations = await checked.evaluate(async (options) => {
          const { axe: checker } = globalThis as unknown as {
            axe: { run(options: object): Promise<{ violations: AxeFault[] }> };
          };
          return (await checker.run(options)).violations;
        }, rules);
        for (const { id, impact, nodes } of violations) {
          if (impact !== "serious" && impact !== "critical") continue;
          faults.push(`${place} ${colorScheme} ${id}: ${nodes[0]?.html}`);
        }
      }
    }
    expect(faults).toEqual([]);
  }, 90_000);

  test("asked nobody else for anything, and met no error", () => {
    expect(console.strays).toEqual([]);
  });
});

interface AxeFault {
  id: string;
  impact: string;
  nodes: { html: string }[];
}
