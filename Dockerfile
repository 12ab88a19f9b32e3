# The daemon and the libraries it needs, nothing else: no shell, no package manager, no root.
FROM debian:trixie-slim AS build
RUN apt-get update -q \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        gcc g++ libc6-dev make libmicrohttpd-dev libgnutls28-dev zlib1g-dev libjansson-dev \
    && rm -rf /var/lib/apt/lists/*
COPY . /src
WORKDIR /src
RUN make -j "$(nproc)" config=release \
    && install -D -m 755 build/release/skind /image/usr/bin/skind \
    && strip /image/usr/bin/skind \
    && ldd build/release/skind | grep -oE '/[^ ]+' | sort -u | xargs -I{} cp -L --parents {} /image \
    && install -d -m 755 /image/etc \
    && echo 'skind:x:65532:65532:skind:/:/usr/bin/skind' > /image/etc/passwd

FROM scratch
COPY --from=build /image /
USER 65532:65532
# no token file and no waiver: who may call is for whoever runs it to say (README.md)
ENV SKIND_LISTEN=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=2s CMD ["/usr/bin/skind", "probe"]
ENTRYPOINT ["/usr/bin/skind"]
