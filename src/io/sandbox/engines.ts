import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { release } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { errorCode } from "../../core/error.ts";
import { buildVersionTable, type Machine, type NamespaceRules } from "./build-table.ts";
import type { Architecture } from "./system-calls.ts";

/**
 * How commands are confined.
 * `namespaces`: the launcher with namespaces, Landlock and seccomp. `landlock`: the launcher without namespaces.
 * `bubblewrap`: bubblewrap's namespaces, with the launcher inside. `perl`: Landlock and seccomp, set up by perl.
 * `seatbelt`: the sandbox of macOS (not tested).
 */
export type EngineName = "namespaces" | "landlock" | "bubblewrap" | "perl" | "seatbelt";

/** What executes tables: the launcher, or perl. */
export type TableRunner = { command: readonly string[]; why?: undefined } | { command?: undefined; why: string };

/** The architecture of this process, if there is a launcher for it. */
function launcherArchitecture(): Architecture | undefined {
  return process.arch === "x64" || process.arch === "arm64" ? process.arch : undefined;
}

/** The launcher of this package. An application that was bundled without it has none. */
export function findLauncher(from?: string): TableRunner {
  return findNative("launch", from);
}

/** A native program of this package: `launch` or `hook`. */
export function findNative(program: string, from: string = fileURLToPath(import.meta.url)): TableRunner {
  const name = `${program}-${process.arch}`;
  const folders: string[] = [];
  for (let folder = dirname(from); folder !== dirname(folder); folder = dirname(folder)) folders.push(folder);
  try {
    folders.push(dirname(createRequire(from).resolve("haft/package.json")));
  } catch {
    // The package is not installed here, for example in a bundle.
  }
  const file = folders.map((folder) => join(folder, "native", name)).find((path) => existsSync(path));
  if (file === undefined) return { why: `native/${name} of the package haft was not found` };
  try {
    accessSync(file, constants.X_OK);
    return { command: [file] };
  } catch {
    return { why: `${file} is not executable (chmod +x helps, unless its file system is mounted with noexec)` };
  }
}

export function findPerl(): TableRunner {
  const program = ["/usr/bin/perl", "/bin/perl", "/usr/local/bin/perl"].find((path) => existsSync(path));
  if (program === undefined) return { why: "perl is not installed" };
  return { command: [program, "-e", PERL_LAUNCHER] };
}

const BUBBLEWRAP_PLACES = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

export function findBubblewrap(): string | undefined {
  return BUBBLEWRAP_PLACES.find((path) => existsSync(path));
}

/** Executes the same table as `native/launch.c`, without supervision. For machines that cannot execute the launcher. */
const PERL_LAUNCHER = `
use strict;
my $file = shift @ARGV;
open(my $handle, '<:raw', $file) or die "haft-launch: cannot read the table\\n";
my $table = do { local $/; <$handle> };
close $handle;
my ($base, $length) = (0x1000000000, length $table);
my $start = unpack('J', pack('P', $table));
for (my $at = 0; ; $at += 72) {
  my ($number, @arguments) = unpack('q q6', substr($table, $at, 56));
  my ($store, $skip) = unpack('q q', substr($table, $at + 56, 16));
  if ($number == -1) { exec { $ARGV[0] } @ARGV; exit 125 }
  if ($number < 0) { print STDERR "haft-launch: perl cannot supervise\\n"; exit 125 }
  my $inside = sub { $_[0] >= $base && $_[0] < $base + $length };
  # The description of a filter points to its instructions.
  if ($number == 317 || $number == 277) {
    my $pointer = $arguments[2] - $base + 8;
    my $target = unpack('q', substr($table, $pointer, 8));
    substr($table, $pointer, 8, pack('q', $target - $base + $start)) if $inside->($target);
  }
  @arguments = map { $inside->($_) ? $_ - $base + $start : $_ } @arguments;
  my $result = syscall($number, @arguments);
  substr($table, $store - $base, 4, pack('l', $result)) if $inside->($store);
  if ($result < 0) {
    if ($skip < 0) { printf STDERR "haft-launch: cannot confine the command (entry %06d, %s)\\n", $at / 72, $!; exit 125 }
    $at += 72 * $skip;
  }
}
`;

/** Asks the kernel which version of Landlock it has, by running a table. */
export function findMachine(runner: TableRunner, tables: TableFolder): { machine: Machine } | { why: string } {
  const architecture = launcherArchitecture();
  if (process.platform !== "linux") return { why: `there is no Landlock on ${process.platform}` };
  if (architecture === undefined) return { why: `there is no launcher for ${process.arch}` };
  if (runner.command === undefined) return { why: runner.why };
  const table = tables.write(buildVersionTable(architecture));
  const result = runSync([...runner.command, table, "/bin/true"]);
  const { uid, gid } = currentUser();
  // The exit code is the version. 125 is the launcher's own error.
  if (result.status !== null && result.status >= 1 && result.status < 100)
    return { machine: { architecture, abi: result.status, uid, gid, hasOwnProcessNumbers: isKernelSince(6, 14) } };
  return { why: describeFailure(result) };
}

function isKernelSince(major: number, minor: number): boolean {
  const [ownMajor = 0, ownMinor = 0] = release()
    .split(".")
    .map((part) => Number.parseInt(part, 10));
  return ownMajor > major || (ownMajor === major && ownMinor >= minor);
}

/** Root and ordinary users need other rules. */
function currentUser(): { uid: number; gid: number } {
  return { uid: process.geteuid?.() ?? -1, gid: process.getegid?.() ?? -1 };
}

const TRIAL_MS = 10_000;

export function runSync(command: readonly string[], options: { cwd?: string } = {}): SpawnSyncReturns<string> {
  const [program = "", ...args] = command;
  return spawnSync(program, args, { ...options, timeout: TRIAL_MS, encoding: "utf8", env: {} });
}

/** In words, why a trial failed. */
export function describeFailure(result: SpawnSyncReturns<string>): string {
  const code = errorCode(result.error);
  if (code === "EACCES") return "the launcher may not be executed here (its file system may be mounted with noexec)";
  if (code === "ENOEXEC") return "the launcher is built for another processor";
  if (result.error) return `the launcher cannot be started (${code ?? result.error.message})`;
  const [, errno] = /errno (\d+)/.exec(result.stderr) ?? [];
  if (errno !== undefined && ["038", "095"].includes(errno)) return "this kernel has no Landlock, or it is disabled";
  if (errno !== undefined) return `the kernel refused to confine a command (error ${Number(errno)})`;
  return (
    result.stderr.trim().split("\n").at(-1) || `a trial ended with ${result.signal ?? `exit code ${result.status}`}`
  );
}

/** An unused table is removed after this time. Tables in use are written again. */
const TABLE_LIFETIME_MS = 24 * 3_600_000;

/** Keeps tables as files, named by their content. Confined commands cannot reach the folder. */
export class TableFolder {
  readonly #folder: string;
  #isReady = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get path(): string {
    if (!this.#isReady) {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      this.#isReady = true;
    }
    return this.#folder;
  }

  /** Returns the path of the file. */
  write(table: Buffer): string {
    const name = createHash("sha256").update(table).digest("hex").slice(0, 32);
    const path = join(this.path, `${name}.table`);
    if (existsSync(path)) return path;
    this.#removeOld();
    const unfinished = `${path}.${process.pid}`;
    writeFileSync(unfinished, table, { mode: 0o600 });
    renameSync(unfinished, path);
    return path;
  }

  #removeOld(): void {
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      const info = statSync(path, { throwIfNoEntry: false });
      if (info?.isFile() && Date.now() - info.mtimeMs > TABLE_LIFETIME_MS) rmSync(path, { force: true });
    }
  }
}

/** Separate processes, network, users and IPC; no privileges; killed together with its parent. */
const BUBBLEWRAP_NAMESPACES = [
  ...["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"],
  ...["--disable-userns", "--cap-drop", "ALL", "--die-with-parent"],
];

/** The kernel allows root to write here even inside a namespace. */
const KERNEL_SETTINGS = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"];
/** Where bubblewrap shows the table to the launcher. */
const TABLE_INSIDE = "/tmp/.haft-table";
/** The same for the launcher, which may be below /tmp itself. */
const LAUNCHER_INSIDE = "/tmp/.haft-launch";

export interface BubblewrapRules extends Pick<
  NamespaceRules,
  "pinned" | "readOnly" | "hiddenFiles" | "hiddenFolders" | "placeholder" | "ownNetwork"
> {
  program: string;
  /** Only needed below the folders for temporary files, which are empty in the sandbox. */
  read?: readonly string[];
  write: readonly string[];
  terminal: boolean;
  cwd: string;
  /** The table for the launcher, and the launcher. */
  table: string;
  launcher: string;
}

/** Later mounts cover earlier ones, so guarded paths come last. */
export function bubblewrapCommand(rules: BubblewrapRules): string[] {
  const { program, terminal, ownNetwork, cwd, table, launcher } = rules;
  return [
    program,
    ...BUBBLEWRAP_NAMESPACES,
    ...(ownNetwork ? ["--unshare-net"] : []),
    // A new session would detach the terminal.
    ...(terminal ? [] : ["--new-session"]),
    ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp"],
    ...KERNEL_SETTINGS.flatMap((path) => ["--ro-bind-try", path, path]),
    ...(rules.read ?? [])
      .filter((path) => /^\/(var\/)?tmp\/./.test(path))
      .flatMap((path) => ["--ro-bind-try", path, path]),
    ...rules.write.flatMap((path) => ["--bind-try", path, path]),
    ...rules.pinned.flatMap((path) => ["--bind-try", path, path]),
    ...rules.readOnly.flatMap((path) => ["--ro-bind-try", path, path]),
    ...rules.hiddenFiles.flatMap((path) => ["--ro-bind", rules.placeholder ?? "/dev/null", path]),
    ...rules.hiddenFolders.flatMap((path) => ["--tmpfs", path, "--remount-ro", path]),
    ...["--ro-bind", table, TABLE_INSIDE, "--ro-bind", launcher, LAUNCHER_INSIDE, "--chdir", cwd, "--"],
    ...[LAUNCHER_INSIDE, TABLE_INSIDE],
  ];
}

/** The program of macOS that starts commands in a sandbox. */
export const SEATBELT = "/usr/bin/sandbox-exec";

/** Real paths. */
export interface SeatbeltRules {
  read: readonly string[];
  write: readonly string[];
  closed: readonly string[];
  readOnly: readonly string[];
  network: boolean;
}

/** Not tested: written from the documentation of sandbox profiles. The last matching rule decides. */
export function seatbeltCommand(rules: SeatbeltRules): string[] {
  const section = (action: string, list: readonly string[]): string[] =>
    list.length === 0 ? [] : [`(${action} ${list.map((path) => `(subpath ${JSON.stringify(path)})`).join(" ")})`];
  const profile = [
    "(version 1)",
    "(deny default)",
    "(allow process-fork process-exec sysctl-read mach-lookup ipc-posix-sem file-read-metadata)",
    "(allow signal (target same-sandbox))",
    "(allow file-read*)",
    '(deny file-read-data (subpath "/Users") (subpath "/private/var/root") (subpath "/private/var/folders"))',
    '(allow file-read* file-write-data file-ioctl (literal "/dev/null") (literal "/dev/tty"))',
    ...section("allow file-read*", rules.read),
    ...section("allow file-read* file-write*", rules.write),
    ...section("deny file-write*", rules.readOnly),
    ...section("deny file-read* file-write* process-exec", rules.closed),
    ...(rules.network ? ["(allow network*)"] : []),
  ];
  return [SEATBELT, "-p", profile.join("\n")];
}
