# `stepkeeper dev` in a container. It listens on the loopback interface only, so that it needs the host's network:
#
#   docker build -t stepkeeper .
#   docker run --network host -v "$PWD:/home/nonroot" stepkeeper
#
# The folder holds workflows, agents.yaml and data, and must be writable for user 65532.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -pgo=verify/bench/stepkeeper.pgo -o /stepkeeper ./cmd/stepkeeper

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /stepkeeper /stepkeeper
WORKDIR /home/nonroot
ENTRYPOINT ["/stepkeeper"]
CMD ["dev"]
