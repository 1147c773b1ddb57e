import { readGit } from "./read-only-git.ts";

const WRITING_PROGRAMS = new Set(
  `apt apt-get brew chgrp chmod chown cp crontab dd dnf fallocate install kill killall ln losetup mkdir mkfifo mkfs mknod
   mktemp mount mv patch pip pip3 pkill poweroff reboot rm rmdir rsync shred shutdown split systemctl tee touch truncate
   umount unlink unzip useradd userdel usermod yum`.split(/\s+/),
);

/** Whether this command is known to change something; false says only that it is not known. */
export function isKnownToWrite(name: string, words: readonly string[]): boolean {
  if (WRITING_PROGRAMS.has(name) || name.startsWith("mkfs.")) return true;
  if (name !== "git") return false;
  const verdict = readGit(words);
  return "refused" in verdict && verdict.writes;
}
