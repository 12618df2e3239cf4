import { settingsHelp } from '../../config/help.ts';
import { WORKER_SETTINGS } from '../settings.ts';

const USAGE = `holdfast worker: the agent on a device, which runs the containers of its device group

Usage
  holdfast worker [--flag VALUE ...]             run the worker
  holdfast worker --once [--flag VALUE ...]      work until nothing is left to do, or everything left has to wait
  holdfast worker --dry-run [--flag VALUE ...]   show what this device would do, and do nothing
  holdfast worker status [--json]                show what the worker of this device does
  holdfast worker retry APP                      try again what failed, also a version that was taken back
  holdfast worker forget-ids                     forget the ids of a manager that was set up again
  holdfast worker --help

status, retry and forget-ids ask the running worker. The only setting they read is DATA_DIR.
The worker needs the socket of a container engine, which is as good as root on this device.
A worker that ends or is stopped leaves all containers running.

Exit codes
  0  as wanted; the worker was stopped
  1  status and --once: not everything is as wanted; retry: there is no such app
  2  wrong usage or settings; another worker uses DATA_DIR
  3  status, retry, forget-ids: no worker runs; --once and --dry-run: engine or manager away; the command itself failed
`;

/** Returns the help of `holdfast worker`. */
export function workerHelp(): string {
  return `${USAGE}\n${settingsHelp(WORKER_SETTINGS, 'worker')}`;
}
