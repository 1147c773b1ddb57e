import { describe, expect, test } from "vitest";
import { ENGINES, useEngine } from "./engines.fixture.ts";

describe.each(ENGINES)("on $name", (engine) => {
  const { openStore } = useEngine(engine);

  test("sign-ins of MCP servers are stored, replaced and deleted", async () => {
    const { signIns } = await openStore();
    expect(await signIns.get("linear")).toBeUndefined();
    await signIns.set("linear", { url: "https://a.example", state: "one" });
    await signIns.set("linear", { url: "https://a.example", state: "two" });
    await signIns.set("other", { url: "https://b.example" });
    expect(await signIns.get("linear")).toEqual({ url: "https://a.example", state: "two" });
    await signIns.delete("linear");
    expect(await signIns.get("linear")).toBeUndefined();
    expect(await signIns.get("other")).toEqual({ url: "https://b.example" });
  });

  test("a key is created once for each purpose", async () => {
    const { keys } = await openStore();
    const [first, again, other] = await Promise.all([keys("a"), keys("a"), keys("b")]);
    expect(first).toHaveLength(32);
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
  });
});
