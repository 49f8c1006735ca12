# The gateway. Configuration is mounted at /etc/starloom, state is kept in /var/lib/starloom:
#
#   docker build -t starloom .
#   docker run --init --read-only --tmpfs /tmp -p 127.0.0.1:7420:7420 \
#     -v ./config:/etc/starloom:ro -v starloom:/var/lib/starloom starloom
#
# The first start writes a key to /var/lib/starloom/client.json. The gateway answers requests for an
# IP address or localhost; for a DNS name, set listen.host to that name (docs/security.md).

FROM node:26-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.base.json ./
COPY scripts/bundle-command.ts ./scripts/
COPY packages ./packages
# No install scripts: the image already has the Node that one of them would download.
RUN npm ci --ignore-scripts && npx --no-install tsc -b packages/starloom \
  && node scripts/bundle-command.ts
RUN npm ci --ignore-scripts --workspace=starloom --omit=dev --omit=optional --omit=peer \
  && rm -rf packages/testkit node_modules/@starloom/testkit packages/*/src packages/*/tsconfig.json \
  && find packages -name '*.map' -delete -o -name '*.tsbuildinfo' -delete

FROM node:26-bookworm-slim
# The C library gives memory back after a peak, and pauses of the garbage collector are short (docs/limits.md).
ENV NODE_ENV=production \
  MALLOC_ARENA_MAX=1 \
  MALLOC_MMAP_THRESHOLD_=131072 \
  MALLOC_TRIM_THRESHOLD_=131072 \
  NODE_OPTIONS="--max-semi-space-size=16 --v8-pool-size=0" \
  STARLOOM_HOME=/var/lib/starloom \
  STARLOOM_LISTEN__HOST=0.0.0.0 \
  STARLOOM_LISTEN__PORT=7420 \
  XDG_CACHE_HOME=/tmp
COPY --from=build /app /app
RUN install -d -o 1000 -g 1000 -m 700 /var/lib/starloom && install -d /etc/starloom
WORKDIR /etc/starloom
VOLUME /var/lib/starloom
USER 1000:1000
EXPOSE 7420
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.STARLOOM_LISTEN__PORT}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/packages/starloom/bin/starloom.js"]
CMD ["up"]
