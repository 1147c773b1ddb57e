// A program: tries attacks in each engine, as the user who runs it, and prints as JSON what each engine let through.
// It runs commands without any analysis of their text. `node program.js FOLDER [control]`: with `control` also unconfined.
import { spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { createFiles } from "../../src/io/files/files.ts";
import { createPathPolicy } from "../../src/io/files/path-policy.ts";
import { findPerl } from "../../src/io/sandbox/engines.ts";
import { openSandbox } from "../../src/io/sandbox/sandbox.ts";
import { type Engine, findEngines, testEngine, usableFolder } from "../../src/io/sandbox/self-test.ts";
import type { ConfinementProfile } from "../../src/io/sandbox/profiles.ts";

const CANARY = "CANARY-5d1e";
/** In every encoding that an attack uses. */
const LEAKS = [CANARY, Buffer.from(CANARY).toString("base64").slice(0, 12), Buffer.from(CANARY).toString("hex")];

const EVERYWHERE = [
  'echo x > "$BASE/outside.txt"',
  'chmod 777 "$BASE/outside.txt"',
  "perl -e 'truncate(\"$ENV{BASE}/outside.txt\", 0)'",
  'ln -f "$BASE/outside.txt" hard && echo x > hard',
  'cat "$HOME/.ssh/id_rsa"',
  'echo x >> "$HOME/.bashrc"',
  'cat "$STATE/store.db" link_to_key',
  'echo x > "$STATE/store.db"',
  "exec 3<>/dev/tcp/127.0.0.1/$PORT; echo hi >&3",
  "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) && connect(S, sockaddr_un($ENV{SOCKET})) && syswrite(S, 1)'",
  "kill -9 $VICTIM",
  "cat /proc/$VICTIM/environ",
  "unshare -Urm sh -c 'mount --bind / /mnt; cat /mnt$HOME/.ssh/id_rsa'",
  'cat "/proc/self/root$HOME/.ssh/id_rsa"',
  'tar cf - "$HOME/.ssh" | base64',
];

const ATTACKS: Record<ConfinementProfile, readonly string[]> = {
  look: [
    ...EVERYWHERE,
    ...["cat .env", "grep -r CANARY .", "cat link_to_env", "cp .env copy; cat copy", "ln .env hard; cat hard"],
    ...["cat /proc/self/cwd/.env", "exec 5<.env; cat <&5", "find . -name .env -exec cat {} +", "base64 sub/server.key"],
    ...[
      "echo x > new.txt",
      ": > a.txt",
      "perl -e 'truncate(\"a.txt\", 0)'",
      "chmod 777 a.txt",
      "touch -d 2001-01-01 a.txt",
    ],
    ...["mv a.txt b.txt", "rm -f a.txt", "mkdir new", "ln -s a.txt new", "mkfifo new", "sed -i s/h/x/ a.txt"],
    ...[
      "git config user.name x",
      "git add a.txt",
      "setsid sh -c 'echo x > new.txt'",
      "perl -e 'utime(1, 1, \"a.txt\")'",
    ],
  ],
  work: [
    ...EVERYWHERE,
    ...[
      "echo x > .git/hooks/pre-commit",
      "git config core.fsmonitor ./evil",
      "rm -rf .git/hooks",
      "echo x >> .git/config",
    ],
    ...[
      "mv .git/hooks h && mkdir .git/hooks && echo x > .git/hooks/pre-push",
      "ln -sf ../../a.txt .git/hooks/pre-commit",
    ],
    ...[
      "echo x > .mcp.json",
      "mkdir -p .vscode && echo x > .vscode/tasks.json",
      "mkdir sub/.claude",
      "echo x > haft.config.yml",
    ],
  ],
};

const [folder = "", hasControl] = process.argv.slice(2);
const template = join(folder, "template");
const base = join(folder, "base");
const workspace = join(base, "workspace");
const home = join(base, "home");
const state = join(base, "state");
/** Outside of what is compared: the engines write their tables here. */
process.env["HAFT_STATE_DIR"] = join(folder, "tables");

function prepare(): void {
  const files = {
    "workspace/.env": CANARY,
    "workspace/a.txt": "hello\n",
    "workspace/sub/server.key": CANARY,
    "home/.ssh/id_rsa": CANARY,
    "home/.bashrc": "",
    "state/store.db": CANARY,
    "outside.txt": "outside\n",
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(template, name, ".."), { recursive: true });
    writeFileSync(join(template, name), content);
  }
  mkdirSync(join(template, "workspace/.git/hooks"), { recursive: true });
  symlinkSync(join(home, ".ssh/id_rsa"), join(template, "workspace/link_to_key"));
  symlinkSync(".env", join(template, "workspace/link_to_env"));
  spawnSync("git", ["init", "-q", "--template="], { cwd: join(template, "workspace") });
}

function reset(): void {
  rmSync(base, { recursive: true, force: true });
  cpSync(template, base, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
}

/** Everything that must not change, as text. In `work` the workspace may, except its protected paths. */
function snapshot(profile: ConfinementProfile): string {
  const lines: string[] = [];
  const visit = (path: string): void => {
    const name = path.slice(base.length);
    const info = lstatSync(path);
    const isProtected = /\.git\/(hooks|config)|\.mcp\.json|\.vscode|\.claude|haft\.config/.test(name);
    const isFree = profile === "work" && name.startsWith("/workspace/") && !isProtected;
    if (info.isDirectory()) {
      if (!isFree) lines.push(`${name} ${info.mode}`);
      for (const child of readdirSync(path).sort()) visit(join(path, child));
    } else if (!isFree) {
      const content = info.isSymbolicLink()
        ? readlinkSync(path)
        : info.isFile()
          ? readFileSync(path, "latin1")
          : "special";
      lines.push(`${name} ${info.mode} ${profile === "look" ? info.mtimeMs : ""} ${content}`);
    }
  };
  visit(base);
  return lines.join("\n");
}

let connections = 0;

function listen(address: number | string): Promise<Server> {
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  return new Promise((resolve) => server.listen(address, () => resolve(server)));
}

const run = (command: readonly string[], env: Record<string, string>): Promise<string> =>
  new Promise((resolve) => {
    const [program = "", ...args] = command;
    const child = spawn(program, args, { cwd: workspace, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString("latin1")));
    child.once("close", () => resolve(output));
  });

prepare();
reset();
const tcp = await listen(0);
const unix = await listen(join(folder, "server.sock"));
const startVictim = () =>
  spawn("sleep", ["600"], { env: { SECRET: CANARY, PATH: process.env["PATH"] }, stdio: "ignore" });
let victim = startVictim();
const address = tcp.address();
const env = (): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: home,
  BASE: base,
  STATE: state,
  SOCKET: join(folder, "server.sock"),
  PORT: typeof address === "object" ? String(address?.port) : "",
  VICTIM: String(victim.pid),
});

/** The attacks that had an effect. */
async function attack(
  profile: ConfinementProfile,
  start: (
    command: readonly string[],
  ) => Promise<{ command: readonly string[]; env: object; finish(): Promise<unknown> }>,
  limit = Infinity,
): Promise<string[]> {
  const effective: string[] = [];
  for (const command of ATTACKS[profile].slice(0, limit)) {
    const [before, everythingBefore] = [snapshot(profile), snapshot("look")];
    const connected = connections;
    const started = await start(["/bin/bash", "-c", command]);
    const output = await run(started.command, { ...env(), ...started.env });
    await started.finish();
    await new Promise((resolve) => setImmediate(resolve));
    const isKilled = victim.exitCode !== null || victim.signalCode !== null;
    const hasChanged = snapshot(profile) !== before;
    if (isKilled || hasChanged || connections > connected || LEAKS.some((leak) => output.includes(leak)))
      effective.push(command);
    if (isKilled) victim = startVictim();
    if (snapshot("look") !== everythingBefore) reset();
  }
  return effective;
}

const tables = usableFolder(join(folder, "tables"));
const found = findEngines({ tables });
const viaPerl = findEngines({ tables, launcher: () => ({ why: "not used" }), perl: findPerl });
const report: Record<string, { tried: number; effective: string[] }> = {};

async function tryEngine(profile: ConfinementProfile, engine: Engine | undefined, limit?: number): Promise<void> {
  if (!engine || testEngine(engine, profile, tables) !== undefined) return;
  const policy = createPathPolicy({ workspace, privatePaths: [state, join(folder, "tables")] });
  const sandbox = openSandbox({ files: createFiles(policy), engines: () => ({ [profile]: engine, tests: [] }), home });
  const effective = await attack(
    profile,
    (command) => sandbox.confine(profile, command, { cwd: workspace, terminal: false }),
    limit,
  );
  report[`${profile} ${engine.name}`] = { tried: Math.min(ATTACKS[profile].length, limit ?? Infinity), effective };
  sandbox.close();
}

try {
  for (const profile of hasControl === undefined ? [] : (["look", "work"] as const)) {
    const effective = await attack(profile, async (command) => ({ command, env: {}, finish: async () => undefined }));
    report[`${profile} unconfined`] = { tried: ATTACKS[profile].length, effective };
  }
  const { look } = found;
  await tryEngine("look", look);
  await tryEngine("look", viaPerl.look, 8);
  await tryEngine("work", look && { ...look, name: "namespaces" });
  await tryEngine("work", look && { ...look, name: "landlock" });
  await tryEngine("work", look && { ...look, name: "bubblewrap", bubblewrap: "/usr/bin/bwrap" }, 8);
  await tryEngine("work", viaPerl.work, 8);
  process.stdout.write(JSON.stringify({ uid: process.getuid?.(), report }));
} finally {
  victim.kill("SIGKILL");
  tcp.close();
  unix.close();
}
