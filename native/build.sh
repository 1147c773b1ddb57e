#!/bin/sh
# Builds launch-x64, launch-arm64, hook-x64 and hook-arm64, each if a compiler for it is installed. `build.sh FOLDER`
# writes elsewhere. The bytes depend on the compiler: the committed files come from GCC 12.
set -eu
here=$(dirname "$0")
target=${1:-$here}

# No libc, no start files, nothing that the program does not need: about 5 KB, the same bytes at every build.
options="-std=gnu11 -Os -Wall -Wextra -static -nostdlib -nostartfiles -ffreestanding -fno-builtin -fno-pie -no-pie
  -fno-stack-protector -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns
  -Wl,--build-id=none -Wl,-z,noseparate-code -Wl,-z,norelro -Wl,-z,noexecstack -s"

build() { # name, prefix of the tools, options of this architecture only
  command -v "$2gcc" >/dev/null || return 0
  for program in launch hook; do
    # shellcheck disable=SC2086
    "$2gcc" $options $3 "$here/$program.c" -o "$target/$program-$1"
    "$2objcopy" --remove-section .comment --remove-section .note.gnu.property "$target/$program-$1"
    chmod 755 "$target/$program-$1"
  done
}

build x64 x86_64-linux-gnu- "-fcf-protection=none"
build arm64 aarch64-linux-gnu- "-fno-stack-clash-protection -mno-outline-atomics"
