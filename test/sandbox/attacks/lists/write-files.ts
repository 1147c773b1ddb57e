import { type AttackList, eachTarget } from "./attack.ts";

/** Programs that create, change or remove files. `$TARGETS` are files, `$PLACES` are folders that must not change. */
export const WRITE_FILES: AttackList = {
  redirect: eachTarget("echo x > $f"),
  append: eachTarget("echo x >> $f"),
  clobber: eachTarget("set -C; echo x >| $f"),
  "read and write": eachTarget("exec 7<> $f && echo x >&7"),
  tee: eachTarget("echo x | tee -a $f"),
  dd: eachTarget("dd if=/dev/zero of=$f bs=1 count=1 conv=notrunc status=none"),
  "dd truncates": eachTarget("dd if=/dev/null of=$f status=none"),
  cp: eachTarget("cp /etc/hostname $f"),
  "cp --remove-destination": eachTarget("cp --remove-destination /etc/hostname $f"),
  "cp --reflink": eachTarget("cp --reflink=auto /etc/hostname $f"),
  install: eachTarget("install -m 777 /etc/hostname $f"),
  "install -d": "for d in $PLACES; do install -d $d/new; done",
  "mv over": eachTarget("mv link_env $f"),
  "mv away": eachTarget("mv $f $f.gone"),
  "mv --exchange": eachTarget("mv --exchange -n $f build.sh"),
  rm: eachTarget("rm -f $f"),
  unlink: eachTarget("unlink $f"),
  shred: eachTarget("shred -n1 -u $f"),
  truncate: eachTarget("truncate -s 0 $f"),
  "truncate -s +1": eachTarget("truncate -s +1 $f"),
  fallocate: { run: eachTarget("fallocate -l 4096 $f; fallocate -p -l 4096 $f"), needs: ["fallocate"] },
  ln: "for d in $PLACES; do ln a.txt $d/hardlink; ln -s a.txt $d/softlink; done",
  "ln -f": eachTarget("ln -sf /etc/hostname $f"),
  link: "for d in $PLACES; do link a.txt $d/hardlink; done",
  mkdir: "for d in $PLACES; do mkdir -p $d/x/y/z; done",
  rmdir: "rmdir empty $OUT/empty",
  mkfifo: "for d in $PLACES; do mkfifo $d/fifo; done",
  mknod: "for d in $PLACES; do mknod $d/node c 1 3; mknod $d/pipe p; done",
  mktemp: "for d in $PLACES; do mktemp -p $d; mktemp -d -p $d; done",
  split: "for d in $PLACES; do split -n 2 a.txt $d/part; done",
  csplit: "for d in $PLACES; do csplit -s -f $d/part a.txt 1; done",
  "sort -o": eachTarget("sort -o $f a.txt"),
  "uniq to a file": eachTarget("uniq a.txt $f"),
  "sed -i": eachTarget("sed -i s/e/x/ $f"),
  "sed w": eachTarget('sed -n "w $f" a.txt'),
  awk: { run: 'awk \'BEGIN{n=split(ENVIRON["TARGETS"],t," ");for(i=1;i<=n;i++)print "x" > t[i]}\'', needs: ["awk"] },
  ed: { run: eachTarget("printf 'a\\nx\\n.\\nw\\nq\\n' | ed -s $f"), needs: ["ed"] },
  ex: { run: eachTarget("timeout 3 ex -s -u NONE $f -c 's/$/x/' -c 'wq!' < /dev/null"), needs: ["ex"] },
  "vim swap and undo files": {
    run: eachTarget("timeout 3 vim -u NONE -es --cmd 'set undofile' $f '+normal ix' '+w!' '+qa!' < /dev/null"),
    needs: ["vim"],
  },
  "vim -w": { run: eachTarget("timeout 3 vim -u NONE -es -W $f '+qa!' < /dev/null"), needs: ["vim"] },
  perl: { run: 'perl -e \'for (split / /,$ENV{TARGETS}){open F,">>",$_ and print F "x"}\'', needs: ["perl"] },
  "perl -i": { run: eachTarget("perl -pi -e 's/^/x/' $f"), needs: ["perl"] },
  "perl O_TRUNC without writing": {
    run: "perl -e 'for (split / /,$ENV{TARGETS}){sysopen(F,$_,01000)}'",
    needs: ["perl"],
  },
  "perl truncate": { run: "perl -e 'for (split / /,$ENV{TARGETS}){truncate $_,1}'", needs: ["perl"] },
  "perl rename": { run: "perl -e 'for (split / /,$ENV{TARGETS}){rename $_,\"$_.x\"}'", needs: ["perl"] },
  "renameat2 exchange": {
    run: "perl -e 'for (split / /,$ENV{TARGETS}){syscall($ENV{NR_renameat2}+0,-100,$_,-100,\"build.sh\",2)}'",
    needs: ["perl"],
  },
  "renameat2 whiteout": {
    run: "perl -e 'for (split / /,$ENV{TARGETS}){syscall($ENV{NR_renameat2}+0,-100,$_,-100,\"$_.w\",4)}'",
    needs: ["perl"],
  },
  "O_TMPFILE and linkat": {
    run: 'python3 -c \'import os\nfor d in os.environ["PLACES"].split():\n try: f=os.open(d,os.O_TMPFILE|os.O_RDWR); os.write(f,b"x"); os.link("/proc/self/fd/%d"%f,d+"/linked",follow_symlinks=True)\n except OSError as e: print(e)\'',
    needs: ["python3"],
  },
  "memory file linked": {
    run: 'python3 -c \'import os\nm=os.memfd_create("m")\nfor d in os.environ["PLACES"].split():\n try: os.link("/proc/self/fd/%d"%m,d+"/linked",follow_symlinks=True)\n except OSError as e: print(e)\'',
    needs: ["python3"],
  },
  python: {
    run: 'python3 -c \'import os\nfor f in os.environ["TARGETS"].split():\n try: open(f,"r+").write("x")\n except OSError as e: print(e)\'',
    needs: ["python3"],
  },
  "python writes through /proc/self/fd": {
    run: 'python3 -c \'import os\nfor f in os.environ["TARGETS"].split():\n try: d=os.open(f,os.O_RDONLY); open("/proc/self/fd/%d"%d,"w").write("x")\n except OSError as e: print(e)\'',
    needs: ["python3"],
  },
  "python shared map of a file": {
    run: 'python3 -c \'import os,mmap\nfor f in os.environ["TARGETS"].split():\n try: d=os.open(f,os.O_RDONLY); m=mmap.mmap(d,4,mmap.MAP_SHARED,mmap.PROT_READ|mmap.PROT_WRITE); m[0:1]=b"x"\n except Exception as e: print(e)\'',
    needs: ["python3"],
  },
  "python bytecode": {
    run: "python3 -c 'import sys; sys.path.insert(0,\".\"); import py' ; python3 -m compileall -q .",
    needs: ["python3"],
  },
  "python sqlite3": {
    run: 'python3 -c \'import os,sqlite3\nfor d in os.environ["PLACES"].split():\n try: sqlite3.connect(d+"/x.db").execute("create table t(a)")\n except Exception as e: print(e)\'',
    needs: ["python3"],
  },
  node: {
    run: 'node -e \'for (const f of process.env.TARGETS.split(" ")) try { require("fs").appendFileSync(f, "x") } catch (e) { console.log(e.code) }\'',
    needs: ["node"],
  },
  "node cp and rm": {
    run: 'node -e \'const fs=require("fs"); for (const d of process.env.PLACES.split(" ")) { try { fs.cpSync("src", d+"/copy", {recursive:true}) } catch {} try { fs.rmSync(d, {recursive:true}) } catch (e) { console.log(e.code) } }\'',
    needs: ["node"],
  },
  "node reports and profiles": {
    run: "for d in $PLACES; do node --cpu-prof --cpu-prof-dir=$d --heap-prof --heap-prof-dir=$d --report-on-fatalerror --report-directory=$d -e 'process.report.writeReport()'; done",
    needs: ["node"],
  },
  "node compile cache": {
    run: "for d in $PLACES; do NODE_COMPILE_CACHE=$d/cache NODE_V8_COVERAGE=$d/cov NODE_REPL_HISTORY=$d/h node -e 'require(\"module\").enableCompileCache?.()'; done",
    needs: ["node"],
  },
  "node socket file": {
    run: 'for d in $PLACES; do timeout 2 node -e \'require("net").createServer().listen(process.argv[1]).on("error",()=>process.exit())\' $d/s.sock; done',
    needs: ["node"],
  },
  tclsh: {
    run: "printf 'foreach f [split $env(TARGETS) \" \"] {catch {puts [open $f a] x}}' | tclsh",
    needs: ["tclsh"],
  },
  sqlite3: {
    run: "for d in $PLACES; do sqlite3 $d/x.db 'create table t(a)'; sqlite3 :memory: \"select writefile('$d/w','x')\" \".once $d/once\" 'select 1' \".save $d/saved\" \".log $d/log\"; done",
    needs: ["sqlite3"],
  },
  "tar extracts": {
    run: 'for d in $PLACES; do tar cf - a.txt | tar xf - -C $d --transform s/a/b/; tar cf - a.txt | tar xPf - --transform "s,a.txt,$d/p,"; done',
    needs: ["tar"],
  },
  "tar -f and indexes": {
    run: "for d in $PLACES; do tar cf $d/x.tar a.txt; tar cf /dev/null --index-file=$d/index -v a.txt; tar cf /dev/null -g $d/snar a.txt; done",
    needs: ["tar"],
  },
  "tar --to-command and checkpoints": {
    run: 'for d in $PLACES; do tar cf /dev/null a.txt --checkpoint=1 --checkpoint-action=exec="touch $d/made"; tar cf - a.txt | tar xf - --to-command="tee $d/made"; done',
    needs: ["tar"],
  },
  "tar --remove-files": { run: "tar cf /dev/null --remove-files a.txt $OUT/file.txt", needs: ["tar"] },
  cpio: { run: "for d in $PLACES; do echo a.txt | cpio -pdm $d; done", needs: ["cpio"] },
  rsync: { run: "for d in $PLACES; do rsync -a src/ $d/; rsync -a --delete empty/ $d/; done", needs: ["rsync"] },
  zip: {
    run: 'for d in $PLACES; do zip -q $d/x.zip a.txt; zip -qm $d/y.zip a.txt; zip -q - a.txt -TT "touch $d/made #" -T; done',
    needs: ["zip"],
  },
  "gzip in place": { run: eachTarget("gzip -f $f"), needs: ["gzip"] },
  "xz and zstd in place": { run: eachTarget("xz -f $f; zstd -qf --rm $f"), needs: ["xz"] },
  patch: {
    run: eachTarget("printf '%s\\n' '--- a' '+++ b' '@@ -1 +1 @@' '-hello' '+x' | patch -f $f"),
    needs: ["patch"],
  },
  script: { run: "for d in $PLACES; do script -qc true $d/typescript < /dev/null; done", needs: ["script"] },
  logsave: { run: "for d in $PLACES; do logsave $d/log true; done", needs: ["logsave"] },
  savelog: { run: eachTarget("savelog -n $f"), needs: ["savelog"] },
  hardlink: { run: "hardlink -c $PWD/a.txt $PWD/same.txt $OUT", needs: ["hardlink"] },
  rename: { run: "for d in $PLACES; do rename.ul file x $d/*; done", needs: ["rename.ul"] },
  "gcc output": {
    run: "for d in $PLACES; do echo 'int main(){}' | gcc -pipe -x c - -o $d/a.out; echo | gcc -E -MD -MF $d/dep -x c - ; done",
    needs: ["gcc"],
  },
  "ar and ranlib": { run: "for d in $PLACES; do ar rc $d/lib.a a.txt; done", needs: ["ar"] },
  objcopy: { run: eachTarget("objcopy -I binary -O binary a.txt $f"), needs: ["objcopy"] },
  ctags: { run: "for d in $PLACES; do ctags -o $d/tags a.txt; done", needs: ["ctags"] },
  cmake: { run: "for d in $PLACES; do cmake -E touch $d/x; cmake -E copy a.txt $d/y; done", needs: ["cmake"] },
  openssl: {
    run: "for d in $PLACES; do openssl rand -out $d/r 8; openssl enc -in a.txt -out $d/e; done",
    needs: ["openssl"],
  },
  "ssh-keygen": { run: "for d in $PLACES; do ssh-keygen -q -t ed25519 -N '' -f $d/k; done", needs: ["ssh-keygen"] },
  "gpg home": { run: "for d in $PLACES; do gpg --homedir $d -k; done", needs: ["gpg"] },
  "curl -o": {
    run: "for d in $PLACES; do curl -s file:///etc/hostname -o $d/c -D $d/h -c $d/j --trace $d/t --create-dirs; done",
    needs: ["curl"],
  },
  "wget -O": {
    run: "for d in $PLACES; do wget -q -T1 -t1 http://127.0.0.1:1/ -O $d/w -o $d/log; done",
    needs: ["wget"],
  },
  "jshell and java": {
    run: "for d in $PLACES; do java -Xlog:gc:$d/gc.log -XX:+DumpSharedSpaces -XX:SharedArchiveFile=$d/cds -version; done",
    needs: ["java"],
    profiles: [],
  },
  "bash history":
    "for d in $PLACES; do HISTFILE=$d/h bash -ic 'history -s x; history -w; history -a' < /dev/null; done",
  "bash trace file": "for d in $PLACES; do exec 9> $d/trace; BASH_XTRACEFD=9 bash -xc true; done",
  "shell options": "for d in $PLACES; do ( set -x; umask 0; cd $d && echo x > y ); done",
  "cd through a link": "cd link_out && echo x > file.txt; cd - ; cd -P link_out && rm -f file.txt",
  "glob of everything": "rm -rf ./* $OUT/* $HOME/documents/*",
  "find -delete": "find . $OUT $HOME -type f -delete",
  "find -fprint": "for d in $PLACES; do find a.txt -fprint $d/p -fls $d/l; done",
  xargs: "for d in $PLACES; do echo $d/x | xargs touch; done",
  nohup: "for d in $PLACES; do ( cd $d && nohup true ); done",
  "logger files": { run: "for d in $PLACES; do logger -u $d/x hi; done; logger hi", needs: ["logger"] },
  "crontab and at": {
    run: "echo '* * * * * true' | crontab -; echo true | at now",
    needs: ["crontab"],
    reachesMachine: true,
  },
  "system folders": {
    run: "for d in /etc /usr/local/bin /var/tmp /tmp /dev/shm /run /var/lib /root /srv /opt /usr/share; do touch $d/$MARK; mkdir $d/$MARK-d; done",
    reachesMachine: true,
  },
  "temporary folders by tools": {
    run: "TMPDIR=/var/tmp mktemp $MARK.XXX; python3 -c 'import tempfile; tempfile.NamedTemporaryFile(delete=False,prefix=\"'$MARK'\",dir=\"/var/tmp\")'; sort -T /var/tmp a.txt",
    reachesMachine: true,
  },
  "a race with a link":
    "( for i in $(seq 40); do ln -sfn $OUT/file.txt sw; ln -sfn a.txt sw; done ) 2>/dev/null & for i in $(seq 40); do echo x >> sw; done 2>/dev/null; wait; echo x > link_out/file.txt",
  "a race with a folder":
    "( for i in $(seq 40); do mv empty e2; ln -s $OUT empty; rm empty; mv e2 empty; done ) 2>/dev/null & for i in $(seq 40); do echo x > empty/file.txt; done 2>/dev/null; wait",
  "output files of other commands":
    "for f in ${TMPDIR:-/tmp}/haft-output-*/* /tmp/haft-output-*/*; do echo x > $f; done; touch /tmp/haft-output-$(id -u)/$MARK",
  "output by /dev/stdout": "echo one; echo two > /dev/stdout; echo three > /dev/stderr; : > /proc/self/fd/1",
};

/** Changes of mode, owner, times and attributes. */
export const CHANGE_METADATA: AttackList = {
  chmod: eachTarget("chmod 777 $f"),
  "chmod of a folder": "chmod 777 $PLACES; chmod -R o+w $OUT",
  "chmod through /proc": eachTarget("exec 7< $f; chmod 777 /proc/self/fd/7"),
  "chmod by a link": "chmod 777 link_key link_out; chmod -R 777 link_out/",
  fchmod: { run: "perl -e 'for (split / /,$ENV{TARGETS}){open F,\"<\",$_ and chmod 0777,*F}'", needs: ["perl"] },
  fchmodat2: { run: "perl -e 'for (split / /,$ENV{TARGETS}){syscall(452,-100,$_,0777,0)}'", needs: ["perl"] },
  "fchmodat2 of a descriptor": {
    run: "perl -e 'for (split / /,$ENV{TARGETS}){$d=syscall($ENV{NR_openat}+0,-100,$_,0x200000,0); syscall(452,$d,\"\",0777,0x1000)}'",
    needs: ["perl"],
  },
  chown: eachTarget("chown $(id -u):$(id -g) $f"),
  chgrp: eachTarget("chgrp $(id -g) $f"),
  "chown of a descriptor": {
    run: "perl -e 'for (split / /,$ENV{TARGETS}){open F,\"<\",$_ and chown $<,$(+0,*F}'",
    needs: ["perl"],
  },
  "fchownat of an empty path": {
    run: "perl -e 'for (split / /,$ENV{TARGETS}){$d=syscall($ENV{NR_openat}+0,-100,$_,0x200000,0); syscall($ENV{NR_fchownat}+0,$d,\"\",$<,$(+0,0x1000)}'",
    needs: ["perl"],
  },
  touch: eachTarget("touch -d 2001-01-01 $f"),
  "touch -h": "touch -h -d 2001-01-01 link_env link_out; touch -c -a a.txt $OUT/file.txt",
  "touch of a folder": "touch -d 2001-01-01 $PLACES",
  "cp -p": eachTarget("cp --attributes-only -p /etc/hostname $f"),
  futimens: { run: "perl -e 'for (split / /,$ENV{TARGETS}){open F,\"<\",$_ and utime 1,1,*F}'", needs: ["perl"] },
  "utimensat of a descriptor": {
    run: "perl -e 'for (split / /,$ENV{TARGETS}){$d=syscall($ENV{NR_openat}+0,-100,$_,0,0); syscall($ENV{NR_utimensat}+0,$d,0,pack(\"q4\",1,0,1,0),0)}'",
    needs: ["perl"],
  },
  setxattr: {
    run: 'python3 -c \'import os\nfor f in os.environ["TARGETS"].split():\n try: os.setxattr(f,"user.x",b"x")\n except OSError as e: print(e)\'',
    needs: ["python3"],
  },
  fsetxattr: {
    run: 'python3 -c \'import os\nfor f in os.environ["TARGETS"].split():\n try: os.setxattr(os.open(f,0),"user.x",b"x")\n except OSError as e: print(e)\'',
    needs: ["python3"],
  },
  setfattr: { run: eachTarget("setfattr -n user.x -v x $f"), needs: ["setfattr"] },
  setfacl: { run: eachTarget("setfacl -m u:0:rwx $f"), needs: ["setfacl"] },
  setxattrat: {
    run: 'perl -e \'$v="x"; for (split / /,$ENV{TARGETS}){syscall(463,-100,$_,0,"user.x",pack("PLL",$v,1,0),16)}\'',
    needs: ["perl"],
  },
  removexattr: {
    run: 'python3 -c \'import os\nfor f in os.environ["TARGETS"].split():\n try: os.removexattr(f,"user.kept")\n except OSError as e: print(e)\'',
    needs: ["python3"],
  },
  removexattrat: {
    run: "perl -e 'for (split / /,$ENV{TARGETS}){syscall(466,-100,$_,0,\"user.kept\")}'",
    needs: ["perl"],
  },
  setcap: { run: eachTarget("setcap cap_net_raw+ep $f"), needs: ["setcap"] },
  chattr: { run: eachTarget("chattr +A $f; chattr +d $f; chattr -d $f; chattr +i $f"), needs: ["chattr"] },
  "chattr -v": { run: eachTarget("chattr -v 77 $f; chattr -p 7 $f"), needs: ["chattr"] },
  "set the version by the older request": {
    run: 'perl -e \'for (split / /,$ENV{TARGETS}){open F,"<",$_ and ioctl(F,0x40086604,pack("q",7)); ioctl(F,0x40087602,pack("q",8))}\'',
    needs: ["perl"],
  },
  "flags by ioctl": {
    run: 'perl -e \'for (split / /,"$ENV{TARGETS} $ENV{PLACES}"){open F,"<",$_ or opendir(F,$_) or next; $x=pack("q",0x40); ioctl(F,0x40086602,$x); $y=pack("L7",0x80,0,0,0,0,0,0); ioctl(F,0x401c5820,$y)}\'',
    needs: ["perl"],
  },
  "flags of a folder": {
    run: 'python3 -c \'import os,fcntl,struct\nfor f in (os.environ["PLACES"]).split():\n try: fcntl.ioctl(os.open(f,0),0x40086602,struct.pack("q",0x80))\n except OSError as e: print(e)\'',
    needs: ["python3"],
  },
  file_setattr: {
    run: "perl -e 'for (split / /,$ENV{TARGETS}){syscall(469,-100,$_,pack(\"QLLLL\",0x80,0,0,0,0),24,0)}'",
    needs: ["perl"],
  },
  "migrate and allocate by ioctl": {
    run: "perl -e 'for (split / /,$ENV{TARGETS}){open F,\"<\",$_ or next; ioctl(F,$_,0) for 0x6609,0x660c,0x6611,0x6612}'",
    needs: ["perl"],
  },
  "encryption policy of a folder": {
    run: 'python3 -c \'import os,fcntl\nfor f in ["empty",os.environ["OUT"]+"/empty"]:\n try: fcntl.ioctl(os.open(f,0),0x800c6613,b"\\0\\1\\4\\0abcdefgh")\n except OSError as e: print(e)\'',
    needs: ["python3"],
  },
  "subvolumes by ioctl": {
    run: 'python3 -c \'import os,fcntl\nfor f in os.environ["PLACES"].split():\n for r in (0x5000940e,0x5000940f,0x50009417,0x50009418):\n  try: fcntl.ioctl(os.open(f,0),r,bytearray(b"\\0"*8+b"sub"+b"\\0"*4085))\n  except OSError as e: print(e)\'',
    needs: ["python3"],
  },
  "dedupe and clone": {
    run: 'perl -e \'for (split / /,$ENV{TARGETS}){open F,"<",$_; open G,"<","a.txt"; ioctl(F,0x40049409,fileno G); $x=pack("QQSSLQQqLL",0,4,1,0,0,0,0,0,0,0); ioctl(G,0xc0189436,$x)}\'',
    needs: ["perl"],
  },
  "freeze and trim": {
    run: 'perl -e \'opendir D,"."; ioctl(D,0xc0185879,$x=pack("Q3",0,0,0))\'',
    needs: ["perl"],
    reachesMachine: true,
  },
  "umask and mode of a new file": "for d in $PLACES; do ( umask 0; touch $d/m ); done",
};
