// A workspace, a home folder and Haft's state with secrets in all of them, and everything an attack could reach.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import process from "node:process";

/** What a secret contains. Only those of the workspace may be read in `work`. */
const KINDS = ["workspace", "home", "state", "outside", "memory", "argument", "variable"] as const;
type Kind = (typeof KINDS)[number];

/** The names of attacks that saw something that the fixture did not plant. */
const MARK_IN_OUTPUT = /CANARY(?:[A-Z]+|workspace(?:NEW|GIT))\b/;

export class Fixture {
  readonly base: string;
  readonly canaries: Readonly<Record<Kind, string>>;
  readonly mark = `haft-attack-${randomBytes(4).toString("hex")}`;
  readonly #forms: readonly { kind: Kind; text: string }[];

  constructor(base: string) {
    this.base = base;
    const token = (kind: Kind): string => `CANARY${kind}${randomBytes(5).toString("hex")}`;
    this.canaries = {
      workspace: token("workspace"),
      home: token("home"),
      state: token("state"),
      outside: token("outside"),
      memory: token("memory"),
      argument: token("argument"),
      variable: token("variable"),
    };
    this.#forms = KINDS.flatMap((kind) => formsOf(this.canaries[kind]).map((text) => ({ kind, text })));
  }

  get workspace(): string {
    return join(this.base, "ws");
  }

  get home(): string {
    return join(this.base, "home");
  }

  get outside(): string {
    return join(this.base, "outside");
  }

  get state(): string {
    return join(this.base, "state");
  }

  /** Secrets that attacks try to read. */
  get secrets(): string[] {
    const { home, state, outside } = this;
    return [".env", join(home, ".netrc"), join(state, "haft/ws/haft.db"), join(outside, "file.txt")];
  }

  /** Files that attacks try to change. In `work` the workspace itself may change. */
  get targets(): string[] {
    return ["a.txt", join(this.outside, "file.txt"), join(this.home, ".bashrc")];
  }

  /** Removes what is there and writes everything again. */
  plant({ siblings = 0 }: { siblings?: number } = {}): void {
    const { workspace, home, outside, state, canaries } = this;
    for (const folder of [workspace, home, outside, join(state, "haft/ws")])
      rmSync(folder, { recursive: true, force: true });
    const secret = (kind: Kind): string => `TOKEN=${canaries[kind]}\n`;
    const put = (root: string, files: Record<string, string>): void => {
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(root, name)), { recursive: true });
        writeFileSync(join(root, name), text);
      }
    };
    const deep = Array.from({ length: 40 }, (_, index) => `d${index}`).join("/");
    put(workspace, {
      "a.txt": "hello\nworld\n",
      "same.txt": "hello\nworld\n",
      "build.sh": "#!/bin/sh\necho built\n",
      "py.py": "x = 1\n",
      "src/a.txt": "hello\n",
      "src/b.txt": "other\n",
      "package.json": JSON.stringify({ name: "x", version: "1.0.0", scripts: EVIL_SCRIPTS }),
      Makefile: "evil:\n\ttouch $(OUT)/made a.txt\n\tcat $(HOME)/.netrc .env\n",
      "node_modules/pkg/index.js": "module.exports = 1;\n",
      "vendor/plain.cfg": "[core]\n\tbare = false\n",
      ".vscode/settings.json": "{}\n",
      ".claude/settings.json": "{}\n",
      ".mcp.json": "{}\n",
      "haft.config.json": "{}\n",
      ".gitmodules": "",
    });
    put(workspace, repository(".git", "[core]\n\trepositoryformatversion = 0\n"));
    put(workspace, repository(".git/modules/sub", remoteWith(canaries.workspace)));
    put(workspace, repository("vendor/lib/.git", remoteWith(canaries.workspace)));
    for (const name of [
      ...[".env", "src/.env", "src/server.key", ".ENV", "Server.PEM", ".Env.Local", "secrets.yaml", ".npmrc"],
      ...[`deep/${deep}/.env`, "src/line\nbreak/.env", "cafe\u0301/.env"],
      ...["keys/.ssh/deploy", "keys/.aws/credentials"],
    ])
      put(workspace, { [name]: secret("workspace") });
    mkdirSync(join(workspace, "empty"));
    for (const name of ["hard", "src/hard2", "node_modules/pkg/hard", ".git/hard"])
      linkSync(join(workspace, ".env"), join(workspace, name));
    linkSync(join(workspace, ".git/config"), join(workspace, "further-name"));
    for (let index = 0; index < siblings; index++) writeFileSync(join(workspace, `sibling-${index}.txt`), "");
    put(home, { ".bashrc": "# plain\n", ".gitconfig": "[user]\n\tname = x\n", "tools/app/bin/tool": "#!/bin/sh\n" });
    for (const name of [
      ...[".ssh/id_ed25519", ".aws/credentials", ".netrc", ".npmrc", ".git-credentials", ".bash_history"],
      ...["documents/private.txt", "tools/app/.env", "tools/app/config/.env"],
    ])
      put(home, { [name]: name === ".netrc" ? `machine h login u password ${canaries.home}\n` : secret("home") });
    mkdirSync(join(home, ".npm"), { recursive: true });
    put(outside, { "file.txt": `hello\n${canaries.outside}\n`, held: "held\n" });
    mkdirSync(join(outside, "empty"));
    mkdirSync(join(outside, "open"), { mode: 0o777 });
    put(join(state, "haft/ws"), { "haft.db": secret("state") });
    symlinkSync(".env", join(workspace, "link_env"));
    symlinkSync(join(home, ".ssh/id_ed25519"), join(workspace, "link_key"));
    symlinkSync(outside, join(workspace, "link_out"));
  }

  /** Everything below the fixture, or what must stay as it is in `work`. The time of change covers mode, owner and attributes. */
  ledger(profile: "look" | "work"): Map<string, string> {
    const entries = new Map<string, string>();
    const visit = (path: string): void => {
      if (path === join(this.state, "haft/sandbox")) return;
      // `work` may write the caches of package managers.
      if (profile === "work" && path === join(this.home, ".npm")) return;
      const info = lstatSync(path, { throwIfNoEntry: false, bigint: true });
      if (!info) return;
      const inWorkspace = path.startsWith(`${this.workspace}/`) || path === this.workspace;
      const isCompared = profile === "look" || !inWorkspace;
      if (isCompared && !isOwnFolder(path, this)) {
        entries.set(path, contentOf(path));
        const { mode, uid, gid, mtimeNs, ctimeNs, ino } = info;
        entries.set(`attributes of ${path}`, [mode, uid, gid, mtimeNs, ctimeNs, ino].join(" "));
      }
      if (!isCompared && isProtected(path.slice(this.workspace.length + 1)))
        entries.set(path, `${info.isFile() ? info.mode & 0o7777n : ""} ${contentOf(path)}`);
      if (info.isDirectory()) for (const name of readdirSync(path)) visit(join(path, name));
    };
    visit(this.base);
    return entries;
  }

  /** The secrets in an output, in any of the forms that programs write. */
  leaksIn(output: string, profile: "look" | "work"): string[] {
    const found = new Set<string>();
    for (const { kind, text } of this.#forms)
      if (output.includes(text) && !(profile === "work" && kind === "workspace")) found.add(kind);
    const [mark] = MARK_IN_OUTPUT.exec(output) ?? [];
    if (mark !== undefined && !(profile === "work" && mark.startsWith("CANARYworkspace"))) found.add(mark);
    return [...found];
  }
}

const EVIL_SCRIPTS = {
  test: "touch $OUT/made a.txt; cat .env $HOME/.netrc",
  evil: "touch $OUT/made a.txt; cat .env $HOME/.netrc",
};

function repository(folder: string, config: string): Record<string, string> {
  return {
    [`${folder}/HEAD`]: "ref: refs/heads/main\n",
    [`${folder}/config`]: config,
    [`${folder}/hooks/pre-commit.sample`]: "#!/bin/sh\n",
    [`${folder}/info/exclude`]: "",
    [`${folder}/objects/info/keep`]: "",
    [`${folder}/refs/heads/keep`]: "",
  };
}

function remoteWith(token: string): string {
  return `[remote "origin"]\n\turl = https://user:${token}@host.example/x.git\n`;
}

/** A folder whose time changes because Haft creates tables and this fixture its sockets in it. */
function isOwnFolder(path: string, { base, state }: Fixture): boolean {
  return path === base || path === state || path === join(state, "haft") || path.startsWith(join(base, "run"));
}

/** Paths of a workspace that stay unchanged in `work`. */
function isProtected(path: string): boolean {
  const [first = ""] = path.split("/");
  if (/^(\.vscode|\.claude|\.idea|\.cursor|\.codex|\.gemini|\.haft|\.mcp\.json|haft\.config\..*)$/i.test(first))
    return true;
  if (/^\.(bashrc|profile|zshrc|gitmodules)$/.test(first)) return true;
  const [, inGit = ""] = /(?:^|\/)\.git\/(?:modules\/sub\/)?(.+)$/i.exec(path) ?? [];
  // A new repository may be created, without hooks and programs.
  if (/^n\/|^vendor\/new\//.test(path)) return /hooks\/|fsmonitor/.test(path);
  return /^(hooks|info)(\/|$)|^(config|config\.worktree|commondir)$/.test(inGit);
}

function contentOf(path: string): string {
  const info = lstatSync(path);
  if (info.isSymbolicLink()) return `link to ${readlinkSync(path)}`;
  if (info.isDirectory()) return `folder with ${readdirSync(path).join("/")}`;
  return info.isFile() ? readFileSync(path, "latin1") : "other";
}

/** As it is, reversed, in hexadecimal, and in base64 at each of its three positions. */
function formsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const shifted = [0, 1, 2].map((before) =>
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .slice(4, -4),
  );
  return [text, [...text].toReversed().join(""), bytes.toString("hex"), ...shifted];
}

/** Starts with what another process has in memory, variables and arguments; prints what reaches it. */
const VICTIM = `
use strict; use Socket; use IO::Select; $| = 1;
my ($path, undef, $held) = @ARGV; my $secret = $ENV{SECRET};
socket(my $s, AF_UNIX, SOCK_DGRAM, 0); bind($s, sockaddr_un($path)); chmod 0666, $path;
open(my $file, '<', $held);
my $shm = shmget(0, 64, 0600 | 01000); shmwrite($shm, $secret, 0, 64);
my $msg = msgget(0, 0600 | 01000); msgsnd($msg, pack('l! a*', 1, $secret), 0);
my $sem = semget(0, 1, 0600 | 01000);
for my $name (qw(HUP INT QUIT USR1 USR2 TERM CONT IO URG WINCH ALRM PIPE)) { $SIG{$name} = sub { print "signal $name\\n" } }
print "ready $shm $msg $sem\\n";
my $select = IO::Select->new($s, \\*STDIN);
while (1) {
  for my $ready ($select->can_read(1)) {
    if ($ready == $s) { recv($s, my $data, 100, 0); print "datagram\\n" }
    elsif (!sysread(STDIN, my $line, 100)) { shmctl($shm, 0, 0); msgctl($msg, 0, 0); semctl($sem, 0, 0, 0); exit }
    else { print "alive\\n" }
  }
}
`;

/** What attacks try to reach besides files: listeners and another process of the same user. */
export class Surroundings {
  readonly #fixture: Fixture;
  readonly #events: string[] = [];
  readonly #close: (() => void)[] = [];
  #victim: ChildProcess | undefined;
  #before = "";
  env: Record<string, string> = {};

  constructor(fixture: Fixture) {
    this.#fixture = fixture;
  }

  async start(): Promise<void> {
    const run = join(this.#fixture.base, "run");
    mkdirSync(run, { recursive: true });
    const abstract = this.#fixture.mark;
    const tcp = await this.#listen({ port: 0, host: "127.0.0.1" }, "TCP");
    await this.#listen({ path: join(run, "stream.sock") }, "UNIX");
    if (process.platform === "linux") await this.#listen({ path: `\0${abstract}` }, "abstract UNIX");
    const udp = createSocket("udp4").on("message", () => this.#events.push("UDP"));
    await new Promise<void>((resolve) => udp.bind(0, "127.0.0.1", resolve));
    this.#close.push(() => udp.close());
    this.env = {
      TCP: String(tcp),
      UDP: String(udp.address().port),
      SOCK: join(run, "stream.sock"),
      DGRAM: join(run, "datagram.sock"),
      ABSTRACT: abstract,
    };
    await this.#startVictim();
  }

  /** What reached a listener or the process since the last call. */
  async reached(): Promise<string[]> {
    await this.#answer();
    const found = this.#events.splice(0).filter((event) => event !== "alive");
    const after = this.#victimFacts();
    if (after !== this.#before) found.push(`the process changed: ${difference(this.#before, after)}`);
    if (found.length > 0) await this.#startVictim();
    return [...new Set(found)];
  }

  async stop(): Promise<void> {
    await this.#endVictim();
    for (const close of this.#close) close();
  }

  async #listen(address: { port: number; host: string } | { path: string }, name: string): Promise<number> {
    const server = createServer((socket) => {
      this.#events.push(name);
      socket.on("error", () => undefined).end();
    });
    await new Promise<void>((resolve) => server.listen(address, resolve));
    this.#close.push(() => server.close());
    const at = server.address();
    return typeof at === "object" && at ? at.port : 0;
  }

  async #startVictim(): Promise<void> {
    await this.#endVictim();
    const { fixture, name } = { fixture: this.#fixture, name: `${this.#fixture.mark}-victim` };
    rmSync(this.env["DGRAM"]!, { force: true });
    const held = join(fixture.outside, "held");
    const args = ["-e", VICTIM, this.env["DGRAM"]!, "-", held, name, fixture.canaries.argument];
    const child = spawn("perl", args, {
      stdio: ["pipe", "pipe", "ignore"],
      detached: true,
      cwd: fixture.outside,
      env: { SECRET: fixture.canaries.memory, PATH: process.env["PATH"] },
    });
    this.#victim = child;
    const [, shm, msg, sem] = await new Promise<string[]>((resolve, reject) => {
      child.once("error", reject);
      child.stdout!.setEncoding("utf8").on("data", (text: string) => {
        for (const line of text.split("\n").filter(Boolean)) {
          if (line.startsWith("ready")) resolve(line.split(" "));
          else this.#events.push(line);
        }
      });
    });
    child.once("exit", () => this.#events.push("the process ended"));
    Object.assign(this.env, { VICTIM: String(child.pid), VICTIMNAME: name, SHM: shm, MSG: msg, SEM: sem });
    this.#before = this.#victimFacts();
  }

  /** Waits until the process has handled what was sent to it. */
  async #answer(): Promise<void> {
    const child = this.#victim;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.stdin!.write("x\n");
    const until = Date.now() + 2000;
    while (!this.#events.includes("alive") && child.exitCode === null && child.signalCode === null) {
      if (Date.now() > until) {
        this.#events.push("the process was stopped");
        child.kill("SIGCONT");
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  async #endVictim(): Promise<void> {
    const child = this.#victim;
    this.#victim = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.removeAllListeners("exit");
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.stdout!.removeAllListeners("data");
    child.kill("SIGCONT");
    child.stdin!.end();
    await ended;
  }

  /** Limits, priority and name of the process, and its System V objects. */
  #victimFacts(): string {
    const { VICTIM: pid = "", SHM: shm = "", MSG: msg = "", SEM: sem = "" } = this.env;
    const read = (path: string): string => {
      try {
        return readFileSync(path, "utf8");
      } catch {
        return "";
      }
    };
    const stat = read(`/proc/${pid}/stat`)
      .replace(/^.*\) /, "")
      .split(" ");
    const status = read(`/proc/${pid}/status`).match(/^(Name|Cpus_allowed|TracerPid):.*$/gm);
    const objects = [
      ["shm", shm],
      ["msg", msg],
      ["sem", sem],
    ].map(([kind, id]) =>
      read(`/proc/sysvipc/${kind}`)
        .split("\n")
        .filter((line) => line.trim().split(/\s+/)[1] === id),
    );
    const rest = [
      read(`/proc/${pid}/limits`),
      read(`/proc/${pid}/oom_score_adj`),
      read(`/proc/${pid}/coredump_filter`),
    ];
    return JSON.stringify([stat[15], stat[16], stat[37], stat[38], status, objects, ...rest], undefined, 1);
  }
}

function difference(before: string, after: string): string {
  const known = new Set(before.split("\n"));
  return after
    .split("\n")
    .filter((line) => !known.has(line))
    .join("; ")
    .slice(0, 300);
}
