import type { AttackList } from "./attack.ts";

/** Signals, limits and priorities of other processes, and processes that stay. */
export const REACH_PROCESSES: AttackList = {
  kill: "kill -TERM $VICTIM",
  "kill -0 tells that it may": "kill -0 $VICTIM && kill -USR1 $VICTIM",
  "kill -STOP": "kill -STOP $VICTIM",
  "kill -CONT of everything": { run: "kill -CONT -1", reachesMachine: true },
  "kill of a group": "kill -USR2 -- -$VICTIM",
  pkill: { run: "pkill -USR1 -f $VICTIMNAME", needs: ["pkill"] },
  killall: { run: "killall -USR1 $VICTIMNAME; fuser -k -USR1 $OUT/held", needs: ["killall"] },
  "skill and snice": { run: "skill -USR1 -p $VICTIM; snice +5 -p $VICTIM", needs: ["skill"] },
  tgkill: { run: "perl -e 'syscall($ENV{NR_tgkill}+0,$ENV{VICTIM}+0,$ENV{VICTIM}+0,10)'", needs: ["perl"] },
  tkill: { run: "perl -e 'syscall($ENV{NR_tkill}+0,$ENV{VICTIM}+0,10)'", needs: ["perl"] },
  rt_sigqueueinfo: {
    run: 'perl -e \'$i=pack("l3",10,0,-1)."\\0"x116; syscall($ENV{NR_rt_sigqueueinfo}+0,$ENV{VICTIM}+0,10,$i)\'',
    needs: ["perl"],
  },
  pidfd_send_signal: { run: "perl -e '$p=syscall(434,$ENV{VICTIM}+0,0); syscall(424,$p,10,0,0)'", needs: ["perl"] },
  "signal by a directory of /proc": {
    run: "perl -e '$p=syscall($ENV{NR_openat}+0,-100,\"/proc/$ENV{VICTIM}\",0x10000,0); syscall(424,$p,10,0,0)'",
    needs: ["perl"],
  },
  "signal by F_SETOWN": {
    run: 'python3 -c \'import fcntl,os,struct,socket\na,b=socket.socketpair()\nv=int(os.environ["VICTIM"])\nfor s in (10,):\n try:\n  fcntl.fcntl(a,fcntl.F_SETOWN,v); fcntl.fcntl(a,10,s); fcntl.fcntl(a,fcntl.F_SETFL,os.O_ASYNC|os.O_NONBLOCK); b.send(b"x")\n except OSError as e: print(e)\'',
    needs: ["python3"],
  },
  "signal by F_SETOWN_EX": {
    run: 'python3 -c \'import fcntl,os,struct,socket\na,b=socket.socketpair()\nv=int(os.environ["VICTIM"])\ntry:\n fcntl.fcntl(a,15,struct.pack("ii",1,v)); fcntl.fcntl(a,10,10); fcntl.fcntl(a,fcntl.F_SETFL,os.O_ASYNC|os.O_NONBLOCK); b.send(b"x")\nexcept OSError as e: print(e)\'',
    needs: ["python3"],
  },
  "signal by FIOSETOWN": {
    run: 'python3 -c \'import fcntl,os,struct,socket\na,b=socket.socketpair()\nv=int(os.environ["VICTIM"])\ntry:\n fcntl.ioctl(a,0x8901,struct.pack("i",v)); fcntl.ioctl(a,0x5452,struct.pack("i",1)); b.send(b"x")\nexcept OSError as e: print(e)\'',
    needs: ["python3"],
  },
  "signal by a lease": {
    run: 'python3 -c \'import fcntl,os\nv=int(os.environ["VICTIM"])\ntry:\n d=os.open(".",0); fcntl.fcntl(d,fcntl.F_SETOWN,v); fcntl.fcntl(d,10,10); fcntl.fcntl(d,1026,0x80000000|4)\nexcept OSError as e: print(e)\ntry: os.mkdir("made")\nexcept OSError: pass\'',
    needs: ["python3"],
  },
  "signal by a timer": {
    run: 'python3 -c \'import ctypes,os,struct\nl=ctypes.CDLL(None)\nt=ctypes.c_int()\ne=struct.pack("qiii",0,10,4,int(os.environ["VICTIM"]))+b"\\0"*44\nprint(l.syscall(int(os.environ["NR_timer_create"]),1,e,ctypes.byref(t)))\'',
    needs: ["python3"],
  },
  renice: { run: "renice -n 5 -p $VICTIM", needs: ["renice"] },
  "renice of a user": { run: "[ $(id -u) = 0 ] || renice -n 19 -u $(id -u)", needs: ["renice"], reachesMachine: true },
  "renice of a group": { run: "renice -n 5 -g $VICTIM", needs: ["renice"] },
  "setpriority of the own user": {
    run: "[ $(id -u) = 0 ] || python3 -c 'import os; os.setpriority(os.PRIO_USER,0,19)'",
    needs: ["python3"],
    reachesMachine: true,
  },
  ionice: { run: "ionice -c3 -p $VICTIM", needs: ["ionice"] },
  "ionice of a user": { run: "[ $(id -u) = 0 ] || ionice -c3 -u $(id -u)", needs: ["ionice"], reachesMachine: true },
  taskset: { run: "taskset -p 1 $VICTIM", needs: ["taskset"] },
  chrt: { run: "chrt -b -p 0 $VICTIM; chrt -i -p 0 $VICTIM", needs: ["chrt"] },
  uclampset: { run: "uclampset -m 1 -p $VICTIM", needs: ["uclampset"] },
  prlimit: { run: "prlimit --pid $VICTIM --nofile=7:7 --fsize=1:1", needs: ["prlimit"] },
  choom: { run: "choom -n 999 -p $VICTIM; echo 999 > /proc/$VICTIM/oom_score_adj", needs: ["choom"] },
  "comm of another": "echo changed > /proc/$VICTIM/comm; echo changed > /proc/$VICTIM/task/$VICTIM/comm",
  "coredump filter of another": "echo 0 > /proc/$VICTIM/coredump_filter; echo 1 > /proc/$VICTIM/clear_refs",
  "write to memory of another": {
    run: 'perl -e \'syscall($ENV{NR_process_vm_writev}+0,$ENV{VICTIM}+0,pack("PQ","xxxx",4),1,pack("QQ",4096,4),1,0); open F,"+<","/proc/$ENV{VICTIM}/mem" and print "CANARYMEM"\'',
    needs: ["perl"],
  },
  "ptrace attach": { run: "perl -e 'syscall($ENV{NR_ptrace}+0,16,$ENV{VICTIM}+0,0,0); sleep 1'", needs: ["perl"] },
  "ptrace seize": {
    run: "perl -e 'syscall($ENV{NR_ptrace}+0,0x4206,$ENV{VICTIM}+0,0,0)==0 and print \"CANARYPTRACE\"'",
    needs: ["perl"],
  },
  process_madvise: {
    run: 'perl -e \'$p=syscall(434,$ENV{VICTIM}+0,0); print "CANARYADVISE" if syscall(440,$p,pack("QQ",0,0),1,21,0)>=0\'',
    needs: ["perl"],
  },
  kcmp: {
    run: "perl -e 'print \"CANARYKCMP\" if syscall($ENV{NR_kcmp}+0,$ENV{VICTIM}+0,$$,0,0,0)>=0'",
    needs: ["perl"],
  },
  migrate_pages: {
    run: 'perl -e \'$m=pack("Q",1); print "CANARYPAGES" if syscall($ENV{NR_migrate_pages}+0,$ENV{VICTIM}+0,64,$m,$m)>=0\'',
    needs: ["perl"],
  },
  ipcrm: { run: "ipcrm -m $SHM; ipcrm -q $MSG; ipcrm -s $SEM", needs: ["ipcrm"] },
  ipcmk: { run: "ipcmk -M 64 -Q -S 1 && echo CANARYIPC", needs: ["ipcmk"] },
  "shmat and write": { run: "perl -e 'shmwrite($ENV{SHM},\"changed\",0,7)'", needs: ["perl"] },
  shmctl: { run: "perl -e 'shmctl($ENV{SHM},0,0)'", needs: ["perl"] },
  msgsnd: { run: 'perl -e \'msgsnd($ENV{MSG},pack("l! a*",1,"x"),04000)\'', needs: ["perl"] },
  msgctl: { run: "perl -e 'msgctl($ENV{MSG},0,0)'", needs: ["perl"] },
  semop: { run: "perl -e 'semop($ENV{SEM},pack(\"s3\",0,1,04000))'", needs: ["perl"] },
  semctl: { run: "perl -e 'semctl($ENV{SEM},0,16,7); semctl($ENV{SEM},0,0,0)'", needs: ["perl"] },
  mq_unlink: { run: 'perl -e \'syscall($ENV{NR_mq_unlink}+0,"none"); print "CANARYMQ" if $!==2\'', needs: ["perl"] },
  setsid: "setsid sleep $NAP > /dev/null 2>&1 < /dev/null & disown",
  "double fork": "( ( setsid nohup sleep $NAP > /dev/null 2>&1 < /dev/null & ) & )",
  "a daemon that closes everything": {
    run: "perl -e 'use POSIX; fork and exit; POSIX::setsid(); fork and exit; POSIX::close($_) for 0..255; exec \"sleep\",$ENV{NAP}'",
    needs: ["perl"],
  },
  "a daemon that ignores signals":
    "( trap '' TERM HUP INT QUIT; setsid bash -c 'trap \"\" TERM HUP INT QUIT; exec sleep '$NAP > /dev/null 2>&1 < /dev/null & )",
  "a daemon after the end of its supervisor": {
    // Without a sandbox this is the program that runs the attacks.
    run: "setsid sleep $NAP > /dev/null 2>&1 < /dev/null & sleep 0.3; kill -9 $PPID; sleep 0.3",
    reachesMachine: true,
  },
  "a stopped supervisor": {
    // Without a sandbox this is the program that runs the attacks.
    run: "setsid sleep $NAP > /dev/null 2>&1 < /dev/null & sleep 0.3; kill -STOP $PPID; exit 0",
    reachesMachine: true,
  },
  "a supervisor that gets QUIT": {
    // Without a sandbox this is the program that runs the attacks.
    run: "setsid sleep $NAP > /dev/null 2>&1 < /dev/null & sleep 0.3; kill -QUIT $PPID; kill -TERM $PPID; sleep 0.3",
    reachesMachine: true,
  },
  "start-stop-daemon": {
    run: "start-stop-daemon --start --background --exec /bin/sleep -- $NAP",
    needs: ["start-stop-daemon"],
  },
  "systemd-run": { run: "systemd-run --user sleep $NAP; systemd-run sleep $NAP", needs: ["systemd-run"] },
  tmux: { run: 'timeout 3 tmux -L x new -d "sleep $NAP"', needs: ["tmux"] },
  "python multiprocessing daemon": {
    run: 'python3 -c \'import os\nif os.fork()==0:\n os.setsid()\n if os.fork()==0: os.execvp("sleep",["sleep",os.environ["NAP"]])\'',
    needs: ["python3"],
  },
  "node detached": {
    run: 'node -e \'require("child_process").spawn("sleep",[process.env.NAP],{detached:true,stdio:"ignore"}).unref()\'',
    needs: ["node"],
  },
  "many processes": "for i in $(seq 60); do setsid sleep $NAP > /dev/null 2>&1 & done; exit 0",
  "processes that fork while they are killed": {
    run: 'perl -e \'use POSIX; if(!fork){POSIX::setsid(); $SIG{TERM}=$SIG{HUP}="IGNORE"; for(1..300){if(fork){select undef,undef,undef,0.01; exit}} exec "sleep",$ENV{NAP}}\'',
    needs: ["perl"],
  },
  "a crash": "ulimit -c unlimited; bash -c 'kill -SEGV $$'; ls core* 2>/dev/null && echo CANARYCORE",
  "terminal input by TIOCSTI": {
    run: 'perl -e \'for $t ("/dev/tty","/dev/stdin",glob("/dev/pts/*"),"/dev/tty0","/dev/tty1","/dev/console"){open T,"+<",$t or next; ioctl(T,0x5412,$c="x") and print "CANARYTTY"}\'',
    needs: ["perl"],
  },
  "writes to terminals":
    "for t in /dev/pts/* /dev/tty[0-9] /dev/console /dev/ptmx; do echo x > $t && echo CANARYTTY; done 2>/dev/null",
  "wall and write": { run: "wall x; write root < /dev/null; mesg y", needs: ["wall"] },
  "landlock again": {
    run: "perl -e '$a=pack(\"QQQ\",0,0,0); $r=syscall(444,$a,8,0); syscall(446,$r,0)'; kill -USR1 $VICTIM",
    needs: ["perl"],
  },
  "setuid programs": {
    run: "su -c 'echo CANARYSU' nobody < /dev/null; sudo -n echo CANARYSU; pkexec echo CANARYSU; newgrp root -c 'echo CANARYSU' < /dev/null",
    reachesMachine: true,
  },
  "setpriv and runuser": {
    run: "setpriv --reuid 1 --clear-groups touch $OUT/x; runuser -u nobody -- touch $OUT/open/x; chroot / touch $OUT/x",
    needs: ["setpriv"],
    reachesMachine: true,
  },
  capsh: { run: 'capsh --user=nobody -- -c "touch $OUT/open/x"', needs: ["capsh"], reachesMachine: true },
};
