import { expect, test } from "vitest";
import { createTestHaft } from "../testing/index.ts";
import { CallBook } from "./call-book.ts";

test("calls of several callers with one id are kept apart, and each finds their own", async () => {
  const haft = createTestHaft({
    tools: [{ name: "echo", description: "Echoes", kind: "readonly", parameters: [], run: () => "said" }],
  });
  const book = new CallBook();
  haft.on("*", (event) => book.note(event, 1));
  for (const user of ["ada", "bob"]) await haft.execute("echo", {}, { id: "c", caller: { session: "s", user } });
  expect(book.list({ limit: 10 }).items.map(({ caller }) => caller.user)).toEqual(["bob", "ada"]);
  expect(book.find("c", "ada")?.caller.user).toBe("ada");
  expect(book.find("c", "eve")?.caller.user).toBe("bob");
  const { caller } = book.find("c", "ada")!;
  expect(book.list({ caller, limit: 10 }).items).toHaveLength(1);
});
