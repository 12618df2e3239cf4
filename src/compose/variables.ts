import { isMapValue } from '../protocol/values.ts';
import type { Project, Service } from './project.ts';

/** A variable of `.env`, of an env_file or of the environment whose value is part of apps, and the services that have it. */
export interface OutsideVariable {
  name: string;
  services: string[];
}

/**
 * Finds the variables whose values Compose took from outside the file. `raw` is the project before Compose replaced
 * variables and read files of `env_file`, `environment` has the names that are set in `.env` or the environment.
 */
export function outsideVariables(
  raw: unknown,
  project: Project,
  environment: ReadonlySet<string>,
): OutsideVariable[] {
  const rawServices = isMapValue(raw) && isMapValue(raw['services']) ? raw['services'] : {};
  const found = new Map<string, Set<string>>();
  for (const [name, service] of Object.entries(project.services)) {
    const before = rawServices[name];
    const replaced = namesIn(before).filter((variable) => environment.has(variable));
    for (const variable of [...replaced, ...givenVariables(service, before)])
      found.set(variable, (found.get(variable) ?? new Set()).add(name));
  }
  return Array.from(found, ([name, services]) => ({ name, services: [...services] }));
}

/** The variables of a container whose values the file does not have: of an `env_file`, or passed on by their name alone. */
function givenVariables({ environment = {} }: Service, before: unknown): string[] {
  const written = isMapValue(before) ? valuesByName(before['environment']) : {};
  return Object.entries(environment).flatMap(([name, value]) =>
    value !== null && (written[name] ?? null) === null ? name : [],
  );
}

/** The variables of a service as they are written: a map, or a list of NAME=value. */
function valuesByName(environment: unknown): Readonly<Record<string, unknown>> {
  if (isMapValue(environment)) return environment;
  const lines = Array.isArray(environment) ? environment.map(String) : [];
  return Object.fromEntries(
    lines.filter((line) => line.includes('=')).map((line) => [line.slice(0, line.indexOf('=')), line]),
  );
}

/** The names of variables in all texts of a value: `$NAME`, `${NAME}`, `${NAME:-default}`; `$$` is a dollar sign. */
function namesIn(value: unknown): string[] {
  if (typeof value === 'string')
    return [...value.replaceAll('$$', '').matchAll(/\$\{?([A-Za-z_]\w*)/g)].map(([, name = '']) => name);
  if (Array.isArray(value)) return value.flatMap(namesIn);
  return isMapValue(value) ? Object.values(value).flatMap(namesIn) : [];
}
