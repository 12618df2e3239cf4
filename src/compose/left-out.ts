const NO_INPUT =
  'has no counterpart: a program that reads its input ends at once; give it a command that stays, such as `sleep infinity`';

/**
 * What has no counterpart in an app, and what to do about it: a clause whose subject is the key. The document
 * docs/from-compose.md has the same sentences.
 */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  build: 'is not run: devices only pull images; build and push the image in CI, and name it in `image`',
  container_name:
    'has no counterpart: containers are named APP-1, APP-2, and apps reach them by the name of the app',
  depends_on:
    'has no counterpart: a device starts all apps at once; let the app try again until the other one answers, and give a job that ends `restart: on-failure`',
  links: 'is not needed: apps reach one another by the names of their services',
  external_links: 'is not needed: apps reach one another by the names of their services',
  secrets:
    'has no counterpart: put the file on each device and mount it, as in `volumes: ["/etc/APP/NAME:/run/secrets/NAME:ro"]`',
  configs: 'has no counterpart: put the file on each device and mount it with `volumes`',
  hostname: 'has no counterpart: the name of the host is the id of the container',
  domainname: 'has no counterpart',
  expose: 'is not needed: apps on one network reach all ports of one another',
  stdin_open: NO_INPUT,
  tty: NO_INPUT,
  attach: 'is not needed: the output of a container is in its log',
  dns: 'has no counterpart: set `dns` in the daemon.json of the device',
  dns_opt: 'has no counterpart: set `dns-opts` in the daemon.json of the device',
  dns_search: 'has no counterpart: set `dns-search` in the daemon.json of the device',
  sysctls:
    'has no counterpart: set those of the network in an entrypoint, others on the device in /etc/sysctl.d',
  pids_limit: 'has no counterpart; `ulimits: {nproc: N}` limits the processes of one user',
  mem_reservation: 'has no counterpart: set a limit with `memory`',
  mem_swappiness: 'has no counterpart: set vm.swappiness on the device',
  memswap_limit: 'has no counterpart: turn swap off on the device',
  oom_kill_disable: 'has no counterpart',
  oom_score_adj: 'has no counterpart',
  cpu_count: 'has no counterpart: set `cpus`',
  cpu_percent: 'has no counterpart: set `cpus`',
  cpu_shares: 'has no counterpart: set a limit with `cpus`',
  cpu_period: 'has no counterpart: set `cpus`, which is quota divided by period',
  cpu_quota: 'has no counterpart: set `cpus`, which is quota divided by period',
  cpu_rt_period: 'has no counterpart',
  cpu_rt_runtime: 'has no counterpart',
  cpuset: 'has no counterpart: set a limit with `cpus`',
  blkio_config: 'has no counterpart',
  group_add: 'has no counterpart: name the group in `user`, as in `user: "1000:44"`',
  device_cgroup_rules: 'has no counterpart: name each device in `devices`',
  gpus: 'has no counterpart: make the runtime for GPUs the default one in the daemon.json of the device',
  runtime: 'has no counterpart: make it the default one in the daemon.json of the device',
  platform: 'has no counterpart: a device pulls the image for its own platform; push one for each',
  isolation: 'has no counterpart',
  ipc: 'has no counterpart',
  pid: 'has no counterpart',
  uts: 'has no counterpart',
  userns_mode: 'has no counterpart: set `userns-remap` in the daemon.json of the device',
  cgroup: 'has no counterpart',
  cgroup_parent: 'has no counterpart: set `cgroup-parent` in the daemon.json of the device',
  storage_opt: 'has no counterpart: set `storage-opts` in the daemon.json of the device',
  mac_address: 'has no counterpart',
  volumes_from: 'has no counterpart: name the same volumes in `volumes` of both services',
  annotations: 'has no counterpart: write them as `labels` if one of your programs reads them',
  credential_spec: 'has no counterpart',
  post_start: 'has no counterpart: let the entrypoint of the image do it',
  pre_stop: 'has no counterpart: let the program do it when it gets the `stop_signal`',
  develop: 'is for development, and not needed',
  provider: 'has no counterpart: only containers run on devices',
  models: 'has no counterpart: only containers run on devices',
  pull_refresh_after: 'has no counterpart: devices pull for each change',
  use_api_socket: 'has no counterpart: mount /var/run/docker.sock with `volumes`',
};
