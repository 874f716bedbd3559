# The image: Node, the few libraries that it needs, and the program in one file. No shell, no npm, nobody but root owns
# anything outside /var/lib/acmery. It brings no database: give DATABASE_URL. Run it with a read-only root file system;
# /var/lib/acmery and /tmp are written to.
#
# The first stage makes the whole root file system by `npm run image`, which does the same without a container engine.
# The same sources give the same files; `docker buildx build --build-arg SOURCE_DATE_EPOCH=0
# --output type=image,rewrite-timestamp=true .` gives the same layers, too.
ARG NODE_IMAGE=docker.io/library/node:26.10.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
ARG SOURCE_DATE_EPOCH=0
WORKDIR /source
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run --silent image -- build /image

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="Acmery" \
      org.opencontainers.image.description="A private certificate authority for Kubernetes with a complete ACME server" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/acmery/acmery" \
      org.opencontainers.image.documentation="https://github.com/acmery/acmery#readme" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# First, so that it belongs to who runs here, whatever the builder makes of owners in what is copied below.
COPY --from=build --chown=65532:65532 /image/var/lib/acmery /var/lib/acmery
COPY --from=build /image /
USER 65532:65532
WORKDIR /var/lib/acmery
ENV PATH=/usr/local/bin \
    NODE_ENV=production \
    NODE_COMPILE_CACHE=/tmp/acmery \
    MALLOC_ARENA_MAX=1 \
    ACMERY_DATA_DIR=/var/lib/acmery \
    ACMERY_ACME_LISTEN=[::]:8443 \
    ACMERY_API_LISTEN=[::]:8444 \
    ACMERY_HTTP_LISTEN=[::]:8080 \
    ACMERY_OPS_LISTEN=[::]:9090
VOLUME /var/lib/acmery
EXPOSE 8443 8444 8080 9090
HEALTHCHECK --interval=10s --start-period=30s CMD ["node", "-e", "fetch('http://127.0.0.1:9090/livez').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--max-semi-space-size=8", "--min-semi-space-size=4", "--heap-growing-percent=70", "/app/acmery.js"]
CMD ["serve"]
