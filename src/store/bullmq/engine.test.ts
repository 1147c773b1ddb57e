import { describe, expect, test } from "vitest";
import { openPostgresEngine, openRedisEngine } from "./engine.ts";

const missing = async (): Promise<never> => {
  throw new Error("Cannot find package");
};

describe("what the queue needs", () => {
  test("a package that is missing is named, with the command that installs it", async () => {
    const url = "postgres://127.0.0.1:1/none";
    await expect(openPostgresEngine(url, { load: { bullmq: missing } })).rejects.toMatchObject({
      code: "missing_package",
      message: expect.stringContaining("npm install bullmq"),
    });
    await expect(openRedisEngine("redis://127.0.0.1:1", { load: { ioredis: missing } })).rejects.toMatchObject({
      code: "missing_package",
      message: expect.stringContaining("npm install ioredis"),
    });
  });

  test("a server that is not there is named, without the password", async () => {
    for (const opening of [
      () => openRedisEngine("redis://ann:hidden@127.0.0.1:1"),
      () => openPostgresEngine("postgres://ann:hidden@127.0.0.1:1/none"),
    ]) {
      const error = (await opening().catch((thrown: Error) => thrown)) as Error;
      expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining("127.0.0.1:1") });
      expect(error.message).toMatch(/cannot be reached \(.*ECONNREFUSED.*\)/);
      expect(JSON.stringify([error.message, String(error.cause)])).not.toContain("hidden");
    }
  });
});
