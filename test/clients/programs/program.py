"""Uses a client made by openapi-python-client: HOLDFAST, CREDENTIALS. Prints what it got as JSON."""
import base64
import json
import os

from holdfast_client import AuthenticatedClient
from holdfast_client.api.apps import create_app, replace_app
from holdfast_client.api.device_groups import create_device_group
from holdfast_client.api.devices import get_device_group_info
from holdfast_client.api.reports import query_reports, send_reports
from holdfast_client.models import (
    AppExists,
    AppFieldsInput,
    ContainersPerInput,
    DeviceGroupFieldsInput,
    EnvVars,
    PortPair,
    Report,
)

credentials = base64.b64encode(os.environ["CREDENTIALS"].encode()).decode()
client = AuthenticatedClient(base_url=os.environ["HOLDFAST"], token=credentials, prefix="Basic")

body = AppFieldsInput(
    container_image="nginx:1.26",
    starting_ports=[80, PortPair.from_dict({"8443": "443"})],
    containers_per=ContainersPerInput(cpu=0.5),
    env_vars=EnvVars.from_dict({"LOG_LEVEL": "debug"}),
)
created = create_app.sync("shop", client=client, body=body)
again = create_app.sync_detailed("shop", client=client, body=body)
create_device_group.sync("tills", client=client, body=DeviceGroupFieldsInput(apps=["shop"]))

# A record can be sent back, with one field changed.
created.container_image = "nginx:1.27"
changed = AppFieldsInput.from_dict(created.to_dict())
updated = replace_app.sync("shop", client=client, body=changed)

info = get_device_group_info.sync_detailed("tills", client=client)
unchanged = get_device_group_info.sync_detailed("tills", client=client, if_none_match=info.headers["etag"])


def report(**more):
    fields = {"hostname": "till-1", "device_group": "tills", "report_creation_time": 1_700_000_000}
    return Report.from_dict({**fields, **more})


accepted = send_reports.sync(
    client=client, body=[report(updated=True, memory_usage={"used": 12}), report(updated=False)]
)
reports = query_reports.sync(client=client, updated=True, page_size=5)

print(
    json.dumps(
        {
            "again": [
                int(again.status_code),
                again.parsed.app_exists if isinstance(again.parsed, AppExists) else None,
            ],
            "updated": updated.container_image,
            "ports": [port if isinstance(port, int) else port.to_dict() for port in updated.starting_ports],
            "info": [
                [app.app_name, app.container_image, app.env_vars["LOG_LEVEL"]] for app in info.parsed.apps
            ],
            "unchanged": int(unchanged.status_code),
            "accepted": accepted.accepted,
            "reports": [[one.hostname, one.field_id.oid] for one in reports.data],
            "last": reports.last_id,
        }
    )
)
