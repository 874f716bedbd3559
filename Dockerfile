# The server image: Node, the sources (Node strips the types at start) and the run-time packages; no npm, no compiler, no shell needed.
# It brings no database: give DATABASE_URL. Run it with a read-only root file system and a writable /var/lib/acmery.
ARG NODE_IMAGE=node:26.10.0-bookworm-slim

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Neither the embedded Postgres nor the packaged Node is wanted here.
RUN npm ci --omit=dev --omit=optional

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Acmery" \
      org.opencontainers.image.description="A private certificate authority for Kubernetes with a complete ACME server" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE ./
COPY src src
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
 && install -d -o 65532 -g 65532 -m 0700 /var/lib/acmery
USER 65532:65532
ENV NODE_ENV=production \
    ACMERY_DATA_DIR=/var/lib/acmery \
    ACMERY_ACME_LISTEN=[::]:8443 \
    ACMERY_API_LISTEN=[::]:8444 \
    ACMERY_HTTP_LISTEN=[::]:8080 \
    ACMERY_OPS_LISTEN=[::]:9090
VOLUME /var/lib/acmery
EXPOSE 8443 8444 8080 9090
HEALTHCHECK --interval=10s --start-period=30s CMD ["node", "-e", "fetch('http://127.0.0.1:9090/livez').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--max-semi-space-size=4", "src/main.ts"]
CMD ["serve"]
