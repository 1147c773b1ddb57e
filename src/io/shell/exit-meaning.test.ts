import { expect, test } from "vitest";
import { exitMeaning } from "./exit-status.ts";

test.each([
  "grep foo file.txt",
  "/usr/bin/grep -r 'a b' .",
  "LC_ALL=C grep foo file",
  "cat file | grep foo",
  "cat file | grep foo 2>/dev/null",
  "make; grep -q ok log.txt",
  "echo start\ngrep foo file",
  "false || rg foo",
  'rg "foo bar" $HOME/src',
  "diff a b",
  "diff a b > out.txt",
  "cmp -s a b;",
  "test -f x",
  "[ -f x ]",
  "[[ -f x ]]",
  "git grep foo",
  "git --no-pager diff --exit-code",
  "pgrep node",
  "command -v foo",
  "which foo",
  "cd src && grep foo file",
  "grep -E 'a|b;c&&d' file",
  "grep a#b file",
])("exit code 1 of %j is a result", (command) => {
  const meaning = exitMeaning(command, 1, 0);
  expect(meaning.completed).toBe(true);
  expect(meaning.note).toBeTruthy();
});

test.each([
  "npm test",
  "npm test && grep ok log",
  "npm test && cat log | grep ok",
  "grep foo file | head",
  "grep foo file; npm test",
  "! grep foo file",
  "set -e; npm test; grep foo file",
  "set -o pipefail; npm test | grep foo",
  "if true; then grep foo x; fi",
  "(exit 1); grep foo x",
  "grep $(false) x",
  "grep `false` x",
  "grep foo x &",
  "grep foo <<EOF\nEOF",
  "$CMD foo",
  "git diff",
  "git -C x diff --exit-code",
  "find . -name x",
  "[ -f x",
  "sudo grep foo x",
  "npm test # && grep x",
  "exit 1; grep foo x",
  "grep 'unclosed",
  "grep foo x |& cat",
  "trap 'exit 1' EXIT; grep foo x",
  "",
  ";",
])("exit code 1 of %j is a failure", (command) => {
  expect(exitMeaning(command, 1, 0)).toEqual({ completed: false });
});

test("a cd that may have failed makes it a failure", () => {
  expect(exitMeaning("cd missing && grep foo x", 1, 40).completed).toBe(false);
});

test("other codes of the same programs are failures, and 0 is success", () => {
  expect(exitMeaning("grep foo missing", 2, 30).completed).toBe(false);
  expect(exitMeaning("grep foo x", null, 0).completed).toBe(false);
  expect(exitMeaning("grep foo x", 143, 0).completed).toBe(false);
  expect(exitMeaning("npm test", 0, 500)).toEqual({ completed: true });
});
