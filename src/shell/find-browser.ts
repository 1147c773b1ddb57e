import { isAbsolute, join } from "node:path";
import { findProgram, isExecutableFile } from "./find-shell.ts";

/** Chromium or a browser made of it, or what to do so that there is one. */
export type FoundBrowser = { path: string } | { missing: string };

export interface FindBrowserOptions {
  /** The one that the user has named. */
  named?: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  platform?: NodeJS.Platform;
}

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"];
const MAC_PROGRAMS = ["Google Chrome", "Chromium", "Microsoft Edge"].map(
  (name) => `/Applications/${name}.app/Contents/MacOS/${name}`,
);
const WINDOWS_PROGRAMS = ["Google\\Chrome\\Application\\chrome.exe", "Microsoft\\Edge\\Application\\msedge.exe"];
const HOW =
  "Install Chromium or Chrome, or run `npx playwright-core install chromium`; or name one by browser.executable of the " +
  "configuration or by HAFT_BROWSER.";

export function findBrowser({ named, env, platform = process.platform }: FindBrowserOptions): FoundBrowser {
  const wanted = named ?? env["HAFT_BROWSER"];
  if (wanted) {
    if (isAbsolute(wanted) && isExecutableFile(wanted)) return { path: wanted };
    return { missing: `${wanted} is no program (its whole path is needed). ${HOW}` };
  }
  const path = candidatesOf(env, platform).find(isExecutableFile) ?? findByName(env, platform);
  return path === undefined ? { missing: `There is no Chromium on this machine. ${HOW}` } : { path };
}

function candidatesOf(env: FindBrowserOptions["env"], platform: NodeJS.Platform): string[] {
  if (platform === "darwin") return MAC_PROGRAMS;
  if (platform !== "win32") return [];
  const folders = [env["PROGRAMFILES"], env["PROGRAMFILES(X86)"], env["LOCALAPPDATA"]].filter((folder) => folder);
  return folders.flatMap((folder) => WINDOWS_PROGRAMS.map((program) => join(folder!, program)));
}

/** The usual folders come before PATH. */
function findByName(env: FindBrowserOptions["env"], platform: NodeJS.Platform): string | undefined {
  const usual = platform === "win32" ? [] : ["/usr/bin", "/usr/local/bin", "/snap/bin"];
  for (const name of NAMES) {
    const found = findProgram(name, env, usual);
    if (found !== undefined) return found;
  }
  return undefined;
}
