# A container image of the worker, for devices. At the top of the project (docs/devices.md says how to run it):
#
#   npm ci                                                                    # builds dist/worker.js
#   docker build --file examples/worker.Dockerfile --tag holdfast-worker .
#
# The build needs no network once the base is there. The base is any image with Node.js 20.19 or newer; to pin it by its digest:
# `--build-arg BASE=node:24-bookworm-slim@sha256:...` (see Dockerfile).
ARG BASE=node:24-bookworm-slim
FROM ${BASE}
# The whole worker is one file, and there are no packages.
COPY dist/worker.js /usr/local/lib/holdfast/worker.mjs
# A new volume mounted at /data takes its owner and mode from this folder. No shell runs here, so that the base needs none.
RUN ["node", "-e", "fs.mkdirSync('/data', 0o700); fs.chownSync('/data', 1000, 1000); fs.symlinkSync('/usr/local/lib/holdfast/worker.mjs', '/usr/local/bin/holdfast')"]
# The container needs the group of the engine's socket beside it: `--group-add`. With `--build-arg RUN_AS=0` it does not, as root.
ARG RUN_AS=1000:1000
USER ${RUN_AS}
ENV DATA_DIR=/data
# Unhealthy: the device does not run what its manager asked for last, the manager is lost (see HEALTH_NEEDS_MANAGER), or no worker answers.
# Nothing is restarted because of that.
HEALTHCHECK --interval=60s --timeout=10s --start-period=120s CMD ["node", "/usr/local/lib/holdfast/worker.mjs", "worker", "status"]
# No shell in between, so that signals reach the worker itself.
CMD ["node", "/usr/local/lib/holdfast/worker.mjs", "worker"]
