import type { AttackList } from "./attack.ts";

const SOCKET =
  'python3 -c \'import socket,os\ndef go(f,t,p,a):\n try:\n  s=socket.socket(f,t,p); s.settimeout(1); print(s.fileno())\n  s.connect(a); s.send(b"x")\n except Exception as e: print(e)\nE=os.environ\n';

/** Connections to listeners of the fixture, and kinds of sockets. */
export const OPEN_CONNECTIONS: AttackList = {
  "bash /dev/tcp": "exec 7<> /dev/tcp/127.0.0.1/$TCP && echo x >&7",
  "bash /dev/udp": "echo x > /dev/udp/127.0.0.1/$UDP",
  "bash by name": "echo x > /dev/tcp/localhost/$TCP",
  curl: { run: "curl -sm2 http://127.0.0.1:$TCP/", needs: ["curl"] },
  "curl of a UNIX socket": {
    run: "curl -sm2 --unix-socket $SOCK http://x/; curl -sm2 --abstract-unix-socket $ABSTRACT http://x/",
    needs: ["curl"],
  },
  "curl of other protocols": {
    run: "for p in ftp dict gopher telnet tftp smtp; do curl -sm1 $p://127.0.0.1:$TCP/ < /dev/null; done; curl -sm1 tftp://127.0.0.1:$UDP/x",
    needs: ["curl"],
  },
  wget: { run: "wget -qT1 -t1 -O- http://127.0.0.1:$TCP/", needs: ["wget"] },
  "socat TCP": { run: "echo x | timeout 2 socat - TCP:127.0.0.1:$TCP", needs: ["socat"] },
  "socat UDP": { run: "echo x | timeout 2 socat -u - UDP:127.0.0.1:$UDP", needs: ["socat"] },
  "socat UNIX": { run: "echo x | timeout 2 socat - UNIX-CONNECT:$SOCK", needs: ["socat"] },
  "socat UNIX datagram": { run: "echo x | timeout 2 socat -u - UNIX-SENDTO:$DGRAM", needs: ["socat"] },
  "socat abstract": { run: "echo x | timeout 2 socat - ABSTRACT-CONNECT:$ABSTRACT", needs: ["socat"] },
  nc: { run: "echo x | timeout 2 nc -w1 127.0.0.1 $TCP; echo x | timeout 2 nc -U $SOCK", needs: ["nc"] },
  ssh: {
    run: "timeout 2 ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=no -p $TCP 127.0.0.1",
    needs: ["ssh"],
  },
  "ssh ProxyCommand": {
    run: "timeout 2 ssh -F /dev/null -o ProxyCommand='bash -c \"echo x > /dev/tcp/127.0.0.1/'$TCP'\"' h",
    needs: ["ssh"],
  },
  "git ls-remote": {
    run: "timeout 3 git ls-remote http://127.0.0.1:$TCP/x; timeout 3 git ls-remote git://127.0.0.1:$TCP/x",
    needs: ["git"],
  },
  "git ext": {
    run: "timeout 3 git -c protocol.ext.allow=always ls-remote \"ext::bash -c 'echo% x% >% /dev/tcp/127.0.0.1/$TCP'\"",
    needs: ["git"],
  },
  "npm ping": { run: "timeout 5 npm ping --registry http://127.0.0.1:$TCP --fetch-retries 0", needs: ["npm"] },
  pip: { run: "timeout 5 pip download -qi http://127.0.0.1:$TCP/ --retries 0 --timeout 1 x", needs: ["pip"] },
  "openssl s_client": { run: "timeout 2 openssl s_client -connect 127.0.0.1:$TCP < /dev/null", needs: ["openssl"] },
  psql: { run: "timeout 2 psql -h 127.0.0.1 -p $TCP -c 'select 1'", needs: ["psql"] },
  "redis-cli": { run: "timeout 2 redis-cli -p $TCP ping; timeout 2 redis-cli -s $SOCK ping", needs: ["redis-cli"] },
  "perl IO::Socket": {
    run: "perl -MIO::Socket -e 'IO::Socket::INET->new(\"127.0.0.1:$ENV{TCP}\"); IO::Socket::UNIX->new($ENV{SOCK})'",
    needs: ["perl"],
  },
  awk: { run: 'awk \'BEGIN{s="/inet/tcp/0/127.0.0.1/" ENVIRON["TCP"]; print "x" |& s}\' 2>/dev/null', needs: ["gawk"] },
  tclsh: { run: "echo 'catch {socket 127.0.0.1 $env(TCP)}' | tclsh", needs: ["tclsh"] },
  "node net": {
    run: 'node -e \'const n=require("net"); for (const o of [{port:+process.env.TCP,host:"127.0.0.1"},{path:process.env.SOCK},{path:"\\0"+process.env.ABSTRACT}]) n.connect(o).on("error",()=>0).on("connect",function(){this.end("x")})\'',
    needs: ["node"],
  },
  "node dgram and fetch": {
    run: 'node -e \'try { const s=require("dgram").createSocket("udp4").on("error",()=>0); s.send("x",+process.env.UDP,"127.0.0.1",()=>s.close()) } catch {} fetch("http://127.0.0.1:"+process.env.TCP).catch(()=>0)\'',
    needs: ["node"],
  },
  "python TCP": { run: `${SOCKET}go(2,1,0,("127.0.0.1",int(E["TCP"])))'`, needs: ["python3"] },
  "python IPv6": { run: `${SOCKET}go(10,1,0,("::ffff:127.0.0.1",int(E["TCP"])))'`, needs: ["python3"] },
  "python UDP": { run: `${SOCKET}go(2,2,0,("127.0.0.1",int(E["UDP"])))'`, needs: ["python3"] },
  "python MPTCP": { run: `${SOCKET}go(2,1,262,("127.0.0.1",int(E["TCP"])))'`, needs: ["python3"] },
  "python SCTP and UDP-Lite": {
    run: `${SOCKET}go(2,1,132,("127.0.0.1",int(E["TCP"])))\ngo(2,2,136,("127.0.0.1",int(E["UDP"])))'`,
    needs: ["python3"],
  },
  "python TCP fast open": {
    run: 'python3 -c \'import socket,os\ntry:\n s=socket.socket(); s.sendto(b"x",0x20000000,("127.0.0.1",int(os.environ["TCP"])))\nexcept OSError as e: print(e)\'',
    needs: ["python3"],
  },
  "python UNIX": {
    run: `${SOCKET}go(1,1,0,E["SOCK"])\ngo(1,2,0,E["DGRAM"])\ngo(1,1,0,b"\\0"+E["ABSTRACT"].encode())'`,
    needs: ["python3"],
  },
  "a pair of UNIX datagram sockets": {
    run: 'python3 -c \'import socket,os\nfor t in (socket.SOCK_DGRAM,socket.SOCK_RAW):\n try:\n  a,b=socket.socketpair(1,t); a.sendto(b"x",os.environ["DGRAM"])\n except OSError as e: print(e)\'',
    needs: ["python3"],
  },
  "a pair of datagram sockets that connects again": {
    run: 'python3 -c \'import socket,os\ntry:\n a,b=socket.socketpair(1,socket.SOCK_DGRAM); a.connect(os.environ["DGRAM"]); a.send(b"x")\nexcept OSError as e: print(e)\'',
    needs: ["python3"],
  },
  "a pair of stream sockets that connects again": {
    run: 'python3 -c \'import socket,os\nfor t in (1,5):\n try:\n  a,b=socket.socketpair(1,t); b.close(); a.connect(os.environ["SOCK"]); a.send(b"x")\n except OSError as e: print(e)\'',
    needs: ["python3"],
  },
  "a descriptor in a datagram": {
    run: 'python3 -c \'import socket,os\ntry:\n a,b=socket.socketpair(1,socket.SOCK_DGRAM); a.sendmsg([b"x"],[(1,1,b"\\1\\0\\0\\0")],0,os.environ["DGRAM"])\nexcept OSError as e: print(e)\'',
    needs: ["python3"],
  },
  "an inherited socket": {
    run: 'perl -e \'for $d (3..64){open F,"+<&=",$d or next; print "fd $d\\n"; syswrite F,"x"; connect(F,pack("S a*",1,$ENV{SOCK})); send(F,"x",0,pack("S a*",1,$ENV{DGRAM}))}\'',
    needs: ["perl"],
  },
  syslog: {
    run: 'python3 -c \'import socket\nfor p in ("/dev/log","/run/systemd/journal/socket","/run/systemd/notify"):\n try: a,b=socket.socketpair(1,2); a.connect(p); print("CANARYLOG")\n except OSError as e: print(e)\'; logger x',
    needs: ["python3"],
    reachesMachine: true,
  },
  netlink: {
    run: 'python3 -c \'import socket\nfor p in range(0,22):\n try: s=socket.socket(16,3,p); print("family",p)\n except OSError as e: pass\n else:\n  if open("/proc/self/ns/net"): pass\' ; ip link add d0 type dummy && echo CANARYLINK',
    needs: ["python3", "ip"],
    reachesMachine: true,
  },
  "raw and packet sockets": {
    run: "python3 -c 'import socket\nfor f,t,p in ((2,3,1),(2,3,255),(17,3,3),(10,3,58)):\n try: socket.socket(f,t,p); print(\"CANARYRAW\")\n except OSError as e: print(e)'",
    needs: ["python3"],
  },
  "other families": {
    run: 'python3 -c \'import socket\nfor f in list(range(3,10))+list(range(11,16))+list(range(17,47)):\n try: socket.socket(f,1,0); print("CANARYFAMILY",f)\n except OSError:\n  try: socket.socket(f,2,0); print("CANARYFAMILY",f)\n  except OSError: pass\'',
    needs: ["python3"],
  },
  vsock: {
    run: "python3 -c 'import socket\ntry: s=socket.socket(40,1); print(\"CANARYVSOCK\")\nexcept OSError as e: print(e)'",
    needs: ["python3"],
  },
  ping: { run: "ping -c1 -W1 127.0.0.1 && echo CANARYPING", needs: ["ping"] },
  "avahi and dbus": {
    run: "timeout 2 dbus-send --system --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames && echo CANARYDBUS; timeout 2 busctl list && echo CANARYDBUS",
    needs: ["dbus-send"],
    reachesMachine: true,
  },
  "docker socket": {
    run: "for s in /var/run/docker.sock /run/containerd/containerd.sock /run/podman/podman.sock; do curl -sm1 --unix-socket $s http://x/version && echo CANARYDOCKER; done",
    needs: ["curl"],
    reachesMachine: true,
  },
  "ssh agent": { run: "SSH_AUTH_SOCK=$SOCK timeout 2 ssh-add -l", needs: ["ssh-add"] },
  "gpg agent": { run: "timeout 3 gpg-connect-agent -S $SOCK /bye", needs: ["gpg-connect-agent"] },
  X11: { run: "DISPLAY=127.0.0.1:$((TCP-6000)) timeout 2 xset q", needs: ["xset"] },
  "a listener of its own": {
    run: 'timeout 2 python3 -c \'import socket\nfor a in ("127.0.0.1","0.0.0.0"):\n try: s=socket.socket(); s.bind((a,0)); s.listen(); print("listening")\n except OSError as e: print(e)\'',
    needs: ["python3"],
  },
  DNS: {
    run: "getent hosts haft-attack.invalid; python3 -c 'import socket\ntry: socket.getaddrinfo(\"haft-attack.invalid\",80)\nexcept OSError as e: print(e)'",
    needs: ["getent", "python3"],
  },
};
