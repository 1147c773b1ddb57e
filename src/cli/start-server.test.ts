import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { openHaft } from "../host.ts";
import { issueToken, openTokensOnUse } from "../store/tokens.ts";
import { startServer } from "./start-server.ts";

const TOKEN = "a-token-of-the-clients-making-01";
let folder: string;
let home: string;

beforeEach(() => {
  folder = temporaryFolder("haft-serve-");
  home = temporaryFolder("haft-home-");
});

async function start(env: Record<string, string>, host = "127.0.0.1") {
  const warnings: string[] = [];
  const started = await startServer({
    folder,
    version: "1",
    env: { XDG_CONFIG_HOME: home, HAFT_STATE_DIR: join(home, "state"), ...env },
    embedded: {},
    port: 0,
    host,
    log: () => {},
    onWarning: (warning) => warnings.push(warning),
  });
  onTestFinished(() => started.close());
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${started.server.port}${path}`, { ...init, headers: { authorization: `Bearer ${TOKEN}` } });
  return { ask, warnings };
}

/** As `haft token create` does. */
async function saveToken(): Promise<void> {
  const host = await openHaft(folder, { env: { XDG_CONFIG_HOME: home, HAFT_STATE_DIR: join(home, "state") } });
  const { clock } = host.haft.settings;
  await issueToken(openTokensOnUse(host.store.database, clock), clock, {
    name: "reader",
    scopes: ["read"],
    token: TOKEN,
  });
  await host.close();
}

describe("the token of a server", () => {
  test("is not the one that a client presents", async () => {
    const { ask } = await start({ HAFT_TOKEN: TOKEN });
    expect((await ask("/api/server")).status).toBe(401);
  });

  test("is configured by its own variable, listed, and not revoked by a request", async () => {
    const { ask } = await start({ HAFT_SERVER_TOKEN: TOKEN });
    const { items } = (await (await ask("/api/tokens")).json()) as { items: { id: string; name: string }[] };
    expect(items).toMatchObject([{ name: "configured" }]);
    expect((await ask(`/api/tokens/${items[0]!.id}`, { method: "DELETE" })).status).toBe(409);
    expect((await ask("/api/server")).status).toBe(200);
  });

  test("is refused where it is one of the store, whose scopes it would leave behind", async () => {
    await saveToken();
    await expect(start({ HAFT_SERVER_TOKEN: TOKEN })).rejects.toThrow(/the token "reader".*scopes read\b/);
    const { ask } = await start({});
    expect((await ask("/api/server")).status).toBe(200);
    expect((await ask("/api/tokens")).status).toBe(403);
  });

  test("lets it listen beyond this machine, and nothing else does", async () => {
    await expect(start({}, "0.0.0.0")).rejects.toThrow(/without a token/);
    const { warnings } = await start({ HAFT_SERVER_TOKEN: TOKEN }, "0.0.0.0");
    expect(warnings.join()).toContain("WITHOUT TLS");
  });

  test("counts from a file of the user as well", async () => {
    mkdirSync(join(home, "haft"), { recursive: true });
    writeFileSync(join(home, "haft", "config.yml"), `server: { host: 0.0.0.0, token: ${TOKEN} }\n`);
    const { ask } = await start({}, "0.0.0.0");
    expect((await ask("/api/tokens")).status).toBe(200);
  });
});
