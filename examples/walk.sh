# A walk through the API with curl, for a manager that serves this repository's desired-state/ folder.
# Each line is a command of its own: run the file with `sh -eu examples/walk.sh`, or copy a line.
#
#   HOLDFAST      where the manager is, such as http://127.0.0.1:8080
#   CREDENTIALS   user:password

# Is it there, and can it serve devices? (no credentials needed)
curl --silent --fail $HOLDFAST/healthz
curl --silent --fail $HOLDFAST/readyz

# Can the API be used, and how far has it followed git?
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/status
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/reconcile

# What is there?
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/apps
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/apps/storefront
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/device_groups
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/device_groups/stores

# What devices of a group poll. The ETag of a reply makes the next poll cheap.
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/device_groups/stores/info

# A new app, and a group that runs it: two commits.
curl --silent --fail --user "$CREDENTIALS" --json '{"container_image": "nginx:1.26", "starting_ports": [{"8081": "80"}]}' $HOLDFAST/api/v2/apps/walk
curl --silent --fail --user "$CREDENTIALS" --json '{"apps": ["walk"]}' $HOLDFAST/api/v2/device_groups/walkers

# Change some fields; all others stay.
curl --silent --fail --user "$CREDENTIALS" --request PUT --json '{"container_image": "nginx:1.27", "env_vars": {"LOG_LEVEL": "debug"}}' $HOLDFAST/api/v2/apps/walk/update

# Replace all fields; what is left out goes back to its default.
curl --silent --fail --user "$CREDENTIALS" --json '{"container_image": "nginx:1.27"}' $HOLDFAST/api/v2/apps/walk/update

# Stop, start, restart. A restart raises the id and makes no commit.
curl --silent --fail --user "$CREDENTIALS" --request POST $HOLDFAST/api/v2/apps/walk/stop
curl --silent --fail --user "$CREDENTIALS" --request POST $HOLDFAST/api/v2/apps/walk/start
curl --silent --fail --user "$CREDENTIALS" --request POST $HOLDFAST/api/v2/apps/walk/restart

# Another list of apps for the group: PUT takes any of its fields, POST all of them.
curl --silent --fail --user "$CREDENTIALS" --request PUT --json '{"apps": ["walk", "node-exporter"]}' $HOLDFAST/api/v2/device_groups/walkers/update
curl --silent --fail --user "$CREDENTIALS" --json '{"apps": ["node-exporter", "walk"]}' $HOLDFAST/api/v2/device_groups/walkers/update

# Remove unused images: on the devices of one group, on all.
curl --silent --fail --user "$CREDENTIALS" --request POST $HOLDFAST/api/v2/device_groups/walkers/prune
curl --silent --fail --user "$CREDENTIALS" --request POST $HOLDFAST/api/v2/prune

# Who restarted and pruned what, and when: newest first.
curl --silent --fail --user "$CREDENTIALS" "$HOLDFAST/api/v2/operations?page_size=10"

# Reports: what a device sends, and how to ask for it.
curl --silent --fail --user "$CREDENTIALS" --json '[{"hostname": "till-1", "device_group": "walkers", "report_creation_time": 1700000000, "updated": true}]' $HOLDFAST/api/v2/reports
curl --silent --fail --user "$CREDENTIALS" "$HOLDFAST/api/v2/reports?hostname=till-1&report_creation_time=1600000000&report_creation_time_filter=gt&page_size=5"

# Look at the branch now, instead of waiting for the next look.
curl --silent --fail --user "$CREDENTIALS" --request POST $HOLDFAST/api/v2/reconcile

# Figures for monitoring: of passes, requests, problems and the process.
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/metrics

# Clean up: the app leaves the group in the same commit.
curl --silent --fail --user "$CREDENTIALS" --request DELETE $HOLDFAST/api/v2/apps/walk
curl --silent --fail --user "$CREDENTIALS" --request DELETE $HOLDFAST/api/v2/device_groups/walkers

# The whole API, described.
curl --silent --fail $HOLDFAST/openapi.json
