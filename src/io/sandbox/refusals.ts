import { accessSync, constants, existsSync, lstatSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { isInside } from "../files/path-policy.ts";
import { type Architecture, callName } from "./system-calls.ts";

/**
 * What a confined command was refused. Except what `refusalsInOutput` adds, the kernel tells it: a program can neither
 * write nor avoid that.
 *
 * `hidden`: it opened a hidden file or folder, which it was shown as empty. `network`: packets or connections that could
 * go nowhere, and sockets of other families. `socket`: a UNIX socket, by its path. `call`: a blocked system call, or a
 * signal to a process outside. `outside`: it wrote outside of the workspace; the write was thrown away. `moved`: it tried
 * to move, link or remove something between mounts or that is a mount, such as a hidden file. `cache`: it wrote into a
 * cache; the write was thrown away. `left`: a process that it started was still there at its end, and was ended.
 */
export interface Refusal {
  kind: "hidden" | "network" | "socket" | "call" | "outside" | "moved" | "cache" | "left";
  /** A real path, the name of a system call, or what happened. */
  subject: string;
  count: number;
  /**
   * It disclosed and changed nothing, and programs go on without it: a note in the result, and not a question. Only a
   * hidden path that was opened, is as it was, and is not named by the command, as if a search meets it; and a call of
   * `PROBES`.
   */
  harmless?: true;
}

export interface RefusalReport {
  /** Empty: the command was refused nothing. */
  refusals: readonly Refusal[];
  /** Folders and files in which what it wrote was thrown away, and that nobody misses. */
  thrownAway: readonly string[];
}

/** Whether this machine can report what a command was refused. `why` is part of a sentence, as "this machine has no overlays". */
export type RefusalReporting = { isReported: true } | { isReported: false; why: string };

/** What the launcher has seen. See `struct Record` in `native/launch.c`. */
export interface LauncherReport {
  /** The numbers of the watched placeholders that were used. Undefined: more than could be counted. */
  used: ReadonlySet<number> | undefined;
  notes: readonly { kind: number; number: number; count: number; text: string }[];
  /** Of the network, as the kernel prints them. */
  counters: string;
}

const RECORD = { end: 0, events: 1, call: 2, family: 3, socket: 4, signal: 5, move: 6, network: 7 } as const;
const RECORD_BYTES = 16;
const EVENT_BYTES = 16;

/** Undefined if the launcher did not finish it. */
export function readLauncherReport(path: string): LauncherReport | undefined {
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  const notes: { kind: number; number: number; count: number; text: string }[] = [];
  const events: Buffer[] = [];
  const counters: Buffer[] = [];
  for (let at = 0; at + RECORD_BYTES <= bytes.length;) {
    const [kind, number, count, length] = [0, 4, 8, 12].map((offset) => bytes.readUInt32LE(at + offset)) as [
      number,
      number,
      number,
      number,
    ];
    const content = bytes.subarray(at + RECORD_BYTES, at + RECORD_BYTES + length);
    at += RECORD_BYTES + length;
    if (kind === RECORD.events) events.push(content);
    else if (kind === RECORD.network) counters.push(content);
    else if (kind !== RECORD.end) notes.push({ kind, number, count, text: content.toString() });
    else
      return {
        used: at === bytes.length ? usedAmong(events) : undefined,
        notes,
        counters: Buffer.concat(counters).toString(),
      };
  }
  return undefined;
}

/** A read returns whole events. */
function usedAmong(events: readonly Buffer[]): Set<number> | undefined {
  const used = new Set<number>();
  for (const bytes of events) {
    for (let at = 0; at + EVENT_BYTES <= bytes.length; at += EVENT_BYTES + bytes.readUInt32LE(at + 12)) {
      const watch = bytes.readInt32LE(at);
      // The queue was full.
      if (watch < 1) return undefined;
      used.add(watch - 1);
    }
  }
  return used;
}

/**
 * Runs a command, and asks about every process if one is still there at its end: the launcher notes that. A program can
 * ask the same, but it cannot take the note back, nor end this shell without ending the run. What is just ending gets 200 ms.
 */
export function noticingLeftProcesses([shell = "", ...args]: readonly string[]): string[] {
  return [shell, "-c", WATCH_END, "sh", shell, ...args];
}

/** It prints nothing itself, also not how the command ended. */
const WATCH_END = `trap : TERM; exec 3>&2 2>/dev/null; "$@" 2>&3 3>&-; status=$?; tries=0
others() { for entry in /proc/[0-9]*; do case \${entry#/proc/} in 1 | $$) ;; *) [ -e "$entry" ] && return 0 ;; esac; done; return 1; }
while others; do
  if [ $tries -eq 10 ]; then kill -s 0 -- -1; break; fi
  tries=$((tries + 1)); sleep 0.02
done
exit $status`;

/** What programs ask for and do without: other calls do the same, or it was only for speed. */
const PROBES = new Set([
  ...["io_uring_setup", "perf_event_open", "kcmp", "name_to_handle_at", "userfaultfd", "process_madvise"],
  ...["sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr", "setpriority", "ioprio_set"],
]);

/** Every program asks there for users and groups, and reads the files instead. */
const ASKED_FOR_USERS = /^(?:\/var)?\/run\/(?:nscd\/socket|systemd\/userdb\/.*)$/;

/** What the filter of system calls refused. */
export function refusedCalls({ notes }: LauncherReport, architecture: Architecture): Refusal[] {
  return notes.flatMap(({ kind, number, count, text }): Refusal[] => {
    const name = callName(architecture, number) ?? `system call ${number}`;
    switch (kind) {
      case RECORD.call:
        return [{ kind: "call", subject: name, count, harmless: PROBES.has(name) ? true : undefined }];
      case RECORD.family:
        return [{ kind: number === 1 ? "socket" : "network", subject: `a socket of family ${number}`, count }];
      case RECORD.socket:
        return ASKED_FOR_USERS.test(text) ? [] : [{ kind: "socket", subject: text || "a UNIX socket", count }];
      case RECORD.signal:
        if ((number | 0) === -1) return [{ kind: "left", subject: "a process", count }];
        return [{ kind: "call", subject: `a signal to process ${number | 0}`, count }];
      case RECORD.move:
        return [{ kind: "moved", subject: text, count }];
      default:
        return [{ kind: "call", subject: "more than can be listed", count }];
    }
  });
}

/** Of the IP, TCP, UDP and ICMP counters, those that only grow if something could go nowhere. */
const COUNTERS: readonly (readonly [name: RegExp, subject: string])[] = [
  [/^(?:Ip |Ip6)OutNoRoutes$/, "packets to another machine"],
  [/^Tcp AttemptFails$/, "connections to a port of this machine"],
  [/^(?:Udp |Udp6)NoPorts$/, "packets to a port of this machine"],
  [/^Icmp OutMsgs$/, "messages of ICMP"],
];

/** What went nowhere in the network namespace of the command, which has only its own loopback. */
export function refusedNetwork({ counters }: LauncherReport): Refusal[] {
  const found = new Map<string, number>();
  const lines = counters.split("\n");
  const add = (name: string, value: number): void => {
    const subject = COUNTERS.find(([pattern]) => pattern.test(name))?.[1];
    if (subject !== undefined && value > 0) found.set(subject, (found.get(subject) ?? 0) + value);
  };
  for (const [index, line] of lines.entries()) {
    const [, section, rest] = /^(\w+): (.*)$/.exec(line) ?? [];
    const values = section !== undefined && lines[index + 1]?.startsWith(`${section}: `) ? lines[index + 1] : undefined;
    if (section !== undefined && rest !== undefined && values !== undefined && /[A-Z]/.test(rest)) {
      const numbers = values.split(" ").slice(1);
      for (const [column, name] of rest.split(" ").entries()) add(`${section} ${name}`, Number(numbers[column]));
      continue;
    }
    const [, name, value] = /^(\w+6\w+)\s+(\d+)$/.exec(line) ?? [];
    if (name !== undefined) add(name, Number(value));
  }
  return [...found].map(([subject, count]) => ({ kind: "network", subject, count }));
}

/** A watched placeholder, as it was used. */
export interface UsedPlaceholder {
  path: string;
  hasChanged: boolean;
}

/** `command`: as it was started. */
export function refusedHidden(used: readonly UsedPlaceholder[], command: readonly string[]): Refusal[] {
  return used.map(({ path, hasChanged }) => {
    const isNamed = command.some((text) => text.includes(basename(path)));
    return { kind: "hidden", subject: path, count: 1, harmless: hasChanged || isNamed ? undefined : true };
  });
}

const FAILURE =
  /\b(?:EACCES|EPERM|EROFS|ENOENT)\b|Permission denied|not permitted|Read-only file system|No such file|\[Errno (?:1|2|13|30)\]/i;
const WRITE_FAILURE = /\bEROFS\b|Read-only file system/i;
const MAX_PATHS = 50;

/** What the kernel cannot report: paths that the output names in an error. It only adds to the report. */
export function refusalsInOutput(
  output: string,
  { readable, home }: { readable: readonly string[]; home: string },
): Refusal[] {
  const found = new Map<string, Refusal>();
  for (const line of output.split("\n")) {
    if (!FAILURE.test(line)) continue;
    for (const [given] of line.matchAll(/(?<![\w./])[~/][\w./@+-]{2,300}/g)) {
      const path = given.replace(/^~(?=\/)/, home).replace(/[.:]+$/, "");
      const isWrite = WRITE_FAILURE.test(line);
      const isShown = !isWrite && readable.some((root) => isInside(path, root));
      if (isShown || path.startsWith("/proc/") || found.size >= MAX_PATHS || !isAllowedHere(path, isWrite)) continue;
      found.set(path, { kind: isWrite ? "outside" : "hidden", subject: path, count: 1 });
    }
  }
  return [...found.values()];
}

/** Whether this process may do it: otherwise it is no refusal of the sandbox. */
function isAllowedHere(path: string, isWrite: boolean): boolean {
  try {
    const exists = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
    accessSync(exists || !isWrite ? path : dirname(path), isWrite ? constants.W_OK : constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
