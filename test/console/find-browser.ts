import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { canRun } from "../setup/requirements.ts";

/** Where to find Chromium and how to start it, or what to do so that there is one. */
export type FoundBrowser = { executablePath: string; args: string[] } | { missing: string };

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const PLACES = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  String.raw`C:\Program Files\Google\Chrome\Application\chrome.exe`,
];
/**
 * As root it has no sandbox of its own; and it must not talk to anybody but us. These are all: the default flags of the
 * package switch off web security and site isolation, and run everything in one process.
 */
const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * The one that HAFT_BROWSER names, the one that is installed, or the one inside an npm package. If there is none, its tests
 * are skipped, or fail if HAFT_REQUIRE lists the browser.
 */
export async function findBrowser(): Promise<FoundBrowser> {
  const named = process.env["HAFT_BROWSER"];
  const installed = named ?? findInstalled();
  if (installed !== undefined) return { executablePath: installed, args: ARGS };
  // The package holds a Linux program for this one processor.
  if (process.platform === "linux" && process.arch === "x64") {
    // Makes the package unpack the libraries that a bare machine lacks; read at its import.
    process.env["AWS_EXECUTION_ENV"] ??= "AWS_Lambda_nodejs22.x";
    const { default: chromium } = await import("@sparticuz/chromium");
    return { executablePath: await chromium.executablePath(), args: ["--headless=shell", ...ARGS] };
  }
  const missing =
    `There is no Chromium for ${process.platform} ${process.arch} here. ` +
    "Install Chromium or Chrome, or set HAFT_BROWSER to its path.";
  canRun("browser", missing);
  return { missing };
}

function findInstalled(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return [...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))), ...PLACES].find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
