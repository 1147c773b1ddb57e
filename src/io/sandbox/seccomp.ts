import { type Architecture, callNumber, FIRST_UNKNOWN_CALL, requiredCall, type SystemCall } from "./system-calls.ts";

/** What a filter of system calls allows. Everything that Landlock does not see is decided here. */
export interface SystemCallRules {
  /** Address families of new sockets. Pairs of UNIX sockets are always allowed: Node's pipes are such pairs. */
  socketFamilies: readonly number[];
  /** Whether mode, owner, times and attributes of files may change. */
  metadata: boolean;
  /** Whether files in memory may be created. No limit of a process counts what they hold. Default: yes. */
  memoryFiles?: boolean;
  /** Whether processes may be signalled. Without Landlock's scope this reaches every process of the user. */
  signals: boolean;
  /** Whether Landlock checks that files are truncated (ABI 3). Otherwise forms that need no write access are refused. */
  landlockChecksTruncation: boolean;
  /** Whether refused calls go to the launcher, which counts and refuses them. See `WATCHED_CALLS`. */
  isReported?: boolean;
}

/**
 * What the launcher does with calls that a reporting filter passes on; the numbers are those of `native/launch.c`.
 * All other calls that the filter passes on are refused.
 */
export const WATCHED_CALLS: readonly (readonly [SystemCall, action: number])[] = [
  ["socket", 1],
  ["connect", 2],
  ["bind", 2],
  ["kill", 3],
  ["tkill", 3],
  ["rt_sigqueueinfo", 3],
  ["unlink", 4],
  ["rmdir", 4],
  ["rename", 5],
  ["link", 5],
  ["unlinkat", 6],
  ["renameat", 7],
  ["renameat2", 7],
  ["linkat", 7],
];

/** Compilers and watchers ask for it and go on without. */
const UNREPORTED: readonly SystemCall[] = ["fanotify_init"];

export const FAMILY = { unix: 1, ipv4: 2, ipv6: 10, netlink: 16 } as const;

/** One instruction of classic BPF. Jumps count instructions from the next one. */
export interface Instruction {
  code: number;
  ifTrue: number;
  ifFalse: number;
  value: number;
}

const LOAD = 0x20;
const AND = 0x54;
const EQUAL = 0x15;
const AT_LEAST = 0x35;
const ANY_BIT = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const refuseWith = (errno: number): number => 0x00050000 | errno;
const ASK_LAUNCHER = 0x7fc00000;
const EPERM = 1;
const EACCES = 13;
const ENOTTY = 25;
const ENOSYS = 38;
/** The call does nothing and returns 0. */
const PRETEND = refuseWith(0);

const AUDIT_NUMBER: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };
/** Offsets in what the kernel gives to a filter. */
const CALL_NUMBER = 0;
const ARCHITECTURE = 4;
/** The low half of an argument: both architectures are little-endian. */
const argument = (index: number): number => 16 + 8 * index;
const highHalf = (index: number): number => argument(index) + 4;

/** The calls of the old 32-bit interface with 64-bit registers. */
const FIRST_X32_CALL = 0x40000000;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACE = 0x7e020000;
const O_ACCESS_MODE = 3;
const O_TRUNC = 0x200;

/** TIOCSTI and TIOCLINUX type text into a terminal; TIOCCONS and TIOCSETD change what a terminal is. */
const TERMINAL_IOCTLS = [0x5412, 0x541c, 0x541d, 0x5423];
/** Requests to terminals, and those that every descriptor has, such as FIONBIO. */
const GENERAL_IOCTLS = 0x5400;
const IOCTL_GROUP = 0xffffff00;
/**
 * What may be asked in `look`. File systems have requests that change files and need no write access (flags, versions,
 * encryption, subvolumes), and every file system has its own, so all others are refused.
 */
const READING_IOCTLS = [
  // FIBMAP, FIGETBSZ, FS_IOC_GETFLAGS, FS_IOC_GETVERSION, FS_IOC_FSGETXATTR, FS_IOC_FIEMAP.
  ...[0x1, 0x2, 0x80086601, 0x80087601, 0x801c581f, 0xc020660b],
  // TCGETS2, TIOCGPTN, TIOCGPTPEER, TIOCGPTLCK, TIOCSPTLCK, TIOCGEXCL, TIOCGDEV: terminals with coded sizes.
  ...[0x802c542a, 0x80045430, 0x5441, 0x80045439, 0x40045431, 0x80045440, 0x80045432],
  // TCSETS2, TCSETSW2, TCSETSF2, RNDGETENTCNT.
  ...[0x402c542b, 0x402c542c, 0x402c542d, 0x80045200],
];

const ALWAYS_REFUSED: readonly SystemCall[] = [
  // Other processes and shared memory.
  ...(["ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp"] as const),
  ...(["pidfd_getfd", "migrate_pages", "move_pages"] as const),
  // Also those that use an existing object: its number can be guessed or read in /proc/sysvipc.
  ...(["shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop"] as const),
  ...(["semctl", "mq_open", "mq_unlink"] as const),
  // Mounts and namespaces.
  ...(["mount", "umount2", "mount_setattr", "move_mount", "open_tree", "open_tree_attr", "fsopen"] as const),
  ...(["fsconfig", "fsmount", "fspick", "pivot_root", "chroot", "unshare", "setns", "name_to_handle_at"] as const),
  // Files without a path, which Landlock cannot check, and calls that run outside of filters.
  ...(["open_by_handle_at", "io_uring_setup", "io_uring_enter", "io_uring_register"] as const),
  // The kernel and the machine.
  ...(["bpf", "perf_event_open", "userfaultfd", "add_key", "request_key", "keyctl", "init_module"] as const),
  ...(["finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff"] as const),
  ...(["acct", "quotactl", "quotactl_fd", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex"] as const),
  ...(["sethostname", "setdomainname", "syslog", "vhangup", "fanotify_init", "iopl", "ioperm", "modify_ldt"] as const),
];

const METADATA_CALLS: readonly SystemCall[] = [
  ...(["truncate", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"] as const),
  ...(["utime", "utimes", "futimesat", "utimensat", "setxattr", "lsetxattr", "fsetxattr", "setxattrat"] as const),
  ...(["removexattr", "lremovexattr", "fremovexattr", "removexattrat", "file_setattr"] as const),
];

const MEMORY_FILE_CALLS: readonly SystemCall[] = ["memfd_create", "memfd_secret"];

const SIGNAL_CALLS: readonly SystemCall[] = [
  ...(["kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"] as const),
];

/** Calls that name a process in their first argument. 0 is the caller itself. */
const OF_ONESELF: readonly SystemCall[] = [
  ...(["sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"] as const),
];
/** Calls with a kind and an id. Only the kind "process" with id 0 is the caller; kind "user" with id 0 is all of them. */
const OF_PROCESS_KIND: readonly (readonly [SystemCall, kind: number])[] = [
  ["setpriority", 0],
  ["ioprio_set", 1],
];
/** F_SETOWN, F_SETSIG, F_SETOWN_EX: the kernel then sends signals to another process. */
const SIGNAL_COMMANDS = [8, 10, 15];
const RLIMIT_CORE = 4;
const SOCKET_TYPE = 0xf;
/** A connected pair stays connected. Datagram sockets can be connected again, to any path. */
const PAIR_TYPES = { stream: 1, sequence: 5 } as const;

/** The filter as instructions. It ends a process that uses calls of another architecture. */
export function assembleFilter(architecture: Architecture, rules: SystemCallRules): Instruction[] {
  const filter = new FilterAssembler();
  const number = (name: SystemCall): number => requiredCall(architecture, name);

  filter.load(ARCHITECTURE);
  filter.jump(EQUAL, AUDIT_NUMBER[architecture], { ifTrue: "known architecture" });
  filter.return(KILL_PROCESS);
  filter.label("known architecture");
  filter.load(CALL_NUMBER);
  if (architecture === "x64") filter.jump(AT_LEAST, FIRST_X32_CALL, { ifTrue: "not implemented" });
  filter.jump(AT_LEAST, FIRST_UNKNOWN_CALL, { ifTrue: "not implemented" });
  // Its flags are behind a pointer. The C library falls back to clone.
  filter.jump(EQUAL, number("clone3"), { ifTrue: "not implemented" });
  if (!rules.landlockChecksTruncation) filter.jump(EQUAL, number("openat2"), { ifTrue: "not implemented" });
  // Programs then use temporary files.
  if (rules.memoryFiles === false)
    for (const name of MEMORY_FILE_CALLS) filter.jump(EQUAL, number(name), { ifTrue: "not implemented" });

  if (rules.isReported) {
    for (const name of UNREPORTED) filter.jump(EQUAL, number(name), { ifTrue: "not implemented" });
    for (const [name] of WATCHED_CALLS) {
      const watched = callNumber(architecture, name);
      // Allowed families of sockets are not passed on.
      if (watched !== undefined && name !== "socket") filter.jump(EQUAL, watched, { ifTrue: "not permitted" });
    }
  }
  const refused = [
    ...ALWAYS_REFUSED,
    ...(rules.metadata ? [] : METADATA_CALLS),
    ...(rules.signals ? [] : SIGNAL_CALLS),
    ...(rules.landlockChecksTruncation || !rules.metadata ? [] : (["truncate"] as const)),
  ].flatMap((name) => callNumber(architecture, name) ?? []);
  for (const one of refused) filter.jump(EQUAL, one, { ifTrue: "not permitted" });

  filter.ifCall(number("clone"), () => {
    filter.load(argument(0));
    filter.jump(ANY_BIT, NEW_NAMESPACE, { ifTrue: "not permitted", ifFalse: "allow" });
  });
  filter.ifCall(number("socket"), () => {
    filter.load(argument(0));
    for (const family of rules.socketFamilies) filter.jump(EQUAL, family, { ifTrue: "allow" });
    filter.return(rules.isReported ? ASK_LAUNCHER : refuseWith(EACCES));
  });
  filter.ifCall(number("socketpair"), () => {
    filter.load(argument(0));
    filter.jump(EQUAL, FAMILY.unix, { ifFalse: "no such pair" });
    filter.load(argument(1));
    filter.and(SOCKET_TYPE);
    for (const type of Object.values(PAIR_TYPES)) filter.jump(EQUAL, type, { ifTrue: "allow" });
    filter.label("no such pair");
    filter.return(refuseWith(EACCES));
  });
  filter.ifCall(number("ioctl"), () => {
    filter.load(argument(1));
    for (const request of TERMINAL_IOCTLS) filter.jump(EQUAL, request, { ifTrue: "not permitted" });
    if (rules.metadata) return filter.goTo("allow");
    for (const request of READING_IOCTLS) filter.jump(EQUAL, request, { ifTrue: "allow" });
    filter.and(IOCTL_GROUP);
    filter.jump(EQUAL, GENERAL_IOCTLS, { ifTrue: "allow" });
    filter.return(refuseWith(ENOTTY));
  });
  for (const name of OF_ONESELF) {
    filter.ifCall(number(name), () => {
      filter.load(argument(0));
      filter.jump(EQUAL, 0, { ifTrue: "allow", ifFalse: "not permitted" });
    });
  }
  for (const [name, kind] of OF_PROCESS_KIND) {
    filter.ifCall(number(name), () => {
      filter.load(argument(0));
      filter.jump(EQUAL, kind, { ifFalse: "not permitted" });
      filter.load(argument(1));
      filter.jump(EQUAL, 0, { ifTrue: "allow", ifFalse: "not permitted" });
    });
  }
  keepCoreLimit(filter, number);
  if (!rules.signals) {
    filter.ifCall(number("fcntl"), () => {
      filter.load(argument(1));
      for (const command of SIGNAL_COMMANDS) filter.jump(EQUAL, command, { ifTrue: "not permitted" });
      filter.goTo("allow");
    });
  }
  if (!rules.landlockChecksTruncation) refuseTruncationWithoutWriting(filter, architecture);

  filter.label("allow");
  filter.return(ALLOW);
  filter.label("not permitted");
  filter.return(rules.isReported ? ASK_LAUNCHER : refuseWith(EPERM));
  filter.label("not implemented");
  filter.return(refuseWith(ENOSYS));
  return filter.assemble();
}

/**
 * The limit of core files is set so that no program of the system gets them (see `build-table.ts`). Programs that set it
 * to 0, as those with passwords do, would undo this.
 */
function keepCoreLimit(filter: FilterAssembler, number: (name: SystemCall) => number): void {
  filter.ifCall(number("setrlimit"), () => {
    filter.load(argument(0));
    filter.jump(EQUAL, RLIMIT_CORE, { ifFalse: "allow" });
    filter.return(PRETEND);
  });
  filter.ifCall(number("prlimit64"), () => {
    filter.load(argument(0));
    filter.jump(EQUAL, 0, { ifFalse: "not permitted" });
    filter.load(argument(1));
    filter.jump(EQUAL, RLIMIT_CORE, { ifFalse: "allow" });
    // Without a new limit it only reads the old one.
    filter.load(argument(2));
    filter.jump(EQUAL, 0, { ifFalse: "pretend" });
    filter.load(highHalf(2));
    filter.jump(EQUAL, 0, { ifTrue: "allow" });
    filter.label("pretend");
    filter.return(PRETEND);
  });
}

/** Opening a file for reading with O_TRUNC empties it, and Landlock before ABI 3 sees only the reading. */
function refuseTruncationWithoutWriting(filter: FilterAssembler, architecture: Architecture): void {
  for (const [name, index] of [
    ["open", 1],
    ["openat", 2],
  ] as const) {
    const number = callNumber(architecture, name);
    if (number === undefined) continue;
    filter.ifCall(number, () => {
      filter.load(argument(index));
      filter.and(O_ACCESS_MODE | O_TRUNC);
      filter.jump(EQUAL, O_TRUNC, { ifTrue: "not permitted", ifFalse: "allow" });
    });
  }
}

/** As the kernel takes it: 8 bytes per instruction. */
export function encodeFilter(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, { code, ifTrue, ifFalse, value }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  }
  return bytes;
}

interface Jump {
  /** A label, or the next instruction. */
  ifTrue?: string;
  ifFalse?: string;
}

/** Instructions with named jump targets. Targets must come later: BPF has no loops. */
class FilterAssembler {
  readonly #instructions: (Pick<Instruction, "code" | "value"> & Jump)[] = [];
  readonly #labels = new Map<string, number>();
  #sections = 0;

  load(offset: number): void {
    this.#instructions.push({ code: LOAD, value: offset });
  }

  and(mask: number): void {
    this.#instructions.push({ code: AND, value: mask });
  }

  return(action: number): void {
    this.#instructions.push({ code: RETURN, value: action });
  }

  jump(code: number, value: number, targets: Jump): void {
    this.#instructions.push({ code, value, ...targets });
  }

  goTo(label: string): void {
    this.jump(EQUAL, 0, { ifTrue: label, ifFalse: label });
  }

  label(name: string): void {
    if (this.#labels.has(name)) throw new Error(`The label "${name}" is used twice`);
    this.#labels.set(name, this.#instructions.length);
  }

  /** The body must end in a jump or a return: it replaces the loaded call number. */
  ifCall(number: number, body: () => void): void {
    const next = `section ${++this.#sections}`;
    this.jump(EQUAL, number, { ifFalse: next });
    body();
    this.label(next);
  }

  assemble(): Instruction[] {
    return this.#instructions.map(({ code, value, ifTrue, ifFalse }, index) => ({
      code,
      value,
      ifTrue: this.#distance(index, ifTrue),
      ifFalse: this.#distance(index, ifFalse),
    }));
  }

  #distance(from: number, label: string | undefined): number {
    if (label === undefined) return 0;
    const target = this.#labels.get(label);
    const distance = target === undefined ? -1 : target - from - 1;
    if (distance < 0 || distance > 255) throw new Error(`The filter cannot jump from ${from} to "${label}"`);
    return distance;
  }
}
