import { carriesCommand, readWrapper } from "./command-wrappers.ts";
import type { SeenCommand } from "./parse-command.ts";
import { FIND_EXPRESSIONS, isHarmlessSed } from "./read-only-forms.ts";
import { isReadOnlyArgv } from "./rebuild-command.ts";

/**
 * Whether a command is known to start no other program, with these words. Turned round on purpose: a list of programs
 * that start others is never complete, so every program that is not known may start any other.
 */
export function startsNothing({ name, argv, open }: SeenCommand): boolean {
  const words = argv.slice(1);
  if (NEVER_STARTS.has(name)) return true;
  const builtin = BUILTINS.get(name);
  if (builtin) return open.length === 0 && builtin(words);
  // What a wrapper runs is in the list of commands as well.
  const wrapped = readWrapper(name, words);
  if (wrapped) return wrapped.certain && wrapped.commands.length + wrapped.texts.length > 0;
  if (open.length > 0) return false;
  if (name === "find" && words.every(isPlainFindWord)) return true;
  return (name === "sed" && startsNoSed(words)) || isReadOnlyArgv(argv);
}

/** With any arguments. Left out: those with an option that runs a program, such as sort, split, file, install, tar. */
const NEVER_STARTS: ReadonlySet<string> = new Set(
  `basename cat chgrp chmod chown cksum cmp comm cp cut date df dirname du echo egrep expand expr factor false fgrep fmt fold
   free getconf grep groups head hexdump hostname id join jq kill link ln locale logname ls lscpu md5sum mkdir mkfifo mktemp
   mv nl nproc numfmt od paste pathchk pgrep pidof pkill printenv ps pwd readlink realpath rev rm rmdir seq sha1sum sha224sum
   sha256sum sha384sum sha512sum b2sum shred shuf sleep stat strings sum sync tac tail tee touch tr tree true truncate tsort
   tty uname unexpand uniq unlink uptime users wc which who whoami xxd yes base32 base64 column cd pushd popd dirs : break
   continue exit return shift wait jobs fg bg umask ulimit times`.split(/\s+/),
);

const PLAIN_NAME = /^[A-Za-z_]\w*$/;
const isOption = (word: string): boolean => word.startsWith("-");

function areNames(words: readonly string[], options: RegExp): boolean {
  return words.every((word) => (isOption(word) ? options.test(word) : PLAIN_NAME.test(word)));
}

function areAssignments(words: readonly string[], options: RegExp): boolean {
  return words.every((word) => {
    if (isOption(word)) return options.test(word);
    return /^[A-Za-z_]\w*(?:\+?=.*)?$/s.test(word) && !carriesCommand(word);
  });
}

/** Builtins that evaluate some of their words: a subscript, an arithmetic expression, a prompt. */
const BUILTINS: ReadonlyMap<string, (words: readonly string[]) => boolean> = new Map([
  ["test", (words: readonly string[]) => !words.some((word) => /^-[vR]$/.test(word))],
  ["[", (words: readonly string[]) => !words.some((word) => /^-[vR]$/.test(word))],
  ["printf", (words: readonly string[]) => !isOption(words[0] ?? "")],
  ["read", (words: readonly string[]) => areNames(words, /^-[rs]$/)],
  ["unset", (words: readonly string[]) => areNames(words, /^-[vf]$/)],
  ["export", (words: readonly string[]) => areAssignments(words, /^-p$/)],
  ["readonly", (words: readonly string[]) => areAssignments(words, /^-p$/)],
  ["local", (words: readonly string[]) => areAssignments(words, /^$/)],
  ["declare", (words: readonly string[]) => areAssignments(words, /^-[rx]$/)],
  ["set", (words: readonly string[]) => words.every((word) => /^(?:[-+][eufx]*o?|pipefail)$/.test(word))],
  ["shopt", (words: readonly string[]) => areNames(words, /^-[sup]$/)],
  ["type", () => true],
]);

function isPlainFindWord(word: string): boolean {
  const isKnown = [FIND_EXPRESSIONS.plain, FIND_EXPRESSIONS.text, FIND_EXPRESSIONS.path, FIND_EXPRESSIONS.writes];
  return !isOption(word) || isKnown.some((list) => list.has(word));
}

function startsNoSed(words: readonly string[]): boolean {
  const scripts = words.filter((word) => !isOption(word));
  const isPlain = words.every((word) => !isOption(word) || /^-[nEriz]+$/.test(word));
  return isPlain && isHarmlessSed(scripts[0] ?? "");
}
