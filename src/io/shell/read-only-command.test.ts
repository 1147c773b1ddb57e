import { describe, expect, test } from "vitest";
import { analyseCommand } from "./read-only-command.ts";

const classOf = (text: string, options = { trustedRepository: true }) => analyseCommand(text, options).class;

describe("analyseCommand", () => {
  test.each([
    "ls",
    "ls -lah --color=never docs",
    "cat -n a b",
    "head -20 a",
    "head -n -5 a",
    "tail -n +5 a",
    "wc -l a",
    "grep -rniE -A3 --include='*.ts' 'a|b$' .",
    "grep -e -x file",
    "rg --files -g '*.md'",
    "rg 'a b' src -tts --max-count=3",
    "find . ! -name '*.js' -size +10k -print0",
    "sort -t, -k2,2n a | uniq -c | sort -rn | head",
    "cut -d- -f1 a",
    "tr -d '\\r'",
    "diff -u a b",
    "stat -c %s a",
    "du -sh .",
    "date -u '+%Y-%m-%d'",
    "sed -n '10,20p' a",
    "sed -n -e 5p -e '/x/,$p' a",
    "sed 's/a b/c/g' a",
    "awk -F: '{print $1, $NF}' a",
    "awk 'NR==3' a",
    "jq -r '.a[] | select(.b == 1) | .c' a.json",
    "printf '%s\\n' a",
    "test -f package.json && echo yes || echo no",
    "node --version; npm -v; git --version",
    "/usr/bin/wc -c a",
    "git status --short --branch",
    "git diff --stat HEAD~2 -- src",
    "git log --since='2 days ago' --pretty=format:'%h %s' main..topic",
    "git show HEAD:src/a.ts",
    "git branch -a --list 'x/*'",
    "git --no-pager blame -L 1,5 a",
  ])("classifies %j as read-only", (text) => {
    expect(analyseCommand(text, { trustedRepository: true })).toMatchObject({ class: "read-only" });
  });

  test.each([
    ["sort --out=x a", "an abbreviated option"],
    ["sort -ox a", "an output option with its value attached"],
    ["sort -no x a", "an output option in a cluster"],
    ["tail -f a", "following"],
    ["uniq a b", "an output operand"],
    ["xxd a b", "an output operand"],
    ["find . -name x -exec cat {} +", "an action that runs"],
    ["rg --pre=cat x", "a preprocessor"],
    ["rg -z x", "decompressors"],
    ["rg --hidden x", "hidden files"],
    ["rg -g '.env*' x", "a glob for hidden files"],
    ["grep -r --include='.env' x .", "a glob for hidden files"],
    ["sed -n 'w x' a", "a writing script"],
    ["sed -n '1p;e ls' a", "a running script"],
    ["sed 's/a/b/w x' a", "a writing flag"],
    ["sed 's/a/b/e' a", "a running flag"],
    ["sed 's/a\\/b/c/' a", "an escaped delimiter"],
    ["sed -f x a", "a script from a file"],
    ["awk '{print > \"x\"}' a", "a writing script"],
    ["awk '{print | \"sh\"}' a", "a running script"],
    ["awk '{print $1}' v=1 a", "an assignment operand"],
    ["jq -n env", "the environment"],
    ["jq 'include \"x\"; .' a", "another file"],
    ["jq -f x a", "a filter from a file"],
    ["date 010100002030", "setting the clock"],
    ["hostname x", "setting the name"],
    ["printf -v x y", "an option of the builtin"],
    ["test -v x", "evaluating a subscript"],
    ["git -c a=b status", "configuration"],
    ["git -C x status", "another repository"],
    ["git diff --no-index a b", "files outside the repository"],
    ["git log --format=%G?", "a signature check"],
    ["git branch x", "a new branch"],
    ["git tag x", "a new tag"],
    ["git grep -Oless x", "a pager"],
    ["./ls", "a program of the project"],
    ["/tmp/bin/ls", "a program from anywhere"],
    ["ls; 'a b'", "an unknown program"],
    ["echo 'a\nb'", "a line break in a word"],
    ["yarn --version", "a program that the project may replace"],
    [Array(51).fill("ls").join(";"), "a long chain"],
  ])("does not classify %j as read-only: %s", (text) => {
    expect(classOf(text)).not.toBe("read-only");
  });

  test.each([
    ["rm a", "write"],
    ["ls; git commit -m x", "write"],
    ["find . -delete", "write"],
    ["sed -i s/a/b/ x", "write"],
    ["echo a > b", "write"],
    ["echo a 2>&1", "unknown"],
    ["ls 2>/dev/null", "unknown"],
    ["npm test", "unknown"],
    ["rm $x", "unknown"],
    ["", "unknown"],
  ])("classifies %j as %s", (text, expected) => {
    expect(classOf(text)).toBe(expected);
  });

  test("git is read-only only in a trusted repository", () => {
    expect(analyseCommand("git status")).toMatchObject({ class: "unknown" });
    expect(analyseCommand("git status").reason).toMatch(/not trusted/);
  });

  test("paths outside the readable folders are not read-only", () => {
    const options = { cwd: "/srv/app", roots: ["/srv/app", "/data"] };
    for (const path of ["a", "./a/../b", "/srv/app/a", "../app/a", "/data/x"]) {
      expect(analyseCommand(`cat ${path}`, options).class).toBe("read-only");
    }
    for (const path of ["../b", "/srv/application", "/etc/hosts", "/data/../etc/hosts"]) {
      expect(analyseCommand(`cat ${path}`, options).class).toBe("unknown");
    }
    expect(analyseCommand("cat /proc/self/environ", { cwd: "/", roots: ["/"] }).class).toBe("unknown");
    expect(analyseCommand("cat ../a").class).toBe("unknown");
    expect(analyseCommand("grep -f /etc/x y a").class).toBe("unknown");
    expect(analyseCommand("git diff ../x", { trustedRepository: true }).class).toBe("unknown");
  });

  test("lists the paths and whether they are read recursively", () => {
    expect(analyseCommand("grep -f p x src | head a")).toMatchObject({
      paths: ["p", "x", "src", "a"],
      recursive: false,
    });
    expect(analyseCommand("rg x")).toMatchObject({ paths: ["."], recursive: true });
    expect(analyseCommand("grep -r x src")).toMatchObject({ paths: ["src"], recursive: true });
    expect(analyseCommand("git show HEAD:a/.env", { trustedRepository: true }).paths).toEqual(["a/.env"]);
  });

  test("lists the programs inside wrappers and reports why a text could not be parsed", () => {
    expect(analyseCommand("sudo sh -c 'rm x'").roots).toEqual(["sudo", "sh", "rm"]);
    expect(analyseCommand("ls &&").problem).toMatchObject({ kind: "malformed" });
    expect(analyseCommand("ls $(x)").reason).toMatch(/substitution/);
  });
});
