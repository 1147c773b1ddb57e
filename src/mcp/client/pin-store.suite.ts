import { describe, expect, test } from "vitest";
import type { Pin, PinStore } from "./tool-pinning.ts";

/** The behaviour of every PinStore. */
export function pinStoreSuite(name: string, open: () => PinStore | Promise<PinStore>): void {
  const pin = (tool: string, definition: string, server = "files"): Pin => ({
    server,
    tool,
    hash: `hash of ${definition}`,
    definition,
    pinnedAt: 1,
  });
  const tools = async (store: PinStore, server = "files") =>
    [...(await store.list(server))].map(({ tool, definition }) => `${tool}=${definition}`).sort();

  describe(`${name} as a pin store`, () => {
    test("is empty at first", async () => {
      expect(await tools(await open())).toEqual([]);
    });

    test("keeps the last pin of each tool and server", async () => {
      const store = await open();
      await store.put(pin("read", "A"));
      await store.put(pin("read", "B"));
      await store.put(pin("write", "C"));
      await store.put(pin("read", "D", "other"));
      expect(await tools(store)).toEqual(["read=B", "write=C"]);
      expect(await tools(store, "other")).toEqual(["read=D"]);
      expect((await store.list("other"))[0]).toEqual(pin("read", "D", "other"));
    });

    test("accepts any name, also those of object prototypes", async () => {
      const store = await open();
      for (const tool of ["__proto__", "constructor", ""]) await store.put(pin(tool, "X"));
      expect(await tools(store)).toEqual(["=X", "__proto__=X", "constructor=X"]);
    });

    test("removes one pin, or all of a server", async () => {
      const store = await open();
      await store.put(pin("a", "1"));
      await store.put(pin("b", "2"));
      await store.remove("files", "a");
      await store.remove("files", "never there");
      expect(await tools(store)).toEqual(["b=2"]);
      await store.remove("files");
      expect(await tools(store)).toEqual([]);
    });

    test("stores the disabled tools of a server", async () => {
      const store = await open();
      for (const tool of ["write", "delete", "delete"]) await store.switchTool("files", tool, false);
      await store.switchTool("other", "write", false);
      expect(await store.switchedOff("files")).toEqual(["delete", "write"]);
      await store.switchTool("files", "delete", true);
      await store.switchTool("files", "never there", true);
      expect(await store.switchedOff("files")).toEqual(["write"]);
      expect(await store.switchedOff("other")).toEqual(["write"]);
    });
  });
}
