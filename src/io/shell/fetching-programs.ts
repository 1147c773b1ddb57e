/** Programs whose output comes from other machines. */
export const FETCHING_PROGRAMS: ReadonlySet<string> = new Set(
  `curl wget http https xh aria2c ssh scp sftp rsync ftp nc ncat netcat socat telnet lynx w3m links gh glab hub aws gcloud
   az doctl kubectl helm docker podman psql mysql mongosh redis-cli dig nslookup host whois yt-dlp`.split(/\s+/),
);
