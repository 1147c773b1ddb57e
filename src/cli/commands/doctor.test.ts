import { expect, test } from "vitest";
import { checkDefaultPermission, checkSystem } from "./doctor.ts";

test("doctor warns on systems where Haft is not tested, and says what to do", () => {
  expect(checkSystem("linux")).toEqual([]);
  expect(checkSystem("win32")).toMatchObject([{ what: "system", state: "warning", next: "Use WSL 2." }]);
  expect(checkSystem("darwin")).toMatchObject([{ state: "warning", found: "macOS is not tested." }]);
  expect(checkSystem("freebsd")).toMatchObject([{ found: "freebsd is not tested." }]);
});

test("doctor warns if undeclared tools run without asking", () => {
  expect(checkDefaultPermission(undefined)).toEqual([]);
  expect(checkDefaultPermission("confirm")).toEqual([]);
  expect(checkDefaultPermission("auto")).toMatchObject([
    { state: "warning", found: expect.stringContaining('defaultPermission is "auto"') },
  ]);
});
