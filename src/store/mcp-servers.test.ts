import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { pinStoreSuite } from "../mcp/client/pin-store.suite.ts";
import { serverQuestionStoreSuite } from "../mcp/client/server-question-store.suite.ts";
import { openStore } from "./store.ts";
import { startPostgres, type TestPostgres } from "./start-postgres.fixture.ts";

let server: TestPostgres;
beforeAll(async () => void (server = await startPostgres()), 60_000);
afterAll(() => server.stop());

async function open(kind: "sqlite" | "postgres") {
  const folder = mkdtempSync(join(tmpdir(), "haft-mcp-store-"));
  const store = await openStore(kind === "sqlite" ? { stateFolder: folder } : { url: await server.createDatabase() });
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return store;
}

for (const kind of ["sqlite", "postgres"] as const) {
  pinStoreSuite(`The store on ${kind}`, async () => (await open(kind)).pins);
  serverQuestionStoreSuite(`The store on ${kind}`, async () => (await open(kind)).serverQuestions);

  test(`sign-ins of MCP servers are kept, replaced and deleted on ${kind}`, async () => {
    const { signIns } = await open(kind);
    expect(await signIns.get("linear")).toBeUndefined();
    await signIns.set("linear", { url: "https://a.example", state: "one" });
    await signIns.set("linear", { url: "https://a.example", state: "two" });
    await signIns.set("other", { url: "https://b.example" });
    expect(await signIns.get("linear")).toEqual({ url: "https://a.example", state: "two" });
    await signIns.delete("linear");
    expect(await signIns.get("linear")).toBeUndefined();
    expect(await signIns.get("other")).toEqual({ url: "https://b.example" });
  });

  test(`a key is made once for each purpose, whoever asks first, on ${kind}`, async () => {
    const { keys } = await open(kind);
    const [first, again, other] = await Promise.all([keys("a"), keys("a"), keys("b")]);
    expect(first).toHaveLength(32);
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
  });
}
