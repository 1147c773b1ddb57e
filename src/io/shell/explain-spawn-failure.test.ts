import { expect, test } from "vitest";
import { explainSpawnFailure } from "./spawn-process.ts";

const launch = { file: "prog", cwd: "/" };
const failure = (code: string) => explainSpawnFailure(Object.assign(new Error(code), { code }), launch);

test.each(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"])("%s is reported as busy", (code) => {
  expect(failure(code)).toMatchObject({ code: "busy", data: { code } });
  expect(failure(code).message).toContain("Kill processes");
});

test("an unknown code still names the program and keeps the cause", () => {
  const cause = new Error("strange");
  const error = explainSpawnFailure(cause, launch);
  expect(error).toMatchObject({ code: "failed", cause });
  expect(error.message).toBe('The program "prog" could not be started. Check the command and try again.');
});
