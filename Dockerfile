# syntax=docker/dockerfile:1

# Builds the package and packs it as it is published.
FROM node:22-slim AS build
WORKDIR /source
COPY . .
RUN node scripts/ensure-installed.mjs start \
  && node scripts/build.mjs \
  && mkdir /archive \
  && npm pack --ignore-scripts --pack-destination /archive

FROM node:22-slim
# Tools and commands use git. ca-certificates: HTTPS to model providers and MCP servers.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates git \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/haft
COPY --from=build /archive /tmp/archive
# pg: the store on PostgreSQL.
RUN npm init --yes >/dev/null \
  && npm install --omit=dev --no-audit --no-fund /tmp/archive/*.tgz pg@8 \
  && rm -rf /tmp/archive /root/.npm \
  && mkdir -p /workspace /var/lib/haft \
  && chown node:node /workspace /var/lib/haft
COPY --chmod=755 scripts/container-start.sh /usr/local/bin/container-start
# The configuration folder has what a person trusts: on the volume, it outlives the container and workers share it.
ENV NODE_ENV=production \
  PATH=/opt/haft/node_modules/.bin:$PATH \
  HAFT_STATE_DIR=/var/lib/haft \
  XDG_CONFIG_HOME=/var/lib/haft/config
USER node
WORKDIR /workspace
VOLUME ["/workspace", "/var/lib/haft"]
EXPOSE 4117
STOPSIGNAL SIGTERM
# 200 also if the state is "degraded": a restart would not help.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4117/api/health').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["container-start"]
# Beyond loopback Haft needs a token: set HAFT_SERVER_TOKEN or HAFT_SERVER_TOKEN_FILE.
CMD ["serve", "/workspace", "--host", "0.0.0.0", "--no-open"]
