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
const DESKTOP = { width: 1280, height: 800 };

const root = mkdtempSync(join(tmpdir(), "haft-"));
const folder = join(root, "tea-shop");
const env = { ...process.env, HAFT_STATE_DIR: join(root, "state"), HAFT_TOKEN: "", HAFT_URL: "" };

const FILES = {
  "package.json": '{ "name": "tea-shop", "version": "1.4.0" }\n',
  "src/prices.ts":
    "export interface Tea {\n  name: string;\n  price: number;\n}\n\nexport function total(teas: Tea[]): number {\n" +
    "  let sum = 0;\n  for (const tea of teas) sum += tea.price;\n  return sum;\n}\n",
  "README.md": "# Tea shop\n\nSells tea.\n",
  "docs/old-prices.csv": "tea,price\nassam,8\n",
  "plugins/refunds.mjs": `export default {
  manifest: { id: "refunds", version: "1.0.0" },
  register(api) {
    api.registerTool({
      name: "refund",
      description: "Refunds an order",
      parameters: [
        { name: "order", type: "string", description: "Number of the order" },
        { name: "amount", type: "number", description: "How much" },
        { name: "currency", type: "string", description: "Of the amount" },
      ],
      permission: ({ amount }) => (amount > 100 ? "confirm" : "auto"),
      run: ({ order, amount }) => ({ order, refunded: amount }),
    });
  },
};
`,
  "haft.config.yml": "plugins: [./plugins/refunds.mjs]\n",
};
const BETTER_PRICES = FILES["src/prices.ts"]
  .replace("total(teas: Tea[]): number", "total(teas: readonly Tea[], discount = 0): number")
  .replace("  return sum;", "  return sum * (1 - discount);");

/** In the order of time. Calls that need approval stay open, unless `approve` is set. */
const CALLS = [
  { caller: "claude-code", session: "discounts", tool: "list_files", input: { path: "src" } },
  { caller: "claude-code", session: "discounts", tool: "read", input: { path: "src/prices.ts" } },
  { caller: "support", session: "ticket-311", tool: "refund", input: { order: "1042", amount: 18, currency: "EUR" } },
  { caller: "claude-code", session: "discounts", tool: "grep", input: { pattern: "total" } },
  { caller: "support", session: "ticket-312", tool: "read", input: { path: "orders/1043.json" } },
  {
    caller: "claude-code",
    session: "discounts",
    tool: "write",
    input: { path: "CHANGELOG.md", content: "# Changes\n\n- Discounts\n" },
    approve: true,
  },
  { caller: "ci", session: "nightly", tool: "exec", input: { command: "git log --oneline | head -5" } },
  { caller: "ci", session: "nightly", tool: "delete_file", input: { path: "docs/old-prices.csv" } },
  {
    caller: "claude-code",
    session: "discounts",
    tool: "write",
    input: { path: "src/prices.ts", content: BETTER_PRICES },
  },
  { caller: "support", session: "ticket-312", tool: "refund", input: { order: "1043", amount: 180, currency: "EUR" } },
  {
    caller: "claude-code",
    session: "discounts",
    tool: "exec",
    input: { command: "npm test && git push --force origin main" },
  },
];

const { executablePath, args } = await browserProgram();
mkdirSync(IMAGES, { recursive: true });
for (const [name, text] of Object.entries(FILES)) {
  mkdirSync(join(folder, name, ".."), { recursive: true });
  writeFileSync(join(folder, name), text);
}
spawnSync("git", ["init", "-q"], { cwd: folder });
spawnSync(
  "git",
  ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "-qm", "Sell tea", "--allow-empty"],
  {
    cwd: folder,
  },
);
runHaft("trust", "--yes");

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
  const context = await browser.newContext({ viewport: DESKTOP, locale: "en-US" });
  const page = await context.newPage();
  await page.goto(login);
  await page.getByRole("navigation").first().waitFor();
  await makeCalls(url);
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
    // Buttons are disabled for a moment, so nobody answers by accident.
    await page.locator("article button:enabled", { hasText: "Deny" }).first().waitFor();
  };
  await openApproval(/prices\.ts/);
  await takePicture(page, "approval");
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await show("/work");
    await page.getByText("Review", { exact: true }).nth(2).waitFor();
    await takePicture(page, colorScheme === "dark" ? "work-dark" : "work");
  }
}

/** WebP: a quarter of the size of PNG. */
async function takePicture(page, name) {
  await page.mouse.move(0, 0); // No row looks as if someone pointed at it.
  const session = await page.context().newCDPSession(page);
  const { width, height } = page.viewportSize();
  const clip = { x: 0, y: 0, width, height, scale: 1.5 };
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 80, clip });
  await session.detach();
  writeFileSync(join(IMAGES, `${name}.webp`), Buffer.from(data, "base64"));
}

/** Makes the calls with a token for each caller, as programs do. */
async function makeCalls(url) {
  const tokens = new Map();
  for (const { caller, session, tool, input, approve } of CALLS) {
    if (!tokens.has(caller)) tokens.set(caller, runHaft("token", "create", caller, "--scope", "read,call").token);
    const response = await fetch(`${url}/api/calls`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${tokens.get(caller)}` },
      body: JSON.stringify({ tool, input, session }),
    });
    /** @type {any} */
    const result = await response.json();
    if (approve) runHaft("approvals", "approve", result.pending.id);
  }
}

/** Returns what the command prints with `--json`. */
function runHaft(...parameters) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [HAFT, ...parameters, "--json", "--folder", folder], {
    env,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`haft ${parameters.join(" ")} failed: ${stderr}`);
  return stdout === "" ? undefined : JSON.parse(stdout);
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
