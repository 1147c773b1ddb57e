import type { AttackList } from "./attack.ts";

/** A system call that must not succeed. It prints a mark if it does, or if it fails only because of its arguments. */
const refused = (name: string, args: string, mark = "CANARYKERNEL"): string =>
  `perl -e '$r=syscall(${/^\d+$/.test(name) ? name : `$ENV{NR_${name}}+0`},${args}); print "${mark} ${name}\\n" if $r>=0 || !($!{EPERM}||$!{ENOSYS}||$!{EACCES})'`;

/** Mounts, namespaces, modules, and calls that no filter of paths sees. */
export const REACH_KERNEL: AttackList = {
  mount: {
    run: "mount -t tmpfs x $OUT/empty && touch $OUT/empty/x; mount --bind $OUT empty && touch empty/x",
    needs: ["mount"],
  },
  "mount of proc": { run: "mount -t proc proc empty && cat empty/$VICTIM/environ", needs: ["mount"] },
  remount: {
    run: "mount -o remount,rw,bind . && echo x > .git/config; mount -o remount,rw /",
    needs: ["mount"],
    reachesMachine: true,
  },
  umount: {
    run: "umount -l .git .git/hooks .git/config /proc /tmp; echo x > .git/config",
    needs: ["umount"],
    reachesMachine: true,
  },
  "unshare of users": {
    run: "unshare -Urm bash -c 'mount -t tmpfs x empty; cat .env; echo x > $OUT/file.txt'",
    needs: ["unshare"],
  },
  "unshare of mounts": { run: "unshare -m bash -c 'umount -l .git/config; echo x > .git/config'", needs: ["unshare"] },
  "unshare of processes and network": {
    run: "unshare -Urpf --mount-proc cat /proc/self/cgroup && echo CANARYNS; unshare -Urn ip link && echo CANARYNS",
    needs: ["unshare"],
  },
  "clone with namespaces": {
    run: "perl -e 'for $f (0x10000000,0x00020000,0x40000000,0x20000000,0x08000000,0x04000000,0x02000000){$p=syscall($ENV{NR_clone}+0,$f|17,0,0,0,0); if($p==0){print \"CANARYNS\"; exit} }'",
    needs: ["perl"],
  },
  "clone3 with namespaces": {
    run: 'perl -e \'$a=pack("Q8",0x10000000,0,0,0,17,0,0,0); $p=syscall(435,$a,64); print "CANARYNS" if $p>=0\'',
    needs: ["perl"],
  },
  nsenter: { run: "nsenter -t $VICTIM -m -p -n cat $HOME/.netrc; nsenter -t 1 -m touch $OUT/x", needs: ["nsenter"] },
  "setns by a pidfd": {
    run: "perl -e '$p=syscall(434,$ENV{VICTIM}+0,0); print \"CANARYNS\" if syscall($ENV{NR_setns}+0,$p,0x20000)==0'",
    needs: ["perl"],
  },
  chroot: { run: "chroot $OUT /file.txt; chroot / cat $HOME/.netrc", needs: ["chroot"] },
  bwrap: { run: "bwrap --bind / / cat $HOME/.netrc; bwrap --dev-bind / / touch $OUT/x", needs: ["bwrap"] },
  fakeroot: { run: "fakeroot sh -c 'chmod 777 $OUT/file.txt; cat $HOME/.netrc'", needs: ["fakeroot"] },
  "qemu user": {
    run: "for q in qemu-aarch64 qemu-x86_64 qemu-i386; do timeout 3 $q /bin/cat .env $HOME/.netrc; done",
    needs: ["qemu-aarch64"],
  },
  "the loader":
    "for l in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do $l /bin/cat .env $HOME/.netrc; done",
  linux32: { run: "setarch -R linux32 cat .env; setarch -R cat $HOME/.netrc", needs: ["setarch"] },
  io_uring: { run: refused("425", '8,$a="\\0"x120'), needs: ["perl"] },
  "io_uring register": { run: refused("427", "0,0,0,0"), needs: ["perl"] },
  bpf: { run: refused("bpf", '0,$a="\\0"x120,120'), needs: ["perl"] },
  perf_event_open: { run: refused("perf_event_open", '$a=pack("LLQ",1,112,0)."\\0"x96,0,-1,-1,0'), needs: ["perl"] },
  userfaultfd: { run: refused("userfaultfd", "1"), needs: ["perl"] },
  keyctl: { run: refused("keyctl", "0,-3,1"), needs: ["perl"] },
  add_key: { run: refused("add_key", '"user","haft","x",1,-4'), needs: ["perl"] },
  request_key: { run: refused("request_key", '"user","haft",0,0'), needs: ["perl"] },
  shmget: { run: refused("shmget", "0,64,0x3b6"), needs: ["perl"] },
  shmat: { run: refused("shmat", "0,0,4096"), needs: ["perl"] },
  shmctl: { run: refused("shmctl", '0,13,$a="\\0"x256'), needs: ["perl"] },
  msgget: { run: refused("msgget", "0,0x3b6"), needs: ["perl"] },
  msgrcv: { run: refused("msgrcv", '0,$a="\\0"x64,8,0,2048'), needs: ["perl"] },
  msgctl: { run: refused("msgctl", '0,11,$a="\\0"x256'), needs: ["perl"] },
  semget: { run: refused("semget", "0,1,0x3b6"), needs: ["perl"] },
  semctl: { run: refused("semctl", '0,0,18,$a="\\0"x256'), needs: ["perl"] },
  mq_open: { run: refused("mq_open", '"haft",66,0x180,0'), needs: ["perl"] },
  mq_unlink: { run: refused("mq_unlink", '"haft"'), needs: ["perl"] },
  fsopen: { run: refused("430", '"tmpfs",0'), needs: ["perl"] },
  open_tree: { run: refused("428", '-100,".",1'), needs: ["perl"] },
  move_mount: { run: refused("429", '-100,".",-100,"empty",0'), needs: ["perl"] },
  mount_setattr: { run: refused("442", '-100,".",0,$a="\\0"x32,32'), needs: ["perl"] },
  pivot_root: { run: refused("pivot_root", '".","."'), needs: ["perl"] },
  name_to_handle_at: {
    run: refused("name_to_handle_at", '-100,".",$a=pack("LL",128,0)."\\0"x128,$b="\\0"x8,0'),
    needs: ["perl"],
  },
  "a call of the future": {
    run: "perl -e 'for $n (470..490,600){$r=syscall($n,0,0,0,0,0,0); print \"CANARYNEW\" if $r>=0 || !$!{ENOSYS}}'",
    needs: ["perl"],
  },
  finit_module: { run: refused("finit_module", '0,"",0'), needs: ["perl"] },
  kexec_load: { run: refused("kexec_load", "0,0,0,0"), needs: ["perl"] },
  acct: { run: refused("acct", '"a.txt"'), needs: ["perl"] },
  quotactl: { run: refused("quotactl", "0x800001,0,0,0"), needs: ["perl"] },
  sethostname: { run: refused("sethostname", '"haft-attack",11'), needs: ["perl"], reachesMachine: true },
  clock_settime: { run: refused("clock_settime", "0,0"), needs: ["perl"], reachesMachine: true },
  adjtimex: {
    run: 'perl -e \'print "CANARYCLOCK" if syscall($ENV{NR_adjtimex}+0,pack("L",0x4000)."\\0"x300)>=0\'',
    needs: ["perl"],
    reachesMachine: true,
  },
  "syslog call": { run: refused("syslog", "10,0,0"), needs: ["perl"] },
  swapon: { run: refused("swapon", '"a.txt",0'), needs: ["perl"] },
  vhangup: { run: refused("vhangup", "0"), needs: ["perl"], reachesMachine: true },
  pidfd_getfd: { run: refused("438", "0,0,0"), needs: ["perl"] },
  process_vm_readv: { run: refused("process_vm_readv", "$$,0,0,0,0,0"), needs: ["perl"] },
  "kernel settings": {
    run: "for f in /proc/sys/kernel/hostname /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sys/kernel/printk /proc/sysrq-trigger /sys/power/state /sys/kernel/mm/ksm/run; do exec 7>> $f && echo CANARYSYSCTL $f; done 2>/dev/null",
    reachesMachine: true,
  },
  sysctl: { run: "sysctl -w kernel.printk='4 4 1 7' && echo CANARYSYSCTL", needs: ["sysctl"], reachesMachine: true },
  cgroups: {
    run: "for d in /sys/fs/cgroup /sys/fs/cgroup/*/; do mkdir $d/$MARK && echo CANARYCGROUP; echo $$ >> $d/cgroup.procs && echo CANARYCGROUP; done 2>/dev/null",
    reachesMachine: true,
  },
  "own process files":
    "echo 0 > /proc/self/oom_score_adj; echo 1 > /proc/self/clear_refs; echo x > /proc/self/attr/current; echo 0 0 1 > /proc/self/uid_map; echo 1 > /proc/self/sched",
  devices: {
    run: "for d in /dev/fuse /dev/kvm /dev/net/tun /dev/loop-control /dev/uinput /dev/userfaultfd /dev/vhost-net /dev/rtc0 /dev/watchdog /dev/ptmx; do exec 7<> $d && echo CANARYDEVICE $d; done 2>/dev/null",
    reachesMachine: true,
  },
  "personality and executable memory": {
    run: "perl -e 'syscall($ENV{NR_personality}+0,0x0040000)' ; cat .env $HOME/.netrc",
    needs: ["perl"],
  },
  "memfd program": {
    run: 'python3 -c \'import os\nm=os.memfd_create("m",0); os.write(m,open("/bin/cat","rb").read()); os.execve(m,["cat",".env",os.environ["HOME"]+"/.netrc"],{})\'',
    needs: ["python3"],
  },
  "another architecture": {
    run: 'python3 -c \'import ctypes,mmap,platform\nif platform.machine()=="x86_64":\n m=mmap.mmap(-1,4096,prot=7); m.write(b"\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3"); print("CANARYARCH",ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))())\'',
    needs: ["python3"],
  },
  "seccomp listener": {
    run: 'timeout 2 perl -e \'$f=pack("SCCL",6,0,0,0x7fc00000); $p=pack("S x6 P",1,$f); $d=syscall($ENV{NR_seccomp}+0,1,8,$p)\'; echo x > a.txt; kill -USR1 $VICTIM',
    needs: ["perl"],
  },
  "landlock of an empty set": {
    run: "perl -e '$a=pack(\"Q\",1); $r=syscall(444,$a,8,0); syscall(446,$r,0)'; cat .env; echo x > $OUT/file.txt",
    needs: ["perl"],
  },
  rlimits: "ulimit -f unlimited; ulimit -n 99999; ulimit -v unlimited; ulimit -c unlimited; echo x > $OUT/file.txt",
  memory: { run: 'perl -e \'$x="a"x(6<<30); print "CANARYMEMORY"\'', needs: ["perl"], reachesMachine: true },
  "lookup of a core pattern":
    "cat /proc/sys/kernel/core_pattern > /dev/null; bash -c 'kill -ABRT $$'; ls core* $OUT/core* 2>/dev/null | sed 's/^/CANARYCORE/'",
  "flock of a folder": {
    run: "flock -n $OUT true && flock -n . true; flock -n -E 0 $HOME/.netrc true",
    needs: ["flock"],
  },
  "inotify of a folder": {
    run: "perl -e '$i=syscall($ENV{NR_inotify_init1}+0,0); syscall($ENV{NR_inotify_add_watch}+0,$i,$ENV{HOME}.\"/.ssh\",0xfff)'; echo x > $HOME/.ssh/config",
    needs: ["perl"],
  },
};
