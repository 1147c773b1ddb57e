import { type CallArgument, CallTable, type TableAddress } from "./call-table.ts";
import { ACCESS, addLandlock, type PathRule, scopeSignals } from "./landlock.ts";
import { assembleFilter, encodeFilter, FAMILY, type SystemCallRules, WATCHED_CALLS } from "./seccomp.ts";
import {
  type Architecture,
  callNumber,
  O_CLOEXEC,
  O_NOFOLLOW,
  O_PATH,
  requiredCall,
  type SystemCall,
} from "./system-calls.ts";

/** What a confined program may do, in terms of the kernel. All paths are real. */
export interface TableRules {
  paths: readonly PathRule[];
  /** Whether mode, owner and times of files may change. */
  metadata: boolean;
  /** Whether it may open connections. In a namespace of its own it has only its own loopback. */
  network: "none" | "open";
  /** Max memory of each process. */
  memoryBytes: number;
  /** Max size of a file that it writes. Default: no limit. */
  fileBytes?: number;
  /** Nobody has approved it: it gets no memory that cannot be attributed to it, and ends first if memory runs out. */
  isUnasked?: boolean;
  /** Max processes of its user, with all that run already. Does not bind root. Default: no limit. */
  userProcesses?: number;
  /** Whether it is killed when the process that started it ends. */
  endsWithParent?: boolean;
  namespaces?: NamespaceRules;
}

/** Shows a folder or file at another place. */
export interface Bind {
  from: string;
  to: string;
  isReadOnly: boolean;
}

/** Shows a folder whose changes go to another one. */
export interface Overlay {
  /** The folder; it stays unchanged. */
  lower: string;
  /** Empty folders on one file system. Their paths have no comma, colon or backslash. */
  upper: string;
  work: string;
}

/** What is shown instead of hidden paths, each an empty file or folder of its own. */
export interface WatchedPlaceholders {
  binds: readonly Bind[];
  /** The file that gets what the launcher has seen; see `readRecords`. */
  report: string;
  /** Whether it also gets what the filter of system calls refused, and the counters of the network. */
  isReported: boolean;
}

/** An overlay of a folder that a command must not write: what it writes there is noticed and thrown away. */
export interface OutsideOverlay extends Overlay {
  /** What is mounted inside, which an overlay would not show. */
  inner: readonly string[];
}

/** A folder of which only some paths are shown. Everything else in it is absent. */
export interface CoveredFolder {
  path: string;
  /** An empty folder that is shown there and takes what the command writes. Default: nothing can be written. */
  writtenTo?: string;
  /** What is shown below it, with everything that is mounted there. */
  shown: readonly (Pick<Bind, "from" | "to"> & { isFolder: boolean })[];
}

export interface NamespaceRules {
  /** Mounted first, in this order. */
  overlays?: readonly Overlay[];
  /** Mounted after them. */
  outside?: readonly OutsideOverlay[];
  /** All other paths are mounted read-only: Landlock does not see changes of modes, owners and times. */
  writable: readonly string[];
  /** May be changed but not replaced by another folder. */
  pinned: readonly string[];
  readOnly: readonly string[];
  hiddenFiles: readonly string[];
  hiddenFolders: readonly string[];
  /** An empty file that is shown for hidden files. */
  placeholder?: string;
  watched?: WatchedPlaceholders;
  covered?: CoveredFolder;
  /** Mounted in this order. */
  binds: readonly Bind[];
  /** Whether it sees the processes of the machine instead of only its own. */
  seesProcesses?: boolean;
  ownNetwork: boolean;
  /** The process whose network it joins instead; see `SharedNetwork`. */
  joinedNetwork?: number;
  /** Max processes of the namespace; for root only if the namespace has numbers of its own, see `Machine`. */
  processes: number;
}

/** What the kernel of this machine offers to this user. */
export interface Machine {
  architecture: Architecture;
  /** Version of Landlock. */
  abi: number;
  uid: number;
  gid: number;
  /** Whether each namespace of processes has its own highest number (Linux 6.14). Before, it is that of the machine. */
  hasOwnProcessNumbers?: boolean;
}

/** Calls that must fail in a confined process. */
export interface SelfTestPaths {
  secret: string;
  outside: string;
  /** A process outside. */
  process: number;
}

/** A descriptor that every descendant of a command inherits; it shows when the last one has ended. */
const LIFELINE_DESCRIPTOR = 20;
const AT_FDCWD = -100;
const PR_SET_PDEATHSIG = 1;
const PR_CAPBSET_DROP = 24;
const PR_SET_NO_NEW_PRIVS = 38;
const SIGKILL = 9;
/** CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID: without them root cannot use files of other users. */
const CAPABILITIES_OF_ROOT = 0x1f;
const LAST_CAPABILITY = 40;
const CAPABILITY_VERSION = 0x20080522;
const RLIMIT = { file: 1, data: 2, core: 4, processes: 6, openFiles: 7 } as const;
/** Each may hold a buffer in the kernel. */
const MAX_OPEN_FILES = 4096;
/** The part of `memoryBytes` that may be in /dev/shm, and the number of files there. */
const SHARED_MEMORY_PART = 1 / 8;
const MAX_SHARED_FILES = 65_536;
/** The kernel gives no lower number again once it has reached the highest one. */
const RESERVED_NUMBERS = 300;
/** Too small for a file. Only with 1, and not with 0, the kernel also starts no program that collects core files. */
const NO_CORE = 1;
const SECCOMP_SET_MODE_FILTER = 1;
const NEW_LISTENER = 8;

/** The table that confines a program, and with `selfTest` then proves that it is confined. */
export function buildTable(
  machine: Machine,
  rules: TableRules,
  selfTest?: SelfTestPaths,
  { supervise = true }: { supervise?: boolean } = {},
): Buffer {
  const builder = new TableBuilder(machine);
  builder.closeDescriptors();
  const { endsWithParent = false } = rules;
  if (rules.isUnasked) builder.endFirst();
  if (rules.namespaces) builder.enterNamespaces(rules.namespaces, { endsWithParent, memoryBytes: rules.memoryBytes });
  else if (endsWithParent) builder.endWithParent();
  builder.limit(RLIMIT.data, rules.memoryBytes);
  builder.limit(RLIMIT.core, NO_CORE);
  if (rules.fileBytes !== undefined) builder.limit(RLIMIT.file, rules.fileBytes);
  if (rules.userProcesses !== undefined) builder.limit(RLIMIT.processes, rules.userProcesses);
  if (rules.isUnasked) builder.limit(RLIMIT.openFiles, MAX_OPEN_FILES);
  builder.dropPrivileges();
  const ownNetwork = rules.namespaces?.ownNetwork === true;
  builder.restrictFiles(rules.paths, { network: ownNetwork || rules.network === "open" });
  const ownProcesses = rules.namespaces !== undefined && rules.namespaces.seesProcesses !== true;
  // With namespaces process 1 kills what is left; else the scope of signals (ABI 6) limits whom the launcher can kill.
  if (supervise && !ownProcesses && machine.abi >= 6) {
    builder.superviseFromOutside();
    if (endsWithParent) builder.endWithParent();
  }
  builder.filterCalls({
    metadata: rules.metadata,
    memoryFiles: !rules.isUnasked,
    socketFamilies: ownNetwork || rules.network === "open" ? [FAMILY.ipv4, FAMILY.ipv6, FAMILY.netlink] : [],
    signals: ownProcesses || machine.abi >= 6 || rules.metadata,
    landlockChecksTruncation: machine.abi >= 3,
    isReported: rules.namespaces?.watched?.isReported,
  });
  if (selfTest) builder.tryForbidden(selfTest, rules);
  return builder.table.build();
}

/** A table that ends with the version of Landlock as its exit code. */
export function buildVersionTable(architecture: Architecture): Buffer {
  const table = new CallTable();
  table.exitWithResult(
    requiredCall(architecture, "landlock_create_ruleset"),
    [0, 0, 1],
    requiredCall(architecture, "exit_group"),
  );
  return table.build();
}

/** The attribute of a folder in an upper layer that hides the same folder of the lower one. */
function opaqueAttribute({ uid }: Machine): string {
  return uid === 0 ? "trusted.overlay.opaque" : "user.overlay.opaque";
}

/** A table that prints one byte for each folder: `y` if it has the attribute with that value. */
export function buildOpaqueTable(machine: Machine, folders: readonly string[]): Buffer {
  const number = (name: SystemCall): number => requiredCall(machine.architecture, name);
  const table = new CallTable();
  const values = table.data(Buffer.alloc(folders.length, "n"));
  const attribute = table.text(opaqueAttribute(machine));
  for (const [index, folder] of folders.entries())
    table.try(number("lgetxattr"), [table.text(folder), attribute, values.plus(index), 1]);
  table.call(number("write"), [1, values, folders.length]);
  table.call(number("exit_group"), [0]);
  return table.build();
}

/** A port of the loopback of a shared network. */
export const PROXY_PORT = 3128;

/** Creates a network with its own loopback, listens on `PROXY_PORT` in it and sends the socket, until its input is closed. */
export function buildNetworkTable(machine: Machine): Buffer {
  const builder = new TableBuilder(machine);
  builder.shareNetwork();
  return builder.table.build();
}

class TableBuilder {
  readonly table = new CallTable();
  readonly #machine: Machine;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** Afterwards the next descriptors are 3 and 4. */
  closeDescriptors(): void {
    const last = 0xffffffff;
    this.table.call(this.#number("close_range"), [3, LIFELINE_DESCRIPTOR - 1, 0]);
    this.table.call(this.#number("close_range"), [LIFELINE_DESCRIPTOR + 1, last, 0]);
  }

  /** A new process does not inherit it, and neither does one that has entered a namespace of users. */
  endWithParent(): void {
    this.table.call(this.#number("prctl"), [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0]);
  }

  /** If memory runs out, the kernel ends this first. */
  endFirst(): void {
    this.#tryWrite("/proc/self/oom_score_adj", "1000");
  }

  enterNamespaces(
    rules: NamespaceRules,
    { endsWithParent, memoryBytes }: { endsWithParent: boolean; memoryBytes: number },
  ): void {
    const { table } = this;
    const isRoot = this.#machine.uid === 0;
    const joined = rules.joinedNetwork;
    if (joined !== undefined) this.#joinNetwork(joined);
    const network = rules.ownNetwork && joined === undefined ? NEW.network : 0;
    // For root a user namespace would make files of other users unusable.
    const users = isRoot || joined !== undefined ? 0 : NEW.users;
    const processes = rules.seesProcesses ? 0 : NEW.ipc | NEW.processes;
    if (rules.watched) this.#watch(rules.watched);
    table.call(this.#number("unshare"), [NEW.mounts | processes | users | network]);
    if (users !== 0) this.#mapUser(3);
    if (!isRoot) this.limit(RLIMIT.processes, rules.processes);
    this.#mount({ to: "/", flags: MOUNT.recursive | MOUNT.private });
    // Before everything is read-only: an overlay needs folders that it can write.
    if (rules.overlays) this.#mountOverlays(rules.overlays);
    if (rules.outside) this.#mountOverlays(rules.outside);
    if (rules.covered?.writtenTo !== undefined) this.#keepOpen(rules.covered.writtenTo, COVER_DESCRIPTOR);
    this.#setReadOnly("/");
    for (const path of rules.writable) this.#bind(path, path);
    for (const path of rules.writable) this.#setWritable(path, AT_RECURSIVE);
    for (const { lower } of rules.outside ?? []) this.#setWritable(lower, 0);
    // Before the binds, which take it along and may cover the placeholders.
    this.#hide(rules);
    for (const { from, to, isReadOnly } of rules.binds) {
      this.#bind(from, to);
      if (isReadOnly) this.#setReadOnly(to);
      // What is bound below it stays as it is.
      else this.#setWritable(to, 0);
    }
    for (const path of rules.pinned) this.#bind(path, path);
    for (const path of rules.readOnly) {
      this.#bind(path, path);
      this.#setReadOnly(path);
    }
    if (rules.covered) this.#cover(rules.covered);
    // Otherwise the memory of other programs could be read there.
    const sharedBytes = Math.floor(memoryBytes * SHARED_MEMORY_PART);
    const options = `mode=1777,size=${sharedBytes},nr_inodes=${MAX_SHARED_FILES}`;
    table.try(this.#number("mount"), this.#emptyFolder("/dev/shm", 0, options));
    if (network !== 0) this.#startLoopback(3);
    if (endsWithParent) this.endWithParent();
    if (rules.seesProcesses) {
      this.#enterWorkingFolderAgain();
      return;
    }
    if (rules.watched) this.#superviseAndReport(rules.watched);
    else table.supervise();
    // If the launcher is killed, process 1 and with it every process of the namespace is.
    this.endWithParent();
    // Fails in containers that cover parts of /proc. The old one stays then.
    const proc = table.text("proc");
    const procFlags = MOUNT.noSetuid | MOUNT.noDevices | MOUNT.noExecute;
    table.try(this.#number("mount"), [proc, table.text("/proc"), proc, procFlags, 0]);
    if (isRoot && this.#machine.hasOwnProcessNumbers) this.#limitNumbers(rules.processes);
    table.superviseAll();
    this.#enterWorkingFolderAgain();
  }

  shareNetwork(): void {
    const { table } = this;
    const isRoot = this.#machine.uid === 0;
    // Descriptor 3 is the channel to the process that started it.
    const [channel, descriptor] = [3, 4];
    table.call(this.#number("prctl"), [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0]);
    table.call(this.#number("unshare"), [NEW.network | (isRoot ? 0 : NEW.users)]);
    if (!isRoot) this.#mapUser(descriptor);
    this.#startLoopback(descriptor);
    table.call(this.#number("socket"), [FAMILY.ipv4, STREAM | O_CLOEXEC, 0]);
    table.call(this.#number("bind"), [descriptor, this.#proxyAddress(), SOCKET_ADDRESS_BYTES]);
    table.call(this.#number("listen"), [descriptor, 128]);
    const message = Buffer.from('{"cmd":"NODE_HANDLE","type":"net.Server","msg":"listening"}\n');
    table.call(this.#number("sendmsg"), [channel, this.#descriptorMessage(message, descriptor).message, 0]);
    table.call(this.#number("close"), [descriptor]);
    table.try(this.#number("read"), [0, table.data(Buffer.alloc(8)), 1]);
    table.call(this.#number("exit_group"), [0]);
  }

  /** What `sendmsg` takes to send bytes and a descriptor. `descriptor` is where its number is. */
  #descriptorMessage(bytes: Buffer, number = -1): { message: TableAddress; descriptor: TableAddress } {
    const { table } = this;
    const part = Buffer.alloc(16);
    part.writeBigUInt64LE(BigInt(bytes.length), 8);
    const attached = Buffer.alloc(24);
    attached.writeBigUInt64LE(20n);
    attached.writeInt32LE(SOL_SOCKET, 8);
    attached.writeInt32LE(SCM_RIGHTS, 12);
    attached.writeInt32LE(number, 16);
    const header = Buffer.alloc(56);
    header.writeBigUInt64LE(1n, 24);
    header.writeBigUInt64LE(BigInt(attached.length), 40);
    const control = table.data(attached);
    const pointers: [number, TableAddress][] = [
      [16, table.data(part, [[0, table.data(bytes)]])],
      [32, control],
    ];
    return { message: table.data(header, pointers), descriptor: control.plus(16) };
  }

  limit(resource: number, value: number): void {
    // A lower limit that is already set stays.
    this.table.try(this.#number("prlimit64"), [0, resource, this.table.words(value, value), 0]);
  }

  dropPrivileges(): void {
    const { table } = this;
    table.call(this.#number("prctl"), [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0]);
    const isRoot = this.#machine.uid === 0;
    // Refused to those who have no capabilities to drop.
    for (let capability = isRoot ? 5 : 0; capability <= LAST_CAPABILITY; capability++)
      table.try(this.#number("prctl"), [PR_CAPBSET_DROP, capability, 0, 0, 0]);
    const header = Buffer.alloc(8);
    header.writeUInt32LE(CAPABILITY_VERSION);
    const sets = Buffer.alloc(24);
    if (isRoot) for (const at of [0, 4]) sets.writeUInt32LE(CAPABILITIES_OF_ROOT, at);
    table.try(this.#number("capset"), [table.data(header), table.data(sets)]);
  }

  restrictFiles(paths: readonly PathRule[], { network }: { network: boolean }): void {
    const { architecture, abi } = this.#machine;
    addLandlock(this.table, architecture, { abi, paths, network });
  }

  /** The supervisor can signal the command and all its processes. They cannot stop or kill the supervisor. */
  superviseFromOutside(): void {
    this.table.superviseAll();
    scopeSignals(this.table, this.#machine.architecture);
  }

  filterCalls(rules: SystemCallRules): void {
    const program = encodeFilter(assembleFilter(this.#machine.architecture, rules));
    const description = Buffer.alloc(16);
    description.writeUInt16LE(program.length / 8);
    const filter = this.table.data(description, [[8, this.table.data(program)]]);
    if (!rules.isReported) {
      this.table.call(this.#number("seccomp"), [SECCOMP_SET_MODE_FILTER, 0, filter]);
      return;
    }
    const { message, descriptor } = this.#descriptorMessage(Buffer.alloc(1));
    this.table.call(this.#number("seccomp"), [SECCOMP_SET_MODE_FILTER, NEW_LISTENER, filter], { store: descriptor });
    this.table.call(this.#number("sendmsg"), [CHANNEL.child, message, 0]);
    for (const own of [CHANNEL.child, 3]) this.table.call(this.#number("close"), [own]);
  }

  /** Each of these must fail. If one succeeds, the launcher stops with an error. */
  tryForbidden({ secret, outside, process }: SelfTestPaths, rules: TableRules): void {
    const refuse = (name: SystemCall, args: Parameters<CallTable["call"]>[1]): void =>
      this.table.refuse(this.#number(name), args, this.#number("close"));
    const [secretPath, outsidePath] = [this.table.text(secret), this.table.text(outside)];
    refuse("openat", [AT_FDCWD, secretPath, O_CLOEXEC, 0]);
    refuse("openat", [AT_FDCWD, outsidePath, O_CLOEXEC | O_WRONLY | O_CREAT, 0o600]);
    refuse("truncate", [outsidePath, 0]);
    refuse("unshare", [NEW.mounts]);
    // A reporting filter gives a descriptor that is no socket.
    if (rules.namespaces?.watched?.isReported) {
      this.table.call(this.#number("socket"), [FAMILY.unix, STREAM | O_CLOEXEC, 0]);
      refuse("connect", [3, this.table.data(Buffer.from("\u0001\0/none\0")), 8]);
      refuse("listen", [3, 1]);
      this.table.call(this.#number("close"), [3]);
    } else refuse("socket", [FAMILY.unix, STREAM, 0]);
    if (!rules.metadata || rules.namespaces) refuse("fchmodat", [AT_FDCWD, outsidePath, 0o777]);
    if (rules.network === "none" && !rules.namespaces?.ownNetwork) refuse("socket", [FAMILY.ipv4, STREAM, 0]);
    if (rules.namespaces || this.#machine.abi >= 6 || !rules.metadata) refuse("kill", [process, 0]);
  }

  #number(name: SystemCall): number {
    return requiredCall(this.#machine.architecture, name);
  }

  /** In a new user namespace: the user stays the same user. */
  #mapUser(descriptor: number): void {
    const { uid, gid } = this.#machine;
    this.#writeFile("/proc/self/setgroups", "deny", descriptor);
    this.#writeFile("/proc/self/uid_map", `${uid} ${uid} 1`, descriptor);
    this.#writeFile("/proc/self/gid_map", `${gid} ${gid} 1`, descriptor);
  }

  /** `descriptor` is the next free one. */
  #writeFile(path: string, text: string, descriptor: number): void {
    const { table } = this;
    table.call(this.#number("openat"), [AT_FDCWD, table.text(path), O_CLOEXEC | O_WRONLY, 0]);
    table.call(this.#number("write"), [descriptor, table.text(text), text.length]);
    table.call(this.#number("close"), [descriptor]);
  }

  /** The limits of a user do not bind root; the numbers of a namespace do. The two supervisors count as well. */
  #limitNumbers(processes: number): void {
    this.#tryWrite("/proc/sys/kernel/ns_last_pid", `${RESERVED_NUMBERS}`);
    this.#tryWrite("/proc/sys/kernel/pid_max", `${RESERVED_NUMBERS + processes - 2}`);
  }

  /** With descriptor 3 as the next free one. */
  #tryWrite(path: string, text: string): void {
    const { table } = this;
    table.call(this.#number("openat"), [AT_FDCWD, table.text(path), O_CLOEXEC | O_WRONLY, 0], { skipOnError: 2 });
    table.try(this.#number("write"), [3, table.text(text), text.length]);
    table.call(this.#number("close"), [3]);
  }

  #joinNetwork(process: number): void {
    const { table } = this;
    const isRoot = this.#machine.uid === 0;
    for (const [name, type] of [...(isRoot ? [] : [["user", NEW.users] as const]), ["net", NEW.network] as const]) {
      table.call(this.#number("openat"), [AT_FDCWD, table.text(`/proc/${process}/ns/${name}`), O_CLOEXEC, 0]);
      table.call(this.#number("setns"), [3, type]);
      table.call(this.#number("close"), [3]);
    }
    // If the port is free, it is another network: the process has ended, and its id was used again.
    table.call(this.#number("socket"), [FAMILY.ipv4, STREAM | O_CLOEXEC, 0]);
    table.refuse(this.#number("bind"), [3, this.#proxyAddress(), SOCKET_ADDRESS_BYTES], this.#number("close"));
    table.call(this.#number("close"), [3]);
  }

  #proxyAddress(): TableAddress {
    const address = Buffer.alloc(SOCKET_ADDRESS_BYTES);
    address.writeUInt16LE(FAMILY.ipv4);
    address.writeUInt16BE(PROXY_PORT, 2);
    Buffer.from([127, 0, 0, 1]).copy(address, 4);
    return this.table.data(address);
  }

  #mount({ from = "none", to, flags }: { from?: string; to: string; flags: number }): void {
    const { table } = this;
    table.call(this.#number("mount"), [table.text(from), table.text(to), 0, flags, 0]);
  }

  /** The lower folder is named by the working folder: its path may have any characters. */
  #mountOverlays(overlays: readonly (Overlay & Partial<OutsideOverlay>)[]): void {
    const { table } = this;
    const before = table.data(Buffer.alloc(4096));
    const [type, here] = [table.text("overlay"), table.text(".")];
    // `userxattr` is for users without capabilities, and refuses the options that root needs to switch off.
    const options = this.#machine.uid === 0 ? "redirect_dir=off,metacopy=off,index=off" : "userxattr";
    table.call(this.#number("getcwd"), [before, 4096]);
    for (const { lower, upper, work, inner = [] } of overlays) {
      if (/[,:\\]/.test(upper + work)) throw new Error("The folders of an overlay have unusable names");
      const layers = `lowerdir=.,upperdir=${upper},workdir=${work},volatile,${options}`;
      table.call(this.#number("chdir"), [table.text(lower)]);
      for (const path of inner) table.call(this.#number("openat"), [AT_FDCWD, table.text(path), O_PATH | O_CLOEXEC, 0]);
      const flags = MOUNT.noSetuid | MOUNT.noDevices;
      table.call(this.#number("mount"), [type, here, type, flags, table.text(layers)]);
      for (const [index, path] of inner.entries()) this.#bind(`/proc/self/fd/${3 + index}`, path);
      for (const index of inner.keys()) table.call(this.#number("close"), [3 + index]);
    }
    table.call(this.#number("chdir"), [before]);
  }

  #bind(from: string, to: string): void {
    this.#mount({ from, to, flags: MOUNT.bind | MOUNT.recursive });
  }

  #setReadOnly(path: string): void {
    const attributes = this.table.words(MOUNT.readOnly, 0, 0, 0);
    this.table.call(this.#number("mount_setattr"), [AT_FDCWD, this.table.text(path), AT_RECURSIVE, attributes, 32]);
  }

  #setWritable(path: string, flags: number): void {
    const attributes = this.table.words(0, MOUNT.readOnly, 0, 0);
    this.table.call(this.#number("mount_setattr"), [AT_FDCWD, this.table.text(path), flags, attributes, 32]);
  }

  /** The arguments of the call that mounts one. */
  #emptyFolder(path: string, flags: number, options: string): CallArgument[] {
    const { table } = this;
    const type = table.text("tmpfs");
    return [type, table.text(path), type, flags | MOUNT.noSetuid | MOUNT.noDevices, table.text(options)];
  }

  /** Before the mounts, which cover the placeholders. The launcher itself reads the events, outside the command's reach. */
  #watch({ binds, report, isReported }: WatchedPlaceholders): void {
    const { table } = this;
    table.call(this.#number("inotify_init1"), [O_CLOEXEC | O_NONBLOCK]);
    for (const { from } of binds) table.call(this.#number("inotify_add_watch"), [3, table.text(from), FIRST_USE]);
    this.#moveDescriptor(EVENTS_DESCRIPTOR);
    const flags = O_CLOEXEC | O_WRONLY | O_CREAT | O_TRUNC;
    table.call(this.#number("openat"), [AT_FDCWD, table.text(report), flags, 0o600]);
    this.#moveDescriptor(REPORT_DESCRIPTOR);
    if (!isReported) return;
    this.#keepOpen("/proc", PROC_DESCRIPTOR);
    table.call(this.#number("socketpair"), [FAMILY.unix, STREAM | O_CLOEXEC, 0, table.data(Buffer.alloc(8))]);
    table.call(this.#number("fcntl"), [4, F_DUPFD_CLOEXEC, CHANNEL.child]);
    table.call(this.#number("close"), [4]);
    this.#moveDescriptor(CHANNEL.launcher);
  }

  /** The child has none of the descriptors that the report is made with. */
  #superviseAndReport({ isReported }: WatchedPlaceholders): void {
    const { table } = this;
    const { architecture } = this.#machine;
    const actions = WATCHED_CALLS.flatMap(([name, action]) => {
      const number = callNumber(architecture, name);
      return number === undefined ? [] : [[number, action]];
    });
    const list = table.data(Buffer.from(new Uint32Array(actions.flat()).buffer));
    const calls = isReported ? [CHANNEL.launcher, PROC_DESCRIPTOR, list, actions.length] : [0, 0, 0, 0];
    table.superviseAndReport([EVENTS_DESCRIPTOR, REPORT_DESCRIPTOR, ...calls]);
    const own = [EVENTS_DESCRIPTOR, REPORT_DESCRIPTOR, ...(isReported ? [CHANNEL.launcher, PROC_DESCRIPTOR] : [])];
    for (const descriptor of own) table.call(this.#number("close"), [descriptor]);
  }

  #keepOpen(path: string, descriptor: number): void {
    this.table.call(this.#number("openat"), [AT_FDCWD, this.table.text(path), O_PATH | O_CLOEXEC, 0]);
    this.#moveDescriptor(descriptor);
  }

  /** The first free descriptor is needed again. */
  #moveDescriptor(to: number): void {
    this.table.call(this.#number("fcntl"), [3, F_DUPFD_CLOEXEC, to]);
    this.table.call(this.#number("close"), [3]);
  }

  #hide({ watched, hiddenFiles, hiddenFolders, placeholder }: NamespaceRules): void {
    const { table } = this;
    for (const { from, to, isReadOnly } of watched?.binds ?? []) {
      this.#ifExists(to, () => {
        this.#mount({ from, to, flags: MOUNT.bind });
        if (isReadOnly) this.#setReadOnly(to);
        else this.#setWritable(to, 0);
      });
    }
    for (const path of hiddenFiles) {
      this.#ifExists(path, () => {
        this.#mount({ from: placeholder, to: path, flags: MOUNT.bind });
        this.#setReadOnly(path);
      });
    }
    // Last: one of them may hold the placeholders.
    for (const path of hiddenFolders)
      this.#ifExists(path, () =>
        table.call(this.#number("mount"), this.#emptyFolder(path, MOUNT.readOnly, "mode=555,size=4k")),
      );
  }

  /** What is gone needs no mount. One that fails for another reason stops the launcher. */
  #ifExists(path: string, add: () => void): void {
    const { table } = this;
    const flags = O_PATH | O_CLOEXEC | O_NOFOLLOW[this.#machine.architecture];
    table.skippable(this.#number("openat"), [AT_FDCWD, table.text(path), flags, 0], () => {
      add();
      table.call(this.#number("close"), [3]);
    });
  }

  /** Built elsewhere and then moved: what is shown is below the folder that it covers. */
  #cover({ path, shown, writtenTo }: CoveredFolder): void {
    const { table } = this;
    if (writtenTo === undefined) table.call(this.#number("mount"), this.#emptyFolder(STAGE, 0, "mode=755,size=1m"));
    else {
      this.#mount({ from: `/proc/self/fd/${COVER_DESCRIPTOR}`, to: STAGE, flags: MOUNT.bind });
      this.#setWritable(STAGE, 0);
      table.call(this.#number("close"), [COVER_DESCRIPTOR]);
    }
    for (const { from, to, isFolder } of shown) {
      const below = to.slice(path.length + 1).split("/");
      const places = below.map((_, index) => table.text([STAGE, ...below.slice(0, index + 1)].join("/")));
      for (const [index, place] of places.entries()) {
        if (index < places.length - 1 || isFolder) table.try(this.#number("mkdirat"), [AT_FDCWD, place, 0o755]);
        else table.try(this.#number("mknodat"), [AT_FDCWD, place, REGULAR_FILE | 0o644, 0]);
      }
      this.#ifExists(from, () => this.#bind(from, [STAGE, ...below].join("/")));
    }
    this.#mount({ from: STAGE, to: path, flags: MOUNT.move });
    if (writtenTo !== undefined) return;
    const attributes = table.words(MOUNT.readOnly, 0, 0, 0);
    table.call(this.#number("mount_setattr"), [AT_FDCWD, table.text(path), 0, attributes, 32]);
  }

  #startLoopback(descriptor: number): void {
    const { table } = this;
    const request = Buffer.alloc(40);
    request.write("lo");
    request.writeUInt16LE(INTERFACE_UP_AND_RUNNING, 16);
    table.call(this.#number("socket"), [FAMILY.ipv4, DATAGRAM | O_CLOEXEC, 0]);
    table.call(this.#number("ioctl"), [descriptor, SET_INTERFACE_FLAGS, table.data(request)]);
    table.call(this.#number("close"), [descriptor]);
  }

  /** The working folder still shows what was there before the mounts. */
  #enterWorkingFolderAgain(): void {
    const path = this.table.data(Buffer.alloc(4096));
    this.table.call(this.#number("getcwd"), [path, 4096]);
    this.table.call(this.#number("chdir"), [path]);
  }
}

const O_WRONLY = 1;
const O_CREAT = 0x40;
const O_TRUNC = 0x200;
const O_NONBLOCK = 0x800;
const F_DUPFD_CLOEXEC = 1030;
const REGULAR_FILE = 0o100000;
/** Above those that the table uses for a moment. */
const EVENTS_DESCRIPTOR = 21;
const REPORT_DESCRIPTOR = 22;
const PROC_DESCRIPTOR = 23;
const CHANNEL = { launcher: 24, child: 25 } as const;
const COVER_DESCRIPTOR = 26;
/** Opened, changed, or an entry made or removed; reported once. */
const FIRST_USE = 0x800003e6;
/** It gets an empty folder of its own afterwards. */
const STAGE = "/dev/shm";
const STREAM = 1;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
const SOCKET_ADDRESS_BYTES = 16;
const DATAGRAM = 2;
const AT_RECURSIVE = 0x8000;
const SET_INTERFACE_FLAGS = 0x8914;
const INTERFACE_UP_AND_RUNNING = 0x41;
const NEW = { mounts: 0x20000, ipc: 0x8000000, users: 0x10000000, processes: 0x20000000, network: 0x40000000 } as const;
const MOUNT = {
  readOnly: 1,
  noSetuid: 2,
  noDevices: 4,
  noExecute: 8,
  bind: 0x1000,
  move: 0x2000,
  recursive: 0x4000,
  private: 0x40000,
} as const;

/** Nameless files below this folder may be written through /dev/stdout and /dev/stderr. */
export function outputRule(folder: string): PathRule {
  return { path: folder, access: ACCESS.change, isFolder: true };
}

/** What is written there is thrown away. Nothing becomes readable. */
export function outsideRule(folder: string): PathRule {
  return { path: folder, access: ACCESS.writeOnly, isFolder: true };
}
