// A worker without containers: it polls a device group and prints what a worker on a device would do.
//
//   HOLDFAST=http://127.0.0.1:8080 CREDENTIALS=user:password DEVICE=till-7 node examples/worker.mjs GROUP [SECONDS]
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const { HOLDFAST = 'http://127.0.0.1:8080', CREDENTIALS = '', DEVICE = hostname() } = process.env;
const [group, seconds = '5'] = process.argv.slice(2);
if (group === undefined) throw new Error('name a device group, such as lab');

const url = `${HOLDFAST}/api/v2/device_groups/${encodeURIComponent(group)}/info`;
const authorization = `Basic ${Buffer.from(CREDENTIALS).toString('base64')}`;
const say = (text) => process.stdout.write(`${text}\n`);

/** The ids last acted on. A real worker keeps them on disk. */
const seen = { apps: new Map(), group: 0, prune: null };

/** Acts on an app if its id is higher than the one last seen. */
function updateApp({ app_name: name, app_id: id, container_image: image, running }) {
  if (id <= (seen.apps.get(name) ?? 0)) return;
  const verb = seen.apps.has(name) ? 'restart' : 'start';
  seen.apps.set(name, id);
  say(running ? `${name}: pull ${image} and ${verb} (id ${id})` : `${name}: stop (id ${id})`);
}

function stopAllExcept(names) {
  for (const name of [...seen.apps.keys()].filter((app) => !names.includes(app))) {
    seen.apps.delete(name);
    say(`${name}: stop, since it left the group`);
  }
}

/** Acts on a response. One with a lower group id is out of date: another manager can still have it in its cache. */
function applyResponse({ apps, apps_list: names, device_group_id: id, prune_id: prune }) {
  if (id < seen.group) return;
  seen.group = id;
  for (const app of apps) updateApp(app);
  stopAllExcept(names);
  if (seen.prune !== null && prune > seen.prune) say(`remove unused images (id ${prune})`);
  seen.prune = Math.max(prune, seen.prune ?? 0);
}

/**
 * Polls once and resolves to the ETag of the response whose work is done. This worker is done at once; one that pulls
 * images meanwhile sends the tag that it was given last before that one. On any error, containers keep running.
 */
async function poll(done) {
  try {
    const headers = { authorization, 'holdfast-device': DEVICE, 'if-none-match': done };
    const reply = await fetch(url, { headers });
    if (reply.status === 304) return done;
    const text = await reply.text();
    if (reply.status === 403 && JSON.parse(text).device_group_exists === false) stopAllExcept([]);
    if (reply.status !== 200) throw new Error(`${reply.status} ${text}`);
    if (reply.headers.get('holdfast-device-group') !== group) throw new Error('this is not for my group');
    applyResponse(JSON.parse(text));
    return reply.headers.get('etag');
  } catch (error) {
    say(`nothing new: ${error.cause?.message || error.message}`);
    return done;
  }
}

for (let done = '"none"'; ; await sleep(Number(seconds) * 1000)) done = await poll(done);
