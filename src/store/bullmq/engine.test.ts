import { describe, expect, test } from "vitest";
import { openRedisEngine } from "./engine.ts";

const missing = async (): Promise<never> => {
  throw new Error("Cannot find package");
};

describe("what the queue needs", () => {
  test.each(["bullmq", "ioredis"])("%s is named if it is missing, with the command that installs it", async (name) => {
    await expect(openRedisEngine("redis://127.0.0.1:1", { load: { [name]: missing } })).rejects.toMatchObject({
      code: "missing_package",
      message: expect.stringContaining(`npm install ${name}`),
    });
  });

  test("a server that is not there is named, without the password", async () => {
    const error = (await openRedisEngine("redis://ann:hidden@127.0.0.1:1").catch((thrown: Error) => thrown)) as Error;
    expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining("127.0.0.1:1") });
    expect(error.message).toMatch(/cannot be reached \(.*ECONNREFUSED.*\)/);
    expect(JSON.stringify([error.message, String(error.cause)])).not.toContain("hidden");
  });
});
