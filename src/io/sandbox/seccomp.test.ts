import { describe, expect, test } from "vitest";
import { assembleFilter, encodeFilter, FAMILY, type Instruction, type SystemCallRules } from "./seccomp.ts";
import { type Architecture, callNumber, requiredCall, type SystemCall } from "./system-calls.ts";

const LOOK: SystemCallRules = { socketFamilies: [], metadata: false, signals: true, landlockChecksTruncation: true };
const WORK: SystemCallRules = { ...LOOK, socketFamilies: [FAMILY.ipv4, FAMILY.ipv6], metadata: true };
const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
const ARCHITECTURES = ["x64", "arm64"] as const;

/** Executes a filter as the kernel does. */
function run(
  program: readonly Instruction[],
  call: { audit: number; number: number; args?: readonly number[] },
): number {
  const { audit, number, args = [] } = call;
  let accumulator = 0;
  for (let at = 0; at < program.length; at++) {
    const instruction = program[at];
    if (!instruction) break;
    const { code, value, ifTrue, ifFalse } = instruction;
    if (code === 0x06) return value;
    if (code === 0x20) accumulator = value === 0 ? number : value === 4 ? audit : (args[(value - 16) / 8] ?? 0);
    else if (code === 0x54) accumulator = (accumulator & value) >>> 0;
    else {
      const holds =
        code === 0x15 ? accumulator === value : code === 0x35 ? accumulator >= value : (accumulator & value) !== 0;
      at += holds ? ifTrue : ifFalse;
    }
  }
  throw new Error("The filter ends without a result");
}

const VERDICTS = new Map([
  [0x7fff0000, "allowed"],
  [0x80000000, "killed"],
  [0x50001, "EPERM"],
  [0x5000d, "EACCES"],
  [0x50026, "ENOSYS"],
  [0x50019, "ENOTTY"],
  [0x50000, "ignored"],
]);

describe.each(ARCHITECTURES)("the filter for %s", (architecture: Architecture) => {
  const verdict = (rules: SystemCallRules, name: SystemCall, ...args: number[]): string | undefined => {
    const number = requiredCall(architecture, name);
    const filter = assembleFilter(architecture, rules);
    return VERDICTS.get(run(filter, { audit: AUDIT[architecture], number, args }));
  };

  test("decides every call, with every argument that it reads", () => {
    const undecided: string[] = [];
    for (const rules of [LOOK, WORK, { ...LOOK, signals: false, landlockChecksTruncation: false }]) {
      const filter = assembleFilter(architecture, rules);
      for (let number = 0; number < 600; number++) {
        for (const args of [
          [0, 0, 0],
          [1, 1, 1],
          [2, 0x5412, 0x200],
          [0x10000000, 0x40086602, 0x201],
        ]) {
          const result = run(filter, { audit: AUDIT[architecture], number, args });
          if (!VERDICTS.has(result)) undecided.push(`${number} ${String(args)}: ${result.toString(16)}`);
        }
      }
    }
    expect(undecided).toEqual([]);
  });

  test("gives files in memory only to what somebody approved", () => {
    for (const name of ["memfd_create", "memfd_secret"] as const) {
      expect(verdict({ ...LOOK, memoryFiles: false }, name)).toBe("ENOSYS");
      expect(verdict(WORK, name)).toBe("allowed");
    }
  });

  test("ends a process that uses another architecture, and knows no call of the future", () => {
    const filter = assembleFilter(architecture, LOOK);
    const other = architecture === "x64" ? 0x40000003 : 0x40000028;
    expect(VERDICTS.get(run(filter, { audit: other, number: 1 }))).toBe("killed");
    expect(VERDICTS.get(run(filter, { audit: AUDIT[architecture], number: 470 }))).toBe("ENOSYS");
    expect(VERDICTS.get(run(filter, { audit: AUDIT[architecture], number: 0x40000001 }))).toBe("ENOSYS");
  });

  test("lets ordinary programs work", () => {
    for (const name of ["openat", "close", "write", "read", "chdir", "getcwd", "bind", "listen"] as const)
      expect(verdict(LOOK, name), name).toBe("allowed");
    expect(verdict(LOOK, "clone", 17)).toBe("allowed");
    expect(verdict(LOOK, "clone3")).toBe("ENOSYS");
    const [stream, datagram, raw, closeOnExec] = [1, 2, 3, 0x80000];
    expect(verdict(LOOK, "socketpair", FAMILY.unix, stream | closeOnExec)).toBe("allowed");
    for (const type of [datagram, raw, datagram | closeOnExec])
      expect(verdict(LOOK, "socketpair", FAMILY.unix, type)).toBe("EACCES");
    expect(verdict(LOOK, "prlimit64", 0)).toBe("allowed");
    expect(verdict(LOOK, "ioctl", 0, 0x5401)).toBe("allowed");
  });

  test("refuses namespaces, mounts, other processes and the kernel in both profiles", () => {
    for (const rules of [LOOK, WORK]) {
      const names = [
        "ptrace",
        "mount",
        "unshare",
        "setns",
        "bpf",
        "io_uring_setup",
        "keyctl",
        "open_by_handle_at",
      ] as const;
      for (const name of names) expect(verdict(rules, name), name).toBe("EPERM");
      for (const flag of [0x20000, 0x10000000, 0x20000000, 0x40000000])
        expect(verdict(rules, "clone", 17 | flag)).toBe("EPERM");
      expect(verdict(rules, "prlimit64", 1234)).toBe("EPERM");
      expect(verdict(rules, "setpriority", 0, 1234)).toBe("EPERM");
      expect(verdict(rules, "setpriority", 2, 0), "all processes of the user").toBe("EPERM");
      expect(verdict(rules, "setpriority", 0, 0)).toBe("allowed");
      expect(verdict(rules, "ioprio_set", 3, 0), "all processes of the user").toBe("EPERM");
      expect(verdict(rules, "ioprio_set", 1, 0)).toBe("allowed");
      expect(verdict(rules, "sched_setaffinity", 1234)).toBe("EPERM");
      expect(verdict(rules, "sched_setaffinity", 0)).toBe("allowed");
      for (const name of ["shmat", "shmctl", "msgsnd", "msgrcv", "semop", "semctl", "mq_unlink"] as const)
        expect(verdict(rules, name), name).toBe("EPERM");
      expect(verdict(rules, "ioctl", 0, 0x5412), "TIOCSTI").toBe("EPERM");
      expect(verdict(rules, "socket", FAMILY.unix), "a UNIX socket leaves the network namespace").toBe("EACCES");
      expect(verdict(rules, "socketpair", FAMILY.ipv4)).toBe("EACCES");
    }
  });

  test("keeps the limit of core files, and lets it be read", () => {
    const [file, core, pointer] = [1, 4, 0x1000];
    expect(verdict(LOOK, "prlimit64", 0, core, pointer)).toBe("ignored");
    expect(verdict(LOOK, "prlimit64", 0, core, 0)).toBe("allowed");
    expect(verdict(LOOK, "prlimit64", 0, file, pointer)).toBe("allowed");
    expect(verdict(LOOK, "setrlimit", core)).toBe("ignored");
    expect(verdict(LOOK, "setrlimit", file)).toBe("allowed");
  });

  test("opens sockets only of the given families", () => {
    expect(verdict(LOOK, "socket", FAMILY.ipv4)).toBe("EACCES");
    expect(verdict(WORK, "socket", FAMILY.ipv4)).toBe("allowed");
    expect(verdict(WORK, "socket", FAMILY.ipv6)).toBe("allowed");
    expect(verdict(WORK, "socket", FAMILY.netlink)).toBe("EACCES");
  });

  test("changes mode, owner, times and flags of files only if allowed", () => {
    for (const name of ["fchmodat", "fchmodat2", "fchownat", "utimensat", "setxattr", "truncate"] as const) {
      expect(verdict(LOOK, name), name).toBe("EPERM");
      expect(verdict(WORK, name), name).toBe("allowed");
    }
    for (const request of [0x40086602, 0x40086604, 0x401c5820, 0x800c6613, 0x5000940e, 0x8901])
      expect(verdict(LOOK, "ioctl", 0, request), request.toString(16)).toBe("ENOTTY");
    for (const request of [0x5401, 0x5421, 0x80086601]) expect(verdict(LOOK, "ioctl", 0, request)).toBe("allowed");
    expect(verdict(WORK, "ioctl", 0, 0x40086602)).toBe("allowed");
  });

  test("replaces what an old Landlock does not check", () => {
    const old = { ...WORK, landlockChecksTruncation: false };
    expect(verdict(old, "truncate")).toBe("EPERM");
    expect(verdict(old, "openat2")).toBe("ENOSYS");
    expect(verdict(old, "openat", 0, 0, 0x200), "O_RDONLY | O_TRUNC").toBe("EPERM");
    expect(verdict(old, "openat", 0, 0, 0x241), "O_WRONLY | O_CREAT | O_TRUNC").toBe("allowed");
    expect(verdict(old, "openat", 0, 0, 0)).toBe("allowed");
    const unscoped = { ...LOOK, signals: false };
    for (const name of ["kill", "tgkill", "pidfd_send_signal"] as const) expect(verdict(unscoped, name)).toBe("EPERM");
    const [setOwner, getFlags] = [8, 3];
    expect(verdict(unscoped, "fcntl", 0, setOwner), "signals by the kernel").toBe("EPERM");
    expect(verdict(unscoped, "fcntl", 0, getFlags)).toBe("allowed");
  });

  test("is encoded in 8 bytes per instruction", () => {
    const filter = assembleFilter(architecture, LOOK);
    const bytes = encodeFilter(filter);
    expect(bytes.length).toBe(filter.length * 8);
    expect(bytes.readUInt32LE(8 + 4), "the second instruction compares the architecture").toBe(AUDIT[architecture]);
  });
});

test("calls that only one architecture has are missing on the other", () => {
  expect(callNumber("x64", "chmod")).toBe(90);
  expect(callNumber("arm64", "chmod")).toBeUndefined();
  expect(() => requiredCall("arm64", "chmod")).toThrow(/no system call chmod/);
});
