import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type HaftHost, type HostOptions, openHaft } from "haft/host";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../setup/temporary-folder.ts";

/** A folder with files in it and a home of its own, for hosts that are configured by them. */
export interface HostFolder {
  readonly folder: string;
  readonly home: string;
  /** Several may be opened, one after the other as after restarts, or side by side. */
  open(options?: HostOptions): Promise<HaftHost>;
  onDisk(name: string): string | undefined;
}

/** Gone when the test is over, with the hosts that were opened in it. */
export function makeHostFolder(files: Readonly<Record<string, string>> = {}): HostFolder {
  const root = temporaryFolder("haft-host-");
  const folder = join(root, "work");
  const home = join(root, "home");
  mkdirSync(home);
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  const opened: HaftHost[] = [];
  onTestFinished(async () => {
    for (const host of opened) await host.close().catch(() => undefined);
  });
  return {
    folder,
    home,
    async open(options = {}) {
      const host = await openHaft(folder, { home, env: {}, ...options });
      opened.push(host);
      return host;
    },
    onDisk: (name) => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8") : undefined),
  };
}
