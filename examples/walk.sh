# A tour of the API with curl, for a manager that serves this repository's desired-state/ folder.
# Each line is a separate command: run the file with `sh -eu examples/walk.sh`, or copy single lines.
#
#   HOLDFAST      address of the manager, such as http://127.0.0.1:8080
#   CREDENTIALS   user:password

# Is it up, and ready to serve devices? (no credentials needed)
curl --silent --fail $HOLDFAST/healthz
curl --silent --fail $HOLDFAST/readyz

# Is the API available, and how far has git been followed?
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/status
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/reconcile

# Which apps and device groups are there?
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/apps
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/apps/storefront
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/device_groups
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/device_groups/stores

# What the devices of a group poll. The ETag of a response makes the next poll cheap.
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/device_groups/stores/info

# Create an app, and a group that runs it: two commits.
curl --silent --fail --user "$CREDENTIALS" --json '{"container_image": "nginx:1.26", "starting_ports": [{"8081": "80"}]}' $HOLDFAST/api/v2/apps/walk
curl --silent --fail --user "$CREDENTIALS" --json '{"apps": ["walk"]}' $HOLDFAST/api/v2/device_groups/walkers

# Change some fields; the others keep their values.
curl --silent --fail --user "$CREDENTIALS" --request PUT --json '{"container_image": "nginx:1.27", "env_vars": {"LOG_LEVEL": "debug"}}' $HOLDFAST/api/v2/apps/walk/update

# Replace all fields; omitted fields revert to their defaults.
curl --silent --fail --user "$CREDENTIALS" --json '{"container_image": "nginx:1.27"}' $HOLDFAST/api/v2/apps/walk/update

# Stop, start, restart. A restart raises the id and makes no commit.
curl --silent --fail --user "$CREDENTIALS" --request POST $HOLDFAST/api/v2/apps/walk/stop
curl --silent --fail --user "$CREDENTIALS" --request POST $HOLDFAST/api/v2/apps/walk/start
curl --silent --fail --user "$CREDENTIALS" --request POST $HOLDFAST/api/v2/apps/walk/restart

# Change the list of apps of the group: PUT takes any of its fields, POST all of them.
curl --silent --fail --user "$CREDENTIALS" --request PUT --json '{"apps": ["walk", "node-exporter"]}' $HOLDFAST/api/v2/device_groups/walkers/update
curl --silent --fail --user "$CREDENTIALS" --json '{"apps": ["node-exporter", "walk"]}' $HOLDFAST/api/v2/device_groups/walkers/update

# Preview a write: the file, what changes, and what devices will do. Nothing is committed.
curl --silent --fail --user "$CREDENTIALS" --request PATCH --json '{"container_image": "nginx:1.28"}' "$HOLDFAST/api/v2/apps/walk/update?dry_run=true"

# Change several objects in one commit, or none of them.
curl --silent --fail --user "$CREDENTIALS" --json '{"message": "Try two apps", "changes": [{"op": "change", "kind": "app", "name": "walk", "fields": {"container_image": "nginx:1.28"}}, {"op": "create", "kind": "app", "name": "walk-2", "fields": {"container_image": "nginx:1.28"}}]}' $HOLDFAST/api/v2/changes

# Read the file of an object with its comments, and write one.
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/files/app/storefront
curl --silent --fail --user "$CREDENTIALS" --request PUT --header 'If-None-Match: *' --json '{"text": "# Only for a walk.\ncontainer_image: nginx:1.28\n"}' $HOLDFAST/api/v2/files/app/walk-3

# What was changed, by whom, and what a branch would change. Then take the last commit back.
curl --silent --fail --user "$CREDENTIALS" "$HOLDFAST/api/v2/history?object=app/walk&page_size=5"
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/history/main
curl --silent --fail --user "$CREDENTIALS" "$HOLDFAST/api/v2/plan?revision=main"
curl --silent --fail --user "$CREDENTIALS" "$HOLDFAST/api/v2/diff?from=main&to=main"
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/blame/app/storefront
curl --silent --fail --user "$CREDENTIALS" --json '{"undo": "main", "reason": "the walk is over"}' $HOLDFAST/api/v2/rollback

# Remove unused images: on the devices of one group, then on all devices.
curl --silent --fail --user "$CREDENTIALS" --request POST $HOLDFAST/api/v2/device_groups/walkers/prune
curl --silent --fail --user "$CREDENTIALS" --request POST $HOLDFAST/api/v2/prune

# List restarts and prunes, with who and when; newest first.
curl --silent --fail --user "$CREDENTIALS" "$HOLDFAST/api/v2/operations?page_size=10"

# Devices: poll as one does, see what is known of it, ask it for logs and answer, and forget it.
curl --silent --fail --user "$CREDENTIALS" --header "Holdfast-Device: till-1" $HOLDFAST/api/v2/device_groups/walkers/info
curl --silent --fail --user "$CREDENTIALS" "$HOLDFAST/api/v2/devices?group=walkers"
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/devices/till-1
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/convergence
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/convergence/revisions/main
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/convergence/apps/walk
curl --silent --fail --user "$CREDENTIALS" --json '{"kind": "logs", "app": "walk", "lines": 20}' $HOLDFAST/api/v2/devices/till-1/asks
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/devices/till-1/asks
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/devices/till-1/asks/$(curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/devices/till-1/asks | grep -o '[0-9a-f]\{12\}')
curl --silent --fail --user "$CREDENTIALS" --json '{"text": "", "truncated": false, "error": null}' $HOLDFAST/api/v2/devices/till-1/asks/$(curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/devices/till-1/asks | grep -o '[0-9a-f]\{12\}')
curl --silent --fail --user "$CREDENTIALS" --request POST $HOLDFAST/api/v2/devices/till-1/forget

# What is wrong, and the fleet in a few numbers.
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/incidents
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/summary
curl --silent --fail --user "$CREDENTIALS" "$HOLDFAST/api/v2/inventory/apps?sort=behind"
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/api/v2/inventory/device_groups

# Devices as files: say which group one is in, and what differs on it; each of these is a commit.
curl --silent --fail --user "$CREDENTIALS" --json '{"device_group": "walkers", "variables": {"SHOP": "12"}}' $HOLDFAST/api/v2/devices/till-2
curl --silent --fail --user "$CREDENTIALS" --request PUT --json '{"variables": {"SHOP": "13"}}' $HOLDFAST/api/v2/devices/till-2/update
curl --silent --fail --user "$CREDENTIALS" --json '{"variables": {"SHOP": "14"}}' $HOLDFAST/api/v2/devices/till-2/update
curl --silent --fail --user "$CREDENTIALS" "$HOLDFAST/api/v2/devices/till-2/info?device_group=walkers"
curl --silent --fail --user "$CREDENTIALS" --request DELETE $HOLDFAST/api/v2/devices/till-2

# Reports: send one as a device does, and query it.
curl --silent --fail --user "$CREDENTIALS" --json '[{"hostname": "till-1", "device_group": "walkers", "report_creation_time": 1700000000, "updated": true}]' $HOLDFAST/api/v2/reports
curl --silent --fail --user "$CREDENTIALS" "$HOLDFAST/api/v2/reports?hostname=till-1&report_creation_time=1600000000&report_creation_time_filter=gt&page_size=5"

# Check the branch now instead of waiting for the next poll.
curl --silent --fail --user "$CREDENTIALS" --request POST $HOLDFAST/api/v2/reconcile

# Metrics: passes, requests, problems and the process.
curl --silent --fail --user "$CREDENTIALS" $HOLDFAST/metrics

# Clean up. Deleting the app also removes it from the group, in the same commit.
curl --silent --fail --user "$CREDENTIALS" --request DELETE $HOLDFAST/api/v2/apps/walk-2
curl --silent --fail --user "$CREDENTIALS" --request DELETE $HOLDFAST/api/v2/apps/walk
curl --silent --fail --user "$CREDENTIALS" --request DELETE $HOLDFAST/api/v2/device_groups/walkers

# The OpenAPI document.
curl --silent --fail $HOLDFAST/openapi.json
