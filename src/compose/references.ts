import type { Position } from '../desired/yaml/document.ts';
import { isMapValue } from '../protocol/values.ts';
import type { AppBuilder } from './builder.ts';

/** Names of variables whose value is probably the name of a host. */
const HOST_NAME = /HOST|SERVER|ADDR|URL|URI|ENDPOINT|BROKER|UPSTREAM|NODES?$|PEERS?$/i;
/** Names of variables about the host by which others reach the app. */
const OWN_NAME = /^HOSTNAME$|VIRTUAL|PUBLIC|EXTERNAL/i;

/**
 * Notes each text of an app in which another service seems to be a host: Compose lets services reach one another by their
 * names, a device by the names of containers.
 */
export function noteReferences(builder: AppBuilder): void {
  const { env_vars: variables, labels, command, entrypoint, healthcheck } = builder.fields;
  const at = (field: string, name = field): Position =>
    builder.places.get(name) ?? builder.places.get(field) ?? { line: 1, column: 1 };
  if (isMapValue(variables))
    for (const [name, value] of Object.entries(variables))
      note(
        `environment.${name}`,
        String(value),
        at('env_vars', `env_vars.${name}`),
        HOST_NAME.test(name) && !OWN_NAME.test(name),
        builder,
      );
  const test = isMapValue(healthcheck) ? healthcheck['test'] : undefined;
  for (const [key, words] of Object.entries({ command, entrypoint, 'healthcheck.test': test }))
    if (words !== undefined) note(key, [words].flat().join(' '), at(key.replace(/\..*/, '')), false, builder);
  if (isMapValue(labels))
    for (const [name, value] of Object.entries(labels))
      note(`labels.${name}`, String(value), at('labels'), false, builder);
}

function note(key: string, text: string, place: Position, isHost: boolean, builder: AppBuilder): void {
  for (const host of new Set([...hostsIn(text), ...(isHost ? [text] : [])])) {
    const service = builder.project.hosts.get(host);
    if (service === undefined) continue;
    const named = host === service ? service : `${service} as ${host}`;
    builder.check(
      key,
      place,
      `names the service ${named}: on a device its container is ${service}-1; write that name`,
    );
  }
}

/** The names that stand where hosts do: after `//`, `@`, `-h` or `--host`, or before a port. */
function hostsIn(text: string): string[] {
  const named =
    /(?:(?<!\/)\/\/|@)([A-Za-z0-9._-]+)(?=[:/?#,;\s]|$)|(?:^|[\s,;=])([A-Za-z0-9._-]+)(?=:\d{2,5}(?:[/,;\s]|$))|(?:^|\s)(?:-h|--host)[\s=]+([A-Za-z0-9._-]+)(?=\s|$)/g;
  return [...text.matchAll(named)].map(([, ...names]) => names.find((name) => name !== undefined) ?? '');
}
