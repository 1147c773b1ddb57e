/** The processors that the launcher is built for. */
export type Architecture = "x64" | "arm64";

// oxfmt-ignore
/** Numbers of the kernel's system calls. A call that an architecture does not have is missing there. */
const NUMBERS = {
  acct: [163, 89], add_key: [248, 217], adjtimex: [159, 171], bind: [49, 200], bpf: [321, 280], capset: [126, 91],
  chdir: [80, 49], chmod: [90], chown: [92], chroot: [161, 51], clock_adjtime: [305, 266], clock_settime: [227, 112],
  clone: [56, 220], clone3: [435, 435], close: [3, 57], close_range: [436, 436], connect: [42, 203],
  delete_module: [176, 106], exit_group: [231, 94], fanotify_init: [300, 262], fchmod: [91, 52], fchmodat: [268, 53],
  fchmodat2: [452, 452], fchown: [93, 55], fchownat: [260, 54], fcntl: [72, 25], file_setattr: [469, 469],
  finit_module: [313, 273], fremovexattr: [199, 16], fsconfig: [431, 431], fsetxattr: [190, 7], fsmount: [432, 432],
  fsopen: [430, 430], fspick: [433, 433], futimesat: [261], getcwd: [79, 17], init_module: [175, 105],
  inotify_add_watch: [254, 27], inotify_init1: [294, 26], io_uring_enter: [426, 426], io_uring_register: [427, 427],
  io_uring_setup: [425, 425], ioctl: [16, 29], ioperm: [173], iopl: [172], ioprio_set: [251, 30], kcmp: [312, 272],
  kexec_file_load: [320, 294], kexec_load: [246, 104], keyctl: [250, 219], kill: [62, 129],
  landlock_add_rule: [445, 445], landlock_create_ruleset: [444, 444], landlock_restrict_self: [446, 446], lchown: [94],
  lgetxattr: [192, 9], link: [86], linkat: [265, 37], listen: [50, 201], lremovexattr: [198, 15], lsetxattr: [189, 6],
  memfd_create: [319, 279], memfd_secret: [447, 447], migrate_pages: [256, 238], mkdirat: [258, 34], mknodat: [259, 33],
  modify_ldt: [154], mount: [165, 40], mount_setattr: [442, 442], move_mount: [429, 429], move_pages: [279, 239],
  mq_open: [240, 180], mq_unlink: [241, 181], msgctl: [71, 187], msgget: [68, 186], msgrcv: [70, 188],
  msgsnd: [69, 189], name_to_handle_at: [303, 264], open: [2], open_by_handle_at: [304, 265], open_tree: [428, 428],
  open_tree_attr: [467, 467], openat: [257, 56], openat2: [437, 437], perf_event_open: [298, 241],
  pidfd_getfd: [438, 438], pidfd_send_signal: [424, 424], pivot_root: [155, 41], prctl: [157, 167],
  prlimit64: [302, 261], process_madvise: [440, 440], process_mrelease: [448, 448], process_vm_readv: [310, 270],
  process_vm_writev: [311, 271], ptrace: [101, 117], quotactl: [179, 60], quotactl_fd: [443, 443], read: [0, 63],
  reboot: [169, 142], removexattr: [197, 14], removexattrat: [466, 466], rename: [82], renameat: [264, 38],
  renameat2: [316, 276], request_key: [249, 218], rmdir: [84], rt_sigqueueinfo: [129, 138],
  rt_tgsigqueueinfo: [297, 240], sched_setaffinity: [203, 122], sched_setattr: [314, 274], sched_setparam: [142, 118],
  sched_setscheduler: [144, 119], seccomp: [317, 277], semctl: [66, 191], semget: [64, 190], semop: [65, 193],
  semtimedop: [220, 192], sendmsg: [46, 211], setdomainname: [171, 162], sethostname: [170, 161], setns: [308, 268],
  setpriority: [141, 140], setrlimit: [160, 164], settimeofday: [164, 170], setxattr: [188, 5], setxattrat: [463, 463],
  shmat: [30, 196], shmctl: [31, 195], shmget: [29, 194], socket: [41, 198], socketpair: [53, 199], swapoff: [168, 225],
  swapon: [167, 224], syslog: [103, 116], tgkill: [234, 131], tkill: [200, 130], truncate: [76, 45], umount2: [166, 39],
  unlink: [87], unlinkat: [263, 35], unshare: [272, 97], userfaultfd: [323, 282], utime: [132], utimensat: [280, 88],
  utimes: [235], vhangup: [153, 58], write: [1, 64],
} as const satisfies Record<string, readonly [x64: number, arm64?: number]>;

export type SystemCall = keyof typeof NUMBERS;

/** Undefined if the architecture does not have the call. */
export function callNumber(architecture: Architecture, name: SystemCall): number | undefined {
  const [x64, arm64]: readonly [number, number?] = NUMBERS[name];
  return architecture === "x64" ? x64 : arm64;
}

/** For calls that both architectures have. */
export function requiredCall(architecture: Architecture, name: SystemCall): number {
  const number = callNumber(architecture, name);
  if (number === undefined) throw new Error(`${architecture} has no system call ${name}`);
  return number;
}

/** The name of a call of this list. */
export function callName(architecture: Architecture, number: number): SystemCall | undefined {
  return (Object.keys(NUMBERS) as SystemCall[]).find((name) => callNumber(architecture, name) === number);
}

/** The first number that this list does not know. The filter refuses it and all later ones. */
export const FIRST_UNKNOWN_CALL = 470;

/** The same flag has another value on each architecture. */
export const O_NOFOLLOW: Readonly<Record<Architecture, number>> = { x64: 0x20000, arm64: 0x8000 };
export const O_PATH = 0x200000;
export const O_CLOEXEC = 0x80000;
