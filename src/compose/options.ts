import type { AppBuilder } from './builder.ts';
import type { Tree } from './tree.ts';
import { isNull, itemsOf, noteOthers, numberOf, textOf, textsOf, valueAt } from './values.ts';

/** Reads `logging`: a driver and its options. */
export function readLogging(tree: Tree, builder: AppBuilder): void {
  if (tree.type !== 'map') {
    builder.refuse('logging', tree, 'must be a map');
    return;
  }
  noteOthers(tree, 'logging', builder, ['driver', 'options']);
  const [driver, options] = [valueAt(tree, 'driver'), valueAt(tree, 'options')];
  const logging: Record<string, unknown> = {};
  if (driver !== undefined) logging['driver'] = textOf(driver, 'logging.driver', builder);
  if (options?.type === 'map')
    logging['options'] = Object.fromEntries(
      [...options.entries].map(([name, { value }]) => [
        name,
        textOf(value, `logging.options.${name}`, builder) ?? '',
      ]),
    );
  builder.set('logging', logging, tree);
}

/** Reads `ulimits`: a number, or `soft` and `hard`, by name. */
export function readUlimits(tree: Tree, builder: AppBuilder): void {
  if (tree.type !== 'map') {
    builder.refuse('ulimits', tree, 'must be a map');
    return;
  }
  const limits = Array.from(tree.entries, ([name, { value }]) => [
    name,
    limitOf(value, `ulimits.${name}`, builder),
  ]);
  builder.set('ulimits', Object.fromEntries(limits), tree);
}

function limitOf(value: Tree, key: string, builder: AppBuilder): unknown {
  if (value.type !== 'map') return numberOf(value, key, builder);
  const [soft, hard] = [valueAt(value, 'soft'), valueAt(value, 'hard')];
  if (soft !== undefined && hard !== undefined)
    return { soft: numberOf(soft, `${key}.soft`, builder), hard: numberOf(hard, `${key}.hard`, builder) };
  builder.refuse(key, value, 'needs soft and hard');
  return undefined;
}

/** Reads `security_opt`. Options of the engine that apps do not have are left out. */
export function readSecurityOptions(tree: Tree, builder: AppBuilder): void {
  const options: string[] = [];
  textsOf(tree, 'security_opt', builder).forEach((option, index) => {
    const key = `security_opt[${index}]`;
    if (/^(no-new-privileges|apparmor|label|seccomp)([:=]|$)/.test(option)) options.push(option);
    else builder.leaveOut(key, tree, 'has no counterpart here');
  });
  builder.set('security_opt', options, tree);
}

/** Reads `extra_hosts`: `host:address` or `host=address`, or a map of addresses. */
export function readExtraHosts(tree: Tree, builder: AppBuilder): void {
  if (tree.type !== 'map') {
    const hosts = textsOf(tree, 'extra_hosts', builder).map((text) => text.replace(/^([^:=]*)=/, '$1:'));
    builder.set('extra_hosts', hosts, tree);
    return;
  }
  const hosts = [...tree.entries].flatMap(([name, { value }]) =>
    isNull(value)
      ? []
      : itemsOf(value, `extra_hosts.${name}`, builder, true).map(
          (address) => `${name}:${textOf(address, `extra_hosts.${name}`, builder) ?? ''}`,
        ),
  );
  builder.set('extra_hosts', hosts, tree);
}
