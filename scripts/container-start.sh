#!/bin/sh
# Entry point of the container: reads NAME from the file in NAME_FILE, as secrets of Docker and Kubernetes are given, and
# becomes `haft`, so signals reach it.
set -eu
for name in HAFT_SERVER_TOKEN HAFT_STORE_URL HAFT_REDIS_URL; do
  eval "file=\${${name}_FILE:-}"
  if [ -n "$file" ]; then
    value="$(cat "$file")" || exit 1
    export "$name=$value"
  fi
done
exec haft "$@"
