// What the scripts that take pictures share: a folder with a real server, its commands, and a real Chromium.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { chromium } from "playwright-core";
import { ROOT } from "./root.mjs";

const IMAGES = join(ROOT, "docs", "images");
export const HAFT = join(ROOT, "dist", "cli", "main.js");

/** A trusted git folder named `name` with `files`. `use` gets it with its server and a browser; all of it is gone afterwards. */
export async function withDemo(name, files, use) {
  const root = mkdtempSync(join(tmpdir(), "haft-"));
  const folder = join(root, name);
  const { HAFT_TOKEN: _token, HAFT_URL: _url, ...rest } = process.env;
  const env = { ...rest, HAFT_STATE_DIR: join(root, "state") };
  /** Returns what the command prints with `--json`. */
  const runHaft = (...words) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [HAFT, ...words, "--json", "--folder", folder], {
      env,
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`haft ${words.join(" ")} failed: ${stderr}`);
    return stdout === "" ? undefined : JSON.parse(stdout);
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const author = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
  spawnSync("git", ["init", "-q"], { cwd: folder });
  spawnSync("git", [...author, "commit", "-qm", "Start", "--allow-empty"], { cwd: folder });
  runHaft("trust", "--yes");
  const { executablePath, args } = await browserProgram();
  const server = spawn(process.execPath, [HAFT, "serve", folder, "--port", "0", "--json", "--no-open"], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const { url, login } = await firstLine(server.stdout);
    const browser = await chromium.launch({ executablePath, args });
    try {
      await use({ folder, env, runHaft, url, login, browser });
    } finally {
      await browser.close();
    }
  } finally {
    server.kill();
    await new Promise((resolve) => server.once("exit", resolve));
    rmSync(root, { recursive: true, force: true });
  }
}

/** Signs in and ends the first steps, so every page looks as after the first hour. */
export async function signIn(context, login) {
  const page = await context.newPage();
  await page.goto(login);
  await page.getByRole("navigation").first().waitFor();
  await page.evaluate('localStorage.setItem("haft.first-run", "over")');
  return page;
}

/** Shows a page of the console as soon as it is complete. */
export async function show(page, url, place) {
  await page.goto(`${url}/#${place}`);
  await page.reload();
  await page.locator(".page-head h1, h1").first().waitFor();
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
}

/** WebP: a quarter of the size of PNG. */
export async function takePicture(page, name, { quality = 75, scale = 1 } = {}) {
  await page.mouse.move(0, 0); // No row looks as if someone pointed at it.
  const session = await page.context().newCDPSession(page);
  const { width, height } = page.viewportSize();
  const clip = { x: 0, y: 0, width, height, scale };
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality, clip });
  await session.detach();
  mkdirSync(IMAGES, { recursive: true });
  writeFileSync(join(IMAGES, `${name}.webp`), Buffer.from(data, "base64"));
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
