import { expect, test } from "vitest";
import { readCommand, readCommandWith } from "./command-signature.ts";

const formsOf = (text: string) => readCommand(text).parts.map(({ forms }) => forms.map((form) => form.text));

test("a simple command is listed as written, then without its wrapper", () => {
  expect(formsOf("timeout 5 nice -n 2 npm 'run'  build && ls | wc -l")).toEqual([
    ["timeout 5 nice -n 2 npm 'run' build", "nice -n 2 npm 'run' build", "npm 'run' build"],
    ["ls"],
    ["wc -l"],
  ]);
  expect(formsOf("A=1 LANG=C make > log 2>&1")).toEqual([["make"]]);
});

test("a wrapper matches only by its whole text, so a prefix rule allows nothing", () => {
  const [part] = readCommand("nohup make x").parts;
  expect(part?.forms).toEqual([
    { text: "nohup make x", exactOnly: true },
    { text: "make x", exactOnly: false },
  ]);
  expect(readCommand("find . -name x").parts[0]?.forms[0]?.exactOnly).toBe(false);
  expect(readCommand("find . -delete").parts[0]?.forms[0]?.exactOnly).toBe(true);
  expect(readCommand("find . $X").parts[0]?.forms[0]?.exactOnly).toBe(true);
});

test("nested commands are listed under their plain names", () => {
  const { seen } = readCommand("sudo /bin/sh -c 'cd x; /usr/bin/rm -rf y' && git -C a push");
  for (const text of ["rm -rf y", "/usr/bin/rm -rf y", "cd x", "git push", "git -C a push"])
    expect(seen).toContain(text);
});

test("files are found in redirections and in the arguments of known programs", () => {
  expect(readCommand("cp a b > c < d 2>&1 >> /dev/null")).toMatchObject({
    inputs: ["d"],
    outputs: ["c"],
    reads: ["d", "a", "b"],
    changes: ["c", "a", "b"],
  });
  expect(readCommand("grep -e x .env --file=y").reads).toEqual(["x", ".env", "y"]);
  expect(readCommand("dd if=a of=b").changes).toEqual(["a", "b"]);
});

test.each([
  ["x > $Y", "only known at run time"],
  ["cd a && x > b", "changes its folder"],
  ["(x)", "compound command"],
  ["f() { x; }", "compound command"],
  ["x \u200b", "hidden character"],
])("%j is closed: %s", (text, why) => expect(readCommand(text).closed).toMatch(why));

test("directory, variables and standard input are included", () => {
  expect(readCommandWith("make", { env: { CC: "x" } }).undetermined).toBe("it sets CC");
  expect(readCommandWith("make", { env: { CI: "1" } }).undetermined).toBeUndefined();
  expect(readCommandWith("sh", { stdin: "rm x" })).toMatchObject({ seen: ["sh", "rm x"] });
  expect(readCommandWith("cat", { stdin: "rm x" }).undetermined).toBeUndefined();
});

test("unparsable text is split at everything that may separate commands", () => {
  const { problem, seen } = readCommand("echo 'a; rm b");
  expect(problem).toMatch("not valid bash");
  expect(seen).toContain("rm b");
  expect(readCommand(`echo ${"x".repeat(10_000)}`).problem).toMatch("longer than 10000");
});

test("the same text is parsed once", () => {
  expect(readCommand("make twice")).toBe(readCommand("make twice"));
});
