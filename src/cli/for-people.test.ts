import { describe, expect, test } from "vitest";
import { failureOf } from "../core/error.ts";
import { explainToPeople, wordForPeople } from "./for-people.ts";

describe("a failed call at a terminal", () => {
  test("says which arguments are wrong, and where the right ones are shown", () => {
    const issues = ["content: Invalid input: expected string, received undefined", "mode: unknown"];
    const failure = { ...failureOf("invalid_input", "Long text for a model"), data: { issues } };
    expect(explainToPeople(failure, "write")).toEqual({
      message: "content is missing (string)\nmode: unknown",
      next: "`haft tools describe write` shows its parameters, with examples.",
    });
  });

  test("gives no advice that only a model can follow", () => {
    const said = [
      '"write" takes { path: string }. Correct the call and send it again.',
      "Permission denied: a person denied this call: no. Do not repeat it; ask what to do instead.",
      "Denied. Do not call it again; use another tool, or tell the user why you need it.",
      "The server is gone. Ask the person to sign in to it, and repeat the call only after that.",
      "It runs. Call again when it is back.",
      "Unknown. Check its effect before you call it again.",
      "No certificate. Tell the user.",
      "Refused. Use a path inside one of them, or ask the user to allow this one.",
      "The user can check HTTP_PROXY.",
    ];
    expect(said.map(wordForPeople)).toEqual([
      '"write" takes { path: string }.',
      "Permission denied: a person denied this call: no.",
      "Denied.",
      "The server is gone. You can sign in to it, then try again.",
      "It runs. Try again when it is back.",
      "Unknown. Check its effect before you try again.",
      "No certificate.",
      "Refused. Use a path inside one of them.",
      "You can check HTTP_PROXY.",
    ]);
  });

  test("keeps the facts of every other message", () => {
    for (const text of ["notes.txt does not exist.", "ECONNREFUSED 127.0.0.1:1", "a\nb"])
      expect(wordForPeople(text)).toBe(text);
  });
});
