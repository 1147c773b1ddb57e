import { afterAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/setup/temporary-folder.ts";
import { openWorkspace } from "../../../workspace.ts";
import { compileOpening, compileWildcard } from "./rule-patterns.ts";
import { RuleSet } from "./rule-set.ts";
import { suggestSufficientRules } from "./suggest-rules.ts";

const root = temporaryFolder("haft-prefix-");
const workspace = openWorkspace(root);
afterAll(() => workspace.close());

const exec = workspace.tools.find(({ name }) => name === "exec")!;
const inputOf = (command: string) => exec.build({ command } as never).params;

function allows(rules: readonly string[], command: string): boolean {
  const ruleSet = new RuleSet([{ origin: "user", allow: rules }]);
  const { decision, by } = ruleSet.judge({ tool: exec, input: inputOf(command), cwd: root });
  return decision === "allow" && by === "rule";
}

describe("a rule that ends in *", () => {
  test.each([
    ["git log *", ["git log", "git log --oneline -5", "git log -p -- src", "git log --format='%h %s' main..x"]],
    ["git commit *", ["git commit -m 'a b'", 'git commit -am "$x"', "git commit --amend --no-edit"]],
    ["npm test *", ["npm test", "npm test -- src/a.test.ts", "npm test -- -t name", "npm test --workspace=a"]],
    ["npm run *", ["npm run build", "npm run lint -- --fix", "npm run test --silent"]],
    ["cargo test *", ["cargo test", "cargo test --release -- --nocapture", "cargo test -p a name"]],
    ["go test *", ["go test ./...", "go test -run=Foo -v ./a", "go test -count 1 ./..."]],
    ["pytest *", ["pytest", "pytest -x -k 'a and b' tests/test_a.py::test_b", "pytest tests/*.py"]],
    ["make *", ["make", "make -j4 all", "make lint test"]],
    ["eslint *", ["eslint . --fix", "eslint src/*.ts --max-warnings=0"]],
    ["sort *", ["sort -rn a"]],
    ["kubectl get *", ["kubectl get pods", "kubectl get pods -n a --all-namespaces"]],
    ["git *", ["git add -A", "git push origin main", "git log -1"]],
    ["sed -i *", ["sed -i s/a/b/ a.txt"]],
    ["mytool *", ["mytool --fast a b", "mytool src/*.ts --level=3"]],
    [
      "curl *",
      ["curl -sSfL https://a.b/c", "curl -X POST -H 'a: b' -d '{}' https://a.b", "curl -w '%{http_code}' a.b"],
    ],
    ["ssh *", ["ssh -p 22 h ls -la", "ssh -o BatchMode=yes -o ConnectTimeout=5 u@h uptime", "ssh h"]],
    ["scp *", ["scp -r a h:b"]],
    ["rsync *", ["rsync -avz a/ h:b/", "rsync -a --exclude=x a b"]],
    ["node *", ["node a.js", "node --test a.js", "node a.js --fast b"]],
    ["python3 *", ["python3 a.py", "python3 -u a.py --fast b"]],
    ["cp *", ["cp a b", "cp -r a b", "cp -av a b"]],
    ["test *", ["test -f a", "test -n a"]],
    ["printf *", ["printf '%s' a"]],
    ["sudo apt *", ["sudo apt update"]],
    ["env *", ["env"]],
  ])("Bash(%s) covers harmless options", (pattern, commands) => {
    expect(commands.filter((command) => !allows([`Bash(${pattern})`], command))).toEqual([]);
  });

  test.each([
    [
      "git *",
      [
        "git log --output=x",
        "git diff --output x",
        "git log --ext-diff",
        "git grep -Ovi x",
        "git -c core.pager=x log",
        "git --exec-path=x log",
        "git -C /x log",
        "git clone -u x y",
        "git clone --upload-pack=x y",
        "git fetch --upload-pack=x",
        "git fetch 'ext::sh -c x'",
        "git rebase -x y",
        "git rebase --exec=y",
        "git commit --gpg-sign",
        "git archive --exec=x HEAD",
        "git log $x",
        "git log *",
        "git show HEAD:.env",
      ],
    ],
    [
      "npm *",
      [
        "npm test --script-shell=./x.sh",
        "npm run a --node-options=-rx",
        "npm run a -- --config=x",
        "npm --prefix /x test",
      ],
    ],
    ["npm test *", ["npm test --script-shell ./x.sh", "npm test -- --outputFile=/x", "npm test $X"]],
    ["cargo *", ["cargo test --config x", "cargo build --target-dir /x", "cargo run --manifest-path=/x"]],
    ["go *", ["go test -exec=x ./...", "go build -o /x", "go build -toolexec x", "go vet -vettool=x"]],
    ["make *", ["make SHELL=./x", "make -f x", "make --eval=x", "make -C /x", "make CC=x all"]],
    ["pytest *", ["pytest -p x", "pytest -c x", "pytest --basetemp=/x", "pytest --junitxml=x", "pytest *"]],
    ["eslint *", ["eslint --config x .", "eslint -c x .", "eslint --rulesdir x .", "eslint -o x ."]],
    ["tsc *", ["tsc --outDir /x", "tsc --outFile x"]],
    ["sort *", ["sort -o x a", "sort -uo x a", "sort --compress-program=x a", "sort *"]],
    ["tree *", ["tree -o x", "tree -Io a b"]],
    ["xxd *", ["xxd -r a", "xxd a b"]],
    ["sed *", ["sed -i s/a/b/ a.txt", "sed 1e a", "sed -f x a"]],
    ["cat *", ["cat .env", "cat ~/.ssh/id_rsa", "cat src/.env.local"]],
    ["tar *", ["tar -xf a --to-command=x", "tar -cf a --use-compress-program=x .", "tar -I x -tf a"]],
    ["rg *", ["rg --pre x y", "rg --hostname-bin=x y"]],
    [
      "mytool *",
      [
        "mytool --exec=x",
        "mytool --output /x",
        "mytool --config=x",
        "mytool -o x",
        "mytool --a=/x",
        "mytool $x",
        "mytool .env",
      ],
    ],
    [
      "ssh *",
      [
        "ssh -o ProxyCommand=x h",
        "ssh -oProxyUseFdpass=yes -oProxyCommand=x h",
        "ssh h -oLocalCommand=x",
        "ssh -E x h",
        "ssh -F x h",
        "ssh -J a h",
        "ssh -L 1:a:2 h",
        "ssh -w 0 h",
        "ssh -vE x h",
      ],
    ],
    ["scp *", ["scp -S x a h:b", "scp -oProxyCommand=x a h:b", "scp -F x a h:b"]],
    [
      "rsync *",
      ["rsync -e x a b", "rsync --rsync-path=x a b", "rsync -avze x a b", "rsync --log-file=x a b", "rsync -M--x a b"],
    ],
    [
      "curl *",
      [
        "curl -o x a.b",
        "curl -sox a.b",
        "curl -O a.b",
        "curl -D x a.b",
        "curl -c x a.b",
        "curl --trace x a.b",
        "curl --trace-ascii x a.b",
        "curl --stderr x a.b",
        "curl --libcurl x a.b",
        "curl --etag-save x a.b",
        "curl --hsts x a.b",
        "curl --alt-svc x a.b",
        "curl --dump-head x a.b",
        "curl -w '%output{x}' a.b",
        "curl -d @x a.b",
        "curl -F a=@x a.b",
        "curl -H @x a.b",
        "curl -K x",
        "curl -T x a.b",
        "curl file:///x",
      ],
    ],
    [
      "wget *",
      ["wget -O x a.b", "wget -o x a.b", "wget -e a=b a.b", "wget --use-askpass=x a.b", "wget -P x a.b", "wget -i x"],
    ],
    [
      "node *",
      [
        "node -e 1",
        "node -r ./x a.js",
        "node --import ./x a.js",
        "node --snapshot-blob x --build-snapshot a.js",
        "node --cpu-prof a.js",
      ],
    ],
    ["python3 *", ["python3 -c 1", "python3 -m venv x", "python3 -X pycache_prefix=x a.py"]],
    ["cp *", ["cp -s a b", "cp -l a b", "cp --symbolic-link a b", "cp -b a b", "cp -t x a"]],
    ["man *", ["man -P x ls", "man -H ls"]],
    ["split *", ["split --filter=x a", "split a"]],
    ["xargs *", ["xargs touch", "xargs -a x touch", "xargs -I {} sh -c {}"]],
    ["env *", ["env -S 'touch x'", "env touch x", "env A=b touch x", "env -i touch x"]],
    ["sudo *", ["sudo touch x", "sudo -u a touch x"]],
    ["timeout *", ["timeout --zz 5 touch x"]],
    ["test *", ["test -v 'a[$(x)]'", "test ! -v a", "test $x"]],
    ["[ *", ["[ -v a ]", "[ x -o -R a ]"]],
    ["printf *", ["printf -v a b", "printf -- a"]],
    ["read *", ["read 'a[$(x)]'", "read -p x a"]],
    ["declare *", ["declare 'a[$(x)]=1'", "declare -i a=b", "declare -n a=b"]],
    ["unset *", ["unset 'a[$(x)]'"]],
    ["wait *", ["wait -p a", "wait -n -p 'a[$(x)]'"]],
    ["jobs *", ["jobs -x touch x"]],
    ["trap *", ["trap 'touch x' EXIT"]],
    ["compgen *", ["compgen -C x", "compgen -W '$(x)'"]],
    ["hash *", ["hash -p ./x ls"]],
    ["enable *", ["enable -f ./x.so x"]],
    ["mapfile *", ["mapfile -C x a", "mapfile -O 'a[$(x)]' b"]],
    ["let *", ["let a=b"]],
    ["alias *", ["alias ls=x"]],
    ["source *", ["source a"]],
    ["eval *", ["eval touch x"]],
    ["exec *", ["exec touch x"]],
  ])("Bash(%s) does not cover options that write elsewhere, execute or read secrets", (pattern, commands) => {
    expect(commands.filter((command) => allows([`Bash(${pattern})`], command))).toEqual([]);
  });

  test("covers such an option if the rule spells it out", () => {
    expect(allows(["Bash(git push --exec=x *)"], "git push --exec=x origin")).toBe(true);
    expect(allows(["Bash(sort -o *)"], "sort -o x a")).toBe(true);
    expect(allows(["Bash(curl -o *)"], "curl -o x https://a.b")).toBe(true);
    expect(allows(["Bash(python3 -m *)"], "python3 -m pytest a")).toBe(true);
    expect(allows(["Bash(env -S *)"], "env -S 'ls x'")).toBe(true);
    expect(allows(["Bash(git log --output=*)"], "git log --output=x")).toBe(false);
    expect(allows(["Bash(git log --output=x)"], "git log --output=x")).toBe(true);
  });
});

/** Build and test commands: once their exact form is allowed, they are not asked about again. */
const BUILD_AND_TEST = [
  "npm test",
  "npm run build",
  "npm run lint -- --fix",
  "npm test -- --reporter=dot src/a.test.ts",
  "npx vitest run src/a.test.ts",
  "npx tsc --noEmit -p tsconfig.json",
  "pnpm -r build",
  "yarn workspace a test",
  "make",
  "make -j4 CC=clang all",
  "cargo test --workspace -- --nocapture",
  "cargo build --release",
  "cargo clippy --all-targets -- -D warnings",
  "go test ./... -race",
  "go build -o bin/app ./cmd/app",
  "pytest -q tests",
  "python -m pytest -x",
  "tsc --noEmit",
  "eslint . --max-warnings=0",
  "prettier --check .",
  "mvn -q test",
  "./gradlew test --info",
  "dotnet test",
  "bundle exec rspec",
  "docker compose build",
  "cmake --build build -j4",
  "ruff check . --output-format=github",
  "NODE_ENV=test npm test",
  "DATABASE_URL=x npm test",
  "cd packages/a && npm test",
  "npm test 2>&1 | tail -20",
  "npm run build && npm test",
  "bash -c 'npm test'",
  "for i in 1 2 3; do npm test || exit 1; done",
  "if npm test; then echo passed; fi",
  "(cd a && make)",
];

test.each(BUILD_AND_TEST)("the suggested rules allow the very same command again: %s", async (command) => {
  const call = { tool: exec, input: inputOf(command), cwd: root };
  const suggested = await suggestSufficientRules(call, (rules) => allows(rules, command));
  expect(suggested.narrow).not.toEqual([]);
});

test("a command whose program is only known at run time has no rule to save", async () => {
  for (const command of ["$X y", "$(cat a) b", "*"]) {
    const call = { tool: exec, input: inputOf(command), cwd: root };
    expect(await suggestSufficientRules(call, (rules) => allows(rules, command))).toEqual({ narrow: [], broader: [] });
  }
});

describe("a placeholder", () => {
  const CLASSES: Record<string, string> = { number: "[0-9]{1,15}", name: "[A-Za-z][A-Za-z0-9_]{0,63}" };
  const asRegExp = (pattern: string) => {
    const parts = pattern.split(/<(number|name)>/);
    return new RegExp(`^${parts.map((part, at) => (at % 2 ? CLASSES[part] : part.replace(/\W/g, "\\$&"))).join("")}$`);
  };

  test("matches what the regular expression of its characters matches, also beside others", () => {
    const patterns = [
      "<name>",
      "<number>",
      "a<name>",
      "<name><number>",
      "<number><name>-<name>",
      "<name>a<name>",
      "1<number>",
    ];
    const short = [
      "",
      ...["a", "1", "_", "-"].flatMap((a) =>
        ["", "a", "1", "_", "-"].flatMap((b) => [a + b, `${a}${b}a`, `${b}1${a}`]),
      ),
    ];
    const long = [15, 16, 63, 64, 65, 79, 80].flatMap((length) => ["a", "1"].map((each) => each.repeat(length)));
    for (const pattern of patterns) {
      const matches = compileWildcard(pattern);
      for (const text of [
        ...short,
        ...long,
        "a1-a",
        "12ab-c",
        "a\n",
        "a1".repeat(40),
        `${"a".repeat(64)}${"1".repeat(15)}`,
      ])
        expect([pattern, text, matches(text)]).toEqual([pattern, text, asRegExp(pattern).test(text)]);
    }
  });

  // A regular expression would need longer than this test may take.
  test("takes as many steps as characters and parts, also for a hostile rule", () => {
    const [many, dozen] = [`${"<name>".repeat(1000)}!`, `git ${"a<name>".repeat(12)}!`].map(compileWildcard);
    expect([many!("a".repeat(2000)), many!(`${"a".repeat(2000)}!`)]).toEqual([false, true]);
    expect([dozen!(`git ${"a".repeat(500)}`), dozen!(`git ${"a".repeat(500)}!`)]).toEqual([false, true]);
  });

  test("of the command itself stays text in the rule for exactly this command", async () => {
    const command = "frobnicate -m 'fix <name> of *'";
    const { narrow } = await suggestSufficientRules({ tool: exec, input: inputOf(command), cwd: root }, (rules) =>
      allows(rules, command),
    );
    expect(narrow).toEqual(["Bash(frobnicate -m 'fix \\<name> of \\*')"]);
    expect(allows(narrow, command)).toBe(true);
    expect(allows(narrow, command.replace("<name>", "other"))).toBe(false);
    expect(compileOpening("echo \\<name>")("echo <na")).toBe(true);
  });
});
