#!/bin/sh
# Records what Docker Compose makes of each project here: `sh record.sh /path/to/docker-compose`. The projects are read in
# /srv/NAME, so that paths are the same everywhere. The version that was used is in VERSION.
set -eu
compose=$1
cd "$(dirname "$0")"
"$compose" version --short >VERSION
for source in */compose.y*ml */docker-compose.y*ml; do
  name=$(dirname "$source")
  rm -rf "/srv/$name" && cp -R "$name" "/srv/$name"
  config() { env -i HOME=/home/ops "$compose" --file "/srv/$source" --profile '*' config "$@"; }
  config --format json >"$name/resolved.json"
  config --format json --no-interpolate --no-env-resolution >"$name/raw.json"
  config --environment | grep -v '^HOME=' >"$name/environment.txt" || true
  rm -rf "/srv/$name"
done
