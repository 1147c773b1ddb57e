import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openExample } from "./open-example.ts";

test("a plugin is used after it was trusted, and a ticket is closed after an approval", async () => {
  const example = await openExample("plugin");
  const untrusted = await example.haft("tools", "call", "list_tickets");
  expect(untrusted).toMatchObject({ code: 5, stdout: "" });
  expect(untrusted.stderr.match(/it is not trusted/g), "the warning is printed once").toHaveLength(1);

  expect(await example.haft("trust", "--yes")).toMatchObject({ code: 0 });
  const listed = await example.haft("tools", "call", "list_tickets", "--json");
  expect(JSON.parse(listed.stdout)).toMatchObject({ details: [{ id: 1 }, { id: 2 }] });

  const waiting = await example.haft("tools", "call", "close_ticket", "id:=2");
  expect(waiting.code).toBe(7);
  const id = /apr_\w+/.exec(waiting.stderr)![0];
  const readState = () => JSON.parse(readFileSync(join(example.folder, "tickets.json"), "utf8")) as unknown;
  expect(readState()).toMatchObject([{ state: "open" }, { state: "open" }]);
  const approved = await example.haft("approvals", "approve", id);
  expect(approved).toMatchObject({ code: 0, stdout: "Closed ticket 2: The printer is out of ink\n" });
  expect(readState()).toMatchObject([{ state: "open" }, { state: "closed" }]);
});

test("its own test passes", async () => {
  const { code, stdout } = await (await openExample("plugin")).start().end();
  expect(code, stdout).toBe(0);
  expect(stdout).toMatch(/pass 3/);
});
