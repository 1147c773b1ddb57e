import { expect, test } from "vitest";
import { checkSystem } from "./doctor.ts";

test("doctor warns on systems where Haft is not tested, and says what to do", () => {
  expect(checkSystem("linux")).toEqual([]);
  expect(checkSystem("win32")).toMatchObject([{ what: "system", state: "warning", next: "Use WSL 2." }]);
  expect(checkSystem("darwin")).toMatchObject([{ state: "warning", found: "macOS is not tested." }]);
  expect(checkSystem("freebsd")).toMatchObject([{ found: "freebsd is not tested." }]);
});
