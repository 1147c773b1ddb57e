import { constants, existsSync } from "node:fs";
import { access } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { HaftClient } from "../client/create-client.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { examineChannels } from "./examine-channels.ts";
import { findPackage } from "../io/files/package-folder.ts";

export interface Finding {
  what: string;
  state: "ok" | "warning" | "broken";
  found: string;
  next?: string;
}

interface DoctorOptions {
  folder: string;
  env: Readonly<Record<string, string | undefined>>;
}

const MIN_NODE_VERSION = [20, 19] as const;

/** Looks at each part for itself: what is broken must not hide the rest. Makes nothing that is not there. */
export async function examine(place: DoctorOptions): Promise<Finding[]> {
  let config: LoadedConfig | undefined;
  const findings = [
    await look("Node", () => examineNode(process.versions.node)),
    await look("workspace", () => examineFolder(place.folder)),
    await look("configuration", async () => {
      const { loadConfig } = await import("../config/load-config.ts");
      config = await loadConfig(place);
      return describeConfig(config);
    }),
    await look("store", () => examineStore(place.folder, config?.value.store.url)),
    await look("port", () => examinePort(config?.value.server.port ?? 4117)),
    await look("console", examineConsole),
    await look("shell", () => examineShell(place)),
    await look("terminal", examineTerminal),
    await look("sandbox", () => examineSandbox(config)),
  ];
  if (config) {
    const { examineBrowser, examineSearch } = await import("./examine-web.ts");
    const known = config;
    findings.push(await look("browser", () => examineBrowser(known, place.env)));
    findings.push(await look("web search", () => examineSearch(known, place.env)));
    findings.push(...(await examineChannels(config, place.env)));
  }
  return findings;
}

export async function examineServer(client: HaftClient): Promise<Finding[]> {
  const { version, parts, warnings, workspace = "", store } = await client.server();
  return [
    { what: "server", state: "ok", found: `Haft ${version} in ${workspace}, with ${parts.join(", ")}` },
    { what: "store", state: "ok", found: store ? `${store.kind} ${store.place ?? ""}` : "not told" },
    ...warnings.map((found): Finding => ({ what: "warning", state: "warning", found })),
  ];
}

async function examineSandbox(config: LoadedConfig | undefined): Promise<Omit<Finding, "what">> {
  const { mode = "auto", autoAllow = false } = config?.value.sandbox ?? {};
  if (mode === "off") return { state: "warning", found: "commands are not confined: switched off by sandbox.mode" };
  const { findBubblewrap } = await import("../io/sandbox/bubblewrap.ts");
  const { program, why } = findBubblewrap();
  if (program !== undefined) {
    return { state: "ok", found: `commands are confined by ${program}${autoAllow ? " and run without asking" : ""}` };
  }
  return { state: mode === "required" ? "broken" : "warning", found: `commands are not confined: ${why}` };
}

async function look(
  what: string,
  work: () => Omit<Finding, "what"> | Promise<Omit<Finding, "what">>,
): Promise<Finding> {
  try {
    return { what, ...(await work()) };
  } catch (error) {
    return { what, state: "broken", found: error instanceof Error ? error.message : String(error) };
  }
}

function examineNode(version: string): Omit<Finding, "what"> {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > MIN_NODE_VERSION[0] || (major === MIN_NODE_VERSION[0] && minor >= MIN_NODE_VERSION[1]))
    return { state: "ok", found: version };
  return {
    state: "broken",
    found: `${version} is too old.`,
    next: `Install Node ${MIN_NODE_VERSION.join(".")} or later.`,
  };
}

async function examineFolder(folder: string): Promise<Omit<Finding, "what">> {
  await access(folder, constants.R_OK);
  return access(folder, constants.W_OK).then(
    () => ({ state: "ok" as const, found: folder }),
    () => ({
      state: "broken" as const,
      found: `${folder} may not be written.`,
      next: "Give this user the right, or take another folder with -C.",
    }),
  );
}

function describeConfig({ sources, warnings, untrusted }: LoadedConfig): Omit<Finding, "what"> {
  const files = sources.flatMap(({ file }) => file ?? []);
  const found = files.length === 0 ? "none; everything is as it comes" : files.join(", ");
  if (untrusted.length > 0) {
    return {
      state: "warning",
      found: `${found}; ${untrusted.length} settings are not trusted.`,
      next: "See them with `haft trust`.",
    };
  }
  if (warnings.length === 0) return { state: "ok", found };
  return { state: "warning", found: `${found}; ${warnings.map(({ message }) => message).join(" ")}` };
}

async function examineStore(folder: string, url: string | undefined): Promise<Omit<Finding, "what">> {
  const file = join(folder, ".haft", "haft.db");
  if (url === undefined && !existsSync(file)) return { state: "ok", found: `${file} is made at the first use` };
  const { openStore } = await import("../store/store.ts");
  const store = await openStore(url === undefined ? { folder } : { url });
  try {
    const { ok, count, problems } = await store.audit.verify();
    if (!ok)
      return {
        state: "broken",
        found: `The audit log was changed: ${problems[0]?.message}`,
        next: "Restore the store from a backup, or ask who did.",
      };
    const state = store.warnings.length > 0 ? "warning" : "ok";
    return {
      state,
      found: [`${store.database.dialect}, ${count} entries, each as it was written`, ...store.warnings].join("; "),
    };
  } finally {
    await store.close();
  }
}

function examinePort(port: number): Promise<Omit<Finding, "what">> {
  return new Promise((resolve) => {
    const server = createServer();
    const next = "Another Haft may run there; `haft serve --port 0` takes any free one.";
    server.once("error", ({ code }: NodeJS.ErrnoException) =>
      resolve({ state: "warning", found: `${port} cannot be had (${code}).`, next }),
    );
    server.listen(port, "127.0.0.1", () => server.close(() => resolve({ state: "ok", found: `${port} is free` })));
  });
}

async function examineConsole(): Promise<Omit<Finding, "what">> {
  const folder = join((await findPackage()) ?? "", "dist", "console");
  if (existsSync(join(folder, "index.html"))) return { state: "ok", found: folder };
  return { state: "warning", found: "not built.", next: "`npm run build` builds it; the rest works without." };
}

async function examineShell({ env }: DoctorOptions): Promise<Omit<Finding, "what">> {
  const { findShell } = await import("../io/shell/find-program.ts");
  const { path } = findShell(env as Record<string, string>);
  return { state: "ok", found: path };
}

async function examineTerminal(): Promise<Omit<Finding, "what">> {
  try {
    await import("@lydell/node-pty");
    return { state: "ok", found: "commands can be given a terminal" };
  } catch {
    return {
      state: "warning",
      found: "commands cannot be given a terminal here.",
      next: "Install @lydell/node-pty for this platform.",
    };
  }
}
