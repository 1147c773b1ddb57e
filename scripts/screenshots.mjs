// Makes the pictures of the README: a real server with demo data, shown by a real Chromium. `node scripts/screenshots.mjs`
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { chromium } from "playwright-core";
import { ROOT } from "./root.mjs";

const IMAGES = join(ROOT, "docs", "images");
const HAFT = join(ROOT, "dist", "cli", "main.js");
const DESKTOP = { width: 1280, height: 860 };
const PHONE = { width: 390, height: 780 };

const root = mkdtempSync(join(tmpdir(), "haft-screenshots-"));
const folder = join(root, "tea-shop");
const env = { ...process.env, HAFT_STATE_DIR: join(root, "state"), HAFT_TOKEN: "", HAFT_URL: "" };

const FILES = {
  "package.json": '{ "name": "tea-shop", "version": "1.4.0" }\n',
  "src/prices.ts":
    "export interface Tea {\n  name: string;\n  price: number;\n}\n\nexport function total(teas: Tea[]): number {\n" +
    "  let sum = 0;\n  for (const tea of teas) sum += tea.price;\n  return sum;\n}\n",
  "README.md": "# Tea shop\n\nSells tea.\n",
};
const BETTER_PRICES = FILES["src/prices.ts"]
  .replace("total(teas: Tea[]): number", "total(teas: readonly Tea[], discount = 0): number")
  .replace("  return sum;", "  return sum * (1 - discount);");

/** As agents and people would call them. Those that ask stay open. */
const CALLS = [
  ["list_files", {}],
  ["read", { path: "src/prices.ts" }],
  ["grep", { pattern: "total" }],
  ["read", { path: "missing.txt" }],
  ["exec", { command: "git status --short" }],
  ["write", { path: "CHANGELOG.md", content: "# Changes\n\n- Discounts\n" }],
  ["write", { path: "src/prices.ts", content: BETTER_PRICES }],
  ["exec", { command: "npm test && git push --force origin main" }],
  ["delete_file", { path: "README.md" }],
];

const { executablePath, args } = await browserProgram();
mkdirSync(IMAGES, { recursive: true });
for (const [name, text] of Object.entries(FILES)) {
  mkdirSync(join(folder, name, ".."), { recursive: true });
  writeFileSync(join(folder, name), text);
}
spawnSync("git", ["init", "-q"], { cwd: folder });

const server = spawn(process.execPath, [HAFT, "serve", folder, "--port", "0", "--json", "--no-open"], {
  env,
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  const { url, login } = await firstLine(server.stdout);
  const browser = await chromium.launch({ executablePath, args });
  try {
    await takePictures(browser, { url, login });
  } finally {
    await browser.close();
  }
} finally {
  server.kill();
  await new Promise((resolve) => server.once("exit", resolve));
  rmSync(root, { recursive: true, force: true });
}

async function takePictures(browser, { url, login }) {
  const context = await browser.newContext({ viewport: DESKTOP, locale: "en-US", deviceScaleFactor: 1.5 });
  const page = await context.newPage();
  await page.goto(login);
  await page.getByRole("navigation").first().waitFor();
  for (const [tool, input] of CALLS) {
    const body = { tool, input, session: "release-1.5" };
    // From the page: with its cookie.
    await page.evaluate(
      (call) =>
        fetch("./api/calls", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(call),
        }),
      body,
    );
  }
  await page.evaluate('localStorage.setItem("haft.first-run", "over")');
  await page.reload();
  const show = async (place) => {
    await page.goto(`${url}/#${place}`);
    await page.locator(".page-head h1, h1").first().waitFor();
    await page.locator(".skeleton").first().waitFor({ state: "detached" });
  };
  const openApproval = async (subject) => {
    await show("/approvals");
    await page.getByRole("link", { name: subject }).first().click();
    // Buttons are disabled for a moment, so that nobody answers by accident.
    await page.locator("article button:enabled", { hasText: "Deny" }).first().waitFor();
  };
  for (const colorScheme of ["light", "dark"]) {
    const ending = colorScheme === "dark" ? "-dark" : "";
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(DESKTOP);
    await openApproval(/prices\.ts/);
    await page.screenshot({ path: join(IMAGES, `approval${ending}.png`) });
    await show("/work");
    await page.screenshot({ path: join(IMAGES, `work${ending}.png`) });
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(PHONE);
  await openApproval(/git push/);
  await page.screenshot({ path: join(IMAGES, "approval-phone.png") });
}

async function firstLine(stream) {
  let text = "";
  for await (const chunk of stream) {
    text += chunk;
    const end = text.indexOf("\n");
    if (end >= 0) return JSON.parse(text.slice(0, end));
  }
  throw new Error("The server has printed no address.");
}

/** The one that HAFT_BROWSER names, the one that is installed, or the one inside the npm package. */
async function browserProgram() {
  const flags = ["--no-sandbox", "--disable-gpu"];
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const installed = names
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => existsSync(path));
  const named = process.env["HAFT_BROWSER"] ?? installed;
  if (named) return { executablePath: named, args: flags };
  process.env["AWS_EXECUTION_ENV"] ??= "AWS_Lambda_nodejs22.x";
  const { default: packaged } = await import("@sparticuz/chromium");
  return { executablePath: await packaged.executablePath(), args: ["--headless=shell", ...flags] };
}
