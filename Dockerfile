# docker build --build-arg VERSION="$(git describe --tags --always)" -t ledgerhook .
#
# For another kind of machine: docker buildx build --platform linux/amd64,linux/arm64 … It is compiled where the build
# runs, for the machine that it is meant for.
# The digest is that of the index for all kinds; take the tag's next one with it.
FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /image/ledgerhook ./cmd/ledgerhook
# What an empty image lacks: a directory for temporary files, authorities to trust.
RUN install -d -m 1777 /image/tmp \
 && install -D -m 0644 /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ca-certificates.crt \
 && install -d -m 0700 /data

FROM scratch
ARG VERSION=dev
LABEL org.opencontainers.image.title="Ledgerhook" \
      org.opencontainers.image.description="A webhook gateway that never loses an event" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /image/ /
# A new volume takes its owner from here. Nothing else is written to but /tmp: the root may be read-only.
COPY --from=build --chown=65532:65532 /data /data
ENV LEDGERHOOK_DATA_DIR=/data \
    LEDGERHOOK_LISTEN=0.0.0.0:8080 \
    LEDGERHOOK_INTERNAL_LISTEN=0.0.0.0:8081
USER 65532:65532
VOLUME /data
# 8080 is for partners, 8081 for the company's own network alone.
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/ledgerhook", "doctor", "--health"]
ENTRYPOINT ["/ledgerhook"]
CMD ["serve"]
