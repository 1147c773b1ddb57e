#!/bin/sh
# Builds launch-x64 and launch-arm64 from launch.c, each if a compiler for it is installed. `build.sh FOLDER` writes
# elsewhere. The bytes depend on the compiler: the committed files come from GCC 12.
set -eu
here=$(dirname "$0")
target=${1:-$here}

# No libc, no start files, nothing that the program does not need: about 5 KB, the same bytes at every build.
options="-std=gnu11 -Os -Wall -Wextra -static -nostdlib -nostartfiles -ffreestanding -fno-builtin -fno-pie -no-pie
  -fno-stack-protector -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns
  -Wl,--build-id=none -Wl,-z,noseparate-code -Wl,-z,norelro -Wl,-z,noexecstack -s"

build() { # name, prefix of the tools, options of this architecture only
  command -v "$2gcc" >/dev/null || return 0
  # shellcheck disable=SC2086
  "$2gcc" $options $3 "$here/launch.c" -o "$target/launch-$1"
  "$2objcopy" --remove-section .comment --remove-section .note.gnu.property "$target/launch-$1"
  chmod 755 "$target/launch-$1"
}

build x64 x86_64-linux-gnu- "-fcf-protection=none"
build arm64 aarch64-linux-gnu- "-fno-stack-clash-protection -mno-outline-atomics"
